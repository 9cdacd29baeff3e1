//! A hostile consumer: a peer of the provider that has been invited, or not.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Machine, View,
    consumer::ConsumerConfig,
    crypto::{Csr, Entropy, KeyPair, OneKey, SigningKey, Subject},
    machine::{Message, MessageBody},
    model::{
        Bytes, ClusterId, Kind, Metadata, Object, ObjectRef, Renew, RenewSpec, Resource,
        ResourceSlice, ResourceSliceSpec, Tenant, TenantCondition, names,
    },
};

use super::{FINALIZER, delete, metadata, put, secret, send};
use crate::{
    calls::SLICE,
    cast::{Name, instant, key},
    deeds::{Answer, Deed, WriteAtProvider},
    state::State,
    store::Store,
    world::World,
};

pub fn possible(world: &World, state: &State) -> Vec<Deed> {
    let air = world.air(state.air);
    let hostile = world.cast.id(Name::Hostile);
    let nonces: Vec<u32> = air
        .iter()
        .copied()
        .filter(|number| {
            let message = world.message(*number);
            matches!(message.body, MessageBody::Nonce(_)) && message.to == *hostile
        })
        .collect();
    let answers = [
        Answer::Honestly,
        Answer::WithOtherKey,
        Answer::WithOtherSignature,
        Answer::ForOtherName,
        Answer::AsOther,
    ];
    // With two replicas, how they interleave is explored, and not what is refused.
    let answers = match world.configuration.replicas {
        true => &answers[..1],
        false => &answers,
    };
    let answered = |nonce: &u32| {
        let nonce = *nonce;
        answers
            .iter()
            .map(move |how| Deed::Answer { nonce, how: *how })
    };
    let mut deeds: Vec<Deed> = nonces.iter().flat_map(answered).collect();
    // Kubernetes lets the peer write while it is bound.
    if world.has_rights(state, Name::Hostile) {
        deeds.extend(nonces.iter().flat_map(|message| {
            [false, true].map(|stays| {
                Deed::WriteAtProvider(WriteAtProvider::Nonce {
                    message: *message,
                    stays,
                })
            })
        }));
        deeds.extend(
            world
                .configuration
                .writes
                .iter()
                .copied()
                .map(Deed::WriteAtProvider),
        );
    }
    deeds
}

pub fn answer(world: &World, state: &State, nonce: u32, how: Answer) -> Option<State> {
    let nonce = world.message(nonce);
    let (hostile, consumer) = (world.cast.id(Name::Hostile), world.cast.id(Name::Consumer));
    let mut from = hostile;
    let mut tenant = tenant_of(&nonce, hostile, usize::from(how == Answer::WithOtherKey))?;
    match how {
        Answer::Honestly | Answer::WithOtherKey => {}
        Answer::WithOtherSignature => {
            tenant.spec.signature = tenant_of(&nonce, hostile, 1)?.spec.signature;
        }
        Answer::ForOtherName => tenant.spec.csr = request(&Subject::control_plane(consumer), 0),
        Answer::AsOther => {
            from = consumer;
            tenant.metadata.name = consumer.to_string();
            tenant.spec.cluster_id = consumer.to_string();
            tenant.spec.csr = request(&Subject::control_plane(consumer), 0);
        }
    }
    let message = Message::new(from, world.cast.id(Name::Provider), tenant);
    Some(send(world, state, &message))
}

