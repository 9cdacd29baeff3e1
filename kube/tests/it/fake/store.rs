//! The objects of the server, and the rules for changing them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Target, selector::Selector};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub group: String,
    pub plural: String,
    pub namespace: String,
    pub name: String,
}

/// What the API server answers to a request that it does not carry out.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
}

#[derive(Default)]
pub struct Store {
    objects: BTreeMap<Key, Value>,
    events: Vec<(u64, Key, Event)>,
    version: u64,
    absent: Vec<String>,
}

/// An object before and after a change.
struct Event {
    before: Option<Value>,
    after: Option<Value>,
}

impl Refusal {
    pub fn not_found(what: &str) -> Self {
        Self {
            code: 404,
            reason: "NotFound",
            message: format!("{what} does not exist"),
        }
    }

    fn conflict(message: &str) -> Self {
        Self {
            code: 409,
            reason: "Conflict",
            message: message.to_owned(),
        }
    }
}

impl Store {
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn all(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.objects.iter()
    }

    pub fn remove_resource(&mut self, plural: &str) {
        self.absent.push(plural.to_owned());
    }

    pub fn remove_group(&mut self, group: &str) {
        let of_group = KINDS.iter().filter(|(_, own, ..)| *own == group);
        let plurals = of_group.map(|(_, _, plural, _)| (*plural).to_owned());
        self.absent.extend(plurals);
    }

    pub fn serve_all(&mut self) {
        self.absent.clear();
    }

    pub fn serves(&self, target: &Target) -> bool {
        let known = KINDS.iter().any(|(_, group, plural, _)| {
            *plural == target.plural && format!("{}/{group}", root(group)) == target.group
        });
        known && !self.absent.contains(&target.plural)
    }

    pub fn resources(&self, group: &str) -> Vec<Value> {
        let of_group = KINDS.iter().filter(|(_, own, plural, _)| {
            format!("{}/{own}", root(own)) == group && !self.absent.iter().any(|one| one == plural)
        });
        let resource = |&(kind, _, plural, namespaced): &(&str, &str, &str, bool)| {
            json!({
                "name": plural,
                "singularName": "",
                "kind": kind,
                "namespaced": namespaced,
                "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
            })
        };
        of_group.map(resource).collect()
    }

    pub fn get(&self, target: &Target) -> Result<Value, Refusal> {
        let found = self.objects.get(&Key::of(target));
        found
            .cloned()
            .ok_or_else(|| Refusal::not_found(&target.name))
    }

    pub fn list(&self, target: &Target, selector: &Selector) -> Value {
        let items: Vec<Value> = self
            .objects
            .iter()
            .filter(|(key, object)| key.is_in(target) && selector.matches(object))
            .map(|(_, object)| {
                // The items of a list have no kind of their own.
                let mut item = object.as_object().unwrap().clone();
                item.remove("kind");
                item.remove("apiVersion");
                Value::Object(item)
            })
            .collect();
        json!({
            "kind": "List",
            "apiVersion": "v1",
            "metadata": { "resourceVersion": self.version.to_string() },
            "items": items,
        })
    }

    /// What a watch with this selector tells of the changes after a version.
    pub fn events(&self, target: &Target, selector: &Selector, since: u64) -> Vec<Value> {
        // A flood makes many, which are in the order of their versions.
        let later = self
            .events
            .partition_point(|(version, ..)| *version <= since);
        let changes = self.events.iter().skip(later);
        let changes = changes.filter(|(_, key, _)| key.is_in(target));
        let told = changes.filter_map(|(version, _, Event { before, after })| {
            let was = before.as_ref().filter(|object| selector.matches(object));
            let is = after.as_ref().filter(|object| selector.matches(object));
            let (kind, mut object) = match (was, is) {
                (None, None) => return None,
                (None, Some(object)) => ("ADDED", object.clone()),
                (Some(_), Some(object)) => ("MODIFIED", object.clone()),
                (Some(object), None) => ("DELETED", object.clone()),
            };
            object["metadata"]["resourceVersion"] = version.to_string().into();
            Some(json!({ "type": kind, "object": object }))
        });
        told.collect()
    }

