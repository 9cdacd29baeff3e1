//! What a status says for people: cordons, the Tenant, what is due, awaited and refused. A look
//! does not ask a backend for it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, Payload, PublicKey, RecordKey, Signature,
        SigningKey,
    },
    machine::{Awaited, Notice, Remedy, Status},
    model::{AwsConfig, Kind, Object, ObjectRef, Resource, Secret, TenantCondition, names},
    policy::Policy,
    provider::{
        ApprovalRequest, AwsIdentities, AwsIdentityRequest, Grant, NameTable, Provider,
        ProviderBuilder, SigningRequest, SliceDecision, SliceRequest,
    },
};
use serde_json::json;

use crate::clusters::{
    exchange::{Exchange, RECORD_KEY, Setup, ed25519, id},
    pool::{NAMESPACE, Pool, consumer, replica},
    store,
};

#[test]
fn a_slice_is_cordoned_as_the_record_says() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    assert_eq!(cordoned(&pool), [None, Some(false)]);

    // What the record does not have yet, and what cordons nothing.
    for (value, is_cordoned) in [("true", true), ("", true), ("false", false)] {
        annotate(&mut pool, Some(value));
        assert_eq!(cordoned(&pool), [None, Some(is_cordoned)], "{value}");
    }

    // The peer removes the annotation, or the slice.
    annotate(&mut pool, Some("true"));
    pool.settle();
    annotate(&mut pool, None);
    assert_eq!(cordoned(&pool), [None, Some(true)]);
    let slice = pool.slice("mypool").unwrap().id();
    let held = Notice::SliceCordonHeld { slice };
    assert_eq!(held.remedy().unwrap().code(), "uncordonSlice");
    assert_eq!(looked(&pool).notices, [held]);
    let kept = pool.slice("mypool").unwrap().clone();
    pool.at_provider.insert(Object::from_value(json!({
        "apiVersion": "authentication.liqo.io/v1beta1", "kind": "ResourceSlice",
        "metadata": kept.metadata, "spec": 5,
    })));
    assert_eq!(cordoned(&pool), [None, Some(true)]);
    pool.remove("mypool");
    assert_eq!(cordoned(&pool), [None, Some(true)]);
    pool.bring(kept).settle();

    // Lifted, while the annotation is left.
    let view = pool.at_provider.view(&consumer());
    let step = pool.provider.uncordon_slice(&view, "mypool").unwrap();
    let mut effects = step.effects.iter();
    let is_of_record = |id: ObjectRef| id.kind == Kind::Secret;
    let record = effects.find(|effect| is_of_record(effect.id())).unwrap();
    pool.at_provider.apply(record).unwrap();
    assert!(
        pool.slice("mypool")
            .unwrap()
            .metadata
            .annotations
            .contains_key(names::CORDON_ANNOTATION)
    );
    assert_eq!(cordoned(&pool), [None, Some(false)]);
    pool.settle();

    // With its peer, whose Tenant says less than the record.
    pool.write_condition(TenantCondition::Cordoned).settle();
    pool.write_condition(TenantCondition::Active);
    annotate(&mut pool, None);
    assert_eq!(cordoned(&pool), [None, Some(true)]);
    pool.remove("mypool");
    assert_eq!(cordoned(&pool), [None, Some(true)]);
}

#[test]
fn a_record_that_cannot_be_read_does_not_hide_the_cordon_of_the_peer() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let name = pool.records().remove(0);
    let mut record = pool.secret("liqo", &name).unwrap().clone();
    record
        .data
        .insert("record".to_owned(), b"{}".to_vec().into());
    pool.at_provider.insert(record.into());
    pool.remove("mypool");
    assert_eq!(cordoned(&pool), [None, Some(false)]);
    pool.write_condition(TenantCondition::Cordoned);
    assert_eq!(cordoned(&pool), [None, Some(true)]);
}

