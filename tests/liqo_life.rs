//! The stages of a peering that Liqo 1.2.0 recorded, from the first slice to
//! the end: given the objects before a stage and what happened, this library
//! leaves the objects that Liqo left, but for a table of wanted differences.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and read files.
#![cfg(all(feature = "yaml", feature = "rsa"))]

mod exchange;
mod recording;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use liqo_auth::{
    crypto::{BoxError, CertificateChain, RecordKey},
    model::{
        Bytes, CertificateSigningRequest, Kind, Object, ObjectRef, ResourceSlice, RoleBinding,
        TenantCondition,
    },
    objects::Objects,
    policy::Policy,
    provider::{CsrSigner, Provider, Signing, SigningRequest},
    replication,
    step::Step,
};

use exchange::{Exchange, RECORD_KEY, cluster_roles};
use recording::{
    AUTHENTICATED, Recording, differences::differences, objects, values_where, vectors,
};

#[test]
fn a_slice_is_answered_as_liqo_answered_it() {
    stage(
        "1-authenticated",
        "2-resourceslice",
        "2026-11-20T22:47:09Z",
        |two| {
            // As the person applied it: the rest is the consumer's to add.
            let mut slice = recorded_slice();
            slice.spec.csr = Bytes::default();
            slice.spec.consumer_cluster_id = None;
            slice.spec.provider_cluster_id = None;
            slice.status = Default::default();
            slice.metadata.finalizers.clear();
            two.at_consumer.insert(slice.into());
        },
    );
}

#[test]
fn a_cordoned_tenants_slices_are_marked_as_liqo_marked_them() {
    stage(
        "2-resourceslice",
        "3-cordon",
        "2026-11-20T22:47:33Z",
        |two| {
            two.edit_tenant(|tenant| {
                tenant.spec.tenant_condition = Some(TenantCondition::Cordoned)
            });
        },
    );
}

#[test]
fn a_drained_tenant_loses_what_it_lost_with_liqo() {
    stage("3-cordon", "4-drain", "2026-11-20T22:47:57Z", |two| {
        two.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    });
}

#[test]
fn a_tenant_that_is_active_again_gets_its_rights_back() {
    stage("4-drain", "5-active-again", "2026-11-20T22:48:03Z", |two| {
        two.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Active));
        let step = two.provider.lift_condition(&two.provider_view()).unwrap();
        two.carry_out(true, step);
    });
}

#[test]
fn a_deleted_slice_takes_its_identity_along() {
    stage(
        "5-active-again",
        "6-slice-deleted",
        "2026-11-20T22:48:09Z",
        |two| {
            two.at_consumer.remove(&ObjectRef::new(
                Kind::ResourceSlice,
                "liqo-tenant-cluster-b",
                "mypool",
            ));
        },
    );
}

#[test]
fn at_the_end_the_rights_are_gone() {
    stage(
        "6-slice-deleted",
        "7-unauthenticated",
        "2026-11-20T22:48:15Z",
        |two| {
            let step = two.consumer.unauthenticate(&two.consumer_view()).unwrap();
            two.carry_out(false, step);
            let step = two.provider.end(&two.provider_view()).unwrap();
            two.carry_out(true, step);
        },
    );
}

/// A field in which Liqo's object and ours differ after a stage, and why.
struct Difference {
    stages: &'static [&'static str],
    line: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    why: &'static str,
}

const DIFFERENCES: &[Difference] = &[];

/// Sets our machines before Liqo's objects, lets something happen, and compares
/// with what Liqo left.
fn stage(before: &str, after: &str, at: &str, event: impl FnOnce(&mut Exchange)) {
    let mut two = at_stage(before);
    settle(&mut two);
    assert_eq!(two.refused, [], "before {after}");
    two.now = at.parse().unwrap();
    event(&mut two);
    settle(&mut two);
    assert_eq!(two.refused, [], "{after}");

    let wanted = |name: &str| !name.starts_with("cluster-") || name == "cluster-a";
    let liqo = at_stage(after);
    let mut found = differences(
        &values_where(&liqo.at_provider, wanted),
        &values_where(&two.at_provider, wanted),
    );
    found.extend(differences(
        &values_where(&liqo.at_consumer, wanted),
        &values_where(&two.at_consumer, wanted),
    ));
    found.retain(|line| !line.starts_with("ForeignCluster "));
    found.sort();
    let mut expected: Vec<&str> = DIFFERENCES
        .iter()
        .filter(|difference| difference.stages.contains(&after))
        .map(|difference| difference.line)
        .collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "\n{after}: found\n{}\n", found.join("\n"));
}

