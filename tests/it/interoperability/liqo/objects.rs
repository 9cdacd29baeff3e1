//! The objects that Liqo 1.2.0 left after whole exchanges on real clusters.
//! Each side of this library continues from them.

use liqo_auth::{
    assurance::commitment::{Assurance, COMMITMENT_ANNOTATION},
    consumer,
    machine::{Effect, Notice},
    model::{Bytes, Kubeconfig, Tenant},
    provider,
};
use serde_json::Value;

use crate::{
    clusters::exchange,
    recordings::{recordings, values},
};

#[test]
fn our_provider_accepts_liqos_tenant_and_answers_like_liqo() {
    for liqo in recordings() {
        let mut ours = liqo.before_the_tenant();
        let tenant = liqo.tenant_as_sent();
        ours.hand_over(tenant).unwrap();
        ours.turns_of_provider();
        assert_eq!(ours.refused, [], "{}", liqo.name);
        assert_eq!(
            ours.provider_phase().name(),
            "Authenticated",
            "{}",
            liqo.name
        );
        // Liqo's CA bundle ends with NUL bytes. Ours does not.
        let mut tenant = liqo.tenant.clone();
        without_padding(&mut tenant.status.auth_params.as_mut().unwrap().ca);
        assert_eq!(ours.stored_tenant().status, tenant.status, "{}", liqo.name);
        let mut identity = liqo.identity.clone();
        without_padding(&mut identity.spec.auth_params.ca);
        assert_eq!(ours.identity().spec, identity.spec, "{}", liqo.name);
    }
}

#[test]
fn our_consumer_makes_the_same_kubeconfig_as_liqo_from_liqos_identity() {
    for liqo in recordings() {
        let mut ours = liqo.before_the_identity();
        let identity = liqo.identity_as_sent();
        ours.hand_over(identity).unwrap();
        while !ours.turn_of_consumer().is_settled() {}
        assert_eq!(ours.refused, [], "{}", liqo.name);
        let text = liqo.kubeconfig();
        assert_eq!(ours.kubeconfig(), text, "{}", liqo.name);
        assert_eq!(
            Kubeconfig::parse(&ours.kubeconfig()).unwrap(),
            Kubeconfig::parse(&text).unwrap()
        );
        assert_eq!(
            ours.stored_identity().status,
            liqo.identity.status,
            "{}",
            liqo.name
        );
        let consumer::Phase::Authenticated(held) = ours.consumer_phase() else {
            panic!("{}: {:?}", liqo.name, ours.consumer_phase());
        };
        // Liqo does not prove a key of its own.
        assert_eq!(held.accepted.assurance, Assurance::Unproven);
        assert!(ours.notices.contains(&Notice::ProviderUnproven));
    }
}

#[test]
fn an_exchange_by_liqo_is_complete_for_both_of_our_sides() {
    for liqo in recordings() {
        let exchange = liqo.after();
        assert_eq!(
            exchange.phases(),
            ("Authenticated", "Authenticated"),
            "{}",
            liqo.name
        );
        let provider::Phase::Authenticated(issued) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        let mut identity = liqo.identity.clone();
        without_padding(&mut identity.spec.auth_params.ca);
        assert_eq!(issued.identity(None).spec, identity.spec);
        assert_eq!(issued.identity(None).metadata.namespace, "");
        let namespace = "liqo-tenant-elsewhere".parse().unwrap();
        let there = issued.identity(Some(&namespace));
        assert_eq!(there.metadata.namespace, "liqo-tenant-elsewhere");
        assert_eq!(&issued.tenant.public_key, liqo.consumer_key.public_key());
        let until = liqo.certificate().leaf().not_after;
        assert_eq!(issued.credential.shown.valid_until(), Some(until));
    }
}

#[test]
fn taking_over_from_liqo_adds_our_records_and_changes_nothing_else() {
    for liqo in recordings() {
        let mut exchange = liqo.after();
        let before = exchange.at_provider.clone();
        let effects = until_settled(|| exchange.turn_of_provider().effects);
        assert_eq!(
            effects,
            [
                format!(
                    "create Secret liqo/liqo-auth-provider-{}",
                    liqo.consumer_id()
                ),
                format!(
                    "patch Tenant {}/{} {}",
                    liqo.tenant.metadata.namespace,
                    liqo.consumer_id(),
                    r#"{"metadata":{"annotations":{"liqo-auth/commitment":…}}}"#
                ),
            ],
            "{}",
            liqo.name
        );
        let mut after = exchange.at_provider.clone();
        let record = format!("liqo-auth-provider-{}", liqo.consumer_id());
        after
            .remove(&exchange::secret_ref("liqo", &record))
            .unwrap();
        let mut tenant = liqo.tenant.clone();
        let annotation = exchange
            .at_provider
            .get::<Tenant>(&tenant.metadata.namespace, &tenant.metadata.name)
            .unwrap()
            .metadata
            .annotations
            .get(COMMITMENT_ANNOTATION)
            .unwrap()
            .clone();
        tenant
            .metadata
            .annotations
            .insert(COMMITMENT_ANNOTATION.to_owned(), annotation);
        let mut expected = before;
        expected.insert(tenant.into());
        assert_eq!(values(&after), values(&expected), "{}", liqo.name);

        // With the proof on record, the embedder need not vouch for the nonce.
        exchange.vouched.clear();
        assert_eq!(exchange.provider_phase().name(), "Authenticated");

        let before = exchange.at_consumer.clone();
        let effects = until_settled(|| exchange.turn_of_consumer().effects);
        let record = format!("liqo-auth-consumer-{}", liqo.provider_id());
        assert_eq!(effects, [format!("create Secret liqo/{record}")]);
        let mut after = exchange.at_consumer.clone();
        after
            .remove(&exchange::secret_ref("liqo", &record))
            .unwrap();
        assert_eq!(values(&after), values(&before), "{}", liqo.name);
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    }
}

#[test]
fn a_nonce_of_liqo_is_refused_unless_the_embedder_vouches_for_it() {
    for liqo in recordings() {
        let mut exchange = liqo.after();
        exchange.vouched.clear();
        let provider::Phase::Refused(error) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        assert_eq!(
            error.fault(),
            &liqo_auth::error::PeerIncompatible::NonceNotOurs.into()
        );
    }
}

/// Works until there is nothing to do, and returns the effects in words.
fn until_settled(mut turn: impl FnMut() -> Vec<Effect>) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..8 {
        let effects = turn();
        if effects.is_empty() {
            return done;
        }
        done.extend(effects.iter().map(|effect| match effect {
            Effect::Create(object) => format!("create {}", object.id()),
            Effect::Replace { object, .. } => format!("replace {}", object.id()),
            Effect::Patch { id, patch, .. } => format!("patch {id} {}", abridged(patch)),
            Effect::Delete { id, .. } => format!("delete {id}"),
        }));
    }
    panic!("it does not settle: {done:#?}");
}

fn abridged(patch: &Value) -> String {
    let mut patch = patch.clone();
    if let Some(text) = patch.pointer_mut("/metadata/annotations/liqo-auth~1commitment") {
        *text = "…".into();
    }
    patch.to_string().replace(r#""…""#, "…")
}

fn without_padding(bundle: &mut Bytes) {
    let text = std::str::from_utf8(bundle.as_slice()).unwrap();
    assert!(text.ends_with("-----\n\0\0"), "Liqo pads it no more");
    *bundle = Bytes::from(text.trim_end_matches('\0').as_bytes());
}
