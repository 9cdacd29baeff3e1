//! A provider's answers to the Renew objects of a consumer, in both schemes.

use liqo_auth::{
    crypto::{Csr, CsrError, SigningKey, Subject},
    error::{Fault, LocalFault, PeerIncompatible, PeerMisbehaved},
    machine::{Notice, Step},
    model::{
        AuthParams, IdentityType, Kind, LocalObjectReference, Metadata, Object, ObjectRef, Renew,
        RenewSpec, RenewStatus, names,
    },
    provider::RenewalChannel,
};

use crate::clusters::{
    exchange::{self, Exchange, Setup, ed25519, id},
    notary::{DAY, Notary, YEAR},
};

/// A consumer that lost its key gets a certificate by its next handshake, and nothing is left to
/// carry.
#[test]
fn the_first_certificate_of_another_key_is_no_renewal() {
    let (_, mut exchange) = authenticated();
    let view = exchange.provider_view();
    let step = exchange.provider.release_key(&view).unwrap();
    exchange.carry_out(true, step);
    let (view, env) = (exchange.provider_view(), exchange.env());
    let step = exchange.provider.replace_nonce(&view, env).unwrap();
    exchange.carry_out(true, step);
    exchange.lose_the_consumer();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    let step = exchange.turn_of_provider();
    assert!(!step.notices.contains(&Notice::RenewalNotCarried));
}

/// Liqo 1.2: the Renew exists as long as the Identity. It always has the same
/// credentials as the Tenant's status.
#[test]
fn a_renew_without_a_request_gets_the_credentials_of_the_status() {
    let (notary, mut exchange) = authenticated();
    exchange.at_provider.insert(channel().into());
    assert_eq!(told(&exchange), RenewalChannel::Permanent);
    let step = settle(&mut exchange);
    assert_eq!(answer(&exchange), status(&exchange));

    exchange.now = exchange.now + 60 * DAY;
    let before = answer(&exchange);
    let step_after = settle(&mut exchange);
    assert_eq!(notary.signed(), 2);
    assert_ne!(answer(&exchange), before);
    assert_eq!(answer(&exchange), status(&exchange));
    for step in [step, step_after] {
        assert!(!step.notices.contains(&Notice::RenewalNotCarried));
    }

    // A change by another party does not stay.
    let mut tampered = channel();
    tampered.status.auth_params = Some(AuthParams::default());
    exchange.at_provider.insert(tampered.into());
    settle(&mut exchange);
    assert_eq!(answer(&exchange), status(&exchange));
}

/// Liqo 1.0 and 1.1: the Renew requests a renewal, with key and CSR. The
/// provider decides when a renewal is due, so more requests do not lead to more
/// signatures.
#[test]
fn a_renew_with_a_request_gets_the_certificate_on_record() {
    let (notary, mut exchange) = authenticated();
    let key = ed25519(1);
    let forms = [
        key.public_key().to_tenant_field(),
        key.public_key().spki_der().to_vec(),
        pem(&*key),
        Vec::new(),
    ];
    for public_key in forms {
        let mut renew = request(&*key);
        renew.spec.public_key = public_key.into();
        exchange.at_provider.insert(renew.into());
        assert_eq!(told(&exchange), RenewalChannel::Request);
        settle(&mut exchange);
        assert_eq!(exchange.refused, []);
        assert_eq!(answer(&exchange), status(&exchange));
    }
    assert_eq!(notary.signed(), 1);
    exchange.now = exchange.now + 60 * DAY;
    settle(&mut exchange);
    assert_eq!(notary.signed(), 2);
    assert_eq!(answer(&exchange), status(&exchange));
}

/// Liqo before 1.1 names the provider in the CSR. That CSR is never signed.
#[test]
fn a_request_that_names_the_provider_gets_the_certificate_on_record() {
    let (notary, mut exchange) = authenticated();
    let key = ed25519(1);
    let mut renew = request(&*key);
    let csr = Csr::make(&Subject::control_plane(&id("cl-provider")), &*key)
        .unwrap()
        .at_once()
        .unwrap();
    renew.spec.csr = csr.pem().into();
    exchange.at_provider.insert(renew.into());
    settle(&mut exchange);
    assert_eq!(exchange.refused, []);
    assert_eq!(answer(&exchange), status(&exchange));
    assert_eq!(notary.signed(), 1);
}