#[test]
fn a_status_says_what_is_due_awaited_and_refused() {
    let mut exchange = Setup::new().exchange();
    let [provider, consumer] = looks(&exchange);
    assert_eq!((provider.tenant, consumer.tenant), (None, None));
    assert_eq!(provider.awaits, [Awaited::Invitation]);
    assert_eq!(provider.awaits[0].remedy(), Some(Remedy::Invite));
    assert_eq!(consumer.awaits, [Awaited::Nonce]);
    assert!(!provider.is_due && !consumer.is_due);

    exchange.invite();
    exchange.deliver("nonce");
    let [provider, consumer] = looks(&exchange);
    assert_eq!(provider.awaits, [Awaited::Tenant]);
    assert_eq!(consumer.awaits, [Awaited::Identity]);
    exchange.deliver("Tenant");
    let [provider, _] = looks(&exchange);
    assert!(provider.is_due);
    exchange.settle();
    let [provider, consumer] = looks(&exchange);
    assert_eq!(provider.tenant, Some(exchange.stored_tenant().id()));
    for status in [&provider, &consumer] {
        assert!(!status.is_due && status.awaits.is_empty() && status.refused.is_empty());
    }
    exchange.edit_tenant(|tenant| tenant.spec.public_key = b"none".as_slice().into());
    let [provider, _] = looks(&exchange);
    let refused: Vec<_> = provider.refused.iter().map(|it| it.error.clone()).collect();
    assert_eq!(refused, [provider.control_plane.refused.unwrap()]);

    let broken = json!({
        "apiVersion": "authentication.liqo.io/v1beta1", "kind": "Tenant",
        "metadata": exchange.stored_tenant().metadata, "spec": 5,
    });
    exchange.at_provider.insert(Object::from_value(broken));
    let [provider, _] = looks(&exchange);
    let id = ObjectRef::new(Kind::Tenant, NAMESPACE, "cl-consumer");
    assert_eq!(provider.tenant, Some(id));
}

/// A stored nonce of a provider whose tenant namespace is gone, and cannot be made.
#[test]
fn a_consumers_status_says_what_its_step_cannot_do() {
    let mut setup = Setup::new();
    setup.policy = Policy::compatible();
    let exchange = setup.exchange();
    let peer = "c".repeat(63).parse().unwrap();
    let mut nonce = Secret::default();
    nonce.metadata.name = names::SIGNED_NONCE_SECRET.to_owned();
    nonce.metadata.namespace = names::tenant_namespace(&peer);
    let text = STANDARD.encode([7; 64]).into_bytes();
    nonce.data.insert(names::NONCE.to_owned(), text.into());
    let objects = store::holding([nonce.into()]);
    let consumer: &dyn Machine = &exchange.consumer;
    let failed = consumer.reconcile(&objects.view(&peer), exchange.env());
    let status = consumer.look(&objects.view(&peer), exchange.now).unwrap();
    assert_eq!(status.control_plane.phase, "NeedsSignature");
    let refused: Vec<_> = status.refused.into_iter().map(|it| it.error).collect();
    assert_eq!(refused, [failed.unwrap_err()]);
}

/// Each backend would answer at once, and is not asked. A step asks it.
#[test]
fn a_look_asks_no_backend_and_awaits_its_answers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut setup = Setup::new();
    let counted = |asked: &Arc<AtomicUsize>, seed| -> Arc<dyn SigningKey> {
        Arc::new(Counted(ed25519(seed), Arc::clone(asked)))
    };
    setup.consumer_key = counted(&asked, 1);
    setup.provider_key = None;
    let mut exchange = setup.exchange();
    let signer = {
        let (asked, signer) = (Arc::clone(&asked), Arc::clone(&setup.signer));
        move |request: &SigningRequest| -> Result<Answer<CertificateChain>, BoxError> {
            asked.fetch_add(1, Ordering::Relaxed);
            signer.sign(request)
        }
    };
    let approver = {
        let asked = Arc::clone(&asked);
        move |_: &ApprovalRequest| -> Result<Answer<()>, BoxError> {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(Answer::Ready(()))
        }
    };
    exchange.provider = builder(&setup)
        .key(counted(&asked, 2))
        .signer(Arc::new(signer))
        .approver(Arc::new(approver))
        .build();
    exchange.invite();
    let mut seen = Vec::new();
    for _ in 0..16 {
        let before = asked.load(Ordering::Relaxed);
        let statuses = looks(&exchange);
        assert_eq!(asked.load(Ordering::Relaxed), before);
        seen.extend(statuses.into_iter().flat_map(|status| status.awaits));
        exchange.turn_of_provider();
        exchange.deliver("nonce");
        exchange.deliver("Tenant");
        exchange.deliver("Identity");
        exchange.turn_of_consumer();
    }
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert!(asked.load(Ordering::Relaxed) >= 5);
    assert!(seen.contains(&Awaited::Approval), "{seen:?}");
    let is_credential = |it: &Awaited| matches!(it, Awaited::Credential(_));
    assert!(seen.iter().any(is_credential), "{seen:?}");
}

