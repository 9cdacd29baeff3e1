//! Evidence of a peer's version in the objects.

use liqo_auth::{
    assurance::peer_version::{self, Ability, Evidence},
    error::{Fault, LocalFault},
    model::{
        AuthParams, Identity, Kind, Metadata, Object, ObjectRef, Renew, Resource, Secret,
        ServiceAccount, Tenant, names,
    },
};

use crate::{
    clusters::{
        exchange::{Exchange, Setup, ed25519, id},
        store,
    },
    recordings::{objects, recordings, vectors},
};

#[test]
fn the_versions_of_two_peers_with_this_library_are_recognized() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let consumer = of_consumer(&exchange);
    assert_eq!(
        consumer.to_string(),
        "Liqo 0.11.0 or later, before 1.0.2, or this library"
    );
    assert_eq!(
        consumer.observations[0].to_string(),
        "Tenant liqo-tenant-cl-consumer/cl-consumer, spec.publicKey: \
         a public key of 32 raw bytes: Liqo 0.11.0 or later, before 1.0.2, or this library"
    );
    assert_eq!(consumer.can(Ability::SignNonce), Some(true));
    assert_eq!(consumer.can(Ability::ReadPemKeys), None);
    assert_eq!(consumer.can(Ability::ExchangeTokens), None);
    let provider = of_provider(&exchange);
    assert_eq!(provider.to_string(), "this library");
    let found: Vec<_> = provider
        .observations
        .iter()
        .map(|seen| seen.found)
        .collect();
    assert_eq!(
        found,
        [
            "a nonce that names its clusters",
            "a commitment of the provider"
        ]
    );
    for ability in [
        Ability::SignNonce,
        Ability::ReadPemKeys,
        Ability::RenewByRequest,
        Ability::RenewByChannel,
        Ability::ProveKeys,
    ] {
        assert_eq!(provider.can(ability), Some(true), "{ability:?}");
    }
}

#[test]
fn liqo_1_2_is_recognized_by_its_key_and_its_renewals() {
    for liqo in recordings() {
        let exchange = liqo.after();
        let provider = of_provider(&exchange);
        assert_eq!(provider.can(Ability::SignNonce), Some(true));
        assert_eq!(provider.can(Ability::ExchangeTokens), None);
        let consumer = of_consumer(&exchange);
        let key = &consumer.observations[0];
        assert_eq!(
            (key.field, key.found),
            ("spec.publicKey", "a public key in PEM")
        );
    }
    let folder = vectors().join("renewal/1-after-75s");
    let (at_provider, at_consumer) = (
        objects(&folder.join("ren-b")),
        objects(&folder.join("ren-a")),
    );
    let tenant = at_provider.iter().find_map(Tenant::from_object).unwrap();
    let identity = at_consumer.iter().find_map(Identity::from_object).unwrap();
    let (consumer_id, provider_id) = (&tenant.spec.cluster_id, &identity.spec.cluster_id);
    let evidence = peer_version::of_consumer(&at_provider.view(&id(consumer_id))).unwrap();
    assert_eq!(evidence.to_string(), "Liqo 1.2.0 or later, or this library");
    assert_eq!(evidence.can(Ability::RenewByChannel), Some(true));
    let evidence = peer_version::of_provider(&at_consumer.view(&id(provider_id))).unwrap();
    assert_eq!(evidence.to_string(), "Liqo 1.2.0 or later, or this library");
    assert_eq!(evidence.can(Ability::RenewByChannel), Some(true));
    assert_eq!(evidence.can(Ability::ProveKeys), None);
    assert!(!evidence.contradictory);
}

