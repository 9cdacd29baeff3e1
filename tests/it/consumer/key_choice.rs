//! The choice between this cluster's key and a key of the provider's own.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    crypto::{Entropy, Nonce, RecordKey, SigningKey, StructuredNonce},
    machine::Message,
    model::{Kind, Metadata, Namespace, Object, ObjectRef, Secret, Tenant, names},
};

use crate::{
    clusters::{
        exchange::{ed25519, id, now},
        store,
    },
    consumer::home::{HOUR, Home, NAMESPACE, RECORD, YEAR, env, provider},
};

/// The setting, and whether the provider gets a key of its own by it.
const BY_SETTING: [(Option<bool>, bool); 2] = [(Some(true), true), (Some(false), false)];

fn takes_own(home: &Home, setting: Option<bool>) -> bool {
    let key: Arc<dyn SigningKey> = ed25519(1);
    let (view, now) = (home.view(), home.now);
    home.consumer
        .takes_own_key(&view, &key, setting, now)
        .unwrap()
}

fn named(namespace: &str, name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        ..Metadata::default()
    }
}

/// What shows that the provider is a consumer, too.
pub(super) fn of_a_consumer() -> [Object; 3] {
    let record = Secret {
        metadata: named(names::LIQO_NAMESPACE, "liqo-auth-provider-cl-provider"),
        ..Secret::default()
    };
    let tenant = Tenant {
        metadata: named(NAMESPACE, "cl-provider"),
        ..Tenant::default()
    };
    let binding = Object::from_value(serde_json::json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {
            "name": "liqo-peer-user-cl-provider-tenant-ns-writer",
            "namespace": NAMESPACE,
            "labels": { "liqo.io/peering-user-name": "liqo-peer-user-cl-provider" },
        },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "liqo-peer-user-cl-provider-tenant-ns-writer",
        },
        "subjects": [],
    }));
    assert!(binding.as_unreadable().is_none());
    [record.into(), tenant.into(), binding]
}

/// The same objects without the consumer's record, as Liqo would leave them.
fn without_record(mut home: Home) -> Home {
    let record = ObjectRef::new(Kind::Secret, names::LIQO_NAMESPACE, RECORD);
    assert!(home.objects.remove(&record).is_some());
    home
}

#[test]
fn a_provider_that_is_no_consumer_gets_the_key_of_the_cluster() {
    let home = Home::new();
    assert!(!takes_own(&home, None));
    for (setting, own) in BY_SETTING {
        assert_eq!(takes_own(&home, setting), own);
    }
}

#[test]
fn a_provider_that_is_a_consumer_too_gets_a_key_of_its_own() {
    for shown in of_a_consumer() {
        let mut home = Home::new();
        let namespace = Namespace::for_tenant(&provider());
        home.objects.insert(namespace.into());
        home.objects.insert(shown.clone());
        assert!(takes_own(&home, None), "{}", shown.id());
        for (setting, own) in BY_SETTING {
            assert_eq!(takes_own(&home, setting), own);
        }
    }
}

/// A nonce that names these clusters. Anyone can make it.
fn nonce_for(provider: &str) -> Nonce {
    let key = RecordKey::new([2; 32]).unwrap();
    let (provider, entropy) = (id(provider), Entropy::from_bytes([3; 32]));
    let expires = now() + HOUR;
    StructuredNonce::issue(&provider, &id("cl-consumer"), None, expires, &key, &entropy)
}

/// A home that has signed this nonce with the cluster's key.
fn signed(nonce: Nonce) -> Home {
    let mut home = Home::new();
    home.receive(nonce).unwrap();
    home
}

#[test]
fn a_running_peering_keeps_the_key_of_the_cluster() {
    let of_liqo = || Nonce::random(&Entropy::from_bytes([7; 32]));
    let running = [
        signed(of_liqo()),
        signed(nonce_for("cl-provider")),
        Home::authenticated(YEAR),
        without_record(signed(nonce_for("cl-provider"))),
        without_record(Home::authenticated(YEAR)),
    ];
    for mut home in running {
        for shown in of_a_consumer() {
            home.objects.insert(shown);
        }
        assert!(!takes_own(&home, None));
        assert!(!takes_own(&home, Some(true)));
    }
}

/// A provider that is a consumer, too, may write in its tenant namespace, and knows the public
/// key of this cluster.
#[test]
fn an_identity_that_a_peer_has_written_is_no_running_peering() {
    let mut home = Home::new();
    for shown in of_a_consumer() {
        home.objects.insert(shown);
    }
    home.objects
        .insert(Namespace::for_tenant(&provider()).into());
    let mut identity = home.identity(&home.issue(YEAR));
    identity.metadata.namespace = NAMESPACE.to_owned();
    home.objects.insert(identity.into());
    home.objects.insert(
        Secret {
            metadata: named(NAMESPACE, names::SIGNED_NONCE_SECRET),
            data: [
                ("nonce".to_owned(), b"bm9uY2U=".as_slice().into()),
                ("signedNonce".to_owned(), [7; 64].as_slice().into()),
            ]
            .into(),
            ..Secret::default()
        }
        .into(),
    );
    assert!(takes_own(&home, None));
}

/// A provider that is a consumer, too, may write the Secret of the signed nonce. It may have a
/// signature that this cluster gave to another provider.
#[test]
fn a_signature_for_another_provider_is_no_running_peering() {
    let elsewhere = |nonce: Nonce| {
        let consumer = Home::new().consumer;
        let mut objects = store::empty();
        let message = Message::new(&id("cl-other"), consumer.cluster_id(), nonce);
        let view = objects.view(&id("cl-other"));
        let step = consumer.receive(&view, message, env(now())).unwrap();
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
        let secret: &Secret = objects
            .get("liqo-tenant-cl-other", names::SIGNED_NONCE_SECRET)
            .unwrap();
        secret.data.clone()
    };
    for nonce in [
        nonce_for("cl-other"),
        // A nonce of Liqo names nobody.
        Nonce::random(&Entropy::from_bytes([7; 32])),
    ] {
        let mut home = Home::new();
        for shown in of_a_consumer() {
            home.objects.insert(shown);
        }
        let planted = Secret {
            metadata: named(NAMESPACE, names::SIGNED_NONCE_SECRET),
            data: elsewhere(nonce),
            ..Secret::default()
        };
        home.objects.insert(planted.into());
        assert!(takes_own(&home, None));
    }
}

/// The provider may have pinned the key.
#[test]
fn after_an_end_only_the_setting_changes_the_key() {
    let mut home = Home::authenticated(YEAR);
    let step = home.consumer.unauthenticate(&home.view()).unwrap();
    home.carry_out(step);
    home.settle();
    for shown in of_a_consumer() {
        home.objects.insert(shown);
    }
    assert!(!takes_own(&home, None));
    for (setting, own) in BY_SETTING {
        assert_eq!(takes_own(&home, setting), own);
    }
    // What the provider writes into its tenant namespace changes nothing.
    let mut identity = home.identity(&home.issue(YEAR));
    identity.metadata.namespace = NAMESPACE.to_owned();
    home.objects.insert(identity.into());
    assert!(takes_own(&home, Some(true)));
}
