//! A Tenant that cannot be read does not keep rights: neither a drain nor an end
//! needs anything of it but its name.

use liqo_auth::{
    machine::Step,
    model::{Object, Resource, Tenant, TenantCondition},
};
use serde_json::Value;

use crate::clusters::pool::{NAMESPACE, Pool, consumer, replica};

const RECORD: &str = "liqo-auth-provider-cl-consumer";

/// What a peer may write that an API server takes, and that cannot be read.
fn spoilt_requests() -> [(&'static str, Value); 3] {
    [
        ("a request over 256 KiB", "QUFB".repeat(90_000).into()),
        ("spare bits in base64", "QR==".into()),
        ("no text", 7.into()),
    ]
}

#[test]
fn an_unreadable_tenant_is_drained() {
    for (what, csr) in spoilt_requests() {
        let mut pool = with_tenant(&csr);
        assert_eq!(bindings(&pool), 2, "{what}");
        pool.administer(|provider, objects, _| {
            provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
        });
        pool.settle();
        assert_eq!(bindings(&pool), 0, "{what}");
        assert_eq!(phase(&pool), "Drained", "{what}");
        assert!(pool.slice("mypool").is_none(), "{what}");
    }
}

#[test]
fn an_unreadable_tenant_is_drained_by_the_record() {
    for (what, csr) in spoilt_requests() {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        // The condition is on record, and the provider stops.
        let step = pool
            .provider
            .set_condition(
                &pool.at_provider.view(&consumer()),
                TenantCondition::Drained,
            )
            .unwrap();
        pool.at_provider.apply(&step.effects[0]).unwrap();
        spoil(&mut pool, &csr);
        let first: Step = pool.look(usize::MAX);
        assert!(first.effects.len() >= 2, "{what}: {:#?}", first.effects);
        pool.settle();
        assert_eq!(bindings(&pool), 0, "{what}");
        assert!(pool.slice("mypool").is_none(), "{what}");
    }
}

/// Neither the Tenant nor a record can store the condition.
#[test]
fn an_unreadable_tenant_is_drained_without_a_record() {
    for (what, csr) in spoilt_requests() {
        for is_there in [false, true] {
            let mut pool = with_tenant(&csr);
            let mut record = pool.secret("liqo", RECORD).unwrap().clone();
            pool.at_provider.remove(&record.id());
            if is_there {
                record.data.remove("seal");
                pool.at_provider.insert(record.into());
            }
            pool.administer(|provider, objects, _| {
                provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
            });
            assert_eq!(bindings(&pool), 0, "{what}, {is_there}");
        }
    }
}

#[test]
fn a_peering_with_an_unreadable_tenant_ends() {
    for (what, csr) in spoilt_requests() {
        for drained_first in [true, false] {
            let mut pool = with_tenant(&csr);
            if drained_first {
                pool.administer(|provider, objects, _| {
                    provider.set_condition(&objects.view(&consumer()), TenantCondition::Drained)
                });
                pool.settle();
            } else {
                pool.remove("mypool");
            }
            pool.administer(|provider, objects, _| provider.end(&objects.view(&consumer())));
            pool.settle();
            assert_eq!(bindings(&pool), 0, "{what}");
            assert!(tenant(&pool).is_none(), "{what}");
            assert_eq!(phase(&pool), "Ended", "{what}");
            for name in ["liqo-remote-certificate", "liqo-nonce"] {
                assert!(pool.secret(NAMESPACE, name).is_none(), "{what}: {name}");
            }
            assert!(pool.kept("mypool").is_none(), "{what}");
        }
    }
}

/// The Tenant is deleted past the library, by `kubectl`.
#[test]
fn an_unreadable_tenant_that_is_deleted_takes_the_rights_with_it() {
    for (what, csr) in spoilt_requests() {
        let mut pool = with_tenant(&csr);
        let id = tenant(&pool).unwrap().id();
        pool.at_provider.delete(&id);
        pool.settle();
        assert_eq!(bindings(&pool), 0, "{what}");
        assert!(tenant(&pool).is_none(), "{what}");
    }
}

/// A peer with an accepted slice, whose Tenant cannot be read any more.
fn with_tenant(csr: &Value) -> Pool {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    spoil(&mut pool, csr);
    pool
}

fn spoil(pool: &mut Pool, csr: &Value) {
    let mut value = Object::from(pool.tenant().clone()).to_value();
    value["spec"]["csr"] = csr.clone();
    let spoilt = Object::from_value(value);
    assert!(matches!(spoilt, Object::Unreadable(_)));
    pool.at_provider.insert(spoilt);
}

fn tenant(pool: &Pool) -> Option<&Object> {
    let mut objects = pool.at_provider.iter();
    objects.find(|object| object.id().kind == Tenant::KIND)
}

fn bindings(pool: &Pool) -> usize {
    let objects = pool.at_provider.iter();
    objects
        .filter(|object| {
            matches!(
                object,
                Object::RoleBinding(_) | Object::ClusterRoleBinding(_)
            )
        })
        .count()
}

fn phase(pool: &Pool) -> &'static str {
    let view = pool.at_provider.view(&consumer());
    pool.provider.look(&view, pool.now).unwrap().phase.name()
}