#[test]
fn liqo_1_0_and_1_1_are_recognized_by_the_request_in_a_renewal() {
    let mut exchange = with_pem_key();
    exchange.at_provider.insert(renew(true, b"csr").into());
    let evidence = of_consumer(&exchange);
    assert_eq!(
        evidence.to_string(),
        "Liqo 1.0.2 or later, before 1.2.0, or this library"
    );
    assert_eq!(evidence.can(Ability::RenewByRequest), Some(true));
    assert_eq!(evidence.can(Ability::RenewByChannel), None);
    // A provider of any version may answer a Renew with a request.
    let mut asked = renew(false, b"csr");
    asked.status.auth_params = Some(AuthParams::default());
    let objects = store::holding([asked.into()]);
    let evidence = peer_version::of_provider(&objects.view(&id("cl-provider"))).unwrap();
    assert_eq!(evidence.to_string(), "Liqo 1.0.0 or later, or this library");
    assert_eq!(evidence.can(Ability::RenewByRequest), None);
    // A Renew without an answer is no evidence about the provider.
    let objects = store::holding([renew(false, b"").into()]);
    let evidence = peer_version::of_provider(&objects.view(&id("cl-provider"))).unwrap();
    assert_eq!(evidence.observations, []);
    assert_eq!(evidence.to_string(), "Liqo 0.2.0 or later, or this library");
}

#[test]
fn contradictory_evidence_is_reported() {
    let mut exchange = with_pem_key();
    exchange.at_provider.insert(renew(true, b"").into());
    let evidence = of_consumer(&exchange);
    assert_eq!(evidence.to_string(), "Liqo 1.2.0 or later, or this library");
    assert!(!evidence.contradictory);
    // A token of Liqo 0.10 in addition: no version writes both, so the peer was
    // upgraded.
    exchange.at_provider.insert(token().into());
    let evidence = of_consumer(&exchange);
    assert!(evidence.contradictory);
    assert!(evidence.mixed);
    assert_eq!(
        evidence.to_string(),
        "Liqo 1.2.0 or later, or this library; the observations contradict each other"
    );
    assert_eq!(evidence.can(Ability::RenewByChannel), Some(true));

    // So does an older Tenant: its raw key is of the first version with a nonce.
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    exchange.at_provider.insert(token().into());
    assert!(of_consumer(&exchange).contradictory);
    // Two forms of the token protocol are of one peer that was upgraded.
    let foreign = |name: &str, form: &str| -> Object {
        Object::from_value(serde_json::json!({
            "apiVersion": "discovery.liqo.io/v1alpha1",
            "kind": "ForeignCluster",
            "metadata": { "name": name, "annotations": { "liqo-auth/token-protocol": form } },
            "spec": { "clusterIdentity": { "clusterID": "cl-provider", "clusterName": "a" } },
        }))
    };
    let forms = [
        foreign("a", "service-accounts"),
        foreign("b", "certificates"),
    ];
    let objects = store::holding(forms);
    let evidence = peer_version::of_provider(&objects.view(&id("cl-provider"))).unwrap();
    assert_eq!(evidence.observations.len(), 2);
    assert!(evidence.mixed && !evidence.contradictory);
}

/// A raw key as before Liqo 1.0.2, and a Renew as since 1.2: this library writes both.
#[test]
fn the_objects_of_a_fresh_peer_with_this_library_contradict_nothing() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    assert!(!of_consumer(&exchange).mixed);
    exchange.at_provider.insert(renew(true, b"").into());
    let evidence = of_consumer(&exchange);
    assert_eq!(evidence.observations.len(), 2);
    assert!(!evidence.contradictory);
    assert!(evidence.peer.this_library);
    assert_eq!(
        evidence.to_string(),
        "this library, or a Liqo that was upgraded to 1.2.0 or later"
    );
    // A Liqo that was upgraded keeps the objects as they are. So its present version counts.
    assert!(evidence.mixed);
    assert_eq!(evidence.can(Ability::RenewByChannel), Some(true));
    assert_eq!(evidence.can(Ability::RenewByRequest), None);
    assert_eq!(evidence.can(Ability::ReadPemKeys), Some(true));

    // What this library alone writes leaves no version of Liqo.
    let mut asked = renew(false, b"");
    asked.status.auth_params = Some(AuthParams::default());
    exchange.at_consumer.insert(asked.into());
    let evidence = of_provider(&exchange);
    assert_eq!(evidence.to_string(), "this library");
    assert!(!evidence.contradictory && !evidence.mixed);
}

