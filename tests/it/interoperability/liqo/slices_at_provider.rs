//! The life of a slice on Liqo's provider, stage by stage. The events are
//! Liqo's. After each stage, this library's objects differ from Liqo's only as
//! in the table.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use liqo_auth::{
    Machine,
    crypto::{Answer, BoxError, CaBundle, CertificateChain, RecordKey},
    machine::{Env, Holder, Objects, Step},
    model::{
        ClusterId, Object, ResourceSlice, ResourceSliceStatus, Secret, Tenant, TenantCondition,
        Timestamp, manifest, names,
    },
    policy::{Limits, Policy},
    provider::{CsrSigner, Endpoint, NameTable, Provider, SigningRequest},
};
use serde_json::Value;

use crate::{
    clusters::{exchange, store},
    recordings::{AUTHENTICATED, Recording},
};

const NAMESPACE: &str = "liqo-tenant-cluster-a";

/// A field in which Liqo's object and ours differ at the end of a stage, and
/// the reason.
struct Difference {
    stages: &'static [&'static str],
    line: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    why: &'static str,
}

const SLICE: &[&str] = &["2-resourceslice", "3-cordon"];
const GONE: &[&str] = &["4-drain", "5-active-again", "6-slice-deleted"];
const ALL: &[&str] = &[
    "2-resourceslice",
    "3-cordon",
    "4-drain",
    "5-active-again",
    "6-slice-deleted",
];

const DIFFERENCES: &[Difference] = &[
    Difference {
        stages: ALL,
        line: "Secret liqo/liqo-auth-provider-cluster-a: ours only",
        why: "pin, proof, used nonces and the condition, out of the peer's reach",
    },
    Difference {
        stages: ALL,
        line: "Secret liqo/liqo-auth-slice-…: ours only",
        why: "what was issued and decided, out of the peer's reach; then, that the name is taken",
    },
    Difference {
        stages: SLICE,
        line: "ResourceSlice liqo-tenant-cluster-a/mypool: /status/authParams/ca",
        why: "Liqo decodes an overriding CA into a buffer that is too long",
    },
    Difference {
        stages: SLICE,
        line: "Secret liqo-tenant-cluster-a/liqo-remote-certificate-mypool: /type",
        why: "the API server's default",
    },
    Difference {
        stages: ALL,
        line: "Tenant liqo-tenant-cluster-a/cluster-a: /metadata/annotations/liqo-auth~1commitment",
        why: "the provider proves its own key",
    },
    Difference {
        stages: GONE,
        line: "Secret liqo-tenant-cluster-a/liqo-remote-certificate-mypool: Liqo's only",
        why: "a certificate goes with its slice; one of the same name is signed anew",
    },
];

#[test]
fn after_each_stage_our_objects_differ_from_liqos_only_where_intended() {
    let mut life = Life::after_the_handshake();
    for stage in ALL {
        match *stage {
            "2-resourceslice" => life.bring_the_slice(),
            "3-cordon" => life.patch_tenant(TenantCondition::Cordoned),
            "4-drain" => life.patch_tenant(TenantCondition::Drained),
            "5-active-again" => life.lift(),
            _ => {}
        }
        life.settle();
        let mut found = differences(&liqos(stage), &life.objects);
        let mut expected: Vec<&str> = DIFFERENCES
            .iter()
            .filter(|difference| difference.stages.contains(stage))
            .map(|difference| difference.line)
            .collect();
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{stage}: {found:#?}");
    }
}

/// The objects are Liqo's own. The slice is signed anew once, because its
/// certificate is stored where the peer can write. Nothing else changes.
#[test]
fn taking_over_from_liqo_signs_its_slices_once() {
    let mut life = Life::after_the_handshake();
    life.bring_the_slice();
    let slice = slice_of_liqo();
    life.objects.insert(slice.clone().into());
    life.settle();
    let ours: &ResourceSlice = life.objects.get(NAMESPACE, "mypool").unwrap();
    assert_eq!(ours.status.resources, slice.status.resources);
    // The CA bundle that Liqo padded is left unchanged.
    assert_eq!(ours.status, slice.status);
}

struct Life {
    provider: Provider,
    consumer: ClusterId,
    liqo: Recording,
    objects: Objects,
    now: Timestamp,
}

impl Life {
    fn after_the_handshake() -> Self {
        let liqo = Recording::read(AUTHENTICATED, "cluster-b", "cluster-a");
        let parameters = liqo.tenant.status.auth_params.as_ref().unwrap();
        let bundle = CaBundle::from_pem(parameters.ca.as_slice(), &Policy::strict()).unwrap();
        let endpoint = Endpoint::new(parameters.api_server.parse().unwrap(), Some(&bundle));
        let provider = Provider::builder(
            exchange::id(liqo.provider_id()),
            endpoint,
            RecordKey::new(exchange::RECORD_KEY).unwrap(),
        )
        .principals(Arc::new(NameTable::default()))
        .key(Arc::clone(&liqo.provider_key))
        .signer(Arc::new(AsKubernetesDid))
        .build();
        let mut life = Self {
            consumer: exchange::id(liqo.consumer_id()),
            objects: liqo.at_provider.clone(),
            now: "2026-11-20T22:47:09Z".parse().unwrap(),
            provider,
            liqo,
        };
        life.settle();
        life
    }

    fn bring_the_slice(&mut self) {
        let mut slice = slice_of_liqo();
        slice.status = ResourceSliceStatus::default();
        self.objects.insert(slice.into());
    }

    fn patch_tenant(&mut self, condition: TenantCondition) {
        let tenant: &Tenant = self.objects.get(NAMESPACE, "cluster-a").unwrap();
        let mut tenant = tenant.clone();
        tenant.spec.tenant_condition = Some(condition);
        self.objects.insert(tenant.into());
    }

    fn lift(&mut self) {
        let view = self.objects.view(&self.consumer);
        let step = self
            .provider
            .set_condition(&view, TenantCondition::Active)
            .unwrap();
        self.apply(&step);
    }

    fn settle(&mut self) {
        for _ in 0..12 {
            let view = self.objects.view(&self.consumer);
            let view = view.vouch_for_nonce(&self.liqo.nonce);
            let env = Env {
                now: self.now,
                entropy: liqo_auth::crypto::Entropy::from_bytes([1; 32]),
            };
            let step = self.provider.reconcile(&view, env).unwrap();
            assert_eq!(step.refused, []);
            if step.is_settled() {
                return;
            }
            self.apply(&step);
        }
        panic!("it does not settle");
    }

    fn apply(&mut self, step: &Step) {
        for effect in &step.effects {
            self.objects.apply(effect).unwrap();
        }
    }
}

/// A signer that returns the certificates that Kubernetes signed.
struct AsKubernetesDid;

impl CsrSigner for AsKubernetesDid {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        assert_eq!(request.holder, Holder::Slice("mypool".to_owned()));
        let liqo = objects_of("2-resourceslice", "secrets.yaml");
        let name = "liqo-remote-certificate-mypool".to_owned();
        let secret: &Secret = liqo.get(NAMESPACE, &name).unwrap();
        assert_eq!(secret.get(names::CSR).unwrap(), request.csr.pem());
        let pem = secret.get(names::CERTIFICATE).unwrap();
        Ok(Answer::Ready(CertificateChain::from_pem(
            pem,
            &Policy::strict(),
        )?))
    }
}

