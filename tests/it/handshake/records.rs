//! Pins, proofs and their seals. A record is not lost, and it is not believed
//! if another party wrote it.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    consumer::ConsumerConfig,
    crypto::{KeyPair, RecordKey, SigningKey},
    error::{Disposition, Error, Fault, LocalFault, PeerIncompatible, Rule},
    machine::{Message, MessageBody, Objects},
    model::{Kind, Object, ObjectRef, Secret},
    provider::{self, NameTable, Provider},
};
use serde_json::{Value, json};

use crate::clusters::exchange::{Exchange, RECORD_KEY, Setup, ed25519, id, secret_ref};

const PROVIDER_RECORD: &str = "liqo-auth-provider-cl-consumer";
const CONSUMER_RECORD: &str = "liqo-auth-consumer-cl-provider";

#[test]
fn a_rotated_record_key_accepts_nonces_and_records_of_its_predecessor() {
    let setup = Setup::new();
    let rotated = || setup.provider(new_key().with_predecessor(RECORD_KEY).unwrap());

    // A nonce that was sent under the old key.
    let mut exchange = setup.exchange();
    exchange.turn_of_provider();
    let nonce = exchange.nonce();
    exchange.provider = rotated();
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(
        exchange.provider_secret("liqo-nonce").data["nonce"].expose(),
        nonce.as_str().as_bytes()
    );

    // A record that was sealed with the old key.
    let mut exchange = settled(&setup);
    let before = exchange.at_provider.clone();
    exchange.provider = rotated();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));

    // The record is sealed anew, so that the predecessor is no longer needed.
    assert_ne!(exchange.at_provider, before);
    exchange.provider = setup.provider(new_key());
    let sealed = exchange.at_provider.clone();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(exchange.at_provider, sealed);
}

#[test]
fn a_record_key_without_its_predecessor_refuses_old_nonces_and_records() {
    let setup = Setup::new();
    let mut exchange = setup.exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    exchange.provider = setup.provider(new_key());
    // The invitation is on record, too.
    assert_broken_seal(&mut exchange);
    let record = secret_ref("liqo", PROVIDER_RECORD);
    exchange.at_provider.remove(&record).unwrap();
    let message = MessageBody::Tenant(Box::new(exchange.tenant()));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PeerIncompatible::NonceNotOurs.into());

    let mut exchange = settled(&setup);
    exchange.provider = setup.provider(new_key());
    assert_broken_seal(&mut exchange);
}

#[test]
fn an_edited_record_is_an_error() {
    let edits: [fn(&mut Secret); 6] = [
        |secret| {
            let record = secret.data["record"].expose();
            let mut record: Value = serde_json::from_slice(record).unwrap();
            record["publicKey"] = "AAAA".into();
            let text = record.to_string().into_bytes();
            secret.data.insert("record".to_owned(), text.into());
        },
        |secret| {
            // The same content in another spelling.
            let mut text = secret.data["record"].expose().to_vec();
            text.push(b' ');
            secret.data.insert("record".to_owned(), text.into());
        },
        |secret| {
            let mut seal = secret.data["seal"].expose().to_vec();
            seal[31] ^= 1;
            secret.data.insert("seal".to_owned(), seal.into());
        },
        |secret| {
            let seal = secret.data["seal"].expose()[..15].to_vec();
            secret.data.insert("seal".to_owned(), seal.into());
        },
        |secret| {
            secret.data.remove("seal");
        },
        |secret| secret.data.clear(),
    ];
    for edit in edits {
        let mut exchange = settled(&Setup::new());
        let mut secret = record(&exchange.at_provider, PROVIDER_RECORD);
        edit(&mut secret);
        exchange.at_provider.insert(secret.into());
        assert_broken_seal(&mut exchange);
    }
}

#[test]
fn a_record_of_another_peer_or_provider_is_an_error() {
    // The record of another peer of the same provider, under this peer's name.
    let mut victim = settled(&Setup::new());
    let mut other = Setup::new();
    other.consumer_key = ed25519(60);
    let consumer = liqo_auth::consumer::Consumer::new(
        ConsumerConfig::new(id("cl-other")),
        Arc::new(liqo_auth::crypto::OneKey(ed25519(60))),
    );
    let mut other = Exchange {
        consumer,
        ..other.exchange()
    };
    other.settle();
    let mut copied = record(&other.at_provider, "liqo-auth-provider-cl-other");
    copied.metadata = record(&victim.at_provider, PROVIDER_RECORD).metadata;
    victim.at_provider.insert(copied.into());
    assert_broken_seal(&mut victim);

    // The record of the same peer at another provider with the same record key.
    let mut exchange = settled(&Setup::new());
    let setup = Setup::new();
    exchange.provider = Provider::builder(
        id("cl-elsewhere"),
        setup.endpoint.clone(),
        RecordKey::new(RECORD_KEY).unwrap(),
    )
    .principals(Arc::new(NameTable::default()))
    .build();
    assert_broken_seal(&mut exchange);
}

