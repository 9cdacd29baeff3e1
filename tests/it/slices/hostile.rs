//! What a peer cannot do, although it may write all fields of its slices: cause
//! signatures without end, get resources that were not granted, or evade a
//! drain.

use core::time::Duration;
use std::sync::atomic::Ordering;

use liqo_auth::{
    Machine,
    crypto::Answer,
    error::{Backend, Fault, LocalFault, PolicyRefusal},
    machine::View,
    model::{
        IdentityType, LocalObjectReference, Object, Renew, RenewSpec, Resource, ResourceSlice,
        ResourceSliceConditionStatus as Said, ResourceSliceStatus, TenantCondition, names,
    },
};

use crate::clusters::pool::{self, NAMESPACE, Pool, replica, resources};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

#[test]
fn many_slices_at_once_are_signed_once_each() {
    let mut pool = Pool::new();
    for number in 0..8 {
        pool.bring(replica(&format!("pool{number}")));
    }
    // Time passes between the steps, so each certificate would expire later
    // than the one before.
    for _ in 0..4 {
        pool.look(usize::MAX);
        pool.wait(Duration::from_secs(1));
    }
    for number in 0..8 {
        assert_eq!(pool.said(&format!("pool{number}")), ACCEPTED, "{number}");
    }
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), 8);

    // The control plane's own renewal is due in the same step.
    let due = pool.slice_due();
    pool.now = due;
    pool.settle();
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), 8 + 9);
}

#[test]
fn a_status_that_the_peer_wrote_grants_no_resources() {
    type Spoil = fn(&mut ResourceSlice);
    let mut honest = Pool::new();
    honest.bring(replica("mypool")).settle();
    let boast = |slice: &mut ResourceSlice| {
        slice.status = honest.slice("mypool").unwrap().status.clone();
        slice.status.resources = resources(&[("cpu", "1000")]);
    };
    let spoils: [(&str, Spoil); 5] = [
        ("without a request", |slice| {
            slice.spec.csr = Vec::new().into()
        }),
        ("of another provider", |slice| {
            slice.spec.provider_cluster_id = Some("cl-other".into());
        }),
        ("of nobody", |slice| {
            let labels = &mut slice.metadata.labels;
            labels.remove(names::REPLICATION_ORIGIN_LABEL);
        }),
        ("of somebody else", |slice| {
            let labels = &mut slice.metadata.labels;
            labels.insert(names::REMOTE_CLUSTER_ID_LABEL.into(), "victim".into());
        }),
        ("with a long name", |slice| {
            slice.metadata.name = "m".repeat(60);
        }),
    ];
    for (what, spoil) in spoils {
        let mut pool = Pool::new();
        let mut slice = replica("mypool");
        boast(&mut slice);
        spoil(&mut slice);
        let name = slice.metadata.name.clone();
        pool.bring(slice).settle();
        assert_eq!(pool.said(&name)[1], None, "{what}");
        let status = &pool.slice(&name).unwrap().status;
        assert_eq!(status.resources, resources(&[]), "{what}");
    }

    // Before the peer has authenticated.
    let mut pool = Pool::new();
    pool.edit_tenant(|tenant| tenant.spec.signature = vec![1; 64].into());
    pool.edit_tenant(|tenant| tenant.spec.csr = b"none".to_vec().into());
    let mut early = replica("early");
    boast(&mut early);
    pool.bring(early).settle();
    assert_eq!(pool.phase("early"), "AwaitsPeer");
    assert_eq!(pool.said("early")[1], None);

    // While the signer does not answer, and while a finalizer delays the
    // deletion.
    let mut pool = Pool::new();
    pool.signer.answer(Some(Answer::Pending));
    let mut unsigned = replica("unsigned");
    boast(&mut unsigned);
    let mut going = replica("going");
    boast(&mut going);
    going.metadata.deletion_timestamp = Some(pool.now);
    going.metadata.finalizers = vec!["peer.example/never".into()];
    pool.bring(unsigned).bring(going).settle();
    for (name, phase) in [("unsigned", "NeedsCredential"), ("going", "Ending")] {
        assert_eq!(pool.phase(name), phase);
        assert_eq!(pool.said(name)[1], None, "{name}");
    }

    let mut pool = Pool::new();
    for number in 0..64 {
        pool.bring(replica(&format!("a{number:02}")));
    }
    let mut surplus = replica("surplus");
    boast(&mut surplus);
    pool.bring(surplus).settle();
    assert!(matches!(
        pool.refused[..],
        [(_, ref error)]
            if error.fault() == &Fault::Policy(PolicyRefusal::TooManySlices { limit: 64 })
    ));
    assert_eq!(pool.said("surplus")[1], None);
}

