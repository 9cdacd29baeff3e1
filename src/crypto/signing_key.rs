//! Signing keys, in memory or elsewhere.

use serde::Serialize;
use zeroize::Zeroize;

use super::{Answer, ClientKey, Nonce, PublicKey, RequestId, SignatureScheme};
use crate::{model::ClusterId, policy::Policy};

/// The error of an embedder's own code. The library passes it on.
pub type BoxError = Box<dyn core::error::Error + Send + Sync>;

/// A private key that signs the payloads of this library.
///
/// The key may be in memory ([`KeyPair`](super::KeyPair)), in a hardware module or
/// behind a service. A wrong answer does no harm: the library verifies every
/// signature before use, unless the key [vouches](Self::verifies_its_signatures)
/// for its signatures.
///
/// A key may need time, in a KMS or behind a callback in another language. Then it
/// answers [`Answer::Pending`]. The step names the awaited signature
/// ([`Awaited::Signature`](crate::machine::Awaited::Signature)), and every later call
/// asks for the same payload until the key answers. The library stores the answer,
/// so that it does not ask for the same payload again.
///
/// # Examples
/// A key in an HSM. A request goes into a queue, and a task of the program takes it to the HSM:
/// ```
/// use std::{collections::BTreeMap, sync::Mutex};
/// use liqo_auth::crypto::{
///     Answer, BoxError, ClientKey, Csr, Payload, PublicKey, RequestId, Signature, SigningKey,
///     Subject,
/// };
/// # use ed25519_dalek::Signer;
/// # use liqo_auth::policy::Policy;
///
/// struct HsmKey {
///     public_key: PublicKey,
///     jobs: Mutex<BTreeMap<RequestId, Job>>,
/// }
///
/// /// A signature that the HSM has made, or the bytes that it still has to sign.
/// enum Job {
///     Open(Vec<u8>),
///     Done(Signature),
/// }
///
/// impl SigningKey for HsmKey {
///     fn public_key(&self) -> &PublicKey {
///         &self.public_key
///     }
///
///     fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
///         let mut jobs = self.jobs.lock().map_err(|_| "the task of the HSM has failed")?;
///         let open = || Job::Open(payload.bytes().to_vec());
///         Ok(match jobs.entry(payload.id()).or_insert_with(open) {
///             Job::Open(_) => Answer::Pending,
///             Job::Done(signature) => Answer::Ready(signature.clone()),
///         })
///     }
///
///     fn client_key(&self) -> ClientKey {
///         ClientKey::NotExportable
///     }
/// }
///
/// impl HsmKey {
///     /// The program's task. The HSM signs what is open, in the one scheme of this key.
///     fn work(&self, sign: impl Fn(&[u8]) -> Vec<u8>) -> Result<(), BoxError> {
///         let mut jobs = self.jobs.lock().map_err(|_| "a caller has failed")?;
///         for job in jobs.values_mut() {
///             if let Job::Open(bytes) = job {
///                 *job = Job::Done(Signature(sign(bytes)));
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # let hsm = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
/// # let raw = hsm.verifying_key().to_bytes();
/// # let public_key = PublicKey::from_tenant_field(&raw, &Policy::strict())?;
/// let key = HsmKey { public_key, jobs: Mutex::default() };
/// let subject = Subject::control_plane(&"cl-consumer".parse()?);
/// assert!(matches!(Csr::make(&subject, &key)?, Answer::Pending));
/// key.work(|bytes| hsm.sign(bytes).to_bytes().to_vec())?;
/// // The library asks again for the same signature, and verifies it.
/// assert!(matches!(Csr::make(&subject, &key)?, Answer::Ready(_)));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub trait SigningKey: Send + Sync {
    /// The public half.
    fn public_key(&self) -> &PublicKey;

    /// Signs [`Payload::bytes`] with [`Payload::scheme`], now or later.
    /// [`Payload::id`] names the signature.
    ///
    /// # Errors
    /// The reason why the key cannot sign.
    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError>;

    /// The reference from a kubeconfig to the private key.
    fn client_key(&self) -> ClientKey;

    /// Whether every signature of [`sign`](Self::sign) is certainly correct. If so,
    /// the library does not verify the signature. A verification takes twice as
    /// long as an Ed25519 signature.
    ///
    /// The default is `false`. Keep it for every key outside this process: in a
    /// hardware module, behind a service, in a file that another process may change.
    /// If `true` is wrong, the peer may receive a wrong signature and refuse it. A
    /// signature from a faulty computation may even reveal the private key. The
    /// signatures of peers are always verified.
    fn verifies_its_signatures(&self) -> bool {
        false
    }
}

/// A message to sign. Only this library makes payloads, so a key that signs only
/// payloads cannot be misused to sign anything else.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    purpose: Purpose,
    scheme: SignatureScheme,
    key: &'a PublicKey,
    bytes: &'a [u8],
    peer: Option<&'a ClusterId>,
}