pub fn write(world: &World, store: &mut Store, write: WriteAtProvider) -> Option<()> {
    let peer = world.cast.id(Name::Hostile);
    let namespace = names::tenant_namespace(peer);
    let id = |kind, name: &str| ObjectRef::new(kind, namespace.as_str(), name);
    let slice_id = id(Kind::ResourceSlice, SLICE);
    let kept = |stays: bool, metadata: &mut Metadata| {
        if stays {
            metadata.finalizers.push(FINALIZER.to_owned());
        }
    };
    match write {
        WriteAtProvider::Nonce { message, stays } => {
            let message = world.message(message);
            let MessageBody::Nonce(nonce) = &message.body else {
                return None;
            };
            let text = nonce.as_str().as_bytes();
            let mut planted = secret(peer, names::NONCE_SECRET, &[(names::NONCE, text)]);
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::EmptyNonce { stays } => {
            let mut planted = secret(peer, names::NONCE_SECRET, &[]);
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::DeleteNonce => delete(store, &id(Kind::Secret, names::NONCE_SECRET)),
        WriteAtProvider::DeleteCertificate => {
            delete(store, &id(Kind::Secret, names::ISSUED_CERTIFICATE_SECRET))
        }
        WriteAtProvider::SpoilCertificate => {
            let data: &[(&str, &[u8])] = &[(names::CERTIFICATE, b"another")];
            let planted = secret(peer, names::ISSUED_CERTIFICATE_SECRET, data);
            put(store, planted.into())
        }
        WriteAtProvider::Slice {
            by_other_key,
            stays,
        } => {
            let mut planted = slice(world, peer, usize::from(by_other_key));
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::UnreadableSlice => {
            let mut value = Object::from(slice(world, peer, 0)).to_value();
            value["spec"]["csr"] = "QR==".into();
            put(store, Object::from_value(value))
        }
        WriteAtProvider::UnlabelSlice => {
            let mut slice = ResourceSlice::from_object(store.get(&slice_id)?)?.clone();
            slice.metadata.labels.clear();
            put(store, slice.into())
        }
        WriteAtProvider::DeleteSlice => delete(store, &slice_id),
        WriteAtProvider::Renew => put(store, renew(world, peer).into()),
        WriteAtProvider::ActiveTenant => edit_tenant(store, peer, |tenant| {
            tenant.spec.tenant_condition = Some(TenantCondition::Active);
        }),
        WriteAtProvider::OtherKeyInTenant => edit_tenant(store, peer, |tenant| {
            tenant.spec.public_key = key(KEYS[1]).public_key().to_tenant_field().into();
            tenant.spec.csr = request(&Subject::control_plane(peer), 1);
        }),
        WriteAtProvider::UnreadableTenant => {
            let tenant = stored_tenant(store, peer)?;
            let mut value = Object::from(tenant).to_value();
            value["spec"]["csr"] = "QR==".into();
            put(store, Object::from_value(value))
        }
    }
}

/// The Tenant by which an honest consumer with this key answers.
fn tenant_of(nonce: &Message, hostile: &ClusterId, number: usize) -> Option<Tenant> {
    let keys = Arc::new(OneKey(Arc::new(own_key(number))));
    let consumer = Consumer::new(ConsumerConfig::new(hostile.clone()), keys);
    let env = Env {
        now: instant(0),
        entropy: Entropy::from_bytes([7; 32]),
    };
    let view = View::of(&nonce.from, []);
    let step = consumer.receive(&view, nonce.clone(), env).ok()?;
    step.outbox
        .into_iter()
        .find_map(|message| match message.body {
            MessageBody::Tenant(tenant) => Some(*tenant),
            _ => None,
        })
}

fn slice(world: &World, peer: &ClusterId, number: usize) -> ResourceSlice {
    let provider = world.cast.id(Name::Provider);
    ResourceSlice {
        metadata: metadata(peer, SLICE, &labels(provider, peer)),
        spec: ResourceSliceSpec {
            consumer_cluster_id: Some(peer.to_string()),
            provider_cluster_id: Some(provider.to_string()),
            class: names::DEFAULT_RESOURCE_SLICE_CLASS.to_owned(),
            csr: request(&Subject::resource_slice(SLICE, peer), number),
            ..ResourceSliceSpec::default()
        },
        ..ResourceSlice::default()
    }
}

fn renew(world: &World, peer: &ClusterId) -> Renew {
    let provider = world.cast.id(Name::Provider);
    let name = names::identity_name(provider);
    Renew {
        metadata: metadata(peer, &name, &labels(provider, peer)),
        spec: RenewSpec {
            consumer_cluster_id: peer.to_string(),
            public_key: key(KEYS[1]).public_key().to_tenant_field().into(),
            csr: request(&Subject::control_plane(peer), 1),
            ..RenewSpec::default()
        },
        ..Renew::default()
    }
}

fn labels<'a>(provider: &'a ClusterId, peer: &'a ClusterId) -> [(&'a str, &'a str); 5] {
    [
        (names::REPLICATION_LABEL, "false"),
        (names::REPLICATED_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, provider.as_str()),
        (names::REPLICATION_ORIGIN_LABEL, peer.as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
    ]
}

fn edit_tenant(store: &mut Store, peer: &ClusterId, edit: impl FnOnce(&mut Tenant)) -> Option<()> {
    let mut tenant = stored_tenant(store, peer)?;
    edit(&mut tenant);
    put(store, tenant.into())
}

fn stored_tenant(store: &Store, peer: &ClusterId) -> Option<Tenant> {
    let namespace = names::tenant_namespace(peer);
    let id = ObjectRef::new(Kind::Tenant, namespace, peer.as_str());
    Tenant::from_object(store.get(&id)?).cloned()
}

fn request(subject: &Subject, number: usize) -> Bytes {
    let csr = Csr::make(subject, &own_key(number)).expect("the key signs");
    csr.at_once().expect("it answers").pem().into()
}

fn own_key(number: usize) -> KeyPair {
    key(KEYS[number])
}

/// The numbers of the hostile consumer's keys.
const KEYS: [u8; 2] = [21, 22];
