//! What a peer is given, and what can prevent it: the signer, the rights, the
//! administrator.

use std::sync::{Arc, Mutex};

use liqo_auth::{
    Machine,
    audit::Decision,
    consumer::{self, ConsumerConfig},
    crypto::{Answer, BoxError, CertificateChain, CertificateError, Subject},
    error::{ApiMisuse, Backend, Disposition, LocalFault, PolicyRefusal, Rule},
    machine::{Awaited, Message, MessageBody, View},
    model::{
        AuthzPolicy, ClusterRoleBinding, Kind, Namespace, Object, ObjectRef, OwnerReference,
        RoleBinding, TenantCondition, names,
    },
    provider::{self, CsrSigner, NameTable, SigningRequest},
};

use crate::clusters::{
    bindings::{group, user},
    exchange::{self, Exchange, FixedAnswer, Ledger, Setup, ed25519, id, secret_ref},
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const ROLE_BINDING: &str = "liqo-binding-liqo-remote-controlplane";
const CLUSTER_ROLE_BINDING: &str =
    "liqo-binding-liqo-virtual-kubelet-remote-clusterwide-cl-consumer";

#[test]
fn a_pending_signer_is_awaited() {
    let answer = Arc::new(FixedAnswer(Mutex::new(Answer::Pending)));
    let mut setup = Setup::new();
    setup.signer = answer.clone();
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.phases(), ("NeedsCredential", "AwaitsIdentity"));
    let request = request(&exchange);
    let step = exchange.turn_of_provider();
    assert_eq!(step.effects, []);
    assert_eq!(step.outbox, []);
    assert_eq!(step.refused, []);
    assert_eq!(step.wait.awaiting, [Awaited::Credential(request.id)]);
    assert_eq!(request.subject, Subject::control_plane(&id("cl-consumer")));
    assert_eq!(&request.public_key, ed25519(1).public_key());

    *answer.0.lock().unwrap() = Ledger::new().sign(&request).unwrap();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// A person signs. The caller takes the request to that person and brings the
/// certificate back.
#[test]
fn without_a_signer_the_caller_carries_the_request() {
    let mut exchange = Setup::new().exchange();
    exchange.provider = provider::Provider::builder(
        id("cl-provider"),
        exchange::endpoint(exchange::API_SERVER),
        liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap(),
    )
    .principals(Arc::new(NameTable::default()))
    .build();
    exchange.settle();
    let request = request(&exchange);
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.wait.awaiting, [Awaited::Credential(request.id)]);

    let answer = Ledger::new().sign(&request).unwrap();
    assert!(matches!(answer, Answer::Ready(_)), "{answer:?}");
    let mut setup = Setup::new();
    setup.provider_key = None;
    setup.signer = Arc::new(FixedAnswer(Mutex::new(answer)));
    let key = liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap();
    exchange.provider = setup.provider(key);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_denial_of_the_signer_is_reported_without_control_characters() {
    let mut setup = Setup::new();
    let reason = "not on a Friday\u{1b}[2J".to_owned();
    setup.signer = Arc::new(FixedAnswer(Mutex::new(Answer::Denied(reason))));
    let mut exchange = setup.exchange();
    exchange.settle();
    let [error] = &exchange.refused[..] else {
        panic!("{:?}", exchange.refused);
    };
    let liqo_auth::error::Fault::Policy(PolicyRefusal::CredentialDenied { reason }) = error.fault()
    else {
        panic!("{error:?}");
    };
    assert!(reason.starts_with("not on a Friday"), "{reason}");
    assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
    assert_eq!(error.at().field, "spec.csr");
    assert_eq!(exchange.phases(), ("NeedsCredential", "AwaitsIdentity"));
}

#[test]
fn a_certificate_for_another_request_is_an_error_of_the_signer() {
    // A certificate of another consumer, and a certificate of this consumer for
    // another key.
    let elsewhere = |consumer: &str, key: u8| {
        let mut setup = Setup::new();
        setup.consumer_key = ed25519(key);
        let mut exchange = Exchange {
            consumer: consumer::Consumer::new(
                ConsumerConfig::new(id(consumer)),
                Arc::new(liqo_auth::crypto::OneKey(ed25519(key))),
            ),
            ..setup.exchange()
        };
        exchange.settle();
        exchange.certificate()
    };
    let subject = CertificateError::Subject {
        expected: "O=liqo.io, CN=cl-consumer".to_owned(),
        found: "O=liqo.io, CN=cl-other".to_owned(),
    };
    let key = CertificateError::Key {
        expected: ed25519(1).public_key().fingerprint(),
        found: ed25519(60).public_key().fingerprint(),
    };
    for (chain, expected) in [
        (elsewhere("cl-other", 1), subject),
        (elsewhere("cl-consumer", 60), key),
    ] {
        let mut setup = Setup::new();
        setup.signer = Arc::new(FixedAnswer(Mutex::new(Answer::Pending)));
        let mut exchange = setup.exchange();
        exchange.settle();
        setup.signer = Arc::new(FixedAnswer(Mutex::new(Answer::Ready(chain))));
        let key = liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap();
        exchange.provider = setup.provider(key);
        let view = exchange.provider_view();
        let error = exchange
            .provider
            .reconcile(&view, exchange.env())
            .unwrap_err();
        assert_eq!(
            error.fault(),
            &ApiMisuse::SignerCertificate(expected).into()
        );
        assert_eq!(error.disposition(), Disposition::GiveUp);
    }
}

#[test]
fn a_signer_that_fails_is_asked_again() {
    #[derive(Debug, PartialEq)]
    struct NoRoute;
    impl std::fmt::Display for NoRoute {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("no route to host")
        }
    }
    impl std::error::Error for NoRoute {}

    struct Fails;
    impl CsrSigner for Fails {
        fn sign(&self, _request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
            Err(NoRoute.into())
        }
    }
    let mut setup = Setup::new();
    setup.signer = Arc::new(FixedAnswer(Mutex::new(Answer::Pending)));
    let mut exchange = setup.exchange();
    exchange.settle();
    setup.signer = Arc::new(Fails);
    let key = liqo_auth::crypto::RecordKey::new(exchange::RECORD_KEY).unwrap();
    exchange.provider = setup.provider(key);
    let view = exchange.provider_view();
    let error = exchange
        .provider
        .reconcile(&view, exchange.env())
        .unwrap_err();
    let expected = LocalFault::Backend {
        backend: Backend::Credentials,
        message: "no route to host".to_owned(),
    };
    assert_eq!(error.fault(), &expected.into());
    assert_eq!(error.disposition(), Disposition::Retry);
    // The signer's own error is the source of the error.
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&NoRoute));
}

