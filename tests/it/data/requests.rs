//! The API server requests that carry out effects.

use liqo_auth::{
    error::{ApiMisuse, Error, Fault},
    machine::{ApiRequest, Effect, Part, Version},
    model::{Kind, Object, ObjectRef},
};
use serde_json::{Value, json};

use crate::clusters::exchange::Setup;

#[test]
fn a_create_is_a_post_to_the_collection_without_a_version() {
    let request = Effect::Create(secret()).request().unwrap();
    assert_eq!(line(&request), "POST /api/v1/namespaces/liqo/secrets");
    assert_eq!(request.content_type, "application/json");
    assert_eq!(
        body(&request),
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "namespace": "liqo", "name": "record" },
            "data": { "key": "aHVudGVyMg==" },
        })
    );
}

#[test]
fn a_replace_is_a_put_with_the_observed_uid_and_version() {
    let effect = Effect::Replace {
        object: secret(),
        version: version(),
    };
    let request = effect.request().unwrap();
    assert_eq!(line(&request), "PUT /api/v1/namespaces/liqo/secrets/record");
    let metadata = body(&request)["metadata"].clone();
    assert_eq!(
        (&metadata["uid"], &metadata["resourceVersion"]),
        (&json!("u"), &json!("7"))
    );
}

#[test]
fn a_patch_goes_to_its_subresource_with_the_observed_version_and_no_uid() {
    for (kind, part, expected) in [
        (
            Kind::Tenant,
            Part::Main,
            "/apis/authentication.liqo.io/v1beta1/namespaces/a/tenants/b",
        ),
        (
            Kind::Tenant,
            Part::Status,
            "/apis/authentication.liqo.io/v1beta1/namespaces/a/tenants/b/status",
        ),
        (
            Kind::CertificateSigningRequest,
            Part::Approval,
            "/apis/certificates.k8s.io/v1/certificatesigningrequests/b/approval",
        ),
    ] {
        let namespace = if kind.is_namespaced() { "a" } else { "" };
        let patch = json!({ "metadata": { "labels": { "x": null } }, "status": {} });
        let effect = Effect::Patch {
            id: ObjectRef::new(kind, namespace, "b"),
            version: version(),
            part,
            patch,
        };
        let request = effect.request().unwrap();
        assert_eq!(line(&request), format!("PATCH {expected}"));
        assert_eq!(request.content_type, "application/merge-patch+json");
        assert_eq!(
            body(&request),
            json!({
                "metadata": { "labels": { "x": null }, "resourceVersion": "7" },
                "status": {},
            })
        );
    }
}

#[test]
fn a_delete_has_preconditions() {
    let request = delete(Kind::ClusterRoleBinding, "", "liqo:cl-a")
        .request()
        .unwrap();
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/liqo:cl-a";
    assert_eq!(line(&request), format!("DELETE {path}"));
    assert_eq!(
        body(&request),
        json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": { "uid": "u", "resourceVersion": "7" },
        })
    );
}

#[test]
fn a_name_cannot_lead_to_another_object() {
    let request = delete(Kind::Secret, "a", "b c?d#é").request().unwrap();
    assert_eq!(
        line(&request),
        "DELETE /api/v1/namespaces/a/secrets/b%20c%3Fd%23%C3%A9"
    );
    for (kind, namespace, name) in [
        (Kind::Secret, "a", ""),
        (Kind::Secret, "a", "."),
        (Kind::Secret, "a", ".."),
        (Kind::Secret, "a", "b/c"),
        (Kind::Secret, "a", "b%2fc"),
        (Kind::Secret, "..", "b"),
        (Kind::Secret, "", "b"),
        (Kind::ClusterRole, "a", "b"),
        (Kind::Other, "a", "b"),
    ] {
        let error = delete(kind, namespace, name).request().unwrap_err();
        assert!(
            is_not_addressable(&error),
            "{kind} {namespace}/{name}: {error}"
        );
    }
    let nameless = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {
        "namespace": "a", "name": "b" }, "data": 5 });
    let error = Effect::Create(Object::from_value(nameless))
        .request()
        .unwrap_err();
    assert!(is_not_addressable(&error), "{error}");
}

#[test]
fn every_effect_of_an_exchange_is_a_request() {
    let mut exchange = Setup::new().exchange();
    let mut methods = std::collections::BTreeSet::new();
    for _ in 0..6 {
        for step in [exchange.turn_of_provider(), exchange.turn_of_consumer()] {
            for effect in &step.effects {
                let request = effect.request().unwrap();
                assert!(!format!("{request:?}").contains("data"), "{request:?}");
                methods.insert(request.method.as_str());
            }
        }
        for kind in ["nonce", "Tenant", "Identity"] {
            exchange.deliver(kind);
        }
    }
    assert!(
        methods.contains("POST") && methods.contains("PATCH"),
        "{methods:?}"
    );
}

fn secret() -> Object {
    Object::from_value(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "namespace": "liqo",
            "name": "record",
            "uid": "old",
            "resourceVersion": "3",
        },
        "data": { "key": "aHVudGVyMg==" },
    }))
}

fn version() -> Version {
    Version {
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
    }
}

fn delete(kind: Kind, namespace: &str, name: &str) -> Effect {
    Effect::Delete {
        id: ObjectRef::new(kind, namespace, name),
        version: version(),
    }
}

fn line(request: &ApiRequest) -> String {
    format!("{} {}", request.method, request.path)
}

fn body(request: &ApiRequest) -> Value {
    serde_json::from_slice(request.body.expose()).unwrap()
}

fn is_not_addressable(error: &Error) -> bool {
    matches!(error.fault(), Fault::ApiMisuse(ApiMisuse::NotAddressable))
}
