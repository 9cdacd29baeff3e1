//! An Identity: its provider, its consumer, and the dates of its certificate.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    assurance::commitment::COMMITMENT_ANNOTATION,
    crypto::{CaBundle, CertificateChain, Fingerprint, PublicKey},
    model::{ClusterId, Identity, IdentityType, Resource, names},
    policy::Policy,
    verify::{self, IdentityExpectation},
};

use crate::{
    cluster::Cluster,
    inspection::Inspection,
    loopback::LOOPBACK,
    report::{Compare, Report},
    slice_identity, subject,
    text::{escaped, masked},
};

pub(crate) fn inspect<F>(inspection: &Inspection<'_, F>, identity: &Identity) -> Result<Report, F> {
    let mut report = Report::of_message(&identity.id().to_string());
    let chain = describe(inspection, identity, &mut report);
    let claimed = identity.spec.cluster_id.parse::<ClusterId>();
    let provider = match (inspection.remote_cluster_id, claimed) {
        (Some(given), _) => given.clone(),
        (None, Ok(claimed)) => claimed,
        (None, Err(error)) => {
            report.wrong(format!(
                "spec.clusterID: {error}. Have the provider generate the Identity again."
            ));
            return Ok(report);
        }
    };
    if identity.spec.identity_type == IdentityType::ResourceSlice {
        slice_identity::judge(inspection, identity, &provider, chain.as_ref(), &mut report);
        return Ok(report);
    }
    if let Some(cluster) = inspection.peer_of(&provider) {
        match cluster.judge_identity(&provider, identity)? {
            Ok(()) => {
                let consumer = cluster.id();
                report.verified(format!("{consumer} accepts this Identity from {provider}"));
                proof_of(cluster, identity, &provider, &mut report);
            }
            Err(error) => {
                let way_out = cluster.way_out_with_provider(&provider, &error);
                report.refused(&error, &way_out);
            }
        }
        return Ok(report);
    }
    report.compare = compare(identity, &provider);
    alone(inspection, identity, &provider, chain.as_ref(), &mut report);
    Ok(report)
}

/// Notes how the cluster knows the provider's key, after it accepted the Identity.
fn proof_of<F>(
    cluster: &dyn Cluster<F>,
    identity: &Identity,
    provider: &ClusterId,
    report: &mut Report,
) {
    let Some(key) = committed_key(identity) else {
        return report.unverified(
            "the provider's own key: the Identity carries no proof of it, as from unmodified Liqo. Compare the CA's fingerprint with the provider's administrator",
        );
    };
    let told = cluster.is_told(provider, &key);
    report.verified(match told {
        true => format!("the provider proves the key {key}, which this cluster was told"),
        false => format!("the provider proves the key {key}"),
    });
    if !told {
        report.say(
            "Compare",
            format!("the provider's key with its administrator: {key}"),
        );
    }
}

/// Verifies, without the consumer's home, that the Identity is consistent. Key,
/// consumer, proxy and namespace are taken from the Identity itself.
fn alone<F>(
    inspection: &Inspection<'_, F>,
    identity: &Identity,
    provider: &ClusterId,
    chain: Option<&CertificateChain>,
    report: &mut Report,
) {
    let auth_params = &identity.spec.auth_params;
    if auth_params.aws_config.is_some() && auth_params.signed_crt.is_empty() {
        return report.unverified(
            "the AWS user's keys: the consumer takes them with --accept-aws, and AWS alone verifies them",
        );
    }
    let leaf = chain.map(CertificateChain::leaf);
    let key =
        leaf.and_then(|leaf| PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()).ok());
    let (Some(leaf), Some(key)) = (leaf, key) else {
        return report.wrong(
            "spec.authParams.signedCRT: there is no certificate that can be read. Have the provider generate the Identity again."
                .to_owned(),
        );
    };
    let Some(consumer) = subject::consumer(&leaf.subject()) else {
        return report.wrong(format!(
            "spec.authParams.signedCRT: the certificate is for {}, which does not name a cluster (rule 9). Have the provider generate the Identity again.",
            escaped(&leaf.subject())
        ));
    };
    report.say("Consumer", &consumer);
    let proxy = auth_params.proxy_url.as_deref();
    let proxy = proxy.and_then(|url| url.parse().ok());
    let said = identity.spec.namespace.as_deref();
    let namespace = said
        .filter(|said| *said != names::tenant_namespace(&consumer))
        .and_then(|said| said.parse().ok());
    let expectation = IdentityExpectation {
        proxy_url: proxy.as_ref(),
        namespace: namespace.as_ref(),
        publicly_trusted: auth_params.ca.is_empty(),
        ..IdentityExpectation::new(&consumer, provider, &key, inspection.now)
    };
    let mut policy = inspection.policy.clone();
    // Which addresses are allowed, the consumer's settings say.
    policy.addresses.allowed = LOOPBACK.to_vec();
    let verified = match verify::identity(identity, &expectation, &policy) {
        Ok(verified) => verified,
        Err(error) => return report.error(&error),
    };
    report.verified(format!(
        "the certificate is for {consumer} and for client authentication, and is in date"
    ));
    whose_key(inspection, &consumer, &key, report);
    report.unverified(format!(
        "whether {} is the API server of {provider}: the form of the URL is right, and the Identity alone says the rest",
        verified.api_server
    ));
    if let Some(proxy) = &verified.proxy_url {
        report.unverified(format!(
            "the proxy {proxy}: whether {consumer} asked for it; give the consumer's home with --home"
        ));
    }
    if let Some(namespace) = &namespace {
        report.unverified(format!(
            "the namespace {namespace}: it is not the default one; give the consumer's home with --home"
        ));
    }
    if auth_params.ca.is_empty() {
        report.unverified(
            "the API server's certificate: there is no CA, so it has to be publicly trusted",
        );
    }
    if !verified.issued_by_bundle() {
        report.unverified("the certificate's issuer: it is not a CA of the bundle, which is legal if the API server's certificate comes from another CA");
    }
    match committed_key(identity) {
        Some(_) => report.unverified(
            "the provider's proof of its key: it covers the nonce, which only the consumer's home has; give it with --home",
        ),
        None => report.unverified(
            "the provider's own key: the Identity carries no proof of it, as from unmodified Liqo",
        ),
    }
}

