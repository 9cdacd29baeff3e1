use liqo_auth::{
    machine::Part,
    model::{Namespace, Secret},
};
use liqo_auth_rehearsal::check_store;
use serde_json::json;

use super::*;

#[test]
fn a_home_keeps_objects_as_a_store_must() {
    check_store(&mut Store::empty().unwrap()).unwrap();
}

impl liqo_auth_rehearsal::Store for Store {
    fn look_up(&mut self, interests: &[Interest]) -> Vec<Object> {
        let is_wanted =
            |object: &&Object| interests.iter().any(|interest| interest.matches(object));
        let found = self.interesting(interests).into_iter();
        found.filter(is_wanted).cloned().collect()
    }

    fn apply(&mut self, effect: &Effect) -> Result<(), ApplyError> {
        let applied = Store::apply(self, effect, now());
        applied.map_err(|error| error.downcast().unwrap())
    }

    fn plant(&mut self, value: Value) -> bool {
        let value = SecretValue::new(value);
        let text = value.to_yaml().unwrap().as_bytes().to_vec();
        self.load(value.to_object().id(), Zeroizing::new(text));
        true
    }
}

fn store() -> Store {
    let mut store = Store::empty().unwrap();
    let namespace = Namespace::for_tenant(&"cl-b".parse().unwrap());
    store
        .apply(&Effect::Create(namespace.into()), now())
        .unwrap();
    store
}

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

fn patch(version: &str) -> Effect {
    Effect::Patch {
        id: ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-b"),
        version: Version {
            uid: String::new(),
            resource_version: version.to_owned(),
        },
        part: Part::Main,
        patch: json!({"metadata": {"annotations": {"a": "b"}}}),
    }
}

#[test]
fn an_object_is_made_once() {
    let mut store = store();
    let namespace = Namespace::for_tenant(&"cl-b".parse().unwrap());
    let error = store
        .apply(&Effect::Create(namespace.clone().into()), now())
        .unwrap_err();
    let expected = ApplyError::Exists(namespace.id());
    assert_eq!(error.downcast_ref(), Some(&expected));
}

#[test]
fn a_version_that_has_passed_is_refused() {
    let mut store = store();
    store.apply(&patch("1"), now()).unwrap();
    let error = store.apply(&patch("1"), now()).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(ApplyError::Changed(_))),
        "{error}"
    );
    store.apply(&patch("2"), now()).unwrap();
}

#[test]
fn a_patch_keeps_what_it_does_not_know() {
    let id = ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-b");
    let text = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: liqo-tenant-cl-b\n  resourceVersion: \"7\"\nunknown:\n- word\n";
    let mut store = Store::empty().unwrap();
    store.load(id.clone(), Zeroizing::new(text.as_bytes().to_vec()));
    store.apply(&patch("7"), now()).unwrap();
    let value = store.value(&id).unwrap();
    assert_eq!(value.pointer("/unknown/0"), Some(&json!("word")));
    assert_eq!(value.pointer("/metadata/annotations/a"), Some(&json!("b")));
    assert_eq!(
        value.pointer("/metadata/resourceVersion"),
        Some(&json!("8"))
    );
}

#[test]
fn what_has_a_finalizer_ends_when_that_is_gone() {
    let mut store = Store::empty().unwrap();
    let tenant = json!({
        "apiVersion": names::API_VERSION, "kind": "Tenant",
        "metadata": { "namespace": "t", "name": "a", "finalizers": ["x/y"] },
    });
    store.create(SecretValue::new(tenant), now()).unwrap();
    let id = ObjectRef::new(Kind::Tenant, "t", "a");
    store.apply(&delete(&id), now()).unwrap();
    let value = store.value(&id).unwrap();
    assert_eq!(
        value.pointer("/metadata/deletionTimestamp"),
        Some(&json!("2026-11-20T13:00:00Z"))
    );
    let release = Effect::Patch {
        id: id.clone(),
        version: Version::default(),
        part: Part::Main,
        patch: json!({"metadata": {"finalizers": []}}),
    };
    store.apply(&release, now()).unwrap();
    assert!(!store.contains(&id));
}

#[test]
fn what_cannot_be_read_is_patched_in_its_metadata_and_deleted() {
    let id = ObjectRef::new(Kind::ResourceSlice, "t", "pool");
    let text = "apiVersion: authentication.liqo.io/v1beta1\nkind: ResourceSlice\nmetadata:\n  namespace: t\n  name: pool\n  finalizers: [x/y]\nspec:\n  class: [1, 2]\n";
    let mut store = Store::empty().unwrap();
    store.load(id.clone(), Zeroizing::new(text.as_bytes().to_vec()));
    store.apply(&delete(&id), now()).unwrap();
    assert_eq!(
        store.value(&id).unwrap().pointer("/spec/class/1"),
        Some(&json!(2))
    );
    let release = Effect::Patch {
        id: id.clone(),
        version: store.version(&id),
        part: Part::Main,
        patch: json!({"metadata": {"finalizers": []}}),
    };
    store.apply(&release, now()).unwrap();
    assert!(!store.contains(&id));
    assert_eq!(store.changed().count(), 1);

    // A text that is no object can be deleted alone.
    store.load(id.clone(), Zeroizing::new(b"{{".to_vec()));
    assert!(store.apply(&release, now()).is_err());
    store.apply(&delete(&id), now()).unwrap();
    assert!(!store.contains(&id));
}

