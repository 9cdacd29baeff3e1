//! Faults that are planted, so that each invariant is seen to fail.

use std::sync::Arc;

use liqo_auth::{
    Consumer, Env, Machine, View,
    consumer::ConsumerConfig,
    crypto::{CertificateChain, Csr, Entropy, OneKey, SigningKey, Subject},
    machine::{Holder, Message, MessageBody, Side},
    model::{Kind, Object, ObjectRef, Resource, Tenant, TenantCondition, names},
};

use crate::{
    calls::{At, Call, Outcome},
    cast::{LIFETIME, Name},
    configurations::{Configuration, FOREIGN_TENANTS, HONEST, Left, OFFLOADS, TWO_WAY},
    deeds::{Forgery, Hostile, Plant},
    ghost::Rule,
    hostile,
    instants::instant,
    judgement::Made,
    keys::{CONSUMER_KEY, key},
    properties,
    setup::{Fault, Setup},
    state::State,
    witness::{Asked, Watched, Witness, witness},
    world::World,
};

/// The planted faults, each with the invariant that it breaks.
pub fn all() -> Vec<(Configuration, &'static str)> {
    let once = Left {
        words: 2,
        deeds: 0,
        crashes: 0,
        plants: 1,
    };
    let with = |name, plant, words| Configuration {
        name,
        words,
        left: once,
        plant: Some(plant),
        ..HONEST
    };
    let ends: &[Call] = &[Call::Invite, Call::End];
    let drains: &[Call] = &[Call::Invite, Call::SetCondition(2)];
    let invites: &[Call] = &[Call::Invite];
    let forgetful = Configuration {
        name: "planted: the signer signs a request again",
        setup: Setup {
            fault: Some(Fault::ForgetfulSigner),
            ..HONEST.setup
        },
        ..HONEST
    };
    let again = Configuration {
        name: "planted: a nonce serves again",
        setup: Setup {
            fault: Some(Fault::ServesAgain),
            ..HONEST.setup
        },
        words: ends,
        left: Left { plants: 0, ..once },
        ..HONEST
    };
    let without_key = Configuration {
        setup: Setup {
            has_provider_key: false,
            ..HONEST.setup
        },
        ..with(
            "planted: the network changes the endpoint",
            Plant::ChangesEndpoint,
            invites,
        )
    };
    let beside = Configuration {
        hostile: Hostile::Consumer,
        ..with(
            "planted: a peer has a second Tenant",
            Plant::MisplacesTenant,
            invites,
        )
    };
    let at_consumer = |name, plant| Configuration {
        hostile: Hostile::Provider,
        has_consumer: false,
        ..with(name, plant, &[])
    };
    let unversioned = Configuration {
        replicas: true,
        has_consumer: false,
        hostile: Hostile::Consumer,
        left: Left {
            words: 2,
            deeds: 1,
            ..once
        },
        ..with(
            "planted: the driver ignores versions",
            Plant::IgnoresVersions,
            &[Call::Invite, Call::SetCondition(2)],
        )
    };
    let restores = "planted: an old record with an offer is restored";
    let active = "planted: an old record without a condition is restored";
    vec![
        (
            Configuration {
                has_consumer: false,
                hostile: Hostile::Consumer,
                left: Left { deeds: 2, ..once },
                ..with(
                    "planted: a request is signed unproven",
                    Plant::SignsUnproven,
                    invites,
                )
            },
            name(Rule::ProvenKeyAndSubject),
        ),
        (forgetful, name(Rule::OneCertificate)),
        (again, name(Rule::NonceServesOnce)),
        (
            with(restores, Plant::RestoresOffer, ends),
            name(Rule::Invitation),
        ),
        (
            with(restores, Plant::RestoresOffer, ends),
            name(Rule::NonceServesOnce),
        ),
        (
            with(active, Plant::RestoresActive, drains),
            name(Rule::NoRightsAfterEnd),
        ),
        (
            with(active, Plant::RestoresActive, drains),
            name(Rule::ConditionByAdministrator),
        ),
        (unversioned, name(Rule::ConditionByAdministrator)),
        (
            at_consumer("planted: two consumers share a key", Plant::SharesKey),
            name(Rule::SignsOwnNonces),
        ),
        (
            at_consumer(
                "planted: an Identity is stored unverified",
                Plant::StoresUnverified,
            ),
            name(Rule::StoresVerified),
        ),
        (
            with(
                "planted: the driver keeps bindings",
                Plant::KeepsRights,
                drains,
            ),
            properties::AT_REST,
        ),
        (
            Configuration {
                name: "planted: the driver keeps NamespaceMaps",
                plant: Some(Plant::KeepsNamespaceMaps),
                ..OFFLOADS
            },
            properties::AT_REST,
        ),
        (
            with(
                "planted: the network loses Identities",
                Plant::LosesIdentities,
                invites,
            ),
            properties::LIVENESS,
        ),
        (without_key, properties::TRANSCRIPT),
        (beside, properties::OTHERS),
        (
            Configuration {
                name: "planted: the driver looks up no namespaces of other peers",
                setup: Setup {
                    fault: Some(Fault::ForgetsNamespaces),
                    ..FOREIGN_TENANTS.setup
                },
                ..FOREIGN_TENANTS
            },
            properties::OTHERS,
        ),
        (
            two_way(
                "planted: the driver does not show that a provider is a consumer",
                Fault::ForgetsConsumers,
            ),
            name(Rule::KeepsClusterKey),
        ),
        (
            two_way(
                "planted: slices made by anyone are signed",
                Fault::SignsAnySlice,
            ),
            name(Rule::SignsOwnRequests),
        ),
        (
            Configuration {
                name: "planted: the driver keeps what is in the place of a kubeconfig",
                plant: Some(Plant::KeepsKubeconfigs),
                ..TWO_WAY
            },
            properties::KUBECONFIG,
        ),
    ]
}