    pub fn create(&mut self, target: &Target, mut object: Value) -> Result<Value, Refusal> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        let key = Key {
            name: name.unwrap_or_default().to_owned(),
            ..Key::of(target)
        };
        if self.objects.contains_key(&key) {
            return Err(Refusal {
                code: 409,
                reason: "AlreadyExists",
                message: format!("{} exists", key.name),
            });
        }
        let is_in = |(existing, _): (&Key, &Value)| {
            existing.plural == "namespaces" && existing.name == key.namespace
        };
        if !key.namespace.is_empty() && !self.objects.iter().any(is_in) {
            return Err(Refusal::not_found(&key.namespace));
        }
        if has_status(&key.plural) {
            object.as_object_mut().unwrap().remove("status");
        }
        set_default_type(&key.plural, &mut object);
        let uid = format!("uid-{}", self.version + 1);
        let metadata = metadata(&mut object);
        if key.group.contains("liqo.io") {
            metadata.insert("generation".into(), 1.into());
        }
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), "2026-01-01T00:00:00Z".into());
        Ok(self.store(key, Some(object)))
    }

    /// Removes an object whose owners are gone, as the garbage collector does.
    pub fn collect(&mut self, target: &Target, created: &Value) {
        let owners = owners_of(created);
        let exists = |owner: &Value| {
            let mut objects = self.objects.values();
            objects.any(|object| object["metadata"]["uid"] == owner["uid"])
        };
        if !owners.is_empty() && !owners.iter().any(exists) {
            let name = created["metadata"]["name"].as_str().unwrap_or_default();
            let name = name.to_owned();
            self.remove(Key {
                name,
                ..Key::of(target)
            });
        }
    }

    pub fn replace(&mut self, target: &Target, object: Value) -> Result<Value, Refusal> {
        let stored = self.get(target)?;
        check_version(&stored, object.get("metadata").unwrap_or(&Value::Null))?;
        self.write(target, stored, object)
    }

    pub fn patch(&mut self, target: &Target, patch: Value) -> Result<Value, Refusal> {
        let stored = self.get(target)?;
        check_version(&stored, patch.get("metadata").unwrap_or(&Value::Null))?;
        let mut object = stored.clone();
        merge(&mut object, patch);
        self.write(target, stored, object)
    }

    pub fn delete(&mut self, target: &Target, options: &Value) -> Result<Value, Refusal> {
        let mut stored = self.get(target)?;
        check_version(
            &stored,
            options.get("preconditions").unwrap_or(&Value::Null),
        )?;
        let key = Key::of(target);
        if is_held(&stored) {
            let metadata = metadata(&mut stored);
            if metadata.contains_key("deletionTimestamp") {
                return Ok(stored);
            }
            let now = "2026-01-01T00:00:00Z";
            metadata.insert("deletionTimestamp".into(), now.into());
            return Ok(self.store(key, Some(stored)));
        }
        Ok(self.remove(key))
    }

    /// Writes what the endpoint may write, and nothing if nothing changes.
    fn write(&mut self, target: &Target, stored: Value, wanted: Value) -> Result<Value, Refusal> {
        let mut object = match target.subresource.as_str() {
            "" => {
                let mut object = wanted;
                set_default_type(&target.plural, &mut object);
                if has_status(&target.plural) {
                    copy(&stored, &mut object, "status");
                }
                object
            }
            "approval" => {
                let mut object = stored.clone();
                object["status"]["conditions"] = wanted["status"]["conditions"].clone();
                object
            }
            _ => {
                let mut object = stored.clone();
                copy(&wanted, &mut object, "status");
                object
            }
        };
        for field in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
        ] {
            let (from, to) = (stored["metadata"].clone(), &mut object["metadata"]);
            copy(&from, to, field);
        }
        if let Some(generation) = stored["metadata"]["generation"].as_u64()
            && object.get("spec") != stored.get("spec")
        {
            object["metadata"]["generation"] = (generation + 1).into();
        }
        let key = Key::of(target);
        if object["metadata"].get("deletionTimestamp").is_some() && !is_held(&object) {
            return Ok(self.remove(key));
        }
        if object == stored {
            return Ok(stored);
        }
        Ok(self.store(key, Some(object)))
    }

    /// Removes an object, what it owns, and what lies in it.
    fn remove(&mut self, key: Key) -> Value {
        let gone = self.store(key.clone(), None);
        let uid = gone["metadata"]["uid"].clone();
        let left: Vec<Key> = self
            .objects
            .iter()
            .filter(|(other, object)| {
                let is_owned = owners_of(object).iter().any(|one| one["uid"] == uid);
                is_owned || (key.plural == "namespaces" && other.namespace == key.name)
            })
            .map(|(other, _)| other.clone())
            .collect();
        for other in left {
            self.remove(other);
        }
        gone
    }

    fn store(&mut self, key: Key, object: Option<Value>) -> Value {
        self.version += 1;
        let before = self.objects.remove(&key);
        let after = object.map(|mut object| {
            let version = self.version.to_string();
            metadata(&mut object).insert("resourceVersion".into(), version.into());
            object
        });
        if let Some(object) = &after {
            self.objects.insert(key.clone(), object.clone());
        }
        let answer = after.clone().or_else(|| before.clone()).unwrap_or_default();
        self.events
            .push((self.version, key, Event { before, after }));
        answer
    }
}