#[test]
fn without_a_renew_the_identity_has_to_be_carried_by_hand() {
    let (_, mut exchange) = authenticated();
    assert_eq!(told(&exchange), RenewalChannel::ByHand);
    let step = settle(&mut exchange);
    assert!(!step.notices.contains(&Notice::RenewalNotCarried));
    exchange.now = exchange.now + 60 * DAY;
    let step = settle(&mut exchange);
    assert!(step.notices.contains(&Notice::RenewalNotCarried));
}

#[test]
fn a_bad_renew_is_refused_and_does_not_delay_anything_else() {
    let key = ed25519(1);
    let other = ed25519(60);
    let mismatch = |expected: &str, found: &str| -> Fault {
        PeerIncompatible::NameMismatch {
            expected: expected.into(),
            found: found.into(),
        }
        .into()
    };
    let subject_of = |name| {
        Csr::make(&Subject::control_plane(&id(name)), &*key)
            .unwrap()
            .at_once()
            .unwrap()
    };
    let slice = |name: &str| RenewSpec {
        identity_type: IdentityType::ResourceSlice,
        resource_slice_ref: Some(LocalObjectReference { name: name.into() }),
        ..request(&*key).spec
    };
    let cases: Vec<(&str, Renew, Fault)> = vec![
        (
            "metadata.name",
            named("another", channel().spec),
            mismatch("controlplane-cl-provider", "another"),
        ),
        (
            "spec.consumerClusterID",
            with(|spec| spec.consumer_cluster_id = "cl-other".into()),
            mismatch("cl-consumer", "cl-other"),
        ),
        (
            "spec.publicKey",
            with(|spec| spec.public_key = other.public_key().to_tenant_field().into()),
            PeerIncompatible::KeyChanged {
                pinned: key.public_key().fingerprint().to_string(),
                found: other.public_key().fingerprint().to_string(),
            }
            .into(),
        ),
        (
            "spec.csr",
            with(|spec| spec.csr = subject_of("cl-other").pem().into()),
            PeerMisbehaved::Csr(CsrError::Subject {
                expected: "O=liqo.io, CN=cl-consumer".into(),
                found: "O=liqo.io, CN=cl-other".into(),
            })
            .into(),
        ),
        (
            "spec.csr",
            with(|spec| spec.csr = request(&*other).spec.csr),
            PeerIncompatible::CsrKey {
                expected: key.public_key().fingerprint(),
                found: other.public_key().fingerprint(),
            }
            .into(),
        ),
        (
            "spec.csr",
            named("resourceslice-mypool", slice("mypool")),
            PeerMisbehaved::Csr(CsrError::Subject {
                expected: Subject::resource_slice("mypool", &id("cl-consumer")).to_string(),
                found: "O=liqo.io, CN=cl-consumer".into(),
            })
            .into(),
        ),
        (
            "metadata.name",
            named("resourceslice-mypool", slice("yours")),
            mismatch("resourceslice-yours", "resourceslice-mypool"),
        ),
    ];
    for (field, renew, fault) in cases {
        let (notary, mut exchange) = authenticated();
        let renew_id = liqo_auth::model::Resource::id(&renew);
        let is_control_plane = renew_id.name == channel().metadata.name;
        exchange.at_provider.insert(renew.into());
        if !is_control_plane {
            exchange.at_provider.insert(channel().into());
        }
        let step = settle(&mut exchange);
        let [refused] = &step.refused[..] else {
            panic!("{:?}", step.refused);
        };
        assert_eq!(refused.object.as_ref(), Some(&renew_id));
        assert_eq!(refused.error.at().object.as_ref(), Some(&renew_id));
        assert_eq!(refused.error.at().field, field);
        assert_eq!(refused.error.fault(), &fault);
        // The Identity is sent, and the other Renews are answered.
        assert_eq!(step.outbox.len(), 1);
        if is_control_plane {
            let bad: &Renew = exchange
                .at_provider
                .get(&renew_id.namespace, &renew_id.name)
                .unwrap();
            assert_eq!(bad.status, RenewStatus::default());
        } else {
            assert_eq!(answer(&exchange), status(&exchange));
        }
        exchange.now = exchange.now + 60 * DAY;
        settle(&mut exchange);
        assert_eq!(notary.signed(), 2);
    }
}