/// An unreadable object never counts as a first contact.
#[test]
fn an_unreadable_object_is_an_error_and_not_absent() {
    let namespace = "liqo-tenant-cl-consumer";
    for id in [
        secret_ref("liqo", PROVIDER_RECORD),
        secret_ref(namespace, "liqo-nonce"),
        secret_ref(namespace, "liqo-remote-certificate"),
        ObjectRef::new(Kind::Tenant, namespace, "cl-consumer"),
        ObjectRef::new(Kind::Namespace, "", namespace),
        ObjectRef::new(
            Kind::RoleBinding,
            namespace,
            "liqo-binding-liqo-remote-controlplane",
        ),
        ObjectRef::new(
            Kind::ClusterRoleBinding,
            "",
            "liqo-binding-liqo-virtual-kubelet-remote-clusterwide-cl-consumer",
        ),
    ] {
        let mut exchange = settled(&Setup::new());
        assert!(exchange.at_provider.remove(&id).is_some(), "{id}");
        exchange.at_provider.insert(unreadable(&id));
        let view = exchange.provider_view();
        let phase = exchange.provider.look(&view, exchange.now);
        let step = exchange.provider.reconcile(&view, exchange.env());
        let is_the_peers = matches!(id.kind, Kind::Secret | Kind::Tenant);
        if is_the_peers && id.namespace == namespace {
            // The peer may have written this object. The provider continues
            // with the rest.
            let provider::Phase::Refused(error) = phase.unwrap().phase else {
                panic!("{id}");
            };
            assert_unreadable(&error, &id);
            let step = step.unwrap();
            assert!(step.is_settled());
            assert_unreadable(&step.refused[0].error, &id);
        } else {
            assert_unreadable(&phase.unwrap_err(), &id);
            assert_unreadable(&step.unwrap_err(), &id);
        }
        let message = MessageBody::Tenant(Box::new(exchange.tenant()));
        let provider = exchange.provider.cluster_id();
        let message = Message::new(view.peer(), provider, message);
        let step = exchange.provider.receive(&view, message, exchange.env());
        assert_unreadable(&step.unwrap_err(), &id);
        let step = exchange.provider.replace_nonce(&view, exchange.env());
        assert_unreadable(&step.unwrap_err(), &id);
    }
    let namespace = "liqo-tenant-cl-provider";
    for id in [
        secret_ref("liqo", CONSUMER_RECORD),
        secret_ref(namespace, "liqo-signed-nonce"),
        secret_ref(namespace, "kubeconfig-controlplane-cl-provider"),
        ObjectRef::new(Kind::Identity, namespace, "controlplane-cl-provider"),
        ObjectRef::new(Kind::Namespace, "", namespace),
    ] {
        let mut exchange = settled(&Setup::new());
        assert!(exchange.at_consumer.remove(&id).is_some(), "{id}");
        exchange.at_consumer.insert(unreadable(&id));
        let view = exchange.consumer_view();
        let error = exchange.consumer.look(&view, exchange.now).unwrap_err();
        assert_unreadable(&error, &id);
        for message in [
            MessageBody::Nonce(exchange.nonce()),
            MessageBody::Identity(Box::new(exchange.identity())),
        ] {
            let consumer = exchange.consumer.cluster_id();
            let message = Message::new(view.peer(), consumer, message);
            let step = exchange.consumer.receive(&view, message, exchange.env());
            assert_unreadable(&step.unwrap_err(), &id);
        }
    }
}

#[test]
fn a_malformed_record_of_a_consumer_is_an_error() {
    for text in ["", "{", "[]", r#"{"other":1}"#, r#"{"csr":5}"#] {
        let mut exchange = settled(&Setup::new());
        let mut secret = record(&exchange.at_consumer, CONSUMER_RECORD);
        let text = text.as_bytes().to_vec();
        secret.data.insert("record".to_owned(), text.into());
        exchange.at_consumer.insert(secret.into());
        let view = exchange.consumer_view();
        let error = exchange.consumer.look(&view, exchange.now).unwrap_err();
        assert_unreadable(&error, &secret_ref("liqo", CONSUMER_RECORD));
    }
}

