//! An input that is exactly at a limit is read. An input that exceeds the limit by one
//! is refused.

use liqo_auth::{
    consumer::ConsumerConfig,
    machine::Message,
    model::{
        ApiServerUrl, DocumentError, ManifestError, Object, ObjectError, UrlError, manifest,
        read_document,
    },
    policy::{Limits, Policy},
};
use serde_json::{Value, json};

/// A Secret with this number of values. Each label is one value.
fn secret(values: usize) -> Value {
    // The object, its version, its kind, the metadata, the name and the labels.
    let labels = values - 6;
    let labels: serde_json::Map<String, Value> = (0..labels)
        .map(|number| (format!("l{number}"), Value::from("")))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "a", "labels": labels },
    })
}

fn refusal(object: &Object) -> Option<&ObjectError> {
    object.as_unreadable().map(|unreadable| &unreadable.reason)
}

fn only(text: &str, limits: &Limits) -> Object {
    let [object] = manifest::read(text.as_bytes(), limits)
        .unwrap()
        .try_into()
        .unwrap();
    object
}

/// The default limits are those of the strict policy. Three limits of the compatible
/// policy differ.
#[test]
fn the_limits_are_these() {
    let second = core::time::Duration::from_secs(1);
    let strict = Limits {
        csr: 8192,
        public_key: 2048,
        signature: 1024,
        nonce: 128,
        certificates: 65_536,
        client_chain: 4,
        ca_bundle: 64,
        object: 262_144,
        object_values: 2048,
        cluster_id: 51,
        resource_slice_name: 51,
        resource_slices: 64,
        slice_records: 1024,
        slice_resources: 128,
        resource_name: 317,
        quantity: 64,
        access_keys: 128,
        signing_burst: 128,
        signing_interval: 600 * second,
        certificate_lifetime: 3653 * 86_400 * second,
        legacy_request: 32_768,
        legacy_answer: 262_144,
        wrong_token_delay: second / 4,
        wrong_token_longest_delay: 3 * second,
    };
    assert_eq!(Limits::default(), strict);
    assert_eq!(Policy::strict().limits, strict);
    let compatible = Limits {
        cluster_id: 63,
        resource_slice_name: 63,
        certificate_lifetime: core::time::Duration::MAX,
        ..strict
    };
    assert_eq!(Policy::compatible().limits, compatible);
}

#[test]
fn the_values_of_an_object() {
    let limit = Limits::default().object_values;
    let too_many = ObjectError::TooManyValues { limit };
    for (values, reason) in [(limit, None), (limit + 1, Some(&too_many))] {
        let value = secret(values);
        assert_eq!(
            refusal(&only(&value.to_string(), &Limits::default())),
            reason
        );
        assert_eq!(refusal(&Object::from_value(value)), reason);
    }
}

/// The limit counts for each item of a list, also in a list of lists.
#[test]
fn the_values_of_an_object_in_a_list() {
    let limits = Limits {
        object_values: 10,
        ..Limits::default()
    };
    let list = |items: Value| json!({ "kind": "List", "items": items });
    for (values, is_readable) in [(10, true), (11, false)] {
        let two = list(json!([secret(values), secret(values)]));
        let text = list(json!([two])).to_string();
        let objects = manifest::read(text.as_bytes(), &limits).unwrap();
        let readable: Vec<bool> = objects.iter().map(|it| refusal(it).is_none()).collect();
        assert_eq!(readable, [is_readable; 2]);
    }
}

#[cfg(feature = "yaml")]
#[test]
fn the_values_of_an_object_in_yaml() {
    let limits = Limits {
        object_values: 10,
        ..Limits::default()
    };
    let yaml = |values| {
        let labels: String = (6..values).map(|it| format!("    l{it}: a\n")).collect();
        format!("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels:\n{labels}")
    };
    assert_eq!(refusal(&only(&yaml(10), &limits)), None);
    assert_eq!(
        manifest::read(yaml(11).as_bytes(), &limits),
        Err(ManifestError::TooManyObjectValues { limit: 10 })
    );
}

#[test]
fn the_bytes_of_an_object() {
    let value = secret(10);
    let length = value.to_string().len();
    let within = |object| Limits {
        object,
        ..Limits::default()
    };
    let text = value.to_string();
    assert_eq!(refusal(&only(&text, &within(length))), None);
    let limit = length - 1;
    let too_large = ObjectError::TooLarge { limit };
    assert_eq!(refusal(&only(&text, &within(limit))), Some(&too_large));
}

#[test]
fn the_bytes_of_a_text() {
    let limits = Limits {
        object: 100,
        ..Limits::default()
    };
    let limit = 100 * manifest::OBJECTS;
    assert_eq!(limit, 6400);
    let read = |length: usize| manifest::read(" ".repeat(length).as_bytes(), &limits);
    assert_eq!(read(limit), Ok(Vec::new()));
    let found = limit + 1;
    assert_eq!(read(found), Err(ManifestError::TooLarge { found, limit }));

    let limit = 256 * 1024;
    let read = |length: usize| {
        let text = format!(
            r#"{{"clusterID":"cl-consumer"}}{}"#,
            " ".repeat(length - 27)
        );
        assert_eq!(text.len(), length);
        read_document::<ConsumerConfig>(text.as_bytes())
    };
    assert!(read(limit).is_ok());
    let found = limit + 1;
    let too_large = ManifestError::TooLarge { found, limit };
    assert_eq!(read(found).err(), Some(DocumentError::Text(too_large)));
}

