//! The CAs by which an API server lets clients in.

use sha2::{Digest, Sha256};

use super::{CaBundle, Certificate, CertificateChain, Fingerprint, Issuance, PublicKey};
use crate::policy::Policy;

/// The CAs by which an API server lets clients in, or more than these.
///
/// An API server verifies clients with Go's `crypto/x509`. So what this library cannot verify
/// as Go does is undecided.
#[derive(Debug, Clone)]
pub(crate) struct ClientCas {
    bundle: CaBundle,
    digest: [u8; 32],
}

impl ClientCas {
    pub(crate) fn of(bundle: &CaBundle) -> Self {
        Self {
            digest: digest(bundle.certificates()),
            bundle: bundle.clone(),
        }
    }

    /// SHA-256 over the set. The order of the certificates, and the text around them, make no
    /// difference.
    pub(crate) const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Whether one of these CAs has issued the client's certificate, directly or through the
    /// intermediates of the chain. `None` if that is undecided.
    pub(crate) fn trust(&self, chain: &CertificateChain) -> Option<bool> {
        let mut best = Issuance::No;
        let mut reached = vec![(chain.leaf(), Issuance::Verified)];
        // As in Go, the intermediates may have any order.
        let intermediates = chain.intermediates().iter();
        let mut rest: Vec<&Certificate> = intermediates.filter(|it| it.is_authority).collect();
        while let Some((certificate, so_far)) = reached.pop() {
            for authority in self.bundle.certificates() {
                best = best.max(so_far.min(issuance(certificate, authority)));
                if best == Issuance::Verified {
                    return Some(true);
                }
            }
            rest.retain(|next| {
                let link = so_far.min(issuance(certificate, next));
                if link != Issuance::No {
                    reached.push((next, link));
                }
                link == Issuance::No
            });
        }
        (best == Issuance::No).then_some(false)
    }
}

/// Whether a CA issued a certificate, as Go has it: the key identifiers only order the CAs that
/// Go tries. A signature by a key that this library does not accept says nothing.
fn issuance(certificate: &Certificate, authority: &Certificate) -> Issuance {
    match Issuance::by_name(certificate, authority) {
        Issuance::No
            if certificate.issuer == authority.subject && !is_accepted(&authority.spki_der) =>
        {
            Issuance::NamesOnly
        }
        found => found,
    }
}

/// Whether this build verifies signatures by this key. The key is that of a CA, so its order or
/// modulus is not tested.
fn is_accepted(spki_der: &[u8]) -> bool {
    PublicKey::from_known_spki_der(spki_der, &Policy::compatible()).is_ok()
}

fn digest(certificates: &[Certificate]) -> [u8; 32] {
    let mut fingerprints: Vec<Fingerprint> =
        certificates.iter().map(Certificate::fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let mut hash = Sha256::new_with_prefix(DOMAIN);
    for fingerprint in fingerprints {
        hash.update(fingerprint.as_bytes());
    }
    hash.finalize().into()
}

const DOMAIN: &str = "liqo-auth client CAs v1";

#[cfg(test)]
mod tests;