/// Both clusters as Liqo left them after a stage.
fn at_stage(stage: &str) -> Exchange {
    let recording = Recording::read(AUTHENTICATED, "cluster-b", "cluster-a");
    let folder = vectors().join("exchange").join(stage);
    let mut at_provider = objects(&folder.join("cluster-b"));
    for role in cluster_roles().iter() {
        at_provider.insert(role.clone());
    }
    let without_keys = recording.nothing_yet();
    let parameters = recording.tenant.status.auth_params.as_ref().unwrap();
    let bundle = liqo_auth::crypto::CaBundle::from_pem(parameters.ca.as_slice(), &Policy::strict());
    let endpoint = liqo_auth::provider::Endpoint::new(
        parameters.api_server.parse().unwrap(),
        Some(&bundle.unwrap()),
    );
    let provider = Provider::builder(
        exchange::id(recording.provider_id()),
        endpoint,
        RecordKey::new(RECORD_KEY).unwrap(),
    )
    .key(Arc::clone(&recording.provider_key))
    .signer(Arc::new(Recorded::new()))
    .build();
    Exchange {
        provider,
        at_provider,
        at_consumer: objects(&folder.join("cluster-a")),
        ..without_keys
    }
}

/// Lets both sides work, and what they share go to and fro, until nothing
/// changes.
fn settle(two: &mut Exchange) {
    for _ in 0..64 {
        let before = (two.at_provider.clone(), two.at_consumer.clone());
        two.refused.clear();
        let step = two.provider.reconcile(&two.provider_view(), two.env());
        two.carry_out(true, step.unwrap());
        replicate(two);
        let step = two.consumer.reconcile(&two.consumer_view(), two.env());
        two.carry_out(false, step.unwrap());
        collect_garbage(&mut two.at_provider);
        collect_garbage(&mut two.at_consumer);
        if before == (two.at_provider.clone(), two.at_consumer.clone()) {
            return;
        }
    }
    panic!("it does not settle");
}

/// As Liqo's crd-replicator, which has the consumer's rights.
fn replicate(two: &mut Exchange) {
    let forth = replication::to_provider(&two.consumer_view(), &two.provider_view()).unwrap();
    let back = replication::to_consumer(&two.consumer_view(), &two.provider_view()).unwrap();
    two.carry_out(false, back);
    let bound = two
        .at_provider
        .iter()
        .any(|object| matches!(object, Object::RoleBinding(RoleBinding { .. })));
    two.carry_out(true, if bound { forth } else { Step::default() });
}

/// As Kubernetes: what belongs to an object that is gone goes too.
fn collect_garbage(objects: &mut Objects) {
    loop {
        let present: BTreeSet<String> = objects
            .iter()
            .filter_map(Object::metadata)
            .map(|metadata| metadata.uid.clone())
            .collect();
        let orphans: Vec<ObjectRef> = objects
            .iter()
            .filter(|object| {
                object.metadata().is_some_and(|metadata| {
                    !metadata.owner_references.is_empty()
                        && metadata
                            .owner_references
                            .iter()
                            .all(|owner| !present.contains(&owner.uid))
                })
            })
            .map(Object::id)
            .collect();
        if orphans.is_empty() {
            return;
        }
        for orphan in &orphans {
            objects.remove(orphan);
        }
    }
}

/// A signer that gives the certificates that Kubernetes gave.
struct Recorded(Mutex<BTreeMap<Vec<u8>, CertificateChain>>);

impl Recorded {
    fn new() -> Self {
        let folder = vectors().join("exchange/2-resourceslice/cluster-b");
        let issued = objects(&folder);
        let issued = issued.iter().filter_map(|object| match object {
            Object::CertificateSigningRequest(CertificateSigningRequest {
                spec, status, ..
            }) => {
                let pem = status.certificate.as_slice();
                let chain = CertificateChain::from_pem(pem, &Policy::strict()).unwrap();
                Some((spec.request.as_slice().to_vec(), chain))
            }
            _ => None,
        });
        Self(Mutex::new(issued.collect()))
    }
}

impl CsrSigner for Recorded {
    fn sign(&self, request: &SigningRequest) -> Result<Signing, BoxError> {
        let issued = self.0.lock().unwrap();
        let chain = issued.get(request.csr.pem()).expect("a recorded request");
        Ok(Signing::Issued(chain.clone()))
    }
}

fn recorded_slice() -> ResourceSlice {
    let folder = vectors().join("exchange/2-resourceslice/cluster-a");
    let slices = objects(&folder);
    let slice: &ResourceSlice = slices.get("liqo-tenant-cluster-b", "mypool").unwrap();
    slice.clone()
}