#[test]
fn an_unreadable_renew_is_reported_and_does_not_delay_anything_else() {
    let (notary, mut exchange) = authenticated();
    exchange.at_provider.insert(channel().into());
    exchange
        .at_provider
        .insert(Object::from_value(serde_json::json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "Renew",
            "metadata": { "name": "broken", "namespace": "liqo-tenant-cl-consumer" },
            "spec": { "csr": 7 },
        })));
    let step = settle(&mut exchange);
    let [refused] = &step.refused[..] else {
        panic!("{:?}", step.refused);
    };
    assert_eq!(
        refused.object,
        Some(ObjectRef::new(
            Kind::Renew,
            "liqo-tenant-cl-consumer",
            "broken"
        ))
    );
    assert!(matches!(
        refused.error.fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    assert_eq!(answer(&exchange), status(&exchange));
    exchange.now = exchange.now + 60 * DAY;
    settle(&mut exchange);
    assert_eq!(notary.signed(), 2);
}

/// Each cluster may be the other's provider. Then the tenant namespace also has this
/// cluster's own Renew for the peer.
#[test]
fn an_unreadable_renew_for_the_peer_is_ignored() {
    let (_, mut exchange) = authenticated();
    exchange
        .at_provider
        .insert(Object::from_value(serde_json::json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "Renew",
            "metadata": {
                "name": "controlplane-cl-consumer",
                "namespace": "liqo-tenant-cl-consumer",
                "labels": {
                    "liqo.io/replication": "true",
                    "liqo.io/remoteID": "cl-consumer",
                    "liqo.io/remote-cluster-id": "cl-consumer",
                },
            },
            "spec": { "csr": 7 },
        })));
    assert_eq!(settle(&mut exchange).refused, []);
}

/// A Renew of the peer is only an object that the replicator brought from this
/// peer into the peer's own tenant namespace.
#[test]
fn a_renew_that_is_no_replica_of_the_peers_is_ignored() {
    let edits: [fn(&mut Renew); 5] = [
        |renew| renew.metadata.namespace = "liqo-tenant-cl-other".into(),
        |renew| {
            renew.metadata.labels.remove(names::REPLICATED_LABEL);
        },
        |renew| {
            let label = names::REPLICATION_ORIGIN_LABEL.to_owned();
            renew.metadata.labels.insert(label, "cl-other".into());
        },
        |renew| renew.metadata.labels.clear(),
        |renew| renew.metadata.deletion_timestamp = Some(exchange::now()),
    ];
    for edit in edits {
        let (_, mut exchange) = authenticated();
        let mut renew = channel();
        edit(&mut renew);
        exchange.at_provider.insert(renew.into());
        assert_eq!(told(&exchange), RenewalChannel::ByHand);
        let before = exchange.at_provider.clone();
        assert_eq!(settle(&mut exchange).refused, []);
        assert_eq!(exchange.at_provider, before);
    }
}

fn authenticated() -> (std::sync::Arc<Notary>, Exchange) {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 90 * DAY));
    exchange.settle();
    (notary, exchange)
}

fn settle(exchange: &mut Exchange) -> Step {
    for _ in 0..8 {
        let step = exchange.turn_of_provider();
        if step.is_settled() {
            return step;
        }
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

fn told(exchange: &Exchange) -> RenewalChannel {
    let view = exchange.provider_view();
    let status = exchange.provider.look(&view, exchange.now).unwrap();
    status.renewal_channel
}

fn answer(exchange: &Exchange) -> Option<AuthParams> {
    let renew: &Renew = exchange
        .at_provider
        .get("liqo-tenant-cl-consumer", "controlplane-cl-provider")
        .unwrap();
    renew.status.auth_params.clone()
}

fn status(exchange: &Exchange) -> Option<AuthParams> {
    exchange.stored_tenant().status.auth_params
}

fn channel() -> Renew {
    named(
        "controlplane-cl-provider",
        RenewSpec {
            consumer_cluster_id: "cl-consumer".into(),
            ..RenewSpec::default()
        },
    )
}

fn request(key: &dyn SigningKey) -> Renew {
    let csr = Csr::make(&Subject::control_plane(&id("cl-consumer")), key)
        .unwrap()
        .at_once()
        .unwrap();
    with(|spec| {
        spec.csr = csr.pem().into();
        spec.public_key = key.public_key().to_tenant_field().into();
    })
}

fn with(edit: impl FnOnce(&mut RenewSpec)) -> Renew {
    let mut renew = channel();
    edit(&mut renew.spec);
    renew
}

fn named(name: &str, spec: RenewSpec) -> Renew {
    let labels = [
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ];
    Renew {
        metadata: Metadata {
            name: name.into(),
            namespace: "liqo-tenant-cl-consumer".into(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Metadata::default()
        },
        spec,
        ..Renew::default()
    }
}

fn pem(key: &dyn SigningKey) -> Vec<u8> {
    key.public_key().to_pem().into_bytes()
}
