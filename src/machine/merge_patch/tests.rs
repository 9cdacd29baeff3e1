use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{Identity, Tenant};

/// The patch of the parts that differ, and the one between whole objects.
fn patches(from: impl Into<Object>, to: impl Into<Object>) -> [Option<Value>; 2] {
    let (from, to) = (from.into(), to.into());
    [
        of_object(&from, &to),
        between(&from.to_value(), &to.to_value()),
    ]
}

proptest! {
    #[test]
    fn the_patch_of_a_tenant_leaves_out_nothing(
        from: Tenant,
        to: Tenant,
        kept: (bool, bool, bool),
    ) {
        let mut to = to;
        if kept.0 {
            to.metadata.clone_from(&from.metadata);
        }
        if kept.1 {
            to.spec.clone_from(&from.spec);
        }
        if kept.2 {
            to.status.clone_from(&from.status);
        }
        let [parts, whole] = patches(from, to);
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn the_patch_of_an_identity_leaves_out_nothing(
        from: Identity,
        to: Identity,
        kept: (bool, bool, bool),
    ) {
        let mut to = to;
        if kept.0 {
            to.metadata.clone_from(&from.metadata);
        }
        if kept.1 {
            to.spec.clone_from(&from.spec);
        }
        if kept.2 {
            to.status.clone_from(&from.status);
        }
        let [parts, whole] = patches(from, to);
        prop_assert_eq!(parts, whole);
    }
}

/// The examples of RFC 7396, appendix A.
#[test]
fn the_rfc_examples_hold() {
    for (original, patch, result) in [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (
            json!({"a":"b","b":"c"}),
            json!({"a":null}),
            json!({"b":"c"}),
        ),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
        (
            json!({"a":{"b":"c"}}),
            json!({"a":{"b":"d","c":null}}),
            json!({"a":{"b":"d"}}),
        ),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a":"b"}), json!(["c"]), json!(["c"])),
        (json!({"a":"foo"}), json!(null), json!(null)),
        (json!({"a":"foo"}), json!("bar"), json!("bar")),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
        (
            json!({}),
            json!({"a":{"bb":{"ccc":null}}}),
            json!({"a":{"bb":{}}}),
        ),
    ] {
        let mut target = original.clone();
        apply(&mut target, &patch);
        assert_eq!(target, result, "{original} patched by {patch}");
    }
}

#[test]
fn no_secret_is_shown() {
    let patch = json!({"metadata": {"name": "a"}, "data": {"b": "c"}});
    assert_eq!(
        without_secrets(&patch, Kind::Secret),
        json!({"metadata": {"name": "a"}, "data": ".."})
    );
    assert_eq!(without_secrets(&patch, Kind::ConfigMap), patch);
    let key = json!({"status": [{"awsSecretAccessKey": "a", "awsRegion": "b"}]});
    assert_eq!(
        without_secrets(&key, Kind::Tenant),
        json!({"status": [{"awsSecretAccessKey": "..", "awsRegion": "b"}]})
    );
}

#[test]
fn the_patch_between_two_values_leads_from_one_to_the_other() {
    let from = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1]});
    let to = json!({"a": 1, "b": {"c": 4}, "f": "g"});
    let patch = between(&from, &to).unwrap();
    assert_eq!(
        patch,
        json!({"b": {"c": 4, "d": null}, "e": null, "f": "g"})
    );
    let mut patched = from;
    apply(&mut patched, &patch);
    assert_eq!(patched, to);
    assert_eq!(between(&to, &to), None);
}