#[test]
fn granted_resources_stay_while_the_peer_cannot_be_verified() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let told = pool.slice("mypool").unwrap().status.clone();
    pool.edit_tenant(|tenant| tenant.spec.csr = b"none".to_vec().into());
    pool.settle();
    assert_eq!(pool.phase("mypool"), "AwaitsPeer");
    assert_eq!(pool.slice("mypool").unwrap().status, told);
    pool.edit("mypool", |slice| {
        slice.status.resources = resources(&[("cpu", "1000")]);
    })
    .settle();
    assert_eq!(pool.slice("mypool").unwrap().status, told);
}

/// The peer can make two Secrets of the handshake unreadable.
#[test]
fn an_unreadable_secret_does_not_prevent_a_cordon() {
    for name in [names::NONCE_SECRET, names::ISSUED_CERTIFICATE_SECRET] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        let told = pool.slice("mypool").unwrap().status.clone();
        pool.at_provider
            .insert(Object::from_value(serde_json::json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "namespace": NAMESPACE, "name": name },
                "data": 5,
            })));
        pool.edit("mypool", |slice| {
            slice.status.resources = resources(&[("cpu", "1000")]);
        });
        pool.write_condition(TenantCondition::Cordoned).settle();
        assert!(matches!(
            pool.refused[..],
            [(_, ref error)] if matches!(error.fault(), Fault::Local(LocalFault::Unreadable { .. }))
        ));
        let slice = pool.slice("mypool").unwrap();
        let mark = slice
            .metadata
            .annotations
            .get(names::CORDON_TENANT_ANNOTATION)
            .unwrap();
        assert_eq!(mark, "true");
        assert_eq!(slice.status, told);
        // If the consumer's file is applied again, it lifts nothing.
        pool.write_condition(TenantCondition::Active).settle();
        let slice = pool.slice("mypool").unwrap();
        let annotations = &slice.metadata.annotations;
        assert!(annotations.contains_key(names::CORDON_TENANT_ANNOTATION));
    }
}

#[test]
fn a_slice_without_its_label_still_belongs_to_the_peer() {
    for condition in [TenantCondition::Cordoned, TenantCondition::Drained] {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        pool.edit("mypool", |slice| {
            let labels = &mut slice.metadata.labels;
            labels.remove(names::REPLICATED_LABEL);
            labels.insert(names::REPLICATION_LABEL.into(), "true".into());
            let peer = "cl-consumer".into();
            labels.insert(names::REPLICATION_DESTINATION_LABEL.into(), peer);
        });
        pool.write_condition(condition).settle();
        match pool.slice("mypool") {
            None => assert_eq!(condition, TenantCondition::Drained),
            Some(slice) => {
                assert_eq!(condition, TenantCondition::Cordoned);
                let metadata = &slice.metadata;
                assert_eq!(
                    metadata.labels.get(names::REPLICATED_LABEL).unwrap(),
                    "true"
                );
                let mark = metadata
                    .annotations
                    .get(names::CORDON_TENANT_ANNOTATION)
                    .unwrap();
                assert_eq!(mark, "true");
            }
        }
    }
}

