//! A hostile provider: a cluster that the consumer talks to, and that also sends in
//! the honest provider's name.

use core::time::Duration;

use liqo_auth::{
    crypto::{Authority, CertificateChain, Csr, Entropy, RecordKey, StructuredNonce, Subject},
    machine::{Message, MessageBody},
    model::{
        AuthParams, ClusterId, Identity, IdentitySpec, IdentityType, Kind, ObjectRef, Renew,
        RenewSpec, RenewStatus, ResourceSlice, names,
    },
};

use super::{delete, metadata, put, secret};
use crate::{
    calls::SLICE,
    cast::{Name, authority, instant, key},
    deeds::{Deed, Forgery, WriteAtConsumer},
    state::State,
    store::Store,
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

const WRITES: [WriteAtConsumer; 5] = [
    WriteAtConsumer::NonceForOther,
    WriteAtConsumer::DeleteSignedNonce,
    WriteAtConsumer::DeleteKubeconfig,
    WriteAtConsumer::RenewForOtherKey,
    WriteAtConsumer::Slice,
];

pub fn possible(world: &World, state: &State) -> Vec<Deed> {
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
    let [provider, consumer, hostile] = &world.cast.ids;
    let from = match forgery {
        Forgery::NonceOfProvider | Forgery::IdentityOfProvider => provider,
        _ => hostile,
    };
    let body: MessageBody = match forgery {
        Forgery::OwnNonce(number) => nonce(hostile, consumer, number),
        Forgery::NonceForOther => nonce(hostile, provider, 0),
        Forgery::NonceOfProvider => nonce(provider, consumer, 0),
        _ => MessageBody::from(identity(from, consumer, forgery)),
    };
    Message::new(from, consumer, body)
}

pub fn write(world: &World, store: &mut Store, write: WriteAtConsumer) -> Option<()> {
    let [provider, consumer, hostile] = &world.cast.ids;
    let namespace = names::tenant_namespace(hostile);
    let id = |name: &str| ObjectRef::new(Kind::Secret, namespace.as_str(), name);
    let identity_name = names::identity_name(hostile);
    match write {
        WriteAtConsumer::NonceForOther => {
            let MessageBody::Nonce(nonce) = nonce(hostile, provider, 0) else {
                return None;
            };
            let text = nonce.as_str().as_bytes();
            let planted = secret(hostile, names::SIGNED_NONCE_SECRET, &[(names::NONCE, text)]);
            put(store, planted.into())
        }
        WriteAtConsumer::DeleteSignedNonce => delete(store, &id(names::SIGNED_NONCE_SECRET)),
        WriteAtConsumer::DeleteKubeconfig => {
            delete(store, &id(&names::kubeconfig_secret(&identity_name)))
        }
        WriteAtConsumer::RenewForOtherKey => {
            let forged = identity(hostile, consumer, Forgery::IdentityForOtherKey);
            let labels = own_labels(hostile);
            let renew = Renew {
                metadata: metadata(hostile, &identity_name, &labels),
                spec: RenewSpec::default(),
                status: RenewStatus {
                    auth_params: Some(forged.spec.auth_params),
                    ..RenewStatus::default()
                },
            };
            put(store, renew.into())
        }
        WriteAtConsumer::Slice => {
            let slice = ResourceSlice {
                metadata: metadata(hostile, SLICE, &own_labels(hostile)),
                ..ResourceSlice::default()
            };
            put(store, slice.into())
        }
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

fn identity(provider: &ClusterId, consumer: &ClusterId, forgery: Forgery) -> Identity {
    let authority = authority("cl-hostile-ca", 31);
    let subject = match forgery {
        Forgery::IdentityForOtherName => Subject::control_plane(provider),
        _ => Subject::control_plane(consumer),
    };
    let (number, lifetime) = match forgery {
        Forgery::IdentityForOtherKey => (32, YEAR),
        Forgery::IdentityThatHasEnded => (1, Duration::from_secs(1)),
        _ => (1, YEAR),
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
        metadata: metadata(provider, &names::identity_name(provider), &labels),
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