#[test]
fn another_key_for_a_pinned_cluster_id_is_refused() {
    let mut exchange = settled(&Setup::new());
    let mut changed = Setup::new();
    changed.consumer_key = ed25519(60);
    let expected = PeerIncompatible::KeyChanged {
        pinned: ed25519(1).public_key().fingerprint().to_string(),
        found: ed25519(60).public_key().fingerprint().to_string(),
    };
    // Another key needs only its signature over an unused nonce of this
    // provider.
    let replace = |exchange: &mut Exchange| {
        let env = exchange.env();
        let step = exchange
            .provider
            .replace_nonce(&exchange.provider_view(), env)
            .unwrap();
        exchange.carry_out(true, step);
        let mut thief = changed.exchange();
        thief.hand_over(exchange.nonce()).unwrap();
        thief.tenant()
    };
    let tenant = replace(&mut exchange);
    let before = exchange.at_provider.clone();
    let error = exchange.hand_over(tenant.clone()).unwrap_err();
    assert_eq!(error.fault(), &expected.clone().into());
    assert_eq!(error.rule().map(Rule::number), Some(5));
    assert_eq!(error.at().field, "spec.publicKey");
    assert_eq!(exchange.at_provider, before);

    // Applied past the library, over the stored Tenant.
    exchange.edit_tenant(|stored| stored.spec = tenant.spec.clone());
    let provider::Phase::Refused(error) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert_eq!(error.fault(), &expected.clone().into());

    // The pin stays after the Tenant is deleted.
    let stored = exchange.stored_tenant();
    let id = liqo_auth::model::Resource::id(&stored);
    exchange.at_provider.remove(&id).unwrap();
    let tenant = replace(&mut exchange);
    let error = exchange.hand_over(tenant).unwrap_err();
    assert_eq!(error.fault(), &expected.into());

    // The administrator releases the pin. Then another key is a first contact.
    exchange
        .at_provider
        .remove(&secret_ref("liqo", PROVIDER_RECORD));
    let tenant = replace(&mut exchange);
    exchange.hand_over(tenant).unwrap();
    exchange.turns_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(
        exchange.certificate().leaf().spki_der,
        ed25519(60).public_key().spki_der()
    );
}

#[test]
fn a_record_contains_no_private_key() {
    let exchange = settled(&Setup::new());
    let key = KeyPair::from_entropy(&liqo_auth::crypto::Entropy::from_bytes([1; 32]));
    let pem = key.to_pkcs8_pem();
    let secret_line = pem.expose().lines().nth(1).unwrap();
    for (objects, name) in [
        (&exchange.at_provider, PROVIDER_RECORD),
        (&exchange.at_consumer, CONSUMER_RECORD),
    ] {
        let text = record(objects, name).data["record"].expose().to_vec();
        let text = String::from_utf8(text).unwrap();
        assert!(!text.contains(secret_line));
        assert!(!text.contains("PRIVATE"));
    }
    assert_eq!(key.public_key(), ed25519(1).public_key());
}

fn settled(setup: &Setup) -> Exchange {
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

fn assert_broken_seal(exchange: &mut Exchange) {
    let before = exchange.at_provider.clone();
    let view = exchange.provider_view();
    let message = MessageBody::Tenant(Box::new(exchange.tenant()));
    let errors = [
        exchange.provider.look(&view, exchange.now).unwrap_err(),
        exchange
            .provider
            .reconcile(&view, exchange.env())
            .unwrap_err(),
        exchange
            .provider
            .receive(
                &view,
                Message::new(view.peer(), exchange.provider.cluster_id(), message),
                exchange.env(),
            )
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.fault(), &LocalFault::BrokenSeal.into());
        assert_eq!(error.rule().map(Rule::number), Some(10));
        assert_eq!(error.disposition(), Disposition::WaitForChange);
        let object = error.at().object.clone().unwrap();
        assert_eq!(object, secret_ref("liqo", PROVIDER_RECORD));
    }
    assert_eq!(exchange.at_provider, before);
}

fn assert_unreadable(error: &Error, id: &ObjectRef) {
    assert!(
        matches!(error.fault(), Fault::Local(LocalFault::Unreadable { .. })),
        "{id}: {error}"
    );
    assert_eq!(error.at().object.as_ref(), Some(id), "{error}");
}

/// An object as another version of the API server or a broken cache may give
/// it.
fn unreadable(id: &ObjectRef) -> Object {
    let mut metadata = json!({ "name": id.name, "labels": 5 });
    if !id.namespace.is_empty() {
        metadata["namespace"] = id.namespace.clone().into();
    }
    let object = Object::from_value(json!({
        "apiVersion": id.kind.api_version(),
        "kind": id.kind.to_string(),
        "metadata": metadata,
    }));
    assert!(object.as_unreadable().is_some(), "{object:?}");
    assert_eq!(&object.id(), id);
    object
}

fn record(objects: &Objects, name: &str) -> Secret {
    objects.get::<Secret>("liqo", name).unwrap().clone()
}

fn new_key() -> RecordKey {
    RecordKey::new([2; 32]).unwrap()
}
