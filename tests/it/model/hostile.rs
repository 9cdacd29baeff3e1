//! Hostile manifests: ambiguous or unreadable on purpose. Each is refused with
//! the error that names its defect.

use liqo_auth::{
    model::{Kind, ManifestError, Object, ObjectError, ObjectRef, Resource, Tenant, manifest},
    policy::Limits,
};

const TENANT: &str = r#"{"apiVersion": "authentication.liqo.io/v1beta1", "kind": "Tenant",
    "metadata": {"name": "a", "namespace": "n"}, "spec": SPEC}"#;

#[test]
fn a_field_of_a_wrong_type_is_named() {
    for (spec, path, reason) in [
        ("5", "spec", "found a number, expected a map"),
        (
            r#"{"clusterID": 5}"#,
            "spec.clusterID",
            "found a number, expected a string",
        ),
        (
            r#"{"csr": true}"#,
            "spec.csr",
            "found true or false, expected base64 text",
        ),
        (
            r#"{"csr": "a\nb!"}"#,
            "spec.csr",
            "found a byte that is not base64 at 2, expected base64 text",
        ),
        (
            r#"{"csr": "YQ"}"#,
            "spec.csr",
            "found wrong padding, expected padded base64 text",
        ),
        (
            r#"{"authzPolicy": "Any\n"}"#,
            "spec.authzPolicy",
            "found \"Any\\n\", expected `KeysExchange` or `TolerateNoHandshake`",
        ),
        (
            r#"{"tenantCondition": "active"}"#,
            "spec.tenantCondition",
            "found \"active\", expected one of `Active`, `Cordoned`, `Drained`",
        ),
        (
            r#"{}, "status": {"authParams": {"awsConfig": {"awsSecretAccessKey": 5}}}"#,
            "status.authParams.awsConfig.awsSecretAccessKey",
            "found a number, expected a string",
        ),
        (
            r#"{"proxyURL": []}"#,
            "spec.proxyURL",
            "found a list, expected a string",
        ),
    ] {
        let reason = ObjectError::Field {
            path: path.into(),
            reason: reason.into(),
        };
        assert_eq!(refusal(&TENANT.replace("SPEC", spec)), reason, "{spec}");
    }
}

#[test]
fn an_unreadable_object_keeps_its_name_and_does_not_affect_the_list() {
    let text = format!(
        r#"{{"apiVersion": "v1", "kind": "List", "items": [{}, {}, {}, 5]}}"#,
        TENANT.replace("SPEC", "{}"),
        TENANT.replace("SPEC", "5"),
        TENANT.replace("SPEC", r#"{"csr": "", "csr": "YQ=="}"#),
    );
    let objects = read(&text).unwrap();
    assert!(Tenant::from_object(&objects[0]).is_some());
    for object in &objects[1..3] {
        assert_eq!(object.id(), ObjectRef::new(Kind::Tenant, "n", "a"));
    }
    assert_eq!(
        reason(&objects[2]),
        ObjectError::Repeated {
            path: "spec.csr".into()
        }
    );
    assert_eq!(reason(&objects[3]), ObjectError::NotAnObject);
    assert_eq!(objects[3].id(), ObjectRef::new(Kind::Other, "", ""));
}

#[test]
fn a_repeated_key_is_refused_with_its_place() {
    for (text, path, id) in [
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "kind": "ConfigMap", "metadata": {"name": "a"}}"#,
            "kind",
            (Kind::Other, "a"),
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "name": "b"}}"#,
            "metadata.name",
            (Kind::Secret, ""),
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "metadata": {}}"#,
            "metadata",
            (Kind::Secret, ""),
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "labels": {"liqo.io/nonce": "true", "liqo.io/nonce": ""}}}"#,
            "metadata.labels[\"liqo.io/nonce\"]",
            (Kind::Secret, "a"),
        ),
        (
            r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "unknown": [{"x": 1, "\u0078": 2}]}"#,
            "unknown[0].x",
            (Kind::Secret, "a"),
        ),
    ] {
        let [object] = read(text).unwrap().try_into().unwrap();
        assert_eq!(
            reason(&object),
            ObjectError::Repeated { path: path.into() },
            "{text}"
        );
        assert_eq!(object.id(), ObjectRef::new(id.0, "", id.1), "{text}");
    }
    assert_eq!(
        read(r#"{"kind": "List", "items": [], "items": []}"#),
        Err(ManifestError::List(ObjectError::Repeated {
            path: "items".into()
        }))
    );
}

