//! A hostile consumer: a peer of the provider that has been invited, or not.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Machine, View,
    consumer::ConsumerConfig,
    crypto::{Csr, Entropy, KeyPair, OneKey, SigningKey, Subject},
    machine::{Message, MessageBody, Side},
    model::{
        Bytes, ClusterId, Kind, Metadata, NamespaceMap, Object, ObjectRef, Renew, RenewSpec,
        Resource, ResourceSlice, ResourceSliceSpec, Tenant, TenantCondition, TenantSpec, names,
    },
};

use super::{FINALIZER, delete, metadata, put, secret, send};
use crate::{
    calls::{At, Call, SLICE},
    cast::Name,
    deeds::{Answer, Deed, WriteAtProvider},
    instants::instant,
    keys::key,
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
    let namespace = world.cast.namespace(Name::Hostile);
    let id = |kind, name: &str| ObjectRef::new(kind, namespace.as_str(), name);
    let slice_id = id(Kind::ResourceSlice, SLICE);
    let own_tenant = id(Kind::Tenant, peer.as_str());
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
            let mut planted = secret(
                peer,
                &namespace,
                names::NONCE_SECRET,
                &[(names::NONCE, text)],
            );
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::EmptyNonce { stays } => {
            let mut planted = secret(peer, &namespace, names::NONCE_SECRET, &[]);
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::DeleteNonce => delete(store, &id(Kind::Secret, names::NONCE_SECRET)),
        WriteAtProvider::DeleteCertificate => {
            delete(store, &id(Kind::Secret, names::ISSUED_CERTIFICATE_SECRET))
        }
        WriteAtProvider::SpoilCertificate => {
            let data: &[(&str, &[u8])] = &[(names::CERTIFICATE, b"another")];
            let planted = secret(peer, &namespace, names::ISSUED_CERTIFICATE_SECRET, data);
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
        WriteAtProvider::NamespaceMap { stays } => {
            let provider = world.cast.id(Name::Provider);
            let mut planted = NamespaceMap {
                metadata: metadata(&namespace, provider.as_str(), &labels(provider, peer)),
            };
            kept(stays, &mut planted.metadata);
            put(store, planted.into())
        }
        WriteAtProvider::UnlabelNamespaceMap => {
            let id = id(Kind::NamespaceMap, world.cast.id(Name::Provider).as_str());
            let mut map = NamespaceMap::from_object(store.get(&id)?)?.clone();
            map.metadata.labels.clear();
            put(store, map.into())
        }
        WriteAtProvider::Renew => put(store, renew(world, peer).into()),
        WriteAtProvider::ActiveTenant => edit_tenant(store, &own_tenant, |tenant| {
            tenant.spec.tenant_condition = Some(TenantCondition::Active);
        }),
        WriteAtProvider::OtherKeyInTenant => edit_tenant(store, &own_tenant, |tenant| {
            tenant.spec.public_key = key(KEYS[1]).public_key().to_tenant_field().into();
            tenant.spec.csr = request(&Subject::control_plane(peer), 1);
        }),
        WriteAtProvider::UnreadableTenant => {
            let tenant = stored_tenant(store, &own_tenant)?;
            let mut value = Object::from(tenant).to_value();
            value["spec"]["csr"] = "QR==".into();
            put(store, Object::from_value(value))
        }
        WriteAtProvider::TenantOfOther { is_readable } => {
            let other = world.cast.id(Name::Consumer);
            let mut value = Object::from(tenant(other, &namespace)).to_value();
            if !is_readable {
                value["spec"] = 7.into();
            }
            put(store, Object::from_value(value))
        }
        WriteAtProvider::TenantElsewhere => put(store, tenant(peer, "default").into()),
        WriteAtProvider::TenantOfNobody => {
            let nobody: ClusterId = "cl-nobody".parse().ok()?;
            put(store, tenant(&nobody, &namespace).into())
        }
        WriteAtProvider::SliceOfOther => {
            let (provider, other) = (world.cast.id(Name::Provider), world.cast.id(Name::Consumer));
            let mut planted = slice(world, other, 0);
            planted.metadata = metadata(&namespace, SLICE, &labels(provider, other));
            put(store, planted.into())
        }
    }
}

/// The administrator invites the hostile consumer, which answers honestly, and everything
/// is carried out.
pub fn let_in(world: &World, state: &State) -> State {
    let at = At {
        side: Side::Provider,
        peer: Name::Hostile,
    };
    let whole = |state: &State, call| {
        let outcome = world.outcome(state.provider, at, call, state.instant, 0);
        let all = u8::try_from(outcome.effects.len()).expect("a step has few effects");
        world.make(state, at, call, all)
    };
    let sent = |state: &State, is_wanted: fn(&MessageBody) -> bool| {
        let air = world.air(state.air);
        let mut sent = air.iter().copied();
        sent.find(|number| is_wanted(&world.message(*number).body))
    };
    let mut state = whole(state, Call::Invite);
    let nonce = sent(&state, |body| matches!(body, MessageBody::Nonce(_)));
    let nonce = nonce.expect("the provider sends a nonce");
    state = answer(world, &state, nonce, Answer::Honestly).expect("the nonce is answered");
    let tenant = sent(&state, |body| matches!(body, MessageBody::Tenant(_)));
    state = whole(&state, Call::Receive(tenant.expect("it was answered")));
    loop {
        let next = whole(&state, Call::Reconcile);
        if next.provider == state.provider {
            return next;
        }
        state = next;
    }
}

/// A Tenant as a hostile consumer makes it for any name. Its key signs no nonce.
fn tenant(name: &ClusterId, namespace: &str) -> Tenant {
    let labels = [(names::REMOTE_CLUSTER_ID_LABEL, name.as_str())];
    Tenant {
        metadata: metadata(namespace, name.as_str(), &labels),
        spec: TenantSpec {
            cluster_id: name.to_string(),
            public_key: own_key(0).public_key().to_tenant_field().into(),
            csr: request(&Subject::control_plane(name), 0),
            signature: vec![7; 64].into(),
            ..TenantSpec::default()
        },
        ..Tenant::default()
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
        metadata: metadata(
            &world.cast.namespace(Name::Hostile),
            SLICE,
            &labels(provider, peer),
        ),
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
        metadata: metadata(
            &world.cast.namespace(Name::Hostile),
            &name,
            &labels(provider, peer),
        ),
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

fn edit_tenant(store: &mut Store, id: &ObjectRef, edit: impl FnOnce(&mut Tenant)) -> Option<()> {
    let mut tenant = stored_tenant(store, id)?;
    edit(&mut tenant);
    put(store, tenant.into())
}

fn stored_tenant(store: &Store, id: &ObjectRef) -> Option<Tenant> {
    Tenant::from_object(store.get(id)?).cloned()
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
