//! What becomes of single effects.

use liqo_auth::{
    machine::{Effect, Part, Version},
    model::{Kind, Namespace, Object, ObjectRef},
};
use liqo_auth_kube::{Applied, apply};
use serde_json::json;

use crate::{clusters::id, fake::FakeApiServer};

#[tokio::test(start_paused = true)]
async fn an_object_is_created_once() {
    let server = FakeApiServer::with_liqo("milan");
    let effect = Effect::Create(Object::from(Namespace::for_tenant(&id("rome"))));
    let Applied::Written(object) = apply(&server.client(), &effect).await.unwrap() else {
        panic!("not written");
    };
    assert!(!object.metadata().uid.is_empty());
    let again = apply(&server.client(), &effect).await.unwrap();
    assert!(matches!(again, Applied::NameTaken), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn another_version_is_a_conflict() {
    let server = FakeApiServer::with_liqo("milan");
    let patch = |version: &str| Effect::Patch {
        id: ObjectRef::new(Kind::ConfigMap, "liqo", "liqo-clusterid-configmap"),
        version: Version {
            uid: String::new(),
            resource_version: version.to_owned(),
        },
        part: Part::Main,
        patch: json!({ "metadata": { "labels": { "seen": "true" } } }),
    };
    let current = server.all("configmaps")[0]["metadata"]["resourceVersion"].clone();
    let stale = apply(&server.client(), &patch("1000")).await.unwrap();
    assert!(matches!(stale, Applied::Conflict), "{stale:?}");
    let written = apply(&server.client(), &patch(current.as_str().unwrap())).await;
    assert!(matches!(written.unwrap(), Applied::Written(_)));
    let deletion = Effect::Delete {
        id: ObjectRef::new(Kind::ConfigMap, "liqo", "liqo-clusterid-configmap"),
        version: Version {
            uid: "another".to_owned(),
            resource_version: String::new(),
        },
    };
    let other_uid = apply(&server.client(), &deletion).await.unwrap();
    assert!(matches!(other_uid, Applied::Conflict), "{other_uid:?}");
    assert_eq!(server.all("configmaps").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_missing() {
    let server = FakeApiServer::with_liqo("milan");
    let deletion = Effect::Delete {
        id: ObjectRef::new(Kind::Secret, "liqo", "none"),
        version: Version::default(),
    };
    let outcome = apply(&server.client(), &deletion).await.unwrap();
    assert!(matches!(outcome, Applied::Missing), "{outcome:?}");
}
