//! The clusters of the model: the library's own provider and consumer, their keys
//! and the provider's signer.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Consumer, Machine, Provider,
    consumer::{ConsumerConfig, PeerSettings},
    crypto::{
        Answer, Authority, BoxError, CertificateChain, Entropy, OneKey, PublicKey, RecordKey,
        SigningKey,
    },
    machine::Interest,
    model::{ClusterId, ClusterRole, Kind, Metadata, Namespace, Object, names},
    provider::{AuthoritySigner, CsrSigner, Endpoint, NameTable, SigningRequest},
};

use crate::{
    instants::{DAY, instant},
    keys::{CLUSTER_KEY, CONSUMER_KEY, OWN_KEY, key},
    setup::{Fault, Setup},
    store::{Signed, hex},
    two_way::TwoWay,
    witness::{self, Asked, Watched},
};

/// A cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Provider,
    Consumer,
    Hostile,
}

pub struct Cast {
    pub provider: Provider,
    pub consumer: Consumer,
    pub authority: Authority,
    pub two_way: Option<TwoWay>,
    pub ids: [ClusterId; 3],
    /// What the provider looks up of a peer, and the consumer of a provider.
    pub interests: [[Vec<Interest>; 3]; 2],
    /// The public keys that the consumer has towards the providers of the model.
    pub consumer_keys: Vec<PublicKey>,
    renames_namespace: bool,
    /// Whether the nonce of a peering that has ended serves again.
    pub peer_again: bool,
}

pub const LIFETIME: Duration = Duration::from_secs(90 * DAY);
const TEN_YEARS: Duration = Duration::from_secs(3650 * DAY);
pub const API_SERVER: &str = "https://172.19.0.3:6443";

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
            .configure(|config| {
                config.certificate_lifetime = LIFETIME;
                let may = setup.peer_again || setup.fault == Some(Fault::ServesAgain);
                config.peer_again = may.then_some(Duration::ZERO);
            });
        let builder = match setup.has_provider_key {
            true => builder.key(Arc::new(provider_key)),
            false => builder,
        };
        let builder = match setup.kubernetes_signer {
            true => builder.configure(|config| config.kubernetes_signer = true),
            false => builder.signer(Arc::new(Desk::new(
                &authority,
                setup.fault == Some(Fault::ForgetfulSigner),
            ))),
        };
        let provider = builder.build();
        let consumer_key = Watched(key(CONSUMER_KEY));
        let mut config = ConsumerConfig::new(consumer_id.clone());
        config.peer_again = setup.peer_again;
        config.peers.insert(provider_id.clone(), settings);
        let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(consumer_key))));
        let two_way = setup
            .two_way
            .then(|| TwoWay::new(provider_id, &ids[Name::Hostile as usize], setup.fault));
        let mut of_provider = ids.clone().map(|id| provider.interests(&id));
        if setup.fault == Some(Fault::ForgetsNamespaces) {
            for interests in &mut of_provider {
                interests.retain(|it| !is_of_all_namespaces(it));
            }
        }
        let mut of_consumer = ids.clone().map(|id| consumer.interests(&id));
        let hostile = Name::Hostile as usize;
        if let Some(two_way) = &two_way {
            // Both sides of a cluster share what they have looked up.
            of_provider[hostile].extend(two_way.consumer().interests(&ids[hostile]));
            of_consumer[hostile].clone_from(&of_provider[hostile]);
        }
        if setup.renames_namespace {
            of_provider[hostile].push(Interest::InNamespace {
                kind: Kind::Secret,
                namespace: RENAMED.to_owned(),
            });
        }
        let consumer_keys = match setup.two_way {
            true => vec![CONSUMER_KEY, CLUSTER_KEY, OWN_KEY],
            false => vec![CONSUMER_KEY],
        };
        let consumer_keys = consumer_keys.into_iter();
        Self {
            provider,
            consumer,
            authority,
            two_way,
            ids,
            interests: [of_provider, of_consumer],
            consumer_keys: consumer_keys
                .map(|number| key(number).public_key().clone())
                .collect(),
            renames_namespace: setup.renames_namespace,
            peer_again: setup.peer_again,
        }
    }

    /// The consumer of a peering with this provider, with either of its keys.
    pub fn consumer_of(&self, provider: Name) -> &Consumer {
        match &self.two_way {
            Some(two_way) if provider == Name::Hostile => two_way.consumer(),
            _ => &self.consumer,
        }
    }

    /// The tenant namespace of a peer of the provider.
    pub fn namespace(&self, peer: Name) -> String {
        match peer {
            Name::Hostile if self.renames_namespace => RENAMED.to_owned(),
            _ => names::tenant_namespace(self.id(peer)),
        }
    }

    /// What lies in the provider's store at the start.
    pub fn at_provider(&self) -> impl Iterator<Item = Object> {
        let renamed = self.renames_namespace.then(|| {
            let mut namespace = Namespace::for_tenant(self.id(Name::Hostile));
            RENAMED.clone_into(&mut namespace.metadata.name);
            namespace.into()
        });
        Self::cluster_roles().into_iter().chain(renamed)
    }

    pub fn id(&self, name: Name) -> &ClusterId {
        &self.ids[name as usize]
    }

    fn cluster_roles() -> [Object; 2] {
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

/// Whether this looks up the tenant namespaces of all peers.
fn is_of_all_namespaces(interest: &Interest) -> bool {
    let label = names::TENANT_NAMESPACE_LABEL;
    matches!(interest, Interest::Labelled { label: it, .. } if *it == label)
}

/// The name of a tenant namespace that a peer which offloads may have.
const RENAMED: &str = "offloaded";

pub fn authority(name: &str, number: u8) -> Authority {
    let (key, entropy) = (Arc::new(key(number)), Entropy::from_bytes([number; 32]));
    let now = instant(0);
    Authority::with_key(name, key, now, TEN_YEARS, &entropy).expect("the key signs")
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
        witness::note(|witness| {
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