/// Another peer can put a slice with this name and this origin into its own tenant
/// namespace.
#[test]
fn a_slice_in_another_namespace_does_not_keep_a_renewal_from_the_peer() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let mut copy = replica("mypool");
    copy.metadata.namespace = "liqo-tenant-attacker".to_owned();
    pool.bring(copy);
    let mut metadata = replica("mypool").metadata;
    metadata.name = names::resource_slice_identity_name("mypool");
    let renew = Renew {
        metadata,
        spec: RenewSpec {
            consumer_cluster_id: "cl-consumer".to_owned(),
            identity_type: IdentityType::ResourceSlice,
            resource_slice_ref: Some(LocalObjectReference {
                name: "mypool".to_owned(),
            }),
            ..RenewSpec::default()
        },
        ..Renew::default()
    };
    let id = renew.id();
    pool.at_provider.insert(renew.into());
    // Without a mirror, a view has the objects of every namespace.
    let view = View::of(&pool::consumer(), pool.at_provider.iter());
    let step = pool.provider.reconcile(&view, pool.env()).unwrap();
    assert!(step.effects.iter().any(|effect| effect.id() == id));
}

#[test]
fn a_failing_signer_does_not_prevent_a_cordon() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    // The control plane's certificate has expired, and the slice's has not.
    let year = Duration::from_secs(365 * 24 * 3600);
    pool.now = pool.slice_due();
    pool.signer.fails.store(true, Ordering::Relaxed);
    pool.wait(year);
    assert_eq!(pool.phase("mypool"), "AwaitsPeer");
    pool.write_condition(TenantCondition::Cordoned);
    let step = pool.look(usize::MAX);
    let failed = LocalFault::Backend {
        backend: Backend::Credentials,
        message: "the signer is away".into(),
    };
    assert_eq!(step.refused[0].error.fault(), &Fault::Local(failed.clone()));
    let annotations = &pool.slice("mypool").unwrap().metadata.annotations;
    assert!(annotations.contains_key(names::CORDON_TENANT_ANNOTATION));
    // If nothing else is left to do, the failure is returned as an error.
    let view = pool.at_provider.view(&pool::consumer());
    let error = pool.provider.reconcile(&view, pool.env()).unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(failed));
    // If the consumer's file is applied again, it lifts nothing.
    pool.write_condition(TenantCondition::Active);
    let view = pool.at_provider.view(&pool::consumer());
    let peering = pool.provider.reconcile(&view, pool.env());
    assert!(peering.is_err(), "nothing is to be done");
}

#[test]
fn an_invalid_slice_is_deleted_by_a_drain() {
    let spoils: [fn(&mut ResourceSlice); 3] = [
        |slice| slice.spec.consumer_cluster_id = Some("victim".into()),
        |slice| {
            let labels = &mut slice.metadata.labels;
            labels.remove(names::REPLICATION_ORIGIN_LABEL);
        },
        |slice| {
            let labels = &mut slice.metadata.labels;
            labels.insert(names::REMOTE_CLUSTER_ID_LABEL.into(), "victim".into());
        },
    ];
    for spoil in spoils {
        let mut pool = Pool::new();
        pool.bring(replica("mypool")).settle();
        pool.edit("mypool", spoil);
        pool.write_condition(TenantCondition::Drained).settle();
        assert!(pool.slice("mypool").is_none());
    }
}

#[test]
fn repeated_writes_of_a_peer_cause_one_renewal_only() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.now = pool.slice_due();
    let before = pool.signer.asked.load(Ordering::Relaxed);
    for _ in 0..4 {
        pool.edit("mypool", |slice| {
            slice.status = ResourceSliceStatus::default();
            let annotations = &mut slice.metadata.annotations;
            annotations.insert(names::CORDON_TENANT_ANNOTATION.into(), "true".into());
        });
        pool.look(usize::MAX);
        pool.wait(Duration::from_secs(1));
    }
    // One request is for the slice, the other one for the control plane.
    assert_eq!(pool.signer.asked.load(Ordering::Relaxed), before + 2);
}
