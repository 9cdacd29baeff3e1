//! A hostile provider: a cluster that the consumer talks to, and that also sends in
//! the honest provider's name.

use core::time::Duration;

use liqo_auth::{
    crypto::{Authority, CertificateChain, Csr, Entropy, RecordKey, StructuredNonce, Subject},
    machine::{Message, MessageBody, Side},
    model::{
        AuthParams, ClusterId, Identity, IdentitySpec, IdentityType, Kind, ObjectRef,
        OwnerReference, Renew, RenewSpec, RenewStatus, Resource, ResourceSlice, ResourceSliceSpec,
        Secret, names,
    },
};

use super::{delete, metadata, put, secret};
use crate::{
    calls::{At, SLICE},
    cast::{Name, authority},
    deeds::{Deed, Forgery, Hostile, WriteAtConsumer},
    instants::instant,
    keys::{CLUSTER_KEY, CONSUMER_KEY, OWN_KEY, key},
    state::State,
    store::Store,
    two_way::own_key_name,
    world::World,
};

const MESSAGES: [Forgery; 12] = [
    Forgery::OwnNonce(0),
    Forgery::OwnNonce(1),
    Forgery::NonceForOther,
    Forgery::NonceOfProvider,
    Forgery::Identity,
    Forgery::IdentityForOtherKey,
    Forgery::IdentityForOtherName,
    Forgery::IdentityAtUnsafeUrl,
    Forgery::IdentityThatHasEnded,
    Forgery::IdentityInOtherNamespace,
    Forgery::IdentityAtOtherServer,
    Forgery::IdentityOfProvider,
];

/// The peering of the consumer with a hostile provider.
pub const AT: At = At {
    side: Side::Consumer,
    peer: Name::Hostile,
};

const WRITES: [WriteAtConsumer; 4] = [
    WriteAtConsumer::NonceForOther,
    WriteAtConsumer::DeleteSignedNonce,
    WriteAtConsumer::DeleteKubeconfig,
    WriteAtConsumer::RenewForOtherKey,
];

/// What a provider may send that is a consumer as well. Its other messages are those of any
/// provider.
const MESSAGES_OF_BOTH: [Forgery; 3] = [
    Forgery::OwnNonce(0),
    Forgery::Identity,
    Forgery::IdentityForClusterKey,
];

/// What a provider may write that is a consumer as well.
const WRITES_OF_BOTH: [WriteAtConsumer; 12] = [
    WriteAtConsumer::NonceForOther,
    WriteAtConsumer::DeleteSignedNonce,
    WriteAtConsumer::DeleteKubeconfig,
    WriteAtConsumer::RenewForOtherKey,
    WriteAtConsumer::Slice,
    WriteAtConsumer::SliceAgain,
    WriteAtConsumer::Kubeconfig { is_owned: true },
    WriteAtConsumer::Kubeconfig { is_owned: false },
    WriteAtConsumer::OtherSignature,
    WriteAtConsumer::SignatureForOther,
    WriteAtConsumer::KeyOfProvider,
    WriteAtConsumer::Records,
];

pub fn possible(world: &World, state: &State) -> Vec<Deed> {
    if world.configuration.hostile == Hostile::Both {
        // It may write in the tenant namespace by its rights as a consumer.
        let may_write = world.has_rights(state, Name::Hostile);
        let writes = WRITES_OF_BOTH.into_iter().filter(|_| may_write);
        let messages = MESSAGES_OF_BOTH.map(Deed::Send).into_iter();
        return messages.chain(writes.map(Deed::WriteAtConsumer)).collect();
    }
    let air = world.air(state.air);
    let hostile = world.cast.id(Name::Hostile);
    let relayed = air.iter().copied().filter(|number| {
        let message = world.message(*number);
        matches!(message.body, MessageBody::Nonce(_)) && message.from != *hostile
    });
    MESSAGES
        .map(Deed::Send)
        .into_iter()
        .chain(WRITES.map(Deed::WriteAtConsumer))
        .chain(relayed.map(|nonce| Deed::Relay { nonce }))
        .collect()
}

