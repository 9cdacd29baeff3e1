//! Keys that sign, wherever they are.

use std::sync::Arc;

use zeroize::Zeroize;

use super::{Answer, ClientKey, Nonce, PublicKey, SignatureId, SignatureScheme};
use crate::policy::Policy;

/// The error of an embedder's own code. The library passes it on.
pub type BoxError = Box<dyn core::error::Error + Send + Sync>;

/// A private key that signs the payloads of this library.
///
/// The key may be in memory ([`KeyPair`](super::KeyPair)), in a hardware module or
/// behind a service. A wrong answer does no harm: the library verifies every
/// signature before it uses it, unless the key
/// [vouches](Self::verifies_its_signatures) for its signatures.
///
/// A key may need time, in a KMS or behind a callback in another language. Then it
/// answers [`Answer::Pending`]. The step names the signature that it waits for
/// ([`Awaited::Signature`](crate::machine::Awaited::Signature)) and asks for the same
/// payload at each look until the key answers. The answer is stored, so that the
/// same payload does not come again.
pub trait SigningKey: Send + Sync {
    /// The public half.
    fn public_key(&self) -> &PublicKey;

    /// Signs [`Payload::bytes`] with [`Payload::scheme`], now or later.
    /// [`Payload::id`] names the signature.
    ///
    /// # Errors
    /// The reason why the key cannot sign.
    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError>;

    /// The way from a kubeconfig to the private key.
    fn client_key(&self) -> ClientKey;

    /// Whether every signature of [`sign`](Self::sign) is certainly the key's own.
    /// Then the library does not verify it again, which would take twice as long as
    /// an Ed25519 signature.
    ///
    /// The default is `false`. That is right for every key outside this process: in
    /// a hardware module, behind a service, in a file that another process may
    /// change. With a wrong `true`, the peer receives a wrong signature and refuses
    /// it. A signature from a faulty computation may even reveal the private key.
    /// Signatures of others are verified in any case.
    fn verifies_its_signatures(&self) -> bool {
        false
    }
}

/// A message to sign. Only this library makes payloads. So a key that signs only
/// payloads can never be used to sign anything else.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'a> {
    purpose: Purpose,
    scheme: SignatureScheme,
    key: &'a PublicKey,
    bytes: &'a [u8],
}

/// The purpose of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// A consumer signs the provider's nonce, to prove that it holds its key.
    Nonce,
    /// A certificate request signs itself (RFC 2986).
    CertificationRequest,
    /// An authority signs a certificate.
    Certificate,
    /// A provider commits itself to an answer.
    Commitment,
    /// A consumer's key names the key that follows it.
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
        }
    }

    pub(crate) fn certification_request(information: &'a [u8], key: &'a PublicKey) -> Self {
        Self::as_in_x509(Purpose::CertificationRequest, information, key)
    }

    pub(crate) fn certificate(to_be_signed: &'a [u8], key: &'a PublicKey) -> Self {
        Self::as_in_x509(Purpose::Certificate, to_be_signed, key)
    }

    /// The caller puts a domain tag before the bytes.
    pub(crate) fn commitment(bytes: &'a [u8], key: &'a PublicKey) -> Self {
        Self::as_in_x509(Purpose::Commitment, bytes, key)
    }

    /// The caller puts a domain tag before the bytes.
    pub(crate) fn key_succession(bytes: &'a [u8], key: &'a PublicKey) -> Self {
        Self::as_in_x509(Purpose::KeySuccession, bytes, key)
    }

    fn as_in_x509(purpose: Purpose, bytes: &'a [u8], key: &'a PublicKey) -> Self {
        Self {
            purpose,
            scheme: key.csr_scheme(),
            key,
            bytes,
        }
    }

    /// The name of the signature: the same at each look.
    pub fn id(&self) -> SignatureId {
        SignatureId::of(self)
    }

    /// The purpose of the signature.
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The key that is to sign.
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
}

impl Purpose {
    /// The purpose in a [`SignatureId`]: a number that never changes.
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

/// Has a key sign, and verifies the signature. So a broken key shows here, and not
/// at the peer.
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
        // A faulty signature may give the private key away.
        signature.0.zeroize();
        return Err(error.into());
    }
    Ok(Answer::Ready(signature))
}

impl<K: SigningKey + ?Sized> SigningKey for &K {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        (**self).sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        (**self).client_key()
    }

    fn verifies_its_signatures(&self) -> bool {
        (**self).verifies_its_signatures()
    }
}

impl<K: SigningKey + ?Sized> SigningKey for Arc<K> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        (**self).sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        (**self).client_key()
    }

    fn verifies_its_signatures(&self) -> bool {
        (**self).verifies_its_signatures()
    }
}

impl<K: SigningKey + ?Sized> SigningKey for Box<K> {
    fn public_key(&self) -> &PublicKey {
        (**self).public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        (**self).sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        (**self).client_key()
    }

    fn verifies_its_signatures(&self) -> bool {
        (**self).verifies_its_signatures()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Entropy, KeyPair, SignatureError};

    /// Signs with another key than it says.
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
            let payload = Payload::certificate(b"certificate", key.public_key());
            sign_verified(key, &payload).map_err(|error| error.downcast().unwrap())
        };
        assert_eq!(
            sign(&faulty(false)),
            Err(Box::new(SignatureError::Mismatch))
        );
        assert!(sign(&faulty(true)).is_ok());
        assert!(sign(&faulty(false).used).is_ok());
    }

    #[test]
    fn a_borrowed_key_says_what_the_key_says() {
        for claims in [false, true] {
            let key = faulty(claims);
            assert_eq!(SigningKey::verifies_its_signatures(&&key), claims);
            let key: Box<dyn SigningKey> = Box::new(key);
            assert_eq!(SigningKey::verifies_its_signatures(&key), claims);
            let key: Arc<dyn SigningKey> = Arc::new(key);
            assert_eq!(SigningKey::verifies_its_signatures(&key), claims);
        }
    }
}