#[test]
fn a_version_is_that_of_the_stored_object() {
    let id = ObjectRef::new(Kind::Secret, "liqo", "record");
    let mut store = Store::empty().unwrap();
    assert_eq!(store.version(&id), Version::default());
    let mut secret = Secret::default();
    secret.metadata.name = "record".to_owned();
    secret.metadata.namespace = "liqo".to_owned();
    store
        .apply(&Effect::Create(secret.clone().into()), now())
        .unwrap();
    let first = store.version(&id);
    let stored = store.get::<Secret>("liqo", "record").unwrap();
    assert_eq!(first.uid, stored.metadata.uid);
    assert_eq!(first.resource_version, stored.metadata.resource_version);

    // What another change has replaced is not changed.
    let replace = |value: &str, version: &Version| {
        let mut secret = secret.clone();
        secret.data = [("key".to_owned(), value.as_bytes().to_vec().into())].into();
        Effect::Replace {
            object: secret.into(),
            version: version.clone(),
        }
    };
    store.apply(&replace("a", &first), now()).unwrap();
    assert!(store.apply(&replace("b", &first), now()).is_err());
    let second = store.version(&id);
    store.apply(&replace("b", &second), now()).unwrap();
}

#[test]
fn what_is_owned_ends_with_its_owners() {
    let mut store = Store::empty().unwrap();
    let object = |name: &str, owners: Value| {
        SecretValue::new(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": { "namespace": "t", "name": name, "ownerReferences": owners },
        }))
    };
    let id = |name: &str| ObjectRef::new(Kind::Secret, "t", name);
    let owner = |store: &Store, name: &str| {
        let uid = store.value(&id(name)).unwrap();
        json!({ "name": name, "uid": uid.pointer("/metadata/uid").unwrap() })
    };
    store.create(object("a", json!([])), now()).unwrap();
    store.create(object("b", json!([])), now()).unwrap();
    let (a, b) = (owner(&store, "a"), owner(&store, "b"));
    store.create(object("of-a", json!([a])), now()).unwrap();
    store
        .create(object("of-both", json!([a, b])), now())
        .unwrap();
    let of_a = owner(&store, "of-a");
    store
        .create(object("of-of-a", json!([of_a])), now())
        .unwrap();
    store.apply(&delete(&id("a")), now()).unwrap();
    let names: Vec<_> = store.objects().map(|object| object.id().name).collect();
    assert_eq!(names, ["b", "of-both"]);
    store.apply(&delete(&id("b")), now()).unwrap();
    assert_eq!(store.objects().count(), 0);
}

fn delete(id: &ObjectRef) -> Effect {
    Effect::Delete {
        id: id.clone(),
        version: Version::default(),
    }
}

#[test]
fn a_service_account_gets_its_token() {
    let mut store = Store::empty().unwrap();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "namespace": "guests", "name": "a-token" },
    });
    store.create(SecretValue::new(secret), now()).unwrap();
    let secret: &Secret = store.get("guests", "a-token").unwrap();
    assert!(secret.get("token").is_some_and(|token| token.len() == 128));
}

#[test]
fn a_file_with_another_object_is_unreadable_and_there() {
    let id = ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-b");
    let mut store = Store::empty().unwrap();
    let text = b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: other\n".to_vec();
    store.load(id.clone(), Zeroizing::new(text));
    let object = store.objects().next().unwrap();
    assert_eq!(object.as_unreadable().unwrap().id, id);
    assert!(
        object
            .as_unreadable()
            .unwrap()
            .reason
            .to_string()
            .contains("Namespace other")
    );
    assert!(store.contains(&id));
}

#[test]
fn a_replacement_does_not_end_a_deletion() {
    let mut store = Store::empty().unwrap();
    let mut secret = Secret::default();
    secret.metadata.name = "record".to_owned();
    secret.metadata.namespace = "liqo".to_owned();
    secret.metadata.finalizers = vec!["example.com/finalizer".to_owned()];
    let id = secret.id();
    store
        .apply(&Effect::Create(secret.clone().into()), now())
        .unwrap();
    store.apply(&delete(&id), now()).unwrap();
    let mut replace = |secret: &Secret| {
        let replace = Effect::Replace {
            object: secret.clone().into(),
            version: store.version(&id),
        };
        store.apply(&replace, now()).unwrap();
        let stored = store.get::<Secret>("liqo", "record");
        stored.map(|stored| stored.metadata.deletion_timestamp)
    };
    assert_eq!(replace(&secret), Some(Some(now())));
    secret.metadata.finalizers.clear();
    assert_eq!(replace(&secret), None);
}
