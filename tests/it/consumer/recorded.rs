//! The consumer's objects of a whole peering that Liqo 1.2.0 recorded on real
//! clusters. Given the objects before a stage and its events, this library
//! makes the objects after the stage.

use std::{collections::BTreeMap, sync::Arc};

use liqo_auth::{
    Machine,
    consumer::{Consumer, SliceOptions},
    crypto::OneKey,
    machine::{Env, Objects, Step},
    model::{Identity, Kind, Object, ObjectRef, Renew, ResourceSlice, names},
};
use serde_json::Value;

use crate::{
    clusters::exchange::id,
    consumer::home::env,
    recordings::{cluster_key, config_on_loopback, now, objects, vectors},
};

const NAMESPACE: &str = "liqo-tenant-cluster-b";
const RECORD: &str = "Secret liqo/liqo-auth-consumer-cluster-b";

/// The consumer of the recordings, with the objects of one stage.
struct Recorded {
    consumer: Consumer,
    provider: &'static str,
    objects: Objects,
    now: liqo_auth::model::Timestamp,
}

impl Recorded {
    fn after(stage: &str) -> Self {
        let objects = stage_of(stage);
        let keys = Arc::new(OneKey(cluster_key(&objects)));
        Self {
            consumer: Consumer::new(config_on_loopback("cluster-a"), keys),
            provider: "cluster-b",
            objects,
            now: now(),
        }
    }

    fn carry_out(&mut self, step: &Step) {
        assert_eq!(step.refused, []);
        for effect in &step.effects {
            self.objects.apply(effect).unwrap();
        }
    }

    fn settle(&mut self) {
        for _ in 0..8 {
            let env: Env = env(self.now);
            let view = self.objects.view(&id(self.provider));
            let step = self.consumer.reconcile(&view, env).unwrap();
            if step.is_settled() {
                return;
            }
            self.carry_out(&step);
        }
        panic!("it does not settle");
    }

    /// Copies the slice's status that the provider wrote in this stage.
    fn slice_as_in(&mut self, stage: &str) {
        let theirs: ResourceSlice = stage_of(stage)
            .get::<ResourceSlice>(NAMESPACE, "mypool")
            .unwrap()
            .clone();
        let mut ours: ResourceSlice = self
            .objects
            .get::<ResourceSlice>(NAMESPACE, "mypool")
            .unwrap()
            .clone();
        ours.status = theirs.status;
        self.objects.insert(ours.into());
    }

    fn differences(&self, stage: &str) -> Vec<String> {
        differences(&stage_of(stage), &self.objects)
    }
}

#[test]
fn every_stage_leaves_the_objects_of_liqo_except_for_wanted_differences() {
    // In the stages without a slice, the only difference is our record. The
    // peer has no access to it.
    let record = format!("{RECORD} | absent | present");
    // Liqo's replicator adds and removes the finalizers. The API server fills
    // in the type.
    let of_the_slice = [
        format!("ResourceSlice {NAMESPACE}/mypool metadata.finalizers | present | absent"),
        format!("Secret {NAMESPACE}/kubeconfig-resourceslice-mypool type | present | absent"),
        record.clone(),
    ];

    let mut ours = Recorded::after("1-authenticated");
    ours.settle();
    assert_eq!(
        ours.differences("1-authenticated"),
        std::slice::from_ref(&record)
    );

    let options = SliceOptions {
        resources: [
            ("cpu".to_owned(), "2".into()),
            ("memory".to_owned(), "4Gi".into()),
        ]
        .into(),
        ..SliceOptions::named("mypool")
    };
    let view = ours.objects.view(&id("cluster-b"));
    let step = ours
        .consumer
        .request_slice(&view, &options, env(ours.now))
        .unwrap();
    ours.carry_out(&step);
    for stage in ["2-resourceslice", "3-cordon", "4-drain", "5-active-again"] {
        ours.slice_as_in(stage);
        ours.settle();
        assert_eq!(ours.differences(stage), of_the_slice, "{stage}");
    }

    let slice = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "mypool");
    ours.objects.remove(&slice);
    ours.settle();
    assert_eq!(
        ours.differences("6-slice-deleted"),
        std::slice::from_ref(&record)
    );

    let view = ours.objects.view(&id("cluster-b"));
    let step = ours.consumer.unauthenticate(&view).unwrap();
    ours.carry_out(&step);
    ours.objects.remove(&ObjectRef::new(
        Kind::Renew,
        NAMESPACE,
        "controlplane-cluster-b",
    ));
    let kubeconfig = "kubeconfig-controlplane-cluster-b";
    ours.objects
        .remove(&ObjectRef::new(Kind::Secret, NAMESPACE, kubeconfig));
    ours.settle();
    assert_eq!(
        ours.differences("7-unauthenticated"),
        [
            // The next authentication has another nonce. The signed nonce that
            // Liqo leaves behind would be in its way.
            format!("Secret {NAMESPACE}/liqo-signed-nonce | present | absent"),
            record,
        ]
    );
}

