//! The Identity of a resource slice: its slice, and the key of its certificate.

use liqo_auth::{
    crypto::{CertificateChain, ClientCertificateExpectation, PublicKey, SigningKey, Subject},
    model::{AuthParams, ClusterId, Identity, names},
    policy::Policy,
};

use crate::{cluster::Cluster, inspection::Inspection, report::Report, text::escaped};

/// Verifies the Identity, after it was described.
pub(crate) fn judge<F>(
    inspection: &Inspection<'_, F>,
    identity: &Identity,
    provider: &ClusterId,
    chain: Option<&CertificateChain>,
    report: &mut Report,
) {
    let label = identity
        .metadata
        .labels
        .get(names::RESOURCE_SLICE_NAME_LABEL);
    let name = &identity.metadata.name;
    let slice = match (
        label,
        name.strip_prefix(names::RESOURCE_SLICE_IDENTITY_PREFIX),
    ) {
        (Some(slice), _) => slice.as_str(),
        (None, Some(slice)) => slice,
        (None, None) => {
            return report.wrong("metadata.labels: the Identity does not name a slice. Delete the Identity: it is then made again from the slice's status.".to_owned());
        }
    };
    report.say("Slice", escaped(slice));
    let Some(chain) = chain else {
        return report.wrong(
            "spec.authParams.signedCRT: there is no certificate that can be read.".to_owned(),
        );
    };
    let leaf = chain.leaf();
    let cluster = inspection.peer_of(provider);
    let consumer = match cluster {
        Some(cluster) => Some(cluster.id().clone()),
        None => organization(&leaf.subject()),
    };
    let Some(consumer) = consumer else {
        return report.wrong(format!(
            "spec.authParams.signedCRT: the certificate is for {}, which does not name a cluster.",
            escaped(&leaf.subject())
        ));
    };
    let Ok(carried) = PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()) else {
        return report.wrong("spec.authParams.signedCRT: its key cannot be read.".to_owned());
    };
    let expectation = ClientCertificateExpectation {
        subject: &Subject::resource_slice(slice, &consumer),
        key: &carried,
        now: inspection.now,
    };
    match chain.check_client(&expectation, inspection.policy) {
        Ok(()) => report.verified(format!(
            "the certificate is for the slice {} of {consumer} and for client authentication, and is in date",
            escaped(slice)
        )),
        Err(error) => report.wrong(format!("spec.authParams.signedCRT: {error} (rule 9).")),
    }
    match cluster {
        None => report.unverified(
            "whether the certificate carries this cluster's key: give the consumer's home with --home",
        ),
        Some(cluster) => with_cluster(cluster, identity, provider, &carried, report),
    }
}

fn with_cluster<F>(
    cluster: &dyn Cluster<F>,
    identity: &Identity,
    provider: &ClusterId,
    carried: &PublicKey,
    report: &mut Report,
) {
    let keys = cluster.key_pairs(Some(provider));
    match keys.map(|keys| keys.iter().any(|own| own.public_key() == carried)) {
        Some(true) => {
            report.verified("the certificate carries this cluster's key");
        }
        Some(false) => report.wrong(
            "spec.authParams.signedCRT: the certificate carries another key than this cluster's (rule 9)."
                .to_owned(),
        ),
        None => report.unverified("whether the certificate carries this cluster's key: that key cannot be read"),
    }
    let name = names::identity_name(provider);
    let control_plane = cluster.identity(&name);
    let endpoint = |params: &AuthParams| (params.api_server.clone(), params.ca.clone());
    match control_plane {
        None => report.unverified("API server and CA: there is no Identity of the control plane"),
        Some(control_plane)
            if endpoint(&control_plane.spec.auth_params)
                == endpoint(&identity.spec.auth_params) =>
        {
            report.verified("API server and CA are those of the control plane's Identity");
        }
        Some(_) => report.unverified(
            "API server and CA: they differ from those in the control plane's Identity",
        ),
    }
}

/// The cluster ID in the organization of a subject, if there is one.
fn organization(subject: &str) -> Option<ClusterId> {
    let organization = subject.strip_prefix("O=")?.split(", ").next()?;
    organization.parse().ok()
}
