use serde_json::{Value, json};

use super::*;
use crate::model::{Secret, Tenant};

/// Unreadable objects with each combination of a known or unknown API version, kind,
/// namespace and name.
fn unreadable() -> Vec<Object> {
    let mut written: Vec<Value> = vec![json!({ "metadata": { "name": "one" } }), json!({})];
    for (api_version, kind) in [
        ("v1", "Secret"),
        ("v1", "Namespace"),
        ("v1", "Other"),
        ("authentication.liqo.io/v1beta1", "Tenant"),
    ] {
        for namespace in ["", "here", "there"] {
            for name in ["", "one", "two"] {
                written.push(json!({
                    "apiVersion": api_version,
                    "kind": kind,
                    "metadata": { "namespace": namespace, "name": name, "labels": 1 },
                }));
            }
        }
    }
    let objects: Vec<Object> = written.into_iter().map(Object::from_value).collect();
    assert!(objects.iter().all(|it| it.as_unreadable().is_some()));
    objects
}

#[test]
fn what_may_be_the_wanted_object_is_found_among_what_cannot_be_read() {
    let peer = "cl-consumer".parse().unwrap();
    let all = unreadable();
    for one in &all {
        // Other unreadable objects precede and follow it in the order.
        let others = all
            .iter()
            .filter(|other| other.metadata() != one.metadata());
        for name in ["one", "two", "three"] {
            let may_be = |it: &Object, kind, namespace| {
                let unreadable = it.as_unreadable().unwrap();
                unreadable.may_be(kind, namespace, name)
            };
            let alone = View::of(&peer, [one]);
            for namespace in ["here", "there", "elsewhere"] {
                let may = |it: &Object| may_be(it, Kind::Secret, namespace);
                assert_eq!(alone.find::<Secret>(namespace, name).is_err(), may(one));
                let among = others.clone().filter(|it| !may(it)).chain([one]);
                let among = View::of(&peer, among);
                assert_eq!(among.find::<Secret>(namespace, name).is_err(), may(one));
            }
            let may = may_be(one, Kind::Namespace, "");
            assert_eq!(alone.find::<Namespace>("", name).is_err(), may);
            assert_eq!(alone.every::<Tenant>().is_err(), {
                one.as_unreadable().unwrap().may_be_of(Kind::Tenant)
            });
        }
    }
}
