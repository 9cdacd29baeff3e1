//! A CertificateSigningRequest: its cluster, its subject, and the answer.

use liqo_auth::{
    crypto::{CertificateChain, Csr, CsrError, Entropy, KeyPair, PublicKey, SigningKey, Subject},
    model::{CertificateSigningRequest, ClusterId, Resource, names},
    policy::Policy,
};

use super::{Inspection, Report};
use crate::output::escaped;

pub(super) fn inspect(inspection: &Inspection<'_>, request: &CertificateSigningRequest) -> Report {
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
    // The requests of Liqo itself name no cluster. Their certificates do.
    let named = peer.and_then(|peer| peer.parse::<ClusterId>().ok());
    let issued_to = chain
        .as_ref()
        .ok()
        .and_then(|chain| cluster_in(&chain.leaf().subject()));
    let Some(peer) = named.or(issued_to) else {
        report.unverified("the cluster of the request: the request names none");
        return report;
    };
    if request.status.certificate.is_empty() {
        report.say("Certificate", "none yet");
        report.say(
            "Subject",
            claimed_subject(pem, &peer, &inspection.context.policy),
        );
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
            let slice = slice_of(&leaf.subject(), &peer);
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
pub(super) fn judge(
    inspection: &Inspection<'_>,
    pem: &[u8],
    key: &PublicKey,
    consumer: &ClusterId,
    slice: Option<&str>,
    report: &mut Report,
) {
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
    match Csr::verify(pem, &subject, key, &inspection.context.policy) {
        Ok(_) => report.verified(format!(
            "the request is for {of} and nothing else, contains this key, and is signed by it"
        )),
        Err(error) => report.wrong(format!("{error}. Ask the consumer for a new request.")),
    }
}

/// The cluster that a certificate was issued to. The certificate may be for its
/// control plane or for one of its slices.
fn cluster_in(subject: &str) -> Option<ClusterId> {
    let (organization, name) = subject.strip_prefix("O=")?.split_once(", CN=")?;
    let cluster = match organization {
        names::CONTROL_PLANE_ORGANIZATION => name,
        consumer => consumer,
    };
    cluster.parse().ok()
}

/// The slice whose certificate has this subject.
fn slice_of(subject: &str, consumer: &ClusterId) -> Option<String> {
    let (_, name) = subject.split_once("CN=")?;
    let (slice, _) = name.rsplit_once('-')?;
    let expected = Subject::resource_slice(slice, consumer);
    (expected.common_name() == name).then(|| slice.to_owned())
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