fn slice_of_liqo() -> ResourceSlice {
    let slices = objects_of("2-resourceslice", "resourceslices.yaml");
    slices
        .get::<ResourceSlice>(NAMESPACE, "mypool")
        .unwrap()
        .clone()
}

/// Liqo's objects on the provider, of the kinds that this library handles.
fn liqos(stage: &str) -> Objects {
    let files = [
        "clusterrolebindings.yaml",
        "namespaces.yaml",
        "resourceslices.yaml",
        "rolebindings.yaml",
        "secrets.yaml",
        "tenants.yaml",
    ];
    let objects = files.map(|file| objects_of(stage, file));
    store::holding(objects.iter().flat_map(Objects::iter).cloned())
}

/// A missing file stands for an empty list.
fn objects_of(stage: &str, file: &str) -> Objects {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors/liqo-1.2.0/exchange")
        .join(stage)
        .join("cluster-b")
        .join(file);
    let Ok(text) = std::fs::read(path) else {
        return store::empty();
    };
    let objects = manifest::read(&text, &Limits::default()).unwrap();
    store::holding(objects)
}

fn differences(liqo: &Objects, ours: &Objects) -> Vec<String> {
    let (liqo, ours) = (values(liqo), values(ours));
    let mut found = Vec::new();
    for (name, value) in &liqo {
        match ours.get(name) {
            None => found.push(format!("{name}: Liqo's only")),
            Some(ours) => compare(name, "", value, ours, &mut found),
        }
    }
    let added = ours.keys().filter(|name| !liqo.contains_key(*name));
    found.extend(added.map(|name| {
        let name = match name.split_once("liqo-auth-slice-") {
            Some((before, _)) => format!("{before}liqo-auth-slice-…"),
            None => name.clone(),
        };
        format!("{name}: ours only")
    }));
    found
}

fn compare(name: &str, path: &str, liqo: &Value, ours: &Value, found: &mut Vec<String>) {
    let (Value::Object(theirs), Value::Object(own)) = (liqo, ours) else {
        if liqo != ours {
            found.push(format!("{name}: {path}"));
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> = theirs.keys().chain(own.keys()).collect();
    for key in keys {
        let path = format!("{path}/{}", key.replace('/', "~1"));
        let nothing = Value::Object(serde_json::Map::new());
        let side = |side: &serde_json::Map<String, Value>, other: Option<&Value>| {
            let empty = other.is_some_and(Value::is_object).then(|| nothing.clone());
            side.get(key).cloned().or(empty).unwrap_or(Value::Null)
        };
        let (liqo, ours) = (side(theirs, own.get(key)), side(own, theirs.get(key)));
        compare(name, &path, &liqo, &ours, found);
    }
}

fn values(objects: &Objects) -> BTreeMap<String, Value> {
    let compared = |object: &&Object| {
        !matches!(
            object.id().kind.as_str(),
            "ClusterRole" | "CertificateSigningRequest" | "ForeignCluster" | "Renew" | "Object"
        )
    };
    let mut values = BTreeMap::new();
    for object in objects.iter().filter(compared) {
        let mut value = object.to_value();
        let metadata = value["metadata"].as_object_mut().unwrap();
        for assigned in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.remove(assigned);
        }
        if let Some(owners) = metadata.get_mut("ownerReferences") {
            for owner in owners.as_array_mut().unwrap() {
                owner["uid"] = "its owner's".into();
            }
        }
        values.insert(object.id().to_string(), value);
    }
    values
}
