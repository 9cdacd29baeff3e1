//! How an access key ends, and what replaces it.

use std::sync::Arc;

use liqo_auth::{
    audit::Decision,
    consumer::PeerSettings,
    crypto::RecordKey,
    machine::Step,
    model::{Secret, TenantCondition, names},
    provider::Phase,
};

use super::{authenticated, given};
use crate::clusters::{
    exchange::{Exchange, RECORD_KEY, Setup, ed25519, id},
    iam::{Iam, awaited_revocations},
    store,
};

const RECORD: &str = "liqo-auth-provider-cl-consumer";

fn revoked(exchange: &mut Exchange, access_key_id: &str) -> Step {
    let view = exchange.provider_view();
    let step = exchange.provider.aws_key_revoked(&view, access_key_id);
    exchange.carry_out(true, step.unwrap())
}

#[test]
fn a_drained_peer_keeps_its_key_and_loses_its_rights() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let before = given(&exchange);
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    let step = exchange.turn_of_provider();
    let decisions: Vec<_> = step.events.iter().map(|event| &event.decision).collect();
    assert!(decisions.contains(&&Decision::RightsWithdrawn));
    assert_eq!(awaited_revocations(&step), [""; 0]);
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Drained");
    let view = exchange.provider_view();
    let condition = TenantCondition::Active;
    let step = exchange.provider.set_condition(&view, condition).unwrap();
    exchange.carry_out(true, step);
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(given(&exchange), before);
    assert_eq!(iam.made(), 1);
}

/// A certificate expires by itself. An access key ends only when it is deleted.
#[test]
fn an_ended_peer_stays_on_record_until_its_key_is_revoked() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let key = given(&exchange).aws_access_key_id;
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.settle_provider();
    exchange.now = exchange.now + core::time::Duration::from_secs(20 * 365 * 86_400);
    for _ in 0..2 {
        let step = exchange.settle_provider();
        assert_eq!(awaited_revocations(&step), [key.as_str()]);
        assert_eq!(step.wait.wake_at, None);
        let Phase::Ended { kept_until } = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        assert_eq!(kept_until, None);
    }
    assert!(revoked(&mut exchange, "AKIAIOSFODNN7EXAMPLE").is_settled());
    let step = revoked(&mut exchange, &key);
    let decisions: Vec<_> = step.events.iter().map(|event| &event.decision).collect();
    let expected = Decision::AwsKeyRevoked {
        access_key_id: key.clone(),
    };
    assert_eq!(decisions, [&expected]);
    let Phase::Ended { kept_until } = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    assert!(kept_until.unwrap() <= exchange.now);
    let step = exchange.turn_of_provider();
    assert_eq!(awaited_revocations(&step), [""; 0]);
    assert_eq!(exchange.at_provider.get::<Secret>("liqo", RECORD), None);
}

/// Each Tenant gets its own key, because the previous Tenant's key may be
/// deleted already.
#[test]
fn a_peer_that_authenticates_again_gets_another_key() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let first = given(&exchange).aws_access_key_id;
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    exchange.settle_provider();
    let step = exchange
        .consumer
        .unauthenticate(&exchange.consumer_view())
        .unwrap();
    exchange.carry_out(false, step);
    exchange.sent.clear();
    for _ in 0..4 {
        exchange.turn_of_consumer();
    }
    exchange.invite();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    let second = given(&exchange).aws_access_key_id;
    assert_ne!(first, second);
    assert_eq!(iam.made(), 2);
    let step = exchange.turn_of_provider();
    assert_eq!(awaited_revocations(&step), [first.as_str()]);
    revoked(&mut exchange, &first);
    let step = exchange.turn_of_provider();
    assert_eq!(awaited_revocations(&step), [""; 0]);
    assert_eq!(given(&exchange).aws_access_key_id, second);
}

/// How a key is changed: the administrator deletes it at AWS and reports the
/// deletion.
#[test]
fn a_revoked_key_is_replaced() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let first = given(&exchange).aws_access_key_id;
    revoked(&mut exchange, &first);
    assert_eq!(exchange.provider_phase().name(), "NeedsCredential");
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    let second = given(&exchange).aws_access_key_id;
    assert_ne!(first, second);
    let namespace = names::tenant_namespace(&id("cl-provider"));
    let secret: &Secret = exchange
        .at_consumer
        .get(&namespace, "kubeconfig-controlplane-cl-provider")
        .unwrap();
    assert_eq!(secret.get("awsAccessKeyID"), Some(second.as_bytes()));
    let step = exchange.turn_of_provider();
    assert_eq!(awaited_revocations(&step), [""; 0]);
}

/// The access key of one consumer key is not handed to the next one.
#[test]
fn another_consumer_key_gets_another_access_key() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let first = given(&exchange).aws_access_key_id;
    let view = exchange.provider_view();
    let step = exchange.provider.release_key(&view).unwrap();
    exchange.carry_out(true, step);
    let view = exchange.provider_view();
    let step = exchange.provider.replace_nonce(&view, exchange.env());
    exchange.carry_out(true, step.unwrap());
    exchange.consumer = Setup {
        consumer_key: ed25519(5),
        settings: PeerSettings {
            accept_aws: true,
            ..PeerSettings::default()
        },
        ..Setup::new()
    }
    .consumer();
    exchange.at_consumer = store::empty();
    exchange.sent.retain(|kind, _| *kind == "nonce");
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_ne!(given(&exchange).aws_access_key_id, first);
    assert_eq!(iam.made(), 2);
    let step = exchange.turn_of_provider();
    assert_eq!(awaited_revocations(&step), [first.as_str()]);
}

/// A provider that leaves EKS issues certificates, and the access key has to be
/// deleted.
#[test]
fn a_provider_that_leaves_eks_replaces_the_key_by_a_certificate() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let key = given(&exchange).aws_access_key_id;
    exchange.provider = Setup::new().provider(RecordKey::new(RECORD_KEY).unwrap());
    exchange.settle_provider();
    let step = exchange.turn_of_provider();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(awaited_revocations(&step), [key.as_str()]);
    let auth_params = exchange.stored_tenant().status.auth_params.unwrap();
    assert_eq!(auth_params.aws_config, None);
    assert!(!auth_params.signed_crt.is_empty());
}