pub fn forge(world: &World, forgery: Forgery) -> Message {
    let [provider, _, hostile] = &world.cast.ids;
    let consumer = world.own_id(AT);
    let from = match forgery {
        Forgery::NonceOfProvider | Forgery::IdentityOfProvider => provider,
        _ => hostile,
    };
    let body: MessageBody = match forgery {
        Forgery::OwnNonce(number) => nonce(hostile, consumer, number),
        Forgery::NonceForOther => nonce(hostile, provider, 0),
        Forgery::NonceOfProvider => nonce(provider, consumer, 0),
        _ => MessageBody::from(identity(world, from, forgery)),
    };
    Message::new(from, consumer, body)
}

pub fn write(world: &World, store: &mut Store, write: WriteAtConsumer) -> Option<()> {
    let [provider, _, hostile] = &world.cast.ids;
    let consumer = world.own_id(AT);
    let namespace = names::tenant_namespace(hostile);
    let secret = |name: &str, data: &[(&str, &[u8])]| secret(hostile, &namespace, name, data);
    let id = |name: &str| ObjectRef::new(Kind::Secret, namespace.as_str(), name);
    let identity_name = names::identity_name(hostile);
    match write {
        WriteAtConsumer::NonceForOther => {
            let MessageBody::Nonce(nonce) = nonce(hostile, provider, 0) else {
                return None;
            };
            let text = nonce.as_str().as_bytes();
            let planted = secret(names::SIGNED_NONCE_SECRET, &[(names::NONCE, text)]);
            put(store, planted.into())
        }
        WriteAtConsumer::DeleteSignedNonce => delete(store, &id(names::SIGNED_NONCE_SECRET)),
        WriteAtConsumer::DeleteKubeconfig => {
            delete(store, &id(&names::kubeconfig_secret(&identity_name)))
        }
        WriteAtConsumer::RenewForOtherKey => {
            let forged = identity(world, hostile, Forgery::IdentityForOtherKey);
            let labels = own_labels(hostile);
            let renew = Renew {
                metadata: metadata(&namespace, &identity_name, &labels),
                spec: RenewSpec::default(),
                status: RenewStatus {
                    auth_params: Some(forged.spec.auth_params),
                },
            };
            put(store, renew.into())
        }
        WriteAtConsumer::Slice => {
            let slice = ResourceSlice {
                metadata: metadata(&namespace, SLICE, &own_labels(hostile)),
                ..ResourceSlice::default()
            };
            put(store, slice.into())
        }
        WriteAtConsumer::SliceAgain => {
            let subject = Subject::resource_slice(SLICE, consumer);
            let csr = Csr::make(&subject, &key(own_key(world))).expect("the key signs");
            let csr = csr.at_once().expect("it answers");
            let slice = ResourceSlice {
                metadata: metadata(&namespace, SLICE, &own_labels(hostile)),
                spec: ResourceSliceSpec {
                    consumer_cluster_id: Some(consumer.to_string()),
                    provider_cluster_id: Some(hostile.to_string()),
                    class: names::DEFAULT_RESOURCE_SLICE_CLASS.to_owned(),
                    csr: csr.pem().into(),
                    ..ResourceSliceSpec::default()
                },
                ..ResourceSlice::default()
            };
            put(store, slice.into())
        }
        WriteAtConsumer::Kubeconfig { is_owned } => {
            let text: &[u8] = b"users: [{user: {exec: {command: /bin/false}}}]";
            let name = names::kubeconfig_secret(&identity_name);
            let mut planted = secret(&name, &[(names::KUBECONFIG, text)]);
            let identity = ObjectRef::new(Kind::Identity, namespace.as_str(), &identity_name);
            let stored = store.get(&identity).and_then(Identity::from_object);
            match stored {
                Some(stored) if is_owned => {
                    let owner = OwnerReference::controller(stored);
                    planted.metadata.owner_references.push(owner);
                }
                _ => planted.metadata.labels.clear(),
            }
            put(store, planted.into())
        }
        WriteAtConsumer::OtherSignature => {
            let stored = store.get(&id(names::SIGNED_NONCE_SECRET))?;
            let mut planted = Secret::from_object(stored)?.clone();
            let signature = vec![7_u8; 64].into();
            planted
                .data
                .insert(names::SIGNED_NONCE.to_owned(), signature);
            put(store, planted.into())
        }
        WriteAtConsumer::SignatureForOther => {
            let (nonce, signature) = world.cast.two_way.as_ref()?.signed_for_another()?;
            let data: &[(&str, &[u8])] =
                &[(names::NONCE, &nonce), (names::SIGNED_NONCE, &signature)];
            put(store, secret(names::SIGNED_NONCE_SECRET, data).into())
        }
        WriteAtConsumer::KeyOfProvider => {
            let data: &[(&str, &[u8])] = &[(names::PRIVATE_KEY, b"another")];
            put(store, secret(&own_key_name(hostile), data).into())
        }
        WriteAtConsumer::Records => {
            for side in ["provider", "consumer"] {
                let name = format!("liqo-auth-{side}-{hostile}");
                put(store, secret(&name, &[("record", b"{}")]).into())?;
            }
            Some(())
        }
    }
}