/// Compares the key with the consumer's Tenant, if it is among the documents.
fn whose_key<F>(
    inspection: &Inspection<'_, F>,
    consumer: &ClusterId,
    key: &PublicKey,
    report: &mut Report,
) {
    let keys: Vec<_> = inspection.companions.keys_of(consumer).collect();
    match keys.iter().find(|(_, known)| *known == key) {
        Some((tenant, _)) => report.verified(format!("the certificate carries the key of {tenant}")),
        None if !keys.is_empty() => report.wrong(format!(
            "spec.authParams.signedCRT: the certificate carries another key than the Tenant of {consumer} in these files (rule 9)."
        )),
        None => report.unverified(
            "whether the certificate carries this cluster's key: give the consumer's home with --home",
        ),
    }
}

/// The key in the provider's commitment. The signature is not verified.
fn committed_key(identity: &Identity) -> Option<Fingerprint> {
    let annotation = identity.metadata.annotations.get(COMMITMENT_ANNOTATION)?;
    let (key, _) = annotation.split_once('.')?;
    let der = STANDARD.decode(key).ok()?;
    let key = PublicKey::from_spki_der(&der, &Policy::compatible()).ok()?;
    Some(key.fingerprint())
}

/// What to compare before the Identity is applied: the provider's key, or else its CA.
fn compare(identity: &Identity, provider: &ClusterId) -> Option<Compare> {
    let (what, fingerprint) = match committed_key(identity) {
        Some(key) => ("the fingerprint of the provider's key", key),
        None => {
            let ca = identity.spec.auth_params.ca.as_slice();
            let bundle = CaBundle::from_pem(ca, &Policy::compatible()).ok()?;
            let authority = bundle.certificates().first()?.fingerprint();
            ("the fingerprint of the API server's CA", authority)
        }
    };
    Some(Compare {
        what,
        cluster: provider.to_string(),
        fingerprint,
    })
}

fn describe<F>(
    inspection: &Inspection<'_, F>,
    identity: &Identity,
    report: &mut Report,
) -> Option<CertificateChain> {
    let spec = &identity.spec;
    let auth_params = &spec.auth_params;
    report.say("Provider", escaped(&spec.cluster_id));
    report.say("Type", spec.identity_type.to_string());
    report.say("API server", escaped(&masked(&auth_params.api_server)));
    if let Some(proxy) = auth_params
        .proxy_url
        .as_deref()
        .filter(|proxy| !proxy.is_empty())
    {
        report.say("Proxy", escaped(&masked(proxy)));
    }
    if let Some(key) = committed_key(identity) {
        report.say("Provider key", format!("{key}, with a commitment"));
    }
    if let Some(aws) = &auth_params.aws_config {
        report.say("AWS user", escaped(&aws.aws_user_arn));
    }
    report.say(
        "Namespace",
        escaped(spec.namespace.as_deref().unwrap_or("none")),
    );
    if let Ok(bundle) = CaBundle::from_pem(auth_params.ca.as_slice(), &Policy::compatible()) {
        for authority in bundle.certificates() {
            report.say("CA", authority.fingerprint().to_string());
        }
    }
    match CertificateChain::from_pem(auth_params.signed_crt.as_slice(), &Policy::compatible()) {
        Err(error) => {
            report.say("Certificate", format!("unreadable: {error}"));
            None
        }
        Ok(chain) => {
            let leaf = chain.leaf();
            report.say(
                "Certificate",
                format!("{}, serial {}", escaped(&leaf.subject()), leaf.serial()),
            );
            report.say("Dates", inspection.dates(leaf));
            match PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()) {
                Ok(key) => report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint())),
                Err(error) => report.say("Key", format!("unusable: {error}")),
            }
            if let Some(secret) = &identity.status.kubeconfig_secret_ref {
                report.say("Kubeconfig", format!("Secret {}", escaped(&secret.name)));
            }
            Some(chain)
        }
    }
}
