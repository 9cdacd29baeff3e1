//! A Tenant: its consumer, its key, and its signature over a provider's nonce.

use liqo_auth::{
    crypto::{Algorithm, CertificateChain, Entropy, Nonce, PublicKey},
    error::{Error, Fault, PeerIncompatible},
    model::{ClusterId, Resource, Tenant, TenantCondition},
    policy::Policy,
    verify::{self, TenantExpectation},
};

use crate::{
    inspection::Inspection,
    report::{Compare, Report},
    text::{escaped, masked},
};

pub(crate) fn inspect<F>(inspection: &Inspection<'_, F>, tenant: &Tenant) -> Result<Report, F> {
    let mut report = Report::of_message(&tenant.id().to_string());
    describe(inspection, tenant, &mut report);
    let claimed = tenant.spec.cluster_id.parse::<ClusterId>();
    let consumer = match (inspection.remote_cluster_id, claimed) {
        (Some(given), _) => given.clone(),
        (None, Ok(claimed)) => claimed,
        (None, Err(error)) => {
            report.wrong(format!(
                "spec.clusterID: {error}. Use the cluster ID that the peer's Liqo was installed with."
            ));
            return Ok(report);
        }
    };
    if !inspection.judge_name(&consumer, &mut report) {
        return Ok(report);
    }
    report.compare = compare(tenant, &consumer);
    match check(inspection, tenant, &consumer)? {
        Checked::Wrong(error) => match inspection.peer_of(&consumer) {
            None => report.error(&error),
            Some(cluster) => {
                let way_out = cluster.way_out_with_consumer(&consumer, &error);
                report.refused(&error, &way_out);
            }
        },
        Checked::Claim => {
            claim_holds(&mut report, &consumer);
            signature(inspection, tenant, &consumer, &mut report);
        }
        Checked::Signature => {
            claim_holds(&mut report, &consumer);
            report.verified("the key signed the nonce");
        }
        Checked::Stored => {
            claim_holds(&mut report, &consumer);
            report.verified(format!("this provider accepts this Tenant from {consumer}"));
        }
    }
    if *inspection.policy == Policy::compatible() {
        report.say("Policy", "compatible");
    }
    Ok(report)
}

/// How far a Tenant was verified.
enum Checked {
    Wrong(Error),
    /// All but the signature over the nonce.
    Claim,
    /// Also the signature over the nonce that was given.
    Signature,
    /// All that the provider verifies when the Tenant is applied.
    Stored,
}

fn check<F>(
    inspection: &Inspection<'_, F>,
    tenant: &Tenant,
    consumer: &ClusterId,
) -> Result<Checked, F> {
    let policy = inspection.policy;
    let given = (inspection.nonce)()?;
    // Without the nonce, another nonce serves: its signature is verified last.
    let nonce = given
        .clone()
        .unwrap_or_else(|| Nonce::random(&Entropy::from_bytes([1; 32])));
    let expectation = TenantExpectation {
        consumer,
        nonce: &nonce,
    };
    match verify::tenant(tenant, &expectation, policy) {
        Ok(_) if given.is_some() => return Ok(Checked::Signature),
        Ok(_) => {}
        Err(error) => match error.fault() {
            Fault::PeerIncompatible(PeerIncompatible::NonceSignature(_)) if given.is_none() => {}
            _ => return Ok(Checked::Wrong(error)),
        },
    }
    let Some(cluster) = inspection.peer_of(consumer) else {
        return Ok(Checked::Claim);
    };
    match cluster.judge_tenant(consumer, tenant)? {
        Ok(()) => Ok(Checked::Stored),
        Err(error) => Ok(Checked::Wrong(error)),
    }
}

/// The signature over the nonce, if one of the other files has the nonce.
fn signature<F>(
    inspection: &Inspection<'_, F>,
    tenant: &Tenant,
    consumer: &ClusterId,
    report: &mut Report,
) {
    let policy = inspection.policy;
    let mut nonces = inspection.companions.nonces().peekable();
    let has_nonces = nonces.peek().is_some();
    let signed = nonces.find(|(_, nonce)| {
        let expectation = TenantExpectation { consumer, nonce };
        verify::tenant(tenant, &expectation, policy).is_ok()
    });
    match signed {
        Some((place, _)) => report.verified(format!("the key signed the nonce in {place}")),
        None if has_nonces => report.unverified(
            "the signature over the nonce: it is over none of the nonces in these files, which may have been replaced since",
        ),
        None => report.unverified(
            "the signature over the nonce: give the nonce with --nonce, its Secret or its file beside the Tenant, or the provider's home with --home",
        ),
    }
}

fn compare(tenant: &Tenant, consumer: &ClusterId) -> Option<Compare> {
    let key = tenant.spec.public_key.as_slice();
    let key = PublicKey::from_tenant_field(key, &Policy::compatible()).ok()?;
    Some(Compare {
        what: "the fingerprint of the key",
        cluster: consumer.to_string(),
        fingerprint: key.fingerprint(),
    })
}

fn claim_holds(report: &mut Report, consumer: &ClusterId) {
    report.verified(format!(
        "the request is for {consumer} and nothing else, contains this key, and is signed by it"
    ));
}

fn describe<F>(inspection: &Inspection<'_, F>, tenant: &Tenant, report: &mut Report) {
    let spec = &tenant.spec;
    report.say("Consumer", escaped(&spec.cluster_id));
    // Every readable key is shown, also a key that the policy refuses.
    match PublicKey::from_tenant_field(spec.public_key.as_slice(), &Policy::compatible()) {
        Ok(key) => {
            report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
            if key.algorithm() != Algorithm::Ed25519 {
                report.say("Needs", OTHER_KEYS_NEED);
            }
        }
        Err(_) => report.say("Key", "unusable"),
    }
    if let Some(proxy) = spec.proxy_url.as_deref().filter(|proxy| !proxy.is_empty()) {
        report.say("Proxy", escaped(&masked(proxy)));
    }
    match spec.tenant_condition {
        None | Some(TenantCondition::Active) => {}
        Some(TenantCondition::Cordoned) => report.say("Condition", "Cordoned"),
        Some(TenantCondition::Drained) => report.say("Condition", "Drained"),
    }
    if let Some(auth_params) = &tenant.status.auth_params {
        match CertificateChain::from_pem(auth_params.signed_crt.as_slice(), &Policy::compatible()) {
            Ok(chain) => report.say("Certificate", inspection.dates(chain.leaf())),
            Err(error) => report.say("Certificate", format!("unreadable: {error}")),
        }
    }
}

/// What a key that is not Ed25519 asks of the provider.
const OTHER_KEYS_NEED: &str =
    "Liqo 1.0.2 or later at the provider, or this tool: older Liqo reads Ed25519 keys only";