/// A private key in this process, in the form of the library that signs with it.
pub(super) trait Signer: Send + Sync {
    /// `None` if the key does not make signatures of this scheme.
    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Option<Vec<u8>>, BoxError>;
}

/// The purpose of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Purpose {
    /// A consumer signs the provider's nonce, to prove that it holds its key.
    Nonce,
    /// A certificate request signs itself (RFC 2986).
    CertificationRequest,
    /// An authority signs a certificate.
    Certificate,
    /// A provider signs a commitment to its answer.
    Commitment,
    /// A consumer's earlier key signs the new key.
    KeySuccession,
}

/// The bytes of a signature, as a key gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(pub Vec<u8>);

impl<'a> Payload<'a> {
    pub(crate) fn nonce(nonce: &'a Nonce, key: &'a PublicKey) -> Self {
        Self {
            purpose: Purpose::Nonce,
            scheme: key.nonce_scheme(),
            key,
            bytes: nonce.as_bytes(),
            peer: None,
        }
    }

    /// A payload of any other purpose. The bytes of a commitment and of a key
    /// succession must begin with a domain tag.
    pub(crate) fn of(purpose: Purpose, bytes: &'a [u8], key: &'a PublicKey) -> Self {
        Self {
            purpose,
            scheme: key.csr_scheme(),
            key,
            bytes,
            peer: None,
        }
    }

    /// The same payload, for a signature that is made for this peer.
    pub(crate) const fn for_peer(self, peer: Option<&'a ClusterId>) -> Self {
        Self { peer, ..self }
    }

    /// The ID of the signature, the same in every call. It does not depend on the peer: a
    /// signature over the same bytes serves all peers.
    pub fn id(&self) -> RequestId {
        RequestId::of_signature(self)
    }

    /// The purpose of the signature.
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The key that has to sign.
    pub const fn key(&self) -> &'a PublicKey {
        self.key
    }

    /// The scheme of the signature.
    pub const fn scheme(&self) -> SignatureScheme {
        self.scheme
    }

    /// The message, which is not hashed yet.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The peer for which the signature is made, so that a key can ask a person, or keep a log
    /// by peers. `None` for a certificate, and for a request of [`Csr::make`](super::Csr::make):
    /// only their subjects name somebody.
    pub const fn peer(&self) -> Option<&'a ClusterId> {
        self.peer
    }
}

impl Purpose {
    /// The purpose in a [`RequestId`]: a number that never changes.
    pub(super) const fn tag(self) -> u8 {
        match self {
            Self::Nonce => 1,
            Self::CertificationRequest => 2,
            Self::Certificate => 3,
            Self::Commitment => 4,
            Self::KeySuccession => 5,
        }
    }
}

/// Asks a key for a signature, and verifies it unless the key
/// [vouches](SigningKey::verifies_its_signatures) for it. So a broken key causes an
/// error here, not at the peer.
pub(crate) fn sign_verified(
    key: &dyn SigningKey,
    payload: &Payload<'_>,
) -> Result<Answer<Signature>, BoxError> {
    let mut signature = match key.sign(payload)? {
        Answer::Ready(signature) => signature,
        later => return Ok(later),
    };
    if key.verifies_its_signatures() {
        return Ok(Answer::Ready(signature));
    }
    let verdict = key.public_key().verify(
        payload.scheme(),
        payload.bytes(),
        &signature.0,
        &Policy::strict(),
    );
    if let Err(error) = verdict {
        // A faulty signature may reveal the private key.
        signature.0.zeroize();
        return Err(error.into());
    }
    Ok(Answer::Ready(signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SignatureError};

    /// Signs with a private key that does not belong to its public key.
    struct Faulty {
        said: KeyPair,
        used: KeyPair,
        claims: bool,
    }

    impl SigningKey for Faulty {
        fn public_key(&self) -> &PublicKey {
            self.said.public_key()
        }

        fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
            self.used.sign(payload)
        }

        fn client_key(&self) -> ClientKey {
            ClientKey::NotExportable
        }

        fn verifies_its_signatures(&self) -> bool {
            self.claims
        }
    }

    fn faulty(claims: bool) -> Faulty {
        let key = |seed| KeyPair::from_entropy(&Entropy::from_bytes([seed; 32]));
        let (said, used) = (key(1), key(2));
        Faulty { said, used, claims }
    }

    #[test]
    fn a_wrong_signature_is_found_out_unless_the_key_vouches_for_it() {
        let sign = |key: &dyn SigningKey| {
            let payload = Payload::of(Purpose::Certificate, b"certificate", key.public_key());
            sign_verified(key, &payload).map_err(|error| error.downcast().unwrap())
        };
        assert_eq!(
            sign(&faulty(false)),
            Err(Box::new(SignatureError::Mismatch))
        );
        assert!(sign(&faulty(true)).is_ok());
        assert!(sign(&faulty(false).used).is_ok());
    }
}
