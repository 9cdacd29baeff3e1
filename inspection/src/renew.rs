//! A Renew: its identity, its scheme (one of two), and the answer.

use liqo_auth::{
    crypto::{CertificateChain, PublicKey},
    model::{IdentityType, Renew, Resource, names},
    policy::Policy,
};

use crate::{
    inspection::Inspection,
    report::Report,
    signing_request,
    text::{escaped, masked},
};

pub(crate) fn inspect<F>(inspection: &Inspection<'_, F>, renew: &Renew) -> Report {
    let mut report = Report::of_message(&renew.id().to_string());
    let spec = &renew.spec;
    if let Some(origin) = renew.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL) {
        report.say("Replica of", escaped(origin));
    }
    report.say("Consumer", escaped(&spec.consumer_cluster_id));
    report.say("Identity", spec.identity_type.to_string());
    if let Some(slice) = &spec.resource_slice_ref {
        report.say("Slice", escaped(&slice.name));
    }
    let asks = !spec.csr.is_empty();
    report.say(
        "Scheme",
        match asks {
            true => "the consumer asks (Liqo 1.0 and 1.1)",
            false => "the provider renews by itself (Liqo 1.2)",
        },
    );
    let key = PublicKey::from_tenant_field(spec.public_key.as_slice(), &Policy::compatible()).ok();
    if asks {
        request(inspection, renew, key.as_ref(), &mut report);
    }
    match &renew.status.auth_params {
        None => report.say("Certificate", "none yet"),
        Some(auth_params) => {
            report.say("API server", escaped(&masked(&auth_params.api_server)));
            match CertificateChain::from_pem(
                auth_params.signed_crt.as_slice(),
                &Policy::compatible(),
            ) {
                Err(error) => report.say("Certificate", format!("unreadable: {error}")),
                Ok(chain) => {
                    let leaf = chain.leaf();
                    report.say("Certificate", escaped(&leaf.subject()));
                    report.say("Dates", inspection.dates(leaf));
                    if key.is_some_and(|key| key.spki_der() != leaf.spki_der) {
                        report.wrong(
                            "status.authParams.signedCRT: the certificate contains another key than the request. The provider issues a new certificate."
                                .to_owned(),
                        );
                    }
                }
            }
        }
    }
    report.unverified(
        "whether the consumer accepts the certificate: the consumer verifies it like the first one",
    );
    report
}

fn request<F>(
    inspection: &Inspection<'_, F>,
    renew: &Renew,
    key: Option<&PublicKey>,
    report: &mut Report,
) {
    let spec = &renew.spec;
    let Some(key) = key else {
        report.wrong("spec.publicKey: it cannot be read. Ask for the renewal again.".to_owned());
        return;
    };
    report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
    let slice = match (spec.identity_type, &spec.resource_slice_ref) {
        (IdentityType::ControlPlane, _) => None,
        (_, Some(slice)) => Some(slice.name.as_str()),
        (_, None) => {
            report.wrong(
                "spec.resourceSliceRef: it is missing, and the identity is that of a slice. Ask for the renewal again."
                    .to_owned(),
            );
            return;
        }
    };
    let Ok(consumer) = spec.consumer_cluster_id.parse() else {
        report.wrong("spec.consumerClusterID: it is not a cluster ID.".to_owned());
        return;
    };
    signing_request::judge(
        inspection,
        spec.csr.as_slice(),
        key,
        &consumer,
        slice,
        report,
    );
}