#[test]
fn kinds_and_versions_are_distinguished() {
    let object = |api_version: &str, kind: &str| {
        format!(
            r#"{{"apiVersion": "{api_version}", "kind": "{kind}", "metadata": {{"name": "a"}}}}"#
        )
    };
    assert_eq!(
        refusal(&object("authentication.liqo.io/v2", "Tenant")),
        ObjectError::ApiVersion {
            kind: Kind::Tenant,
            found: "authentication.liqo.io/v2".into()
        }
    );
    assert_eq!(
        refusal(&object("v2", "Secret")),
        ObjectError::ApiVersion {
            kind: Kind::Secret,
            found: "v2".into()
        }
    );
    for (api_version, kind) in [
        ("example.com/v1", "Secret"),
        ("v1", "Tenant"),
        ("v1", "Pod"),
        ("v1", "Other"),
        ("v1", "Object"),
    ] {
        assert_eq!(
            refusal(&object(api_version, kind)),
            ObjectError::UnknownKind {
                api_version: api_version.into(),
                found: kind.into()
            }
        );
    }
}

#[test]
fn secrets_never_reach_an_error() {
    for data in [
        r#""data": {"privateKey": "hunter2-hunter2"}"#,
        r#""data": "hunter2""#,
        r#""data": ["hunter2"]"#,
        r#""stringData": {"privateKey": ["hunter2"]}"#,
        r#""data": {"a": {"hunter2": "hunter2"}}"#,
        r#""type": {"a": "hunter2"}"#,
        r#""metadata": "found hunter2, expected hunter2""#,
    ] {
        let [object] = read(&format!(
            r#"{{"apiVersion": "v1", "kind": "Secret", {data}}}"#
        ))
        .unwrap()
        .try_into()
        .unwrap();
        let reason = reason(&object);
        assert!(matches!(reason, ObjectError::Field { .. }), "{reason:?}");
        assert!(
            !format!("{object:?} {reason}").contains("hunter2"),
            "{object:?}"
        );
    }
    for text in [
        r#"{"data": hunter2}"#,
        r#"{"data": "hunter2"#,
        r#"{"data": "hunter2\q"}"#,
    ] {
        let error = read(text).unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("hunter2"),
            "{error:?}"
        );
    }
}