/// The number of the key that the consumer has towards the hostile provider.
fn own_key(world: &World) -> u8 {
    match world.cast.two_way {
        Some(_) => OWN_KEY,
        None => CONSUMER_KEY,
    }
}

/// The labels of what the consumer shares with this provider.
fn own_labels(provider: &ClusterId) -> [(&str, &str); 3] {
    [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, provider.as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, provider.as_str()),
    ]
}

/// A nonce that commits to no key, so that an Identity without a proof may follow.
fn nonce(provider: &ClusterId, consumer: &ClusterId, number: u8) -> MessageBody {
    let record_key = RecordKey::new([33; 32]).expect("it is long enough");
    let expires = instant(4) + Duration::from_secs(3600);
    let entropy = Entropy::from_bytes([40 + number; 32]);
    StructuredNonce::issue(provider, consumer, None, expires, &record_key, &entropy).into()
}

fn identity(world: &World, provider: &ClusterId, forgery: Forgery) -> Identity {
    let consumer = world.own_id(AT);
    let authority = authority("cl-hostile-ca", 31);
    let subject = match forgery {
        Forgery::IdentityForOtherName => Subject::control_plane(provider),
        _ => Subject::control_plane(consumer),
    };
    let (number, lifetime) = match forgery {
        Forgery::IdentityForOtherKey => (32, YEAR),
        Forgery::IdentityForClusterKey => (CLUSTER_KEY, YEAR),
        Forgery::IdentityThatHasEnded => (own_key(world), Duration::from_secs(1)),
        _ => (own_key(world), YEAR),
    };
    let certificate = certificate(&authority, &subject, number, lifetime);
    let api_server = match forgery {
        Forgery::IdentityAtUnsafeUrl => "https://169.254.169.254",
        Forgery::IdentityAtOtherServer => "https://10.0.0.7:6443",
        _ => "https://10.0.0.6:6443",
    };
    let namespace = match forgery {
        Forgery::IdentityInOtherNamespace => "kube-system".to_owned(),
        _ => names::tenant_namespace(consumer),
    };
    let labels = [(names::REMOTE_CLUSTER_ID_LABEL, provider.as_str())];
    Identity {
        metadata: metadata(
            &names::tenant_namespace(provider),
            &names::identity_name(provider),
            &labels,
        ),
        spec: IdentitySpec {
            cluster_id: provider.to_string(),
            identity_type: IdentityType::ControlPlane,
            auth_params: AuthParams {
                ca: authority.ca_bundle().pem().into(),
                signed_crt: certificate.pem().into(),
                api_server: api_server.to_owned(),
                ..AuthParams::default()
            },
            namespace: Some(namespace),
        },
        ..Identity::default()
    }
}

fn certificate(
    authority: &Authority,
    subject: &Subject,
    number: u8,
    lifetime: Duration,
) -> CertificateChain {
    let key = key(number);
    let csr = Csr::make(subject, &key).expect("the key signs");
    let csr = csr.at_once().expect("it answers");
    let public = liqo_auth::crypto::SigningKey::public_key(&key);
    let (now, entropy) = (instant(0), Entropy::from_bytes([35; 32]));
    authority
        .issue(&csr, subject, public, now, lifetime, &entropy)
        .expect("the authority signs")
}

const YEAR: Duration = Duration::from_secs(365 * 86_400);
