//! The clusters of the model: the library's own provider and consumer, their keys
//! and the provider's signer.

use core::{cell::RefCell, time::Duration};
use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Machine, Provider, View,
    consumer::{ConsumerConfig, PeerSettings},
    crypto::{
        Answer, Authority, BoxError, CertificateChain, ClientKey, Entropy, KeyPair, OneKey,
        Payload, PublicKey, Purpose, RecordKey, Signature, SigningKey, Subject,
    },
    machine::{Holder, Interest, Message},
    model::{
        CertificateSigningRequest, ClusterId, ClusterRole, Metadata, Object, Timestamp, names,
    },
    policy::Policy,
    provider::{AuthoritySigner, CsrSigner, Endpoint, NameTable, SigningRequest},
};

use sha2::{Digest, Sha256};

use crate::store::{Signed, hex};

/// A cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Provider,
    Consumer,
    Hostile,
}

/// How the clusters are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Kubernetes' own signer, by requests in the store, instead of a signer that
    /// answers at once.
    pub kubernetes_signer: bool,
    /// Whether the provider has a key to commit itself by.
    pub has_provider_key: bool,
    /// Whether the consumer knows the fingerprint of the provider's key.
    pub knows_provider: bool,
    /// A planted fault: the signer signs a request again, and gives another
    /// certificate.
    pub forgetful_signer: bool,
}

pub struct Cast {
    pub provider: Provider,
    pub consumer: Consumer,
    pub authority: Authority,
    pub ids: [ClusterId; 3],
    /// What the provider looks up of a peer, and the consumer of a provider.
    pub interests: [[Vec<Interest>; 3]; 2],
    pub consumer_key: PublicKey,
}

/// The five instants: the start; the nonces still hold; they have expired; the
/// certificates are due; they have ended.
pub const INSTANTS: [u64; 5] = [0, HOUR, 25 * HOUR, 61 * DAY, 120 * DAY];
pub const LIFETIME: Duration = Duration::from_secs(90 * DAY);
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
pub const API_SERVER: &str = "https://172.19.0.3:6443";
const TEN_YEARS: Duration = Duration::from_secs(3650 * DAY);

pub fn instant(number: u8) -> Timestamp {
    let start: Timestamp = "2026-11-20T13:00:00Z".parse().expect("it is a time");
    start + Duration::from_secs(INSTANTS[usize::from(number)])
}

impl Cast {
    pub fn new(setup: Setup) -> Self {
        let ids = ["cl-provider", "cl-consumer", "cl-hostile"]
            .map(|id| id.parse::<ClusterId>().expect("it is an ID"));
        let [provider_id, consumer_id, _] = &ids;
        let authority = authority("cl-provider-ca", 9);
        let api_server = API_SERVER.parse().expect("it is a URL");
        let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
        let record_key = RecordKey::new([1; 32]).expect("it is long enough");
        let provider_key = key(2);
        let settings = PeerSettings {
            provider_keys: match setup.knows_provider {
                true => vec![provider_key.public_key().fingerprint()],
                false => Vec::new(),
            },
            ..PeerSettings::default()
        };
        let builder = Provider::builder(provider_id.clone(), endpoint, record_key)
            .principals(Arc::new(NameTable::default()))
            .configure(|config| config.certificate_lifetime = LIFETIME);
        let builder = match setup.has_provider_key {
            true => builder.key(Arc::new(provider_key)),
            false => builder,
        };
        let builder = match setup.kubernetes_signer {
            true => builder.configure(|config| config.kubernetes_signer = true),
            false => builder.signer(Arc::new(Desk::new(&authority, setup.forgetful_signer))),
        };
        let provider = builder.build();
        let consumer_key = Watched(key(1));
        let public = consumer_key.public_key().clone();
        let mut config = ConsumerConfig::new(consumer_id.clone());
        config.peers.insert(provider_id.clone(), settings);
        let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(consumer_key))));
        let of_provider = ids.clone().map(|id| provider.interests(&id));
        let of_consumer = ids.clone().map(|id| consumer.interests(&id));
        Self {
            provider,
            consumer,
            authority,
            ids,
            interests: [of_provider, of_consumer],
            consumer_key: public,
        }
    }

    pub fn id(&self, name: Name) -> &ClusterId {
        &self.ids[name as usize]
    }

    /// What lies in the provider's store at the start.
    pub fn cluster_roles() -> [Object; 2] {
        [
            ("liqo-remote-controlplane", names::CONTROL_PLANE_ROLE),
            (
                "liqo-virtual-kubelet-remote-clusterwide",
                names::CLUSTER_WIDE_ROLE,
            ),
        ]
        .map(|(name, label)| {
            let metadata = Metadata {
                name: name.to_owned(),
                labels: [(names::APP_NAME_LABEL, label)].into(),
                ..Metadata::default()
            };
            ClusterRole {
                metadata,
                ..ClusterRole::default()
            }
            .into()
        })
    }
}

