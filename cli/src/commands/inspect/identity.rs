//! An Identity: its provider, its consumer, and the dates of its certificate.

use liqo_auth::{
    crypto::{CaBundle, CertificateChain, PublicKey},
    error::Error,
    model::{ClusterId, Identity, IdentityType, Resource},
    policy::Policy,
    verify::{self, IdentityExpectation, VerifiedIdentity},
};

use super::{Inspection, Report, slice_identity};
use crate::{consumer_side::ConsumerSide, failure::Result, output::escaped};

pub(super) fn inspect(inspection: &Inspection<'_>, identity: &Identity) -> Result<Report> {
    let mut report = Report::new(&identity.id().to_string());
    let chain = describe(inspection, identity, &mut report);
    let claimed = identity.spec.cluster_id.parse::<ClusterId>();
    let provider = match (&inspection.arguments.remote_cluster_id, claimed) {
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
    if let Some(home) = inspection
        .home
        .filter(|home| *home.cluster_id() != provider)
    {
        let (policy, clock) = (&inspection.context.policy, inspection.context.clock);
        match ConsumerSide::judge_identity(home, &provider, policy, clock, identity)? {
            Ok(()) => report.verified(format!(
                "{} accepts this Identity from {provider}",
                home.cluster_id()
            )),
            Err(error) => report.error(&error),
        }
        return Ok(report);
    }
    match alone(inspection, identity, &provider, chain.as_ref()) {
        None => report.wrong(
            "spec.authParams.signedCRT: there is no certificate that can be read. Have the provider generate the Identity again."
                .to_owned(),
        ),
        Some((consumer, Err(error))) => {
            report.say("Consumer", &consumer);
            report.error(&error);
        }
        Some((consumer, Ok(verified))) => {
            report.say("Consumer", &consumer);
            report.verified(format!(
                "the certificate is for {consumer} and for client authentication, and is in date; the URL of the API server is valid"
            ));
            if !verified.issued_by_bundle() {
                report.unverified("the certificate's issuer: it is not a CA of the bundle, which is legal if the API server's certificate comes from another CA");
            }
            report.unverified("whether the certificate carries this cluster's key: give the consumer's home with --home");
        }
    }
    Ok(report)
}

/// Verifies, without the consumer's home, that the Identity is consistent. Key,
/// consumer and proxy are taken from the Identity itself.
fn alone(
    inspection: &Inspection<'_>,
    identity: &Identity,
    provider: &ClusterId,
    chain: Option<&CertificateChain>,
) -> Option<(ClusterId, Result<VerifiedIdentity, Error>)> {
    let leaf = chain?.leaf();
    let key = PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()).ok()?;
    let namespace = identity.spec.namespace.as_deref().unwrap_or_default();
    // The default namespace names the consumer. The certificate's subject must name
    // the same consumer.
    let named = namespace.strip_prefix("liqo-tenant-").unwrap_or(namespace);
    let consumer: ClusterId = named.parse().ok()?;
    let proxy = identity
        .spec
        .auth_params
        .proxy_url
        .as_deref()
        .and_then(|url| url.parse().ok());
    let expectation = IdentityExpectation {
        proxy_url: proxy.as_ref(),
        aws: true,
        ..IdentityExpectation::new(&consumer, provider, &key, inspection.now)
    };
    let verified = verify::identity(identity, &expectation, &inspection.context.policy);
    Some((consumer, verified))
}

fn describe(
    inspection: &Inspection<'_>,
    identity: &Identity,
    report: &mut Report,
) -> Option<CertificateChain> {
    let spec = &identity.spec;
    let auth_params = &spec.auth_params;
    report.say("Provider", escaped(&spec.cluster_id));
    report.say("Type", spec.identity_type.to_string());
    report.say("API server", escaped(&auth_params.api_server));
    if let Some(proxy) = auth_params
        .proxy_url
        .as_deref()
        .filter(|proxy| !proxy.is_empty())
    {
        report.say("Proxy", escaped(proxy));
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