#[test]
fn a_binding_of_that_name_with_another_subject_is_a_conflict() {
    let conflict = |exchange: &Exchange, object: Object| {
        let id = object.id();
        let mut objects = exchange.at_provider.clone();
        objects.insert(object);
        let view = objects.view(exchange.consumer.cluster_id());
        let error = exchange.provider.look(&view, exchange.now).unwrap_err();
        assert_eq!(error.fault(), &LocalFault::Conflict.into());
        assert_eq!(error.at().object.as_ref(), Some(&id));
        let step = exchange.provider.reconcile(&view, exchange.env());
        assert_eq!(step.unwrap_err(), error);
    };
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let binding: &RoleBinding = exchange.at_provider.get(NAMESPACE, ROLE_BINDING).unwrap();
    assert_eq!(binding.subjects, [user("cl-consumer")]);
    let cluster_wide: &ClusterRoleBinding =
        exchange.at_provider.get("", CLUSTER_ROLE_BINDING).unwrap();
    assert_eq!(cluster_wide.subjects, [group("cl-consumer")]);

    for subjects in [
        vec![],
        vec![user("cl-other")],
        vec![group("cl-consumer")],
        vec![user("cl-consumer"), user("cl-other")],
    ] {
        let mut changed = binding.clone();
        changed.subjects = subjects;
        conflict(&exchange, changed.into());
    }
    let mut changed = binding.clone();
    changed.role_ref.name = "cluster-admin".to_owned();
    conflict(&exchange, changed.into());
    let mut changed = cluster_wide.clone();
    changed.subjects = vec![group("system:authenticated")];
    conflict(&exchange, changed.into());
}

#[test]
fn deleted_bindings_are_made_again() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let before = exchange.at_provider.clone();
    for object in before.iter().filter(|object| {
        matches!(
            object,
            Object::RoleBinding(_) | Object::ClusterRoleBinding(_)
        )
    }) {
        exchange.at_provider.remove(&object.id()).unwrap();
        assert_eq!(exchange.provider_phase().name(), "NeedsRights");
        let events = exchange.turn_of_provider().events.into_iter();
        let decisions: Vec<Decision> = events.map(|event| event.decision).collect();
        assert_eq!(decisions, [Decision::RightsGranted]);
        exchange.settle();
        let ids = |objects: &liqo_auth::machine::Objects| -> Vec<_> {
            objects.iter().map(Object::id).collect()
        };
        assert_eq!(ids(&exchange.at_provider), ids(&before));
    }
}