/// A nonce that the consumer's key has not signed yet.
#[test]
fn a_signature_that_is_due_is_awaited() {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut setup = Setup::new();
    setup.consumer_key = Arc::new(Counted(ed25519(1), Arc::clone(&asked)));
    let mut exchange = setup.exchange();
    exchange.invite();
    let step = {
        let nonce = exchange.nonce();
        exchange.hand_over(nonce).unwrap()
    };
    // Without the signature, as after a crash between two keys that answer later.
    let mut ids = step.effects.iter().map(|effect| effect.id());
    let id = ids
        .find(|id| id.name == names::SIGNED_NONCE_SECRET)
        .unwrap();
    let mut secret = exchange
        .at_consumer
        .get::<Secret>(&id.namespace, &id.name)
        .unwrap()
        .clone();
    secret.data.remove(names::SIGNED_NONCE);
    exchange.at_consumer.insert(secret.into());
    let before = asked.load(Ordering::Relaxed);
    let [_, consumer] = looks(&exchange);
    assert_eq!(asked.load(Ordering::Relaxed), before);
    assert!(
        consumer
            .awaits
            .iter()
            .any(|it| matches!(it, Awaited::Signature(_))),
        "{:?}",
        consumer.awaits
    );
}

#[test]
fn a_look_leaves_the_decision_on_a_slice_to_a_step() {
    let asked = Arc::new(AtomicUsize::new(0));
    let policy = {
        let asked = Arc::clone(&asked);
        move |request: &SliceRequest<'_>| -> Result<Answer<SliceDecision>, BoxError> {
            asked.fetch_add(1, Ordering::Relaxed);
            Ok(Answer::Ready(SliceDecision::Grant(Grant {
                resources: request.resources.clone(),
                ..Grant::default()
            })))
        }
    };
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    pool.bring(replica("mypool"));
    let mut seen = Vec::new();
    for _ in 0..8 {
        let before = asked.load(Ordering::Relaxed);
        seen.extend(looked(&pool).awaits);
        assert_eq!(asked.load(Ordering::Relaxed), before);
        pool.look(usize::MAX);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let slice = pool.slice("mypool").unwrap().id();
    assert!(seen.contains(&Awaited::Resources(slice)), "{seen:?}");
    assert_eq!(looked(&pool).awaits, []);
}

#[test]
fn a_look_makes_no_aws_user() {
    #[derive(Default)]
    struct Iam(Mutex<usize>);

    impl AwsIdentities for Iam {
        fn identity(&self, _: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
            *self.0.lock().unwrap() += 1;
            Ok(Answer::Pending)
        }
    }
    let iam = Arc::new(Iam::default());
    let identities: Arc<dyn AwsIdentities> = iam.clone();
    let pool = Pool::with(|builder| builder.aws(identities));
    let awaits = looked(&pool).awaits;
    assert_eq!(*iam.0.lock().unwrap(), 0);
    assert_eq!(awaits, pool.reconcile().wait.awaiting);
    assert_eq!(*iam.0.lock().unwrap(), 1);
}

/// A key that counts what it is asked to sign.
struct Counted(Arc<dyn SigningKey>, Arc<AtomicUsize>);

impl SigningKey for Counted {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.sign(payload)
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

fn builder(setup: &Setup) -> ProviderBuilder {
    Provider::builder(
        id("cl-provider"),
        setup.endpoint.clone(),
        RecordKey::new(RECORD_KEY).unwrap(),
    )
    .principals(Arc::new(NameTable::default()))
}

/// The statuses of both sides, the provider's first.
fn looks(exchange: &Exchange) -> [Status; 2] {
    let sides: [(&dyn Machine, _); 2] = [
        (&exchange.provider, exchange.provider_view()),
        (&exchange.consumer, exchange.consumer_view()),
    ];
    sides.map(|(machine, view)| machine.look(&view, exchange.now).unwrap())
}

fn looked(pool: &Pool) -> Status {
    let provider: &dyn Machine = &pool.provider;
    let view = pool.at_provider.view(&consumer());
    provider.look(&view, pool.now).unwrap()
}

/// What the status says of the control plane and of each slice.
fn cordoned(pool: &Pool) -> Vec<Option<bool>> {
    let status = looked(pool);
    status.holders().map(|holder| holder.cordoned).collect()
}

fn annotate(pool: &mut Pool, value: Option<&str>) {
    pool.edit("mypool", |slice| {
        let annotations = &mut slice.metadata.annotations;
        match value {
            Some(value) => annotations.insert(names::CORDON_ANNOTATION.into(), value.into()),
            None => annotations.remove(names::CORDON_ANNOTATION),
        };
    });
}