#[test]
fn sizes_are_bounded() {
    let limits = Limits::default();
    let large = format!(r#"{{"csr": "{}"}}"#, "A".repeat(limits.object));
    assert_eq!(
        refusal(&TENANT.replace("SPEC", &large)),
        ObjectError::TooLarge {
            limit: limits.object
        }
    );
    let found = limits.object * manifest::OBJECTS + 1;
    assert_eq!(
        read(&" ".repeat(found)),
        Err(ManifestError::TooLarge {
            found,
            limit: found - 1
        })
    );
    let large = format!("[{}1]", "1,".repeat(2000));
    let many = format!("{large},").repeat(250);
    assert_eq!(
        read(&format!(r#"{{"kind": "List", "items": [{many} 1]}}"#)),
        Err(ManifestError::TooManyValues { limit: 500_000 })
    );
    assert_eq!(
        read(&"{}".repeat(10_001)),
        Err(ManifestError::TooManyObjects { limit: 10_000 })
    );
    assert_eq!(
        read(&format!(
            r#"{{"kind": "List", "items": [{}1]}}"#,
            "1,".repeat(10_000)
        )),
        Err(ManifestError::TooManyObjects { limit: 10_000 })
    );
    let repeated = r#"{"a": 1, "a": 1},"#.repeat(65);
    assert!(matches!(
        read(&format!(r#"{{"kind": "List", "items": [{repeated} 1]}}"#)),
        Err(ManifestError::TooManyFaults { limit: 64, .. })
    ));
}

#[test]
fn an_object_with_too_many_values_keeps_its_name_and_does_not_affect_the_list() {
    let limit = Limits::default().object_values;
    let values = |number: usize| vec!["1"; number].join(",");
    // The limit counts the object, its API version, kind, metadata, two names,
    // the spec and the list.
    let full = TENANT.replace("SPEC", &format!(r#"{{"x": [{}]}}"#, values(limit - 8)));
    assert!(Tenant::from_object(&read(&full).unwrap()[0]).is_some());

    let many: Vec<String> = (0..limit).map(|n| format!(r#""{n}": "{n}""#)).collect();
    let many = many.join(",");
    let annotated = format!(
        r#"{{"apiVersion": "v1", "kind": "Secret", "metadata": {{
            "annotations": {{{many}}}, "finalizers": ["f"], "labels": {{"l": "v"}},
            "managedFields": [[{many_values}]], "name": "a", "namespace": "n", "uid": "u"}},
            "data": {{"b": "Yg=="}}, "type": "Opaque"}}"#,
        many_values = values(limit),
    );
    let over = TENANT.replace("SPEC", &format!(r#"{{"x": [{}]}}"#, values(limit - 7)));
    let honest = TENANT.replace("SPEC", "{}");
    let text =
        format!(r#"{{"kind": "List", "items": [{over}, {annotated}, {honest}]}} {over} {honest}"#);
    let objects = read(&text).unwrap();
    let refused: Vec<bool> = objects
        .iter()
        .map(|o| o.as_unreadable().is_some())
        .collect();
    assert_eq!(refused, [true, true, false, true, false]);
    for object in [&objects[0], &objects[1], &objects[3]] {
        assert_eq!(reason(object), ObjectError::TooManyValues { limit });
    }
    assert_eq!(objects[0].id(), ObjectRef::new(Kind::Tenant, "n", "a"));
    let secret = objects[1].as_unreadable().unwrap();
    assert_eq!(secret.id, ObjectRef::new(Kind::Secret, "n", "a"));
    assert_eq!(secret.metadata.uid, "u");
    assert_eq!(secret.metadata.finalizers, ["f"]);
    assert_eq!(secret.metadata.labels.get("l").unwrap(), "v");

    // A value that another parser read has the same limit.
    let value: serde_json::Value = serde_json::from_str(&annotated).unwrap();
    let object = Object::from_value(value);
    assert_eq!(reason(&object), ObjectError::TooManyValues { limit });
    assert_eq!(object.id(), ObjectRef::new(Kind::Secret, "n", "a"));
    for (text, is_over) in [(&full, false), (&over, true)] {
        let object = Object::from_value(serde_json::from_str(text).unwrap());
        assert_eq!(object.as_unreadable().is_some(), is_over);
    }
    // An object whose kind is not a list has no items.
    let items = format!(
        r#"{{"items": [{}], "kind": "Tenant", "apiVersion": "v1"}}"#,
        values(limit)
    );
    assert_eq!(refusal(&items), ObjectError::TooManyValues { limit });
}

#[test]
fn a_wrong_value_among_others_is_reported_with_its_place() {
    assert_eq!(
        read("{} {}\n{} {\"a\": }\n{}"),
        Err(ManifestError::Json {
            line: 2,
            column: 10,
            reason: "expected value".into()
        })
    );
    assert_eq!(
        read("{} {}\n{"),
        Err(ManifestError::Json {
            line: 2,
            column: 1,
            reason: "EOF while parsing an object".into()
        })
    );
    assert_eq!(read("{}{}[]\n").unwrap().len(), 3);
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        format!(
            "{}{}",
            r#"{"a":"#.repeat(depth),
            "1".to_owned() + &"}".repeat(depth)
        )
    };
    // The map around the value is a level, too.
    let text = TENANT.replace("SPEC", &nested(31));
    assert!(Tenant::from_object(&read(&text).unwrap()[0]).is_some());
    for depth in [32, 100_000] {
        assert!(
            matches!(
                refusal(&TENANT.replace("SPEC", &nested(depth))),
                ObjectError::TooDeep { limit: 32, .. }
            ),
            "{depth}"
        );
    }
    let nested =
        |depth: usize| r#"{"kind": "List", "items": ["#.repeat(depth) + &"]}".repeat(depth);
    assert_eq!(read(&nested(2)), Ok(Vec::new()));
    assert_eq!(
        read(&nested(3)),
        Err(ManifestError::NestedLists { limit: 2 })
    );
}

#[test]
fn a_malformed_text_is_refused_with_its_place() {
    assert_eq!(
        read("{}\n---\n{\"a\": }"),
        Err(ManifestError::Json {
            line: 3,
            column: 7,
            reason: "expected value".into()
        })
    );
    assert_eq!(
        manifest::read(b"{\"a\": \"\xff\"}", &Limits::default()),
        Err(ManifestError::NotText { at: 7 })
    );
    assert!(matches!(
        read("{} x"),
        Err(ManifestError::Json { line: 1, .. })
    ));
}

#[test]
fn several_documents_are_read_in_order() {
    let tenant = TENANT.replace("SPEC", "{}");
    let text =
        format!("\u{feff}# none\n---\r\n---\n{tenant}{tenant}\n--- # next\n{tenant}\n---\n\n");
    assert_eq!(read(&text).unwrap().len(), 3);
    assert_eq!(read(""), Ok(Vec::new()));
}

#[cfg(not(feature = "yaml"))]
#[test]
fn yaml_needs_its_feature() {
    assert_eq!(
        read("# a\nkind: Tenant"),
        Err(ManifestError::YamlIsOff { line: 1 })
    );
}

#[cfg(feature = "yaml")]
mod yaml;

fn read(text: &str) -> Result<Vec<Object>, ManifestError> {
    manifest::read(text.as_bytes(), &Limits::default())
}

fn refusal(text: &str) -> ObjectError {
    let [object] = read(text).unwrap().try_into().unwrap();
    reason(&object)
}

fn reason(object: &Object) -> ObjectError {
    object.as_unreadable().unwrap().reason.clone()
}