/// Kubernetes does not allow an owner in another namespace.
#[test]
fn the_tenant_owns_the_role_binding_in_its_own_namespace_alone() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut tenant = exchange.stored_tenant();
    let owners = |exchange: &Exchange| {
        let binding: &RoleBinding = exchange.at_provider.get(NAMESPACE, ROLE_BINDING).unwrap();
        binding.metadata.owner_references.clone()
    };
    assert_eq!(owners(&exchange), [OwnerReference::controller(&tenant)]);

    for (kind, name) in [
        (Kind::Tenant, "cl-consumer"),
        (Kind::RoleBinding, ROLE_BINDING),
    ] {
        let id = ObjectRef::new(kind, NAMESPACE, name);
        exchange.at_provider.remove(&id).unwrap();
    }
    tenant.metadata.namespace = "default".to_owned();
    exchange.at_provider.insert(tenant.into());
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(owners(&exchange), []);
}

#[test]
fn a_tenant_that_asks_for_no_handshake_is_refused() {
    let mut exchange = Setup::new().exchange();
    exchange.on_the_way = |message| {
        if let MessageBody::Tenant(tenant) = message {
            tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake);
        }
    };
    exchange.settle();
    let [error] = &exchange.refused[..] else {
        panic!("{:?}", exchange.refused);
    };
    assert_eq!(error.fault(), &PolicyRefusal::SelfDeclaredPolicy.into());
    assert_eq!(error.at().field, "spec.authzPolicy");
    assert_eq!(error.rule().map(Rule::number), Some(6));
    assert_eq!(exchange.phases(), ("AwaitsTenant", "AwaitsIdentity"));
}

#[test]
fn a_tenant_that_the_consumer_applies_again_does_not_change_its_condition() {
    for condition in [TenantCondition::Cordoned, TenantCondition::Drained] {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(condition));
        let before = exchange.at_provider.clone();
        for asked in [None, Some(TenantCondition::Active)] {
            let mut tenant = exchange.tenant();
            tenant.spec.tenant_condition = asked;
            let message = MessageBody::Tenant(Box::new(tenant));
            exchange.hand_over(message).unwrap();
            assert_eq!(exchange.at_provider, before);
        }
        exchange.settle();
        let tenant = exchange.stored_tenant();
        assert_eq!(tenant.spec.tenant_condition, Some(condition));
    }
}

/// Only the spec of a received Tenant is stored, and nothing else that the peer
/// writes.
#[test]
fn a_received_tenant_is_stored_without_its_status_and_metadata() {
    let mut exchange = Setup::new().exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    let mut tenant = exchange.tenant();
    tenant.metadata.finalizers = vec!["mine/forever".to_owned()];
    tenant
        .metadata
        .annotations
        .insert("liqo-auth/commitment".to_owned(), "mine".to_owned());
    let label = (names::MANAGED_BY_LABEL.to_owned(), "mine".to_owned());
    tenant.metadata.labels.extend([label]);
    tenant.status.tenant_namespace = "kube-system".to_owned();
    let message = MessageBody::Tenant(Box::new(tenant));
    exchange.hand_over(message).unwrap();
    let stored = exchange.stored_tenant();
    assert_eq!(stored.metadata.finalizers, [""; 0]);
    assert_eq!(stored.metadata.annotations.len(), 0);
    assert_eq!(stored.metadata.labels.len(), 1);
    assert_eq!(stored.status.tenant_namespace, "");
}

#[test]
fn two_tenant_namespaces_of_one_peer_are_ambiguous() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let expected = |other: &str| LocalFault::Ambiguous {
        other: format!("Namespace {other}"),
    };
    let second = |peer: &str, name: &str| {
        let mut namespace = Namespace::for_tenant(&id(peer));
        namespace.metadata.name = name.to_owned();
        Object::from(namespace)
    };
    let namespace = second("cl-consumer", "tenant-2");
    exchange.at_provider.insert(namespace);
    let view = exchange.provider_view();
    let error = exchange.provider.look(&view, exchange.now).unwrap_err();
    assert_eq!(error.fault(), &expected("tenant-2").into());
    let message = MessageBody::Tenant(Box::new(exchange.tenant()));
    let message = Message::new(view.peer(), exchange.provider.cluster_id(), message);
    let step = exchange.provider.receive(&view, message, exchange.env());
    assert_eq!(step.unwrap_err(), error);

    exchange
        .at_consumer
        .insert(second("cl-provider", "tenant-2"));
    let view = exchange.consumer_view();
    let error = exchange.consumer.look(&view, exchange.now).unwrap_err();
    assert_eq!(error.fault(), &expected("tenant-2").into());
}

