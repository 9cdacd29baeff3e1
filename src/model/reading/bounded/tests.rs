use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{Kind, Object};

/// What is kept of a text that arrives in pieces of this length.
fn kept(text: &str, piece: usize) -> Result<String, ObjectError> {
    let mut reader = BoundedReader::new(&limits());
    let mut kept = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        kept.append(&mut reader.read(piece)?);
    }
    Ok(String::from_utf8(kept).unwrap())
}

fn value(text: &str) -> Value {
    let kept = kept(text, 7).unwrap();
    serde_json::from_str(&kept).unwrap_or_else(|error| panic!("{error}: {kept}"))
}

fn limits() -> Limits {
    Limits {
        object: 1024,
        object_values: 64,
        ..Limits::default()
    }
}

fn tenant(name: &str) -> Value {
    json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": name,
            "uid": "8d1c",
            "labels": { "a": "b" },
            "managedFields": [{ "manager": "liqoctl", "fieldsV1": { "f:spec": {} } }],
        },
        "spec": { "clusterID": name, "csr": "QQ==", "list": [1, 2.5, { "a": [] }, null, true] },
        "status": {},
    })
}

fn without_managed_fields(mut object: Value) -> Value {
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    object
}

#[test]
fn an_object_within_the_limits_loses_its_managed_fields_alone() {
    let object = tenant("rome");
    assert_eq!(value(&object.to_string()), without_managed_fields(object));
}

#[test]
fn a_list_and_the_events_of_a_watch_keep_their_form() {
    let (rome, milan) = (tenant("rome"), tenant("milan"));
    let list = json!({
        "kind": "TenantList", "metadata": { "continue": "abc", "resourceVersion": "5" },
        "items": [rome, milan], "later": { "items": [1] },
    });
    let mut expected = list.clone();
    expected["items"] = json!([rome.clone(), milan.clone()].map(without_managed_fields));
    assert_eq!(value(&list.to_string()), expected);

    let event = |object: &Value| json!({ "type": "ADDED", "object": object }).to_string();
    let events = format!("{}\n{}\n", event(&rome), event(&milan));
    let kept = kept(&events, 5).unwrap();
    let lines: Vec<Value> = kept
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, second] = lines.try_into().unwrap();
    assert_eq!(first["object"], without_managed_fields(rome));
    assert_eq!(second["object"], without_managed_fields(milan));
    assert_eq!(second["type"], "ADDED");
}

#[test]
fn an_object_that_is_too_large_keeps_its_metadata_and_hurts_no_other() {
    for (field, bulk) in [
        ("spec", json!({ "csr": "A".repeat(2000) })),
        ("status", json!({ "tenantNamespace": "A".repeat(2000) })),
        ("other", json!("A".repeat(2000))),
    ] {
        let mut large = tenant("rome");
        large[field] = bulk;
        let list = json!({ "items": [tenant("milan"), large, tenant("turin")] });
        let list = value(&list.to_string());
        let items = list["items"].as_array().unwrap();
        assert_eq!(items[0], without_managed_fields(tenant("milan")));
        assert_eq!(items[2], without_managed_fields(tenant("turin")));
        let read = Object::from_value_within(items[1].clone(), &limits());
        let read = read.as_unreadable().unwrap();
        assert_eq!(read.reason, ObjectError::TooLarge { limit: 1024 });
        assert_eq!(read.id.kind, Kind::Tenant);
        assert_eq!(
            (read.id.name.as_str(), &*read.metadata.uid),
            ("rome", "8d1c")
        );
        assert_eq!(read.metadata.label("a"), Some("b"));
    }
}

#[test]
fn a_part_of_the_metadata_that_is_too_large_is_left_out() {
    for part in ["annotations", "labels", "finalizers", "ownerReferences"] {
        let mut large = tenant("rome");
        large["metadata"][part] = json!({ "a": "A".repeat(2000) });
        let reduced = value(&large.to_string());
        assert_eq!(reduced["metadata"]["name"], "rome", "{part}");
        assert_eq!(reduced["metadata"].get(part), None, "{part}");
        let read = Object::from_value_within(reduced, &limits());
        let read = read.as_unreadable().unwrap();
        assert_eq!(read.reason, ObjectError::TooLarge { limit: 1024 });
    }
}

#[test]
fn an_object_of_too_many_values_is_reduced_before_it_is_decoded() {
    let mut many = tenant("rome");
    many["spec"]["list"] = json!(vec![1; 200]);
    let reduced = value(&many.to_string());
    assert_eq!(reduced.get("spec"), None);
    let read = Object::from_value_within(reduced, &limits());
    let reason = &read.as_unreadable().unwrap().reason;
    assert_eq!(*reason, ObjectError::TooManyValues { limit: 64 });
}

