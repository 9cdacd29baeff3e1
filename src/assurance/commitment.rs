//! The provider's commitment: its key, and its signature over the answer to the
//! consumer.
//!
//! An annotation of Tenant and Identity carries the commitment. Unmodified Liqo
//! passes the annotation on. The signature does not cover the certificate, so
//! that the commitment stays valid after a renewal.

use sha2::{Digest, Sha256};

use super::key_and_signature::{self, KeyAndSignature, Statement};
use crate::{
    crypto::{Fingerprint, Nonce, PublicKey, Purpose, StructuredNonce},
    error::CommitmentFault,
    model::{AuthParams, ClusterId},
    policy::Policy,
};

/// The annotation that carries a commitment: the provider's public key
/// (SubjectPublicKeyInfo) and its signature, each in base64, with a dot between.
pub const COMMITMENT_ANNOTATION: &str = "liqo-auth/commitment";

/// How well the provider's identity is proven to a consumer.
///
/// # Examples
/// ```
/// use liqo_auth::assurance::commitment::Assurance;
///
/// assert!(Assurance::Authenticated > Assurance::Continuity);
/// assert!(Assurance::Continuity > Assurance::Unproven);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assurance {
    /// The provider has proven no key. It may be unmodified Liqo, or an impostor.
    Unproven,
    /// The provider has proven the pinned key. The first key that a provider proves
    /// is pinned.
    Continuity,
    /// The provider has a key whose fingerprint this consumer was configured
    /// with.
    Authenticated,
}

/// The content that a commitment's signature covers.
pub(crate) struct Committed<'a> {
    pub(crate) nonce: &'a [u8],
    pub(crate) provider: &'a ClusterId,
    pub(crate) consumer: &'a ClusterId,
    pub(crate) consumer_key: &'a PublicKey,
    pub(crate) namespace: &'a str,
    pub(crate) auth_params: &'a AuthParams,
}

impl Committed<'_> {
    /// Verifies the commitment in an annotation and gives the provider's key.
    pub(crate) fn verify(
        &self,
        annotation: &str,
        policy: &Policy,
    ) -> Result<PublicKey, CommitmentFault> {
        let KeyAndSignature { key, signature } =
            KeyAndSignature::from_annotation(annotation, policy)
                .ok_or(CommitmentFault::Encoding)?;
        let key = PublicKey::from_spki_der(&key, policy).map_err(CommitmentFault::Key)?;
        key.verify(key.csr_scheme(), &self.message(&key), &signature, policy)
            .map_err(CommitmentFault::Signature)?;
        Ok(key)
    }

    /// The SHA-256 of the signed message and the provider's key. It shows whether a
    /// stored commitment is still the right one.
    pub(crate) fn digest(&self, provider_key: &PublicKey) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(self.message(provider_key));
        hash.chain_update(provider_key.spki_der()).finalize().into()
    }
}

impl Statement for Committed<'_> {
    const PURPOSE: Purpose = Purpose::Commitment;

    fn message(&self, _provider_key: &PublicKey) -> Vec<u8> {
        let proxy_url = self.auth_params.proxy_url.as_deref().unwrap_or_default();
        key_and_signature::message(
            b"liqo-auth provider commitment v1\0",
            &[
                self.nonce,
                self.provider.as_str().as_bytes(),
                self.consumer.as_str().as_bytes(),
                self.consumer_key.spki_der(),
                self.namespace.as_bytes(),
                self.auth_params.api_server.as_bytes(),
                self.auth_params.ca.as_slice(),
                proxy_url.as_bytes(),
            ],
        )
    }

    fn peer(&self) -> &ClusterId {
        self.consumer
    }
}

/// A consumer's prior knowledge about a provider's key.
pub(crate) struct KnownProvider<'a> {
    pub(crate) fingerprints: &'a [Fingerprint],
    pub(crate) pinned: Option<Fingerprint>,
    pub(crate) nonce: Option<&'a Nonce>,
    /// Whether the provider may omit the commitment although its nonce commits to a
    /// key.
    pub(crate) may_be_unproven: bool,
}

