//! What happens outside of the stores while the library works: what a signer is asked, and
//! what a consumer's keys sign.

use core::cell::RefCell;
use std::sync::Arc;

use liqo_auth::{
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, KeyPair, Payload, PublicKey, Purpose,
        Signature, SigningKey, Subject,
    },
    machine::Holder,
    model::{CertificateSigningRequest, ClusterId, names},
    policy::Policy,
};
use sha2::{Digest, Sha256};

use crate::store::Signed;

/// What happened outside the stores during one call.
#[derive(Default)]
pub struct Witness {
    /// The certificates that the signer has given before, and gives now.
    pub ledger: Vec<Arc<Signed>>,
    /// What was asked of the signer, whether it is new or not.
    pub asked: Vec<Asked>,
    /// The nonces that the consumer's keys have signed.
    pub signed_nonces: Vec<Vec<u8>>,
    /// The numbers of the keys that have signed nonces.
    pub keys: Vec<PublicKey>,
    /// The certificate requests that the consumer's keys have signed.
    pub signed_requests: Vec<Vec<u8>>,
}

/// A question to the signer.
#[derive(Debug, Clone)]
pub struct Asked {
    pub peer: ClusterId,
    pub holder: Holder,
    pub csr: [u8; 32],
    pub subject: Subject,
    pub key: PublicKey,
    /// The certificate that was given for it, and whether it was signed now.
    pub chain: CertificateChain,
    pub is_new: bool,
}

impl Asked {
    /// What Kubernetes' signer signs: a request of a control plane.
    pub fn of_request(
        request: &CertificateSigningRequest,
        chain: CertificateChain,
    ) -> Option<Self> {
        let label = request
            .metadata
            .labels
            .get(names::REMOTE_CLUSTER_ID_LABEL)?;
        let peer: ClusterId = label.parse().ok()?;
        let key = PublicKey::from_spki_der(&chain.leaf().spki_der, &Policy::strict()).ok()?;
        Some(Self {
            holder: Holder::ControlPlane,
            csr: Sha256::digest(request.spec.request.as_slice()).into(),
            subject: Subject::control_plane(&peer),
            peer,
            key,
            chain,
            is_new: true,
        })
    }
}

thread_local! {
    static WITNESS: RefCell<Witness> = RefCell::default();
}

/// Takes note of something that happens during a call.
pub fn note<T>(of: impl FnOnce(&mut Witness) -> T) -> T {
    WITNESS.with_borrow_mut(of)
}

/// Runs a call of the library, with a ledger, and tells what it did besides.
pub fn witness<T>(ledger: Vec<Arc<Signed>>, call: impl FnOnce() -> T) -> (T, Witness) {
    WITNESS.with_borrow_mut(|witness| {
        *witness = Witness {
            ledger,
            ..Witness::default()
        };
    });
    let result = call();
    (result, WITNESS.take())
}

/// A key of a consumer. It tells what it signs.
pub struct Watched(pub KeyPair);

impl SigningKey for Watched {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        let bytes = payload.bytes().to_vec();
        note(|witness| match payload.purpose() {
            Purpose::Nonce => {
                witness.signed_nonces.push(bytes);
                witness.keys.push(payload.key().clone());
            }
            Purpose::CertificationRequest => witness.signed_requests.push(bytes),
            _ => {}
        });
        self.0.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }

    fn verifies_its_signatures(&self) -> bool {
        true
    }
}