#[test]
fn objects_of_the_token_protocol_are_evidence_of_an_old_version() {
    let service_account = ServiceAccount {
        metadata: about("remote-cl-consumer", "liqo"),
        ..ServiceAccount::default()
    };
    let at_foreign = store::holding([service_account.into()]);
    let evidence = peer_version::of_consumer(&at_foreign.view(&id("cl-consumer"))).unwrap();
    assert_eq!(
        evidence.to_string(),
        "Liqo 0.2.0 or later, before 0.3.0, or this library"
    );
    assert_eq!(evidence.can(Ability::ExchangeTokens), Some(true));

    let at_foreign = store::holding([token().into()]);
    let evidence = peer_version::of_consumer(&at_foreign.view(&id("cl-consumer"))).unwrap();
    assert_eq!(
        evidence.to_string(),
        "Liqo 0.2.0 or later, before 0.11.0, or this library"
    );
    let other = peer_version::of_consumer(&at_foreign.view(&id("cl-other"))).unwrap();
    assert_eq!(other.observations, []);

    let mut metadata = about("remote-identity-x", "liqo-tenant-cl-consumer");
    metadata
        .labels
        .insert(names::REMOTE_IDENTITY_LABEL.to_owned(), String::new());
    let secret = Secret {
        metadata,
        ..Secret::default()
    };
    let at_home = store::holding([secret.into()]);
    let evidence = peer_version::of_provider(&at_home.view(&id("cl-consumer"))).unwrap();
    assert_eq!(
        evidence.observations[0].found,
        "an identity that was given for a token"
    );
    assert_eq!(evidence.can(Ability::ExchangeTokens), Some(true));
}

#[test]
fn an_unreadable_object_is_an_error_and_not_absent() {
    let broken = Object::from_value(serde_json::json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Renew",
        "metadata": { "name": "controlplane-cl-provider", "namespace": "liqo-tenant-cl-consumer" },
        "spec": 5,
    }));
    let objects = store::holding([broken]);
    let error = peer_version::of_consumer(&objects.view(&id("cl-consumer"))).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    assert_eq!(
        error.at().object,
        Some(ObjectRef::new(
            Kind::Renew,
            "liqo-tenant-cl-consumer",
            "controlplane-cl-provider"
        ))
    );
}

fn with_pem_key() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let pem = ed25519(1).public_key().to_pem();
    exchange.edit_tenant(|tenant| tenant.spec.public_key = pem.as_bytes().into());
    exchange
}

fn of_consumer(exchange: &Exchange) -> Evidence {
    peer_version::of_consumer(&exchange.provider_view()).unwrap()
}

fn of_provider(exchange: &Exchange) -> Evidence {
    peer_version::of_provider(&exchange.consumer_view()).unwrap()
}

/// The consumer's Renew, or its replica on the provider.
fn renew(replica: bool, csr: &[u8]) -> Renew {
    let labels = if replica {
        [
            (names::REPLICATED_LABEL, "true"),
            (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
        ]
    } else {
        [
            (names::REPLICATION_LABEL, "true"),
            (names::REPLICATION_DESTINATION_LABEL, "cl-provider"),
        ]
    };
    let mut renew = Renew {
        metadata: Metadata {
            name: "controlplane-cl-provider".to_owned(),
            namespace: "liqo-tenant-cl-consumer".to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Metadata::default()
        },
        ..Renew::default()
    };
    renew.spec.csr = csr.into();
    renew
}

fn token() -> Secret {
    Secret {
        metadata: about("remote-token-cl-consumer", "liqo"),
        ..Secret::default()
    }
}

fn about(name: &str, namespace: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: [(
            names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
            "cl-consumer".to_owned(),
        )]
        .into(),
        ..Metadata::default()
    }
}