impl KnownProvider<'_> {
    /// Grades a provider by the commitment in its annotation. The annotation may be
    /// missing only if no key of the provider is known, and if the nonce commits to
    /// no key or [`may_be_unproven`](Self::may_be_unproven) is set.
    pub(crate) fn grade(
        &self,
        annotation: Option<&str>,
        committed: &Committed<'_>,
        policy: &Policy,
    ) -> Result<(Assurance, Option<Fingerprint>), CommitmentFault> {
        let nonce = self.nonce.and_then(Nonce::structured);
        let Some(annotation) = annotation else {
            let is_promised = nonce.is_some_and(StructuredNonce::commits) && !self.may_be_unproven;
            return if self.fingerprints.is_empty() && self.pinned.is_none() && !is_promised {
                Ok((Assurance::Unproven, None))
            } else {
                Err(CommitmentFault::Missing)
            };
        };
        let key = committed.verify(annotation, policy)?;
        let fingerprint = key.fingerprint();
        let assurance = match (self.fingerprints, self.pinned) {
            _ if nonce.is_some_and(|nonce| !nonce.commits_to(&key)) => None,
            ([], Some(pinned)) if pinned != fingerprint => None,
            ([], _) => Some(Assurance::Continuity),
            (known, _) => known
                .contains(&fingerprint)
                .then_some(Assurance::Authenticated),
        };
        let other_key = || CommitmentFault::OtherKey {
            found: fingerprint.to_string(),
        };
        Ok((assurance.ok_or_else(other_key)?, Some(fingerprint)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, RecordKey, SignatureError, SigningKey};

    fn about(nonce: &[u8], test: impl FnOnce(&Committed<'_>)) {
        let (provider, consumer) = ("cl02".parse().unwrap(), "cl01".parse().unwrap());
        let consumer_key = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
        let auth_params = AuthParams {
            api_server: "https://cl02:6443".to_owned(),
            ..AuthParams::default()
        };
        test(&Committed {
            nonce,
            provider: &provider,
            consumer: &consumer,
            consumer_key: consumer_key.public_key(),
            namespace: "liqo-tenant-cl01",
            auth_params: &auth_params,
        });
    }

    fn holds(key: &KeyPair) {
        let policy = Policy::strict();
        about(b"nonce", |committed| {
            let made = committed.sign(key).unwrap();
            let text = made.at_once().unwrap().to_annotation();
            assert_eq!(
                committed.verify(&text, &policy).as_ref(),
                Ok(key.public_key())
            );
            let other = Committed {
                namespace: "liqo-tenant-cl03",
                ..*committed
            };
            assert_eq!(
                other.verify(&text, &policy),
                Err(CommitmentFault::Signature(SignatureError::Mismatch))
            );
        });
    }

    #[test]
    fn a_commitment_holds_for_what_it_is_about() {
        holds(&KeyPair::from_entropy(&Entropy::from_bytes([2; 32])));
    }

    #[cfg(feature = "ecdsa")]
    #[test]
    fn a_commitment_may_be_made_with_any_curve() {
        use crate::crypto::Algorithm::{EcdsaP256, EcdsaP384, EcdsaP521};

        for algorithm in [EcdsaP256, EcdsaP384, EcdsaP521] {
            let mut rng = getrandom::SysRng;
            holds(&KeyPair::generate(algorithm, &mut rng).unwrap());
        }
    }

    /// Nothing else is known about the provider at the first contact.
    #[test]
    fn a_commitment_by_another_key_than_the_nonces_is_refused() {
        let [own, other] =
            [2, 3].map(|seed| KeyPair::from_entropy(&Entropy::from_bytes([seed; 32])));
        let nonce = StructuredNonce::issue(
            &"cl02".parse().unwrap(),
            &"cl01".parse().unwrap(),
            Some(own.public_key()),
            "2026-11-21T00:00:00Z".parse().unwrap(),
            &RecordKey::new([1; 32]).unwrap(),
            &Entropy::from_bytes([4; 32]),
        );
        let known = KnownProvider {
            fingerprints: &[],
            pinned: None,
            nonce: Some(&nonce),
            may_be_unproven: false,
        };
        about(nonce.as_bytes(), |committed| {
            let grade = |key: &KeyPair| {
                let made = committed.sign(key).unwrap().at_once().unwrap();
                known.grade(Some(&made.to_annotation()), committed, &Policy::strict())
            };
            let fingerprint = own.public_key().fingerprint();
            assert_eq!(grade(&own), Ok((Assurance::Continuity, Some(fingerprint))));
            let found = other.public_key().fingerprint().to_string();
            assert_eq!(grade(&other), Err(CommitmentFault::OtherKey { found }));
        });
    }
}