#[test]
fn at_every_stage_our_consumer_continues_from_the_objects_of_liqo() {
    for (stage, slices) in [
        ("1-authenticated", &[][..]),
        ("2-resourceslice", &["Held"]),
        ("3-cordon", &["Held"]),
        ("4-drain", &["Held"]),
        ("5-active-again", &["Held"]),
        ("6-slice-deleted", &[]),
    ] {
        let mut ours = Recorded::after(stage);
        ours.settle();
        let view = ours.objects.view(&id("cluster-b"));
        let peering = ours.consumer.look(&view, ours.now).unwrap();
        assert_eq!(peering.phase.name(), "Authenticated", "{stage}");
        let phases: Vec<&str> = peering
            .slices
            .iter()
            .map(|slice| slice.phase.name())
            .collect();
        assert_eq!(phases, slices, "{stage}");
        assert_eq!(
            ours.differences(stage),
            [format!("{RECORD} | absent | present")],
            "{stage}"
        );
    }
}

#[test]
fn a_certificate_that_liqos_provider_renewed_is_accepted() {
    let folder = vectors().join("renewal");
    let before = objects(&folder.join("0-authenticated/ren-a"));
    let after = objects(&folder.join("1-after-75s/ren-a"));
    let keys = Arc::new(OneKey(cluster_key(&before)));
    let mut ours = Recorded {
        consumer: Consumer::new(config_on_loopback("consumer"), keys),
        provider: "provider",
        objects: before,
        now: "2026-11-20T23:05:00Z".parse().unwrap(),
    };
    let namespace = "liqo-tenant-provider";
    let name = "controlplane-provider";
    ours.settle();
    let identity = |objects: &Objects| -> Identity {
        objects.get::<Identity>(namespace, name).unwrap().clone()
    };
    // The certificate in the Renew at the beginning was signed in the same
    // second as the one held; therefore it is not newer.
    let held = identity(&ours.objects).spec.auth_params;
    let renew = ours.objects.get::<Renew>(namespace, name).unwrap();
    assert_ne!(Some(&held), renew.status.auth_params.as_ref());
    // The certificate in the Renew 75 seconds later is newer.
    let renewed = after.get::<Renew>(namespace, name).unwrap().clone();
    let expected = renewed.status.auth_params.clone();
    ours.objects.insert(renewed.into());
    ours.now = ours.now + core::time::Duration::from_secs(75);
    ours.settle();
    assert_eq!(Some(identity(&ours.objects).spec.auth_params), expected);
    // At that moment, Liqo's Identity did not match its Renew: the certificate
    // had been renewed about 1300 times in 75 seconds.
    assert_ne!(identity(&after).spec.auth_params, expected.unwrap());
    assert_eq!(identity(&after).status, identity(&ours.objects).status);
}

fn stage_of(stage: &str) -> Objects {
    objects(&vectors().join("exchange").join(stage).join("cluster-a"))
}

/// Lists the objects and fields in which Liqo's objects and ours differ, one
/// per line. Values that an API server assigns and Liqo's own summary of a peer
/// are left out.
fn differences(liqo: &Objects, ours: &Objects) -> Vec<String> {
    let (liqo, ours) = (values(liqo), values(ours));
    let names: std::collections::BTreeSet<&String> = liqo.keys().chain(ours.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        match (liqo.get(name), ours.get(name)) {
            (Some(liqo), Some(ours)) => compare(name, "", liqo, ours, &mut found),
            (liqo, ours) => found.push(format!("{name} | {} | {}", presence(liqo), presence(ours))),
        }
    }
    found
}

fn compare(name: &str, path: &str, liqo: &Value, ours: &Value, found: &mut Vec<String>) {
    let (Value::Object(of_liqo), Value::Object(of_ours)) = (liqo, ours) else {
        if liqo != ours {
            found.push(format!("{name} {path} | {liqo} | {ours}"));
        }
        return;
    };
    let fields: std::collections::BTreeSet<&String> =
        of_liqo.keys().chain(of_ours.keys()).collect();
    for field in fields {
        let separator = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{separator}{field}");
        match (of_liqo.get(field), of_ours.get(field)) {
            (Some(liqo), Some(ours)) => compare(name, &path, liqo, ours, found),
            (liqo, ours) => found.push(format!(
                "{name} {path} | {} | {}",
                presence(liqo),
                presence(ours)
            )),
        }
    }
}

fn presence(value: Option<&Value>) -> &'static str {
    if value.is_some() { "present" } else { "absent" }
}

fn values(objects: &Objects) -> BTreeMap<String, Value> {
    objects
        .iter()
        .filter(|object| object.id().kind != Kind::ForeignCluster)
        .map(|object: &Object| {
            let mut value = object.to_value();
            let metadata = value["metadata"].as_object_mut().unwrap();
            for assigned in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
                metadata.remove(assigned);
            }
            let owners = metadata.get_mut("ownerReferences");
            for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
                owner["uid"] = "its owner's".into();
            }
            let applied = "kubectl.kubernetes.io/last-applied-configuration";
            if let Some(annotations) = metadata.get_mut("annotations") {
                annotations.as_object_mut().unwrap().remove(applied);
            }
            (object.id().to_string(), value)
        })
        .filter(|(name, _)| !name.ends_with(names::CLUSTER_KEYS_SECRET))
        .collect()
}