#[test]
fn the_metadata_is_kept_wherever_it_is() {
    let metadata = r#""metadata":{"annotations":{"a":"A"},"labels":{"a":"b"},"name":"rome"}"#;
    let named = r#""kind":"Tenant","apiVersion":"authentication.liqo.io/v1beta1""#;
    let (long, many) = ("A".repeat(2000), "1,".repeat(200));
    for (bulk, limit) in [
        (
            format!(r#""spec":{{"csr":"{long}"}}"#),
            ObjectError::TooLarge { limit: 1024 },
        ),
        (
            format!(r#""spec":[{many}1]"#),
            ObjectError::TooManyValues { limit: 64 },
        ),
        (
            format!(r#""{long}":"","status":{{}}"#),
            ObjectError::TooLarge { limit: 1024 },
        ),
    ] {
        let bulk = bulk.as_str();
        for fields in [
            [bulk, metadata, named],
            [metadata, bulk, named],
            [named, bulk, metadata],
            [bulk, named, metadata],
        ] {
            let reduced = value(&format!("{{{}}}", fields.join(",")));
            assert_eq!(reduced.as_object().unwrap().len(), 4, "{reduced}");
            let read = Object::from_value_within(reduced, &limits());
            let read = read.as_unreadable().unwrap();
            assert_eq!(read.reason, limit);
            assert_eq!(
                (read.id.kind, read.id.name.as_str()),
                (Kind::Tenant, "rome")
            );
            assert_eq!(read.metadata.label("a"), Some("b"));
        }
    }
}

#[test]
fn a_part_of_the_metadata_with_too_many_values_is_left_out_alone() {
    let many = format!(r#""finalizers":{}"#, json!(vec!["x"; 200]));
    let few = r#""labels":{"a":"b"},"name":"rome""#;
    let head = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"#;
    for fields in [[&many, few], [few, &many]] {
        let reduced = value(&format!("{head}{}}}}}", fields.join(",")));
        assert_eq!(reduced["metadata"].get("finalizers"), None);
        let read = Object::from_value_within(reduced, &limits());
        let read = read.as_unreadable().unwrap();
        assert_eq!(read.reason, ObjectError::TooManyValues { limit: 64 });
        assert_eq!(read.id.name, "rome");
        assert_eq!(read.metadata.label("a"), Some("b"));
    }
}

/// Nothing beside the objects of a list or an event is too large.
#[test]
fn a_list_after_too_much_is_an_object() {
    let long = "A".repeat(2000);
    for held in ["\"items\":[{}]", "\"object\":{}"] {
        let reduced = value(&format!(r#"{{"a":"{long}",{held},"kind":"List"}}"#));
        assert_eq!(reduced, json!({ "kind": "List", "overLimit": "bytes" }));
    }
    let reduced = value(&format!(r#"{{"a":"{long}","no value"}}"#));
    assert_eq!(reduced, json!({ "overLimit": "bytes" }));
}

#[test]
fn what_is_no_object_remains_within_the_limit() {
    let refused = ObjectError::TooLarge { limit: 1024 };
    for text in ["404 page not found", "[1, {\"a\": 2}]", "}]", "\"", ""] {
        assert_eq!(kept(text, 3).unwrap(), text);
    }
    for text in [
        "[1,".repeat(1000),
        "A".repeat(2000),
        format!("{{\"items\":[{}", "1,".repeat(1000)),
        format!("{{\"it\\u0065ms\":[{}]}}", "{},".repeat(1000)),
    ] {
        let outcome = kept(&text, 100);
        assert!(
            outcome == Err(refused.clone()) || outcome.is_ok_and(|kept| kept.len() <= 1024),
            "{text:.20}",
        );
    }
    assert_eq!(kept(&"[1,".repeat(1000), 100), Err(refused));
}

#[test]
fn nothing_of_an_object_without_an_end_is_kept() {
    let mut reader = BoundedReader::new(&limits());
    let deep = [
        b"{\"a\":".as_slice(),
        b"[\"a\",",
        b"{\"metadata\":{",
        b"\\\"",
    ];
    for piece in deep.iter().cycle().take(100_000) {
        let kept = reader.read(piece).unwrap();
        assert_eq!(kept, b"");
    }
    let object = reader.object.as_ref().unwrap();
    assert!(object.finish().len() < 128);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z{}\\[\\]\",:\\\\é ]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            "[a-z\"\\\\{:]{0,5}",
            Just("items".to_owned()),
            Just("object".to_owned()),
            Just("metadata".to_owned()),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key, inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_remains_what_it_is(spec in any_value(), pretty: bool, piece in 1usize..40) {
        let mut object = without_managed_fields(tenant("rome"));
        object["spec"] = spec;
        let text = if pretty {
            serde_json::to_string_pretty(&object).unwrap()
        } else {
            object.to_string()
        };
        let kept: Value = serde_json::from_str(&kept(&text, piece).unwrap()).unwrap();
        if kept.get(OVER_LIMIT).is_none() {
            prop_assert_eq!(kept, object);
        } else {
            let exact = Object::from_value_within(object, &limits());
            prop_assert!(exact.as_unreadable().is_some());
        }
    }

    #[test]
    fn no_bytes_stop_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut whole = BoundedReader::new(&limits());
        let whole = whole.read(&bytes);
        let mut reader = BoundedReader::new(&limits());
        let pieces: Result<Vec<_>, _> = bytes.chunks(3).map(|piece| reader.read(piece)).collect();
        prop_assert_eq!(whole, pieces.map(|pieces| pieces.concat()));
    }
}
