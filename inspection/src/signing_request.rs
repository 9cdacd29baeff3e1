//! A CertificateSigningRequest: its cluster, its subject, and the answer.

use liqo_auth::{
    crypto::{CertificateChain, Csr, CsrError, Entropy, KeyPair, PublicKey, SigningKey, Subject},
    model::{CertificateSigningRequest, ClusterId, Resource, names},
    policy::Policy,
};

use crate::{inspection::Inspection, report::Report, subject, text::escaped};

pub(crate) fn inspect<F>(
    inspection: &Inspection<'_, F>,
    request: &CertificateSigningRequest,
) -> Report {
    let mut report = Report::new(&request.id().to_string());
    let spec = &request.spec;
    let peer = request.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    if let Some(peer) = peer {
        report.say("Peer", escaped(peer));
    }
    report.say("Signer", escaped(&spec.signer_name));
    report.say("Usages", escaped(&spec.usages.join(", ")));
    if let Some(seconds) = spec.expiration_seconds {
        report.say("Lifetime", format!("{seconds} s requested"));
    }
    for condition in &request.status.conditions {
        report.say(
            "Condition",
            format!(
                "{} ({}): {}",
                escaped(&condition.condition_type),
                escaped(&condition.reason),
                escaped(&condition.message)
            ),
        );
    }
    if request.status.conditions.is_empty() {
        report.say("Condition", "not decided yet");
    }
    let pem = spec.request.as_slice();
    let certificate = request.status.certificate.as_slice();
    let chain = CertificateChain::from_pem(certificate, &Policy::compatible());
    // The requests of Liqo itself do not name a cluster. Their certificates do.
    let named = peer.and_then(|peer| peer.parse::<ClusterId>().ok());
    let issued_to = chain
        .as_ref()
        .ok()
        .and_then(|chain| subject::consumer(&chain.leaf().subject()));
    let Some(peer) = named.or(issued_to) else {
        report.unverified("the cluster of the request: the request names none");
        return report;
    };
    if request.status.certificate.is_empty() {
        report.say("Certificate", "none yet");
        report.say("Subject", claimed_subject(pem, &peer, inspection.policy));
        inspection.judge_name(&peer, &mut report);
        report.unverified("the key of the request: there is no certificate to compare it with");
        return report;
    }
    match chain {
        Err(error) => report.say("Certificate", format!("unreadable: {error}")),
        Ok(chain) => {
            let leaf = chain.leaf();
            report.say(
                "Certificate",
                format!("{}, serial {}", escaped(&leaf.subject()), leaf.serial()),
            );
            report.say("Dates", inspection.dates(leaf));
            let Ok(key) = PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()) else {
                report.wrong("status.certificate: its key cannot be read.".to_owned());
                return report;
            };
            report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
            let slice = subject::slice(&leaf.subject(), &peer);
            if leaf.subject().contains(PEERING_USER) {
                report.say("For", format!("a peering user of {peer}"));
            } else {
                judge(inspection, pem, &key, &peer, slice.as_deref(), &mut report);
            }
        }
    }
    report
}

/// Verifies a request: it must have this key, and the subject of a consumer's
/// control plane or of one of its slices.
pub(crate) fn judge<F>(
    inspection: &Inspection<'_, F>,
    pem: &[u8],
    key: &PublicKey,
    consumer: &ClusterId,
    slice: Option<&str>,
    report: &mut Report,
) {
    if !inspection.judge_name(consumer, report) {
        return;
    }
    let (subject, of) = match slice {
        None => (
            Subject::control_plane(consumer),
            format!("the control plane of {consumer}"),
        ),
        Some(name) => (
            Subject::resource_slice(name, consumer),
            format!("the slice {} of {consumer}", escaped(name)),
        ),
    };
    match Csr::verify(pem, &subject, key, inspection.policy) {
        Ok(_) => report.verified(format!(
            "the request is for {of} and nothing else, contains this key, and is signed by it"
        )),
        Err(error) => report.wrong(format!("{error}. Ask the consumer for a new request.")),
    }
}

/// The subject and the key that a bare request itself claims.
pub(crate) fn claimed(pem: &str) -> (String, String) {
    let policy = Policy::compatible();
    let nobody = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
    let verify = |subject: &Subject| {
        Csr::verify(pem.as_bytes(), subject, nobody.public_key(), &policy).err()
    };
    let Ok(anybody) = "nobody".parse::<ClusterId>() else {
        return ("unknown".to_owned(), "unknown".to_owned());
    };
    let subject = match verify(&Subject::control_plane(&anybody)) {
        Some(CsrError::Subject { found, .. }) => found,
        Some(error) => format!("unreadable: {error}"),
        None => Subject::control_plane(&anybody).common_name().to_owned(),
    };
    // The key is compared only under the right subject.
    let consumer = subject::consumer(&subject);
    let slice = consumer
        .as_ref()
        .and_then(|id| subject::slice(&subject, id));
    let expected = consumer.as_ref().map(|id| match &slice {
        Some(slice) => Subject::resource_slice(slice, id),
        None => Subject::control_plane(id),
    });
    let key = match expected.and_then(|subject| verify(&subject)) {
        Some(CsrError::Key { found, .. }) => found.to_string(),
        _ => "not shown".to_owned(),
    };
    (subject, key)
}

/// The subject that the request itself contains. The key of the request is not
/// known, so that another key is passed: `Csr::verify` compares the subject before
/// the key.
fn claimed_subject(pem: &[u8], peer: &ClusterId, policy: &Policy) -> String {
    let subject = Subject::control_plane(peer);
    let nobody = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
    match Csr::verify(pem, &subject, nobody.public_key(), policy) {
        Err(CsrError::Subject { found, .. }) => found,
        Err(CsrError::Key { found, .. }) => format!(
            "O={}, CN={} (key {found})",
            subject.organization(),
            subject.common_name()
        ),
        Err(error) => format!("unreadable: {error}"),
        Ok(_) => subject.common_name().to_owned(),
    }
}

const PEERING_USER: &str = "liqo-peer-user-";