impl Key {
    fn of(target: &Target) -> Self {
        Self {
            group: target.group.clone(),
            plural: target.plural.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        }
    }

    /// Whether a list or a watch of the target has this object.
    fn is_in(&self, target: &Target) -> bool {
        self.group == target.group
            && self.plural == target.plural
            && (target.namespace.is_empty() || target.namespace == self.namespace)
    }
}

fn owners_of(object: &Value) -> &[Value] {
    let owners = object.pointer("/metadata/ownerReferences");
    let owners = owners.and_then(Value::as_array);
    owners.map(Vec::as_slice).unwrap_or_default()
}

/// The plural of a kind.
pub fn plural(kind: &str) -> &'static str {
    let found = KINDS.iter().find(|(known, ..)| *known == kind);
    found.unwrap_or_else(|| panic!("{kind}")).2
}

fn has_status(plural: &str) -> bool {
    [
        "tenants",
        "identities",
        "resourceslices",
        "certificatesigningrequests",
    ]
    .contains(&plural)
}

/// Gives a Secret the type that the API server writes where a request has none.
fn set_default_type(plural: &str, object: &mut Value) {
    if plural == "secrets" {
        let fields = object.as_object_mut().unwrap();
        fields.entry("type").or_insert("Opaque".into());
    }
}

fn root(group: &str) -> &'static str {
    if group.contains('/') { "apis" } else { "api" }
}

fn is_held(object: &Value) -> bool {
    let finalizers = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn check_version(stored: &Value, wanted: &Value) -> Result<(), Refusal> {
    for field in ["uid", "resourceVersion"] {
        let expected = wanted
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !expected.is_empty() && stored["metadata"][field] != expected {
            return Err(Refusal::conflict("the object has been modified"));
        }
    }
    Ok(())
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    let fields = object.as_object_mut().unwrap();
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    metadata.as_object_mut().unwrap()
}

fn copy(from: &Value, to: &mut Value, field: &str) {
    let to = to.as_object_mut().unwrap();
    match from.get(field) {
        Some(value) => to.insert(field.to_owned(), value.clone()),
        None => to.remove(field),
    };
}

/// RFC 7396.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(&key);
        } else {
            merge(&mut target[&key], value);
        }
    }
}

const KINDS: [(&str, &str, &str, bool); 23] = [
    ("Namespace", "v1", "namespaces", false),
    ("Secret", "v1", "secrets", true),
    ("ConfigMap", "v1", "configmaps", true),
    ("ServiceAccount", "v1", "serviceaccounts", true),
    ("Event", "events.k8s.io/v1", "events", true),
    ("Deployment", "apps/v1", "deployments", true),
    ("Tenant", LIQO, "tenants", true),
    ("Identity", LIQO, "identities", true),
    ("ResourceSlice", LIQO, "resourceslices", true),
    ("Renew", LIQO, "renews", true),
    ("ForeignCluster", CORE, "foreignclusters", false),
    ("VirtualNode", OFFLOADING, "virtualnodes", true),
    ("Quota", OFFLOADING, "quotas", true),
    ("NamespaceMap", OFFLOADING, "namespacemaps", true),
    ("IP", "ipam.liqo.io/v1alpha1", "ips", true),
    (
        "Configuration",
        "networking.liqo.io/v1beta1",
        "configurations",
        true,
    ),
    ("Role", RBAC, "roles", true),
    ("RoleBinding", RBAC, "rolebindings", true),
    ("ClusterRole", RBAC, "clusterroles", false),
    ("ClusterRoleBinding", RBAC, "clusterrolebindings", false),
    ("ServiceCIDR", "networking.k8s.io/v1", "servicecidrs", false),
    ("StorageClass", "storage.k8s.io/v1", "storageclasses", false),
    (
        "CertificateSigningRequest",
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        false,
    ),
];
const LIQO: &str = "authentication.liqo.io/v1beta1";
const CORE: &str = "core.liqo.io/v1beta1";
const OFFLOADING: &str = "offloading.liqo.io/v1beta1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
