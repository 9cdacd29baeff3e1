//! The provider's objects that Liqo 1.2.0 recorded after the first exchange: a
//! renewal, and the end.

use std::collections::BTreeMap;

use liqo_auth::{
    machine::Objects,
    model::{Bytes, Object, Renew, Secret, Tenant, names},
    provider::{self, Renewal, RenewalChannel},
};
use serde_json::Value;

use crate::{
    clusters::exchange::{self, Exchange},
    recordings::{self, Recording, values},
};

const NAMESPACE: &str = "liqo-tenant-consumer";
const RENEW: &str = "controlplane-provider";
const COMMITMENT: &str = "/metadata/annotations/liqo-auth~1commitment";

/// The certificates are valid for 90 seconds, and notBefore is set back by five
/// minutes. Therefore Liqo signed several of them each second, and its Tenant,
/// Secret and Renew never have the same one. Our library signs one, and all
/// three objects have it.
#[test]
fn the_renewal_equals_liqos_but_signs_one_certificate_only() {
    let before = Recording::read("renewal/0-authenticated", "ren-b", "ren-a");
    let after = Recording::read("renewal/1-after-75s", "ren-b", "ren-a");
    let first = before.certificate().pem().to_vec();
    let mut exchange = Exchange {
        // The signer returns the certificate of the later status.
        provider: after.after().provider,
        at_provider: with_certificate(&before.at_provider, &first),
        now: "2026-11-20T23:04:33Z".parse().unwrap(),
        ..before.after()
    };
    let provider::Phase::Authenticated(issued) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    let due = "2026-11-20T23:05:32Z".parse().unwrap();
    assert!(matches!(issued.renewal, Renewal::NotBefore(at) if at == due));
    let step = settle(&mut exchange);
    assert_eq!(step.wait.wake_at, Some(due));
    let view = exchange.provider_view();
    let status = exchange.provider.look(&view, exchange.now).unwrap();
    assert_eq!(status.renewal_channel, RenewalChannel::Permanent);
    let adopted = with_certificate(&before.at_provider, &first);
    assert_same(&without_ours(&exchange.at_provider), &values(&adopted));

    exchange.now = due;
    settle(&mut exchange);
    let second = after.certificate().pem().to_vec();
    let renewed = with_certificate(&after.at_provider, &second);
    assert_same(
        &without_requests(without_ours(&exchange.at_provider)),
        &without_requests(values(&renewed)),
    );
}

/// Liqo does not delete its nonce and its certificates. Our library does: the
/// nonce cannot be used again, and because of the certificate Liqo would refuse
/// another request of the same peer.
#[test]
fn the_end_equals_liqos_but_also_deletes_nonce_and_certificates() {
    let before = Recording::read("exchange/6-slice-deleted", "cluster-b", "cluster-a");
    let mut exchange = before.after();
    settle(&mut exchange);
    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Ended");

    let mut expected = recordings::dumped("exchange/7-unauthenticated/cluster-b");
    for role in exchange::cluster_roles().iter() {
        expected.insert(role.clone());
    }
    let namespace = "liqo-tenant-cluster-a";
    for name in [
        names::NONCE_SECRET,
        names::ISSUED_CERTIFICATE_SECRET,
        "liqo-remote-certificate-mypool",
    ] {
        let id = exchange::secret_ref(namespace, name);
        assert!(expected.remove(&id).is_some(), "{name}");
        assert!(exchange.at_provider.remove(&id).is_none(), "{name}");
    }
    let record = exchange::secret_ref("liqo", "liqo-auth-provider-cluster-a");
    assert!(exchange.at_provider.remove(&record).is_some());
    // The summaries of Liqo's other controllers are not part of this library.
    let without_foreign_cluster = |objects: &Objects| -> BTreeMap<String, Value> {
        let mut values = values(objects);
        values.retain(|name, _| !name.starts_with("ForeignCluster"));
        values
    };
    assert_same(
        &without_foreign_cluster(&exchange.at_provider),
        &without_foreign_cluster(&expected),
    );
}

fn assert_same(found: &BTreeMap<String, Value>, expected: &BTreeMap<String, Value>) {
    for (name, value) in expected {
        assert_eq!(found.get(name), Some(value), "{name}");
    }
    assert_eq!(found.len(), expected.len());
}

fn settle(exchange: &mut Exchange) -> liqo_auth::Step {
    for _ in 0..8 {
        let step = exchange.turn_of_provider();
        assert_eq!(step.refused, []);
        if step.is_settled() {
            return step;
        }
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

/// The objects, with the same certificate in all of them.
fn with_certificate(objects: &Objects, pem: &[u8]) -> Objects {
    let mut objects = objects.clone();
    let mut tenant: Tenant = objects
        .get::<Tenant>(NAMESPACE, "consumer")
        .unwrap()
        .clone();
    tenant.status.auth_params.as_mut().unwrap().signed_crt = Bytes::from(pem);
    let mut renew: Renew = objects.get::<Renew>(NAMESPACE, RENEW).unwrap().clone();
    renew.status.auth_params = tenant.status.auth_params.clone();
    let mut secret: Secret = objects
        .get::<Secret>(NAMESPACE, names::ISSUED_CERTIFICATE_SECRET)
        .unwrap()
        .clone();
    let data = &mut secret.data;
    data.insert(names::CERTIFICATE.to_owned(), pem.to_vec().into());
    for object in [Object::from(tenant), renew.into(), secret.into()] {
        objects.insert(object);
    }
    objects
}

/// The values without the record, and without the commitment on the Tenant.
fn without_ours(objects: &Objects) -> BTreeMap<String, Value> {
    let mut values = values(objects);
    values.remove("Secret liqo/liqo-auth-provider-consumer");
    let tenant = values.get_mut("Tenant liqo-tenant-consumer/consumer");
    let tenant = tenant.unwrap();
    assert!(tenant.pointer(COMMITMENT).is_some());
    let annotations = tenant
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
        .unwrap();
    annotations.remove("liqo-auth/commitment");
    if annotations.is_empty() {
        tenant["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    }
    values
}

/// The values without requests and summaries, which belong to the signer and to
/// other controllers.
fn without_requests(mut values: BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    values.retain(|name, _| {
        !name.starts_with("CertificateSigningRequest") && !name.starts_with("ForeignCluster")
    });
    values
}