fn two_way(name: &'static str, fault: Fault) -> Configuration {
    Configuration {
        name,
        setup: Setup {
            fault: Some(fault),
            ..TWO_WAY.setup
        },
        ..TWO_WAY
    }
}

/// What a planted fault does at once. Other faults show in how effects are carried
/// out or messages are delivered.
pub fn happen(world: &World, state: &State, plant: Plant) -> Option<State> {
    match plant {
        Plant::RestoresOffer => {
            let first = world.first_store(|facts| facts.has_offer, Name::Consumer)?;
            restore(world, state, first, false)
        }
        Plant::RestoresActive => {
            let fits = |facts: &crate::facts::PeerFacts| {
                facts.proof.is_some() && facts.condition == 0 && facts.bindings > 0
            };
            let first = world.first_store(fits, Name::Consumer)?;
            restore(world, state, first, true)
        }
        Plant::SignsUnproven => Some(sign_unproven(world, state)),
        Plant::SharesKey => {
            let [_, _, hostile] = &world.cast.ids;
            let message = hostile::forged(world, Forgery::NonceForOther);
            let message = Message {
                to: world.cast.id(Name::Provider).clone(),
                from: hostile.clone(),
                ..message
            };
            let mut outcome = empty();
            outcome.witness.signed_nonces = signed_elsewhere(&message);
            Some(judged(world, state, *state, &outcome))
        }
        Plant::StoresUnverified => {
            let forged = hostile::forged(world, Forgery::IdentityForOtherKey);
            let MessageBody::Identity(identity) = forged.body else {
                return None;
            };
            let mut store = (*world.store(state.consumer)).clone();
            store.put(Object::Identity(identity));
            let next = State {
                consumer: world.keep(store),
                ..*state
            };
            Some(judged(world, state, next, &empty()))
        }
        Plant::MisplacesTenant => {
            let mut store = (*world.store(state.provider)).clone();
            hostile::misplaced(world, &mut store);
            Some(State {
                provider: world.keep(store),
                ..*state
            })
        }
        Plant::IgnoresVersions
        | Plant::KeepsRights
        | Plant::KeepsNamespaceMaps
        | Plant::LosesIdentities
        | Plant::ChangesEndpoint
        | Plant::KeepsKubeconfigs => None,
    }
}

/// Puts the record of an earlier store in the place of the present one.
fn restore(world: &World, state: &State, earlier: u32, is_active: bool) -> Option<State> {
    let peer = world.cast.id(Name::Consumer);
    let name = format!("liqo-auth-provider-{peer}");
    let id = ObjectRef::new(Kind::Secret, names::LIQO_NAMESPACE, name);
    let record = world.store(earlier).get(&id)?.clone();
    let mut store = (*world.store(state.provider)).clone();
    store.put(record);
    if is_active {
        let id = ObjectRef::new(Kind::Tenant, names::tenant_namespace(peer), peer.as_str());
        let mut tenant = Tenant::from_object(store.get(&id)?)?.clone();
        tenant.spec.tenant_condition = Some(TenantCondition::Active);
        store.put(tenant.into());
    }
    Some(State {
        provider: world.keep(store),
        ..*state
    })
}

/// The driver asks the signer for a certificate of the hostile peer's second key.
fn sign_unproven(world: &World, state: &State) -> State {
    let peer = world.cast.id(Name::Hostile);
    let (key, subject) = (key(22), Subject::control_plane(peer));
    let csr = Csr::make(&subject, &key).expect("the key signs");
    let csr = csr.at_once().expect("it answers");
    let (now, entropy) = (instant(state.instant), Entropy::from_bytes([5; 32]));
    let chain: CertificateChain = world
        .cast
        .authority
        .issue(&csr, &subject, key.public_key(), now, LIFETIME, &entropy)
        .expect("the authority signs");
    let outcome = Outcome::of_signer(Asked {
        peer: peer.clone(),
        holder: Holder::ControlPlane,
        csr: csr.digest(),
        subject,
        key: key.public_key().clone(),
        chain,
        is_new: true,
    });
    let mut next = *state;
    let at = At {
        side: Side::Provider,
        peer: Name::Hostile,
    };
    let made = Made {
        outcome: &outcome,
        word: None,
        requests_slice: false,
        asks: true,
        may_be_stale: false,
    };
    world.judge(&mut next, state, at, &made);
    next
}

/// The nonces that the consumer's key signs in the hands of another consumer, which gets this
/// message.
fn signed_elsewhere(message: &Message) -> Vec<Vec<u8>> {
    let keys = Arc::new(OneKey(Arc::new(Watched(key(CONSUMER_KEY)))));
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

fn judged(world: &World, before: &State, mut next: State, outcome: &Outcome) -> State {
    let at = At {
        side: Side::Consumer,
        peer: Name::Hostile,
    };
    world.judge_consumer(&mut next, before, at, false, outcome);
    next
}

fn empty() -> Outcome {
    Outcome {
        effects: Vec::new(),
        messages: Vec::new(),
        witness: Witness::default(),
        is_random: false,
        error: None,
    }
}

fn name(rule: Rule) -> &'static str {
    let mut rules = properties::RULES.iter();
    let (_, name) = rules
        .find(|(other, _)| *other == rule)
        .expect("it has a name");
    name
}
