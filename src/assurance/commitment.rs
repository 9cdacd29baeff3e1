//! The provider's commitment: its key, and its signature over what the
//! consumer is to believe.
//!
//! It travels as an annotation of Tenant and Identity, so that unmodified
//! Liqo passes it on unread. What is signed is not the certificate, so that it
//! outlives renewals.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::{
    crypto::{
        Answer, BoxError, Fingerprint, Nonce, Payload, PublicKey, SignatureId, SigningKey,
        sign_verified,
    },
    error::CommitmentFault,
    model::{AuthParams, ClusterId},
    policy::Policy,
};

/// The annotation that carries a commitment: the provider's public key
/// (SubjectPublicKeyInfo) and its signature, each in base64, with a dot between.
pub const COMMITMENT_ANNOTATION: &str = "liqo-auth/commitment";

/// How sure a consumer can be of whom it talks to.
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
    /// No proof of the provider's key: unmodified Liqo, or anyone.
    Unproven,
    /// The provider has the key that it had the first time.
    Continuity,
    /// The provider has a key whose fingerprint this consumer was configured
    /// with.
    Authenticated,
}

/// What a commitment is about.
pub(crate) struct Committed<'a> {
    pub(crate) nonce: &'a [u8],
    pub(crate) provider: &'a ClusterId,
    pub(crate) consumer: &'a ClusterId,
    pub(crate) consumer_key: &'a PublicKey,
    pub(crate) namespace: &'a str,
    pub(crate) auth_params: &'a AuthParams,
}

/// A public key and a signature over [`Committed`] by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commitment {
    key: Vec<u8>,
    signature: Vec<u8>,
}

impl Commitment {
    /// Has the provider's key sign, now or later.
    pub(crate) fn make(
        committed: &Committed<'_>,
        key: &dyn SigningKey,
    ) -> Result<Answer<Self>, BoxError> {
        let message = committed.message();
        let payload = Payload::commitment(&message, key.public_key());
        Ok(sign_verified(key, &payload)?.map(|signature| Self {
            key: key.public_key().spki_der().to_vec(),
            signature: signature.into_bytes(),
        }))
    }

    /// The name of the signature that [`make`](Self::make) asks the key for.
    pub(crate) fn signature_id(committed: &Committed<'_>, key: &PublicKey) -> SignatureId {
        Payload::commitment(&committed.message(), key).id()
    }

    /// Verifies it and gives the provider's key.
    pub(crate) fn verify(
        &self,
        committed: &Committed<'_>,
        policy: &Policy,
    ) -> Result<PublicKey, CommitmentFault> {
        let key = PublicKey::from_spki_der(&self.key, policy).map_err(CommitmentFault::Key)?;
        key.verify(
            key.csr_scheme(),
            &committed.message(),
            &self.signature,
            policy,
        )
        .map_err(CommitmentFault::Signature)?;
        Ok(key)
    }

    pub(crate) fn from_annotation(text: &str, policy: &Policy) -> Result<Self, CommitmentFault> {
        let limit = 2 * (policy.limits().public_key + policy.limits().signature);
        let (key, signature) = text
            .split_once('.')
            .filter(|_| text.len() <= limit)
            .ok_or(CommitmentFault::Encoding)?;
        let decode = |text: &str| STANDARD.decode(text).map_err(|_| CommitmentFault::Encoding);
        Ok(Self {
            key: decode(key)?,
            signature: decode(signature)?,
        })
    }

    pub(crate) fn to_annotation(&self) -> String {
        format!(
            "{}.{}",
            STANDARD.encode(&self.key),
            STANDARD.encode(&self.signature)
        )
    }
}

impl Committed<'_> {
    /// The SHA-256 of what is signed and by which key: whether a commitment is
    /// still the one to be made.
    pub(crate) fn digest(&self, provider_key: &PublicKey) -> [u8; 32] {
        let hash = Sha256::new_with_prefix(self.message());
        hash.chain_update(provider_key.spki_der()).finalize().into()
    }

    /// The domain tag, then each field with its length in front, as 8 bytes
    /// big-endian.
    fn message(&self) -> Vec<u8> {
        let mut message = b"liqo-auth provider commitment v1\0".to_vec();
        for field in [
            self.nonce,
            self.provider.as_str().as_bytes(),
            self.consumer.as_str().as_bytes(),
            self.consumer_key.spki_der(),
            self.namespace.as_bytes(),
            self.auth_params.api_server.as_bytes(),
            self.auth_params.ca.as_slice(),
            self.auth_params
                .proxy_url
                .as_deref()
                .unwrap_or_default()
                .as_bytes(),
        ] {
            message.extend(u64::try_from(field.len()).unwrap_or(u64::MAX).to_be_bytes());
            message.extend(field);
        }
        message
    }
}

/// What a consumer knows of a provider's key before it looks.
pub(crate) struct KnownProvider<'a> {
    pub(crate) fingerprints: &'a [Fingerprint],
    pub(crate) pinned: Option<Fingerprint>,
    pub(crate) nonce: Option<&'a Nonce>,
}

impl KnownProvider<'_> {
    /// Grades a provider by the commitment in its annotation, if there is one.
    /// A provider that is known by a key has to prove it.
    pub(crate) fn grade(
        &self,
        annotation: Option<&str>,
        committed: &Committed<'_>,
        policy: &Policy,
    ) -> Result<(Assurance, Option<Fingerprint>), CommitmentFault> {
        let Some(annotation) = annotation else {
            return if self.fingerprints.is_empty() && self.pinned.is_none() {
                Ok((Assurance::Unproven, None))
            } else {
                Err(CommitmentFault::Missing)
            };
        };
        let key = Commitment::from_annotation(annotation, policy)?.verify(committed, policy)?;
        let fingerprint = key.fingerprint();
        let other_key = || CommitmentFault::OtherKey {
            found: fingerprint.to_string(),
        };
        if self
            .nonce
            .and_then(Nonce::structured)
            .is_some_and(|nonce| !nonce.commits_to(&key))
        {
            return Err(other_key());
        }
        if !self.fingerprints.is_empty() {
            return if self.fingerprints.contains(&fingerprint) {
                Ok((Assurance::Authenticated, Some(fingerprint)))
            } else {
                Err(other_key())
            };
        }
        match self.pinned {
            Some(pinned) if pinned != fingerprint => Err(other_key()),
            _ => Ok((Assurance::Continuity, Some(fingerprint))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SignatureError};

    fn holds(key: &KeyPair) {
        let policy = Policy::strict();
        let (provider, consumer) = ("cl02".parse().unwrap(), "cl01".parse().unwrap());
        let consumer_key = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
        let auth_params = AuthParams {
            api_server: "https://cl02:6443".to_owned(),
            ..AuthParams::default()
        };
        let committed = Committed {
            nonce: b"nonce",
            provider: &provider,
            consumer: &consumer,
            consumer_key: consumer_key.public_key(),
            namespace: "liqo-tenant-cl01",
            auth_params: &auth_params,
        };
        let made = Commitment::make(&committed, key).unwrap();
        let text = made.at_once().unwrap().to_annotation();
        let read = Commitment::from_annotation(&text, &policy).unwrap();
        assert_eq!(
            read.verify(&committed, &policy).as_ref(),
            Ok(key.public_key())
        );
        let other = Committed {
            namespace: "liqo-tenant-cl03",
            ..committed
        };
        assert_eq!(
            read.verify(&other, &policy),
            Err(CommitmentFault::Signature(SignatureError::Mismatch))
        );
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
}