#[test]
fn two_tenants_of_one_name_are_ambiguous() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut second = exchange.stored_tenant();
    second.metadata.namespace = "default".to_owned();
    second.metadata.uid.clear();
    exchange.at_provider.insert(second.into());
    // The one on record is the peer's.
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert!(exchange.turn_of_provider().is_settled());
    let record = secret_ref("liqo", "liqo-auth-provider-cl-consumer");
    exchange.at_provider.remove(&record).unwrap();
    let view = exchange.provider_view();
    let error = exchange.provider.look(&view, exchange.now).unwrap_err();
    let expected = LocalFault::Ambiguous {
        other: "Tenant liqo-tenant-cl-consumer/cl-consumer".to_owned(),
    };
    assert_eq!(error.fault(), &expected.into());
}

/// A peering user may create Tenants in the tenant namespace of its own cluster.
#[test]
fn a_tenant_in_the_namespace_of_another_peer_changes_nothing() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut planted = exchange.stored_tenant();
    planted.metadata.namespace = "liqo-tenant-other".to_owned();
    planted.metadata.uid.clear();
    exchange.at_provider.insert(planted.into());
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    // An embedder may pass the objects of all peers.
    let view = View::of(exchange.consumer.cluster_id(), exchange.at_provider.iter());
    let status = exchange.provider.look(&view, exchange.now).unwrap();
    assert_eq!(status.phase.name(), "Authenticated");
}

/// An ECDSA signature differs each time. Liqo refuses a request that differs
/// from the one that it has signed.
#[cfg(feature = "ecdsa")]
#[test]
fn a_request_is_sent_again_byte_for_byte() {
    use liqo_auth::{
        crypto::{Algorithm, Csr, KeyPair},
        policy::Policy,
    };
    for algorithm in [
        Algorithm::EcdsaP256,
        Algorithm::EcdsaP384,
        Algorithm::EcdsaP521,
    ] {
        let mut setup = Setup::new();
        let key = KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap();
        setup.consumer_key = Arc::new(key);
        let subject = Subject::control_plane(&id("cl-consumer"));
        let made_anew = || {
            Csr::make(&subject, &*setup.consumer_key)
                .unwrap()
                .at_once()
                .unwrap()
        };
        assert_ne!(made_anew().pem(), made_anew().pem(), "{algorithm}");

        let mut exchange = setup.exchange();
        exchange.turn_of_provider();
        exchange.deliver("nonce");
        let first = exchange.tenant();
        for _ in 0..3 {
            exchange.turn_of_consumer();
            exchange.deliver("nonce");
            assert_eq!(exchange.tenant(), first);
        }
        // The request also stays the same after a new nonce and with an
        // Identity.
        let env = exchange.env();
        let step = exchange
            .provider
            .replace_nonce(&exchange.provider_view(), env)
            .unwrap();
        exchange.carry_out(true, step);
        exchange.settle();
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        assert_ne!(exchange.tenant().spec.signature, first.spec.signature);
        assert_eq!(exchange.tenant().spec.csr, first.spec.csr);

        // A crash after the request is stored and before the signature is
        // stored.
        let mut crashed = setup.exchange();
        crashed.turn_of_provider();
        let view = crashed.consumer_view();
        let consumer = crashed.consumer.cluster_id();
        let nonce = Message::new(view.peer(), consumer, crashed.nonce());
        let step = crashed
            .consumer
            .receive(&view, nonce, crashed.env())
            .unwrap();
        let record = &step.effects[1];
        assert_eq!(record.id().name, "liqo-auth-consumer-cl-provider");
        crashed.at_consumer.apply(&step.effects[0]).unwrap();
        crashed.at_consumer.apply(record).unwrap();
        let MessageBody::Tenant(unsent) = &step.outbox[0].body else {
            panic!("{:?}", step.outbox);
        };
        crashed.settle();
        assert_eq!(crashed.tenant().spec.csr, unsent.spec.csr);
        let stored = crashed.stored_tenant().spec.csr;
        Csr::verify(
            stored.as_slice(),
            &subject,
            setup.consumer_key.public_key(),
            &Policy::strict(),
        )
        .unwrap();
    }
}

fn request(exchange: &Exchange) -> SigningRequest {
    match exchange.provider_phase() {
        provider::Phase::NeedsCredential(needs) => match needs.request {
            provider::CredentialRequest::Certificate(request) => request,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