/// A message may have a kibibyte more than its object: the text around the object.
#[test]
fn the_bytes_of_a_message() {
    let mut policy = Policy::strict();
    policy.limits.object = 1000;
    let refused = |length: usize| {
        let text = " ".repeat(length);
        let error = Message::from_json(text.as_bytes(), &policy).unwrap_err();
        error.to_string()
    };
    let is_too_large = |length| refused(length).contains("expected at most 2024");
    assert!(is_too_large(2025));
    assert!(!is_too_large(2024));
}

#[test]
fn the_objects_of_a_text() {
    let limits = Limits::default();
    let limit = manifest::MOST_OBJECTS;
    assert_eq!(limit, 10_000);
    let list = |length| {
        format!(
            r#"{{"kind":"List","items":[{}0]}}"#,
            "0,".repeat(length - 1)
        )
    };
    for (text, is_read) in [
        ("{}".repeat(limit), true),
        ("{}".repeat(limit + 1), false),
        (list(limit), true),
        (list(limit + 1), false),
    ] {
        let read = manifest::read(text.as_bytes(), &limits);
        let read = read.map(|objects| objects.len());
        let too_many = ManifestError::TooManyObjects { limit };
        assert_eq!(read, if is_read { Ok(limit) } else { Err(too_many) });
    }
}

/// 250 lists of 1,999 numbers, and the lists themselves.
#[test]
fn the_values_of_a_text() {
    let lists = 250;
    let list = format!("[{}0]", "0,".repeat(1998));
    let text = |more: usize| format!("{}{}", list.repeat(lists), "null ".repeat(more));
    let used = lists * 2000;
    let limit = 500_000;
    assert_eq!(used, limit);
    let read = |more| {
        let read = manifest::read(text(more).as_bytes(), &Limits::default());
        read.map(|objects| objects.len())
    };
    assert_eq!(read(0), Ok(lists));
    assert_eq!(read(1), Err(ManifestError::TooManyValues { limit }));
}

#[test]
fn the_defects_of_a_text() {
    let read = |objects: usize| {
        let repeated = r#"{"a": 1, "a": 1},"#.repeat(objects);
        let text = format!(r#"{{"kind": "List", "items": [{repeated} 1]}}"#);
        manifest::read(text.as_bytes(), &Limits::default())
    };
    assert_eq!(read(64).map(|objects| objects.len()), Ok(65));
    assert!(matches!(
        read(65),
        Err(ManifestError::TooManyFaults { limit: 64, .. })
    ));
}

/// A path is cut once it has more than 256 characters, a key after 80.
#[test]
fn the_path_of_a_defect() {
    let path = |last: usize| {
        let keys = [
            "a".repeat(80),
            "b".repeat(80),
            "c".repeat(80),
            "d".repeat(last),
        ];
        let inside = r#"{"x":1,"x":2}"#.to_owned();
        let text = keys
            .iter()
            .rev()
            .fold(inside, |inside, key| format!(r#"{{"{key}":{inside}}}"#));
        match refusal(&only(&text, &Limits::default())) {
            Some(ObjectError::Repeated { path }) => path.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(path(13).ends_with(".ddddddddddddd.x"));
    assert_eq!(path(13).len(), 256 + 2);
    assert!(path(14).ends_with(".dddddddddddddd…"));
}

/// The parts of an object that cannot be read are kept as far as an API server would
/// store them.
#[test]
fn the_metadata_of_an_object_that_cannot_be_read() {
    let unreadable = |labels: usize| {
        let mut value = secret(labels + 6);
        value["data"] = 5.into();
        only(&value.to_string(), &Limits::default())
    };
    // The map itself is a value.
    for (labels, kept) in [(1023, 1023), (1024, 0)] {
        let object = unreadable(labels);
        let metadata = &object.as_unreadable().unwrap().metadata;
        assert_eq!(metadata.labels.len(), kept);
        assert_eq!(metadata.name, "a");
    }

    let annotated = |length: usize| {
        // Besides its text: two braces, four quotation marks, a colon and the key.
        let annotations = json!({ "a": "x".repeat(length - 8) });
        assert_eq!(annotations.to_string().len(), length);
        let object = Object::from_value(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "a", "annotations": annotations },
        }));
        object.as_unreadable().unwrap().metadata.annotations.len()
    };
    assert_eq!(annotated(256 * 1024), 1);
    assert_eq!(annotated(256 * 1024 + 1), 0);

    for (length, kept) in [(253, 253), (254, 253)] {
        let value = json!({ "apiVersion": "v1", "kind": "k".repeat(length) });
        let object = Object::from_value(value);
        assert_eq!(object.as_unreadable().unwrap().kind.len(), kept);
    }
}

#[test]
fn the_host_of_a_url() {
    let url = |host: &str| format!("https://{host}").parse::<ApiServerUrl>();
    let label = |length: usize| "a".repeat(length);
    assert!(url(&label(63)).is_ok());
    assert_eq!(url(&label(64)), Err(UrlError::Host));
    let name = |last: usize| [label(63), label(63), label(63), label(last)].join(".");
    assert_eq!(name(61).len(), 253);
    assert!(url(&name(61)).is_ok());
    assert_eq!(url(&name(62)), Err(UrlError::Host));
}