/// The key of a number.
pub fn key(number: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
}

pub fn authority(name: &str, number: u8) -> Authority {
    let (key, entropy) = (Arc::new(key(number)), Entropy::from_bytes([number; 32]));
    let now = instant(0);
    Authority::with_key(name, key, now, TEN_YEARS, &entropy).expect("the key signs")
}

/// What happened outside the stores during one call.
#[derive(Default)]
pub struct Witness {
    /// The certificates that the signer has given before, and gives now.
    pub ledger: Vec<Arc<Signed>>,
    /// What was asked of the signer, whether it is new or not.
    pub asked: Vec<Asked>,
    /// The nonces that the consumer's key has signed.
    pub signed_nonces: Vec<Vec<u8>>,
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

/// The provider's signer. It answers the same request with the same certificate, as
/// the Kubernetes API does. The ledger belongs to the state of the model.
struct Desk {
    signer: AuthoritySigner,
    is_forgetful: bool,
    authority: Authority,
}

impl Desk {
    fn new(authority: &Authority, is_forgetful: bool) -> Self {
        let entropy = Entropy::from_bytes([11; 32]);
        Self {
            signer: AuthoritySigner::new(authority.clone(), entropy),
            is_forgetful,
            authority: authority.clone(),
        }
    }

    fn issue(&self, request: &SigningRequest, number: u8) -> Result<CertificateChain, BoxError> {
        if !self.is_forgetful {
            return Ok(self.signer.sign(request)?.at_once()?);
        }
        let entropy = Entropy::from_bytes([number; 32]);
        Ok(self.authority.issue(
            &request.csr,
            &request.subject,
            &request.public_key,
            request.now,
            request.lifetime,
            &entropy,
        )?)
    }
}

impl CsrSigner for Desk {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        WITNESS.with_borrow_mut(|witness| {
            let name = hex(request.id.as_bytes());
            let mut known = witness.ledger.iter();
            let known = known.find(|signed| signed.request == name && !self.is_forgetful);
            let (chain, is_new) = match known {
                Some(signed) => (signed.chain.clone(), false),
                None => {
                    let number = u8::try_from(witness.ledger.len())?;
                    (self.issue(request, number)?, true)
                }
            };
            if is_new {
                witness.ledger.push(Arc::new(Signed {
                    request: name,
                    chain: chain.clone(),
                }));
            }
            witness.asked.push(Asked {
                peer: request.peer.clone(),
                holder: request.holder.clone(),
                csr: request.csr.digest(),
                subject: request.subject.clone(),
                key: request.public_key.clone(),
                chain: chain.clone(),
                is_new,
            });
            Ok(Answer::Ready(chain))
        })
    }
}

/// The consumer's key. It tells which nonces it signs.
struct Watched(KeyPair);

/// The consumer's key in the hands of another consumer, which signs this nonce: a
/// planted fault.
pub fn signed_elsewhere(message: &Message) -> Vec<Vec<u8>> {
    let keys = Arc::new(OneKey(Arc::new(Watched(key(1)))));
    let consumer = Consumer::new(ConsumerConfig::new(message.to.clone()), keys);
    let env = Env {
        now: instant(0),
        entropy: Entropy::from_bytes([7; 32]),
    };
    let view = View::of(&message.from, []);
    let (step, seen) = witness(Vec::new(), || consumer.receive(&view, message.clone(), env));
    step.expect("the other consumer takes its nonce");
    seen.signed_nonces
}

impl SigningKey for Watched {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        if payload.purpose() == Purpose::Nonce {
            let nonce = payload.bytes().to_vec();
            WITNESS.with_borrow_mut(|witness| witness.signed_nonces.push(nonce));
        }
        self.0.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }

    fn verifies_its_signatures(&self) -> bool {
        true
    }
}
