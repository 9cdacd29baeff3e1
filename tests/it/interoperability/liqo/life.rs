//! The stages of a peering that Liqo 1.2.0 recorded, from the first slice to
//! the end. Given the objects before a stage and its events, this library
//! leaves the same objects as Liqo, except for a table of intended differences.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use liqo_auth::{
    Machine,
    consumer::{Consumer, PeerSettings},
    crypto::{Answer, BoxError, CertificateChain, OneKey, RecordKey},
    machine::Objects,
    model::{
        Bytes, CertificateSigningRequest, Object, ObjectRef, Resource, ResourceSlice,
        TenantCondition,
    },
    policy::Policy,
    provider::{CsrSigner, NameTable, Provider, SigningRequest},
};

use crate::{
    clusters::exchange::{self, Exchange, RECORD_KEY, cluster_roles},
    recordings::{
        AUTHENTICATED, Recording, config_on_loopback, differences::differences, objects,
        values_where, vectors,
    },
};

#[test]
fn a_slice_gets_the_same_answer_as_from_liqo() {
    let mut two = taken_over("1-authenticated");
    event(&mut two, "2026-11-20T22:47:09Z", |two| {
        // The slice as the administrator applied it. The consumer adds the
        // other fields.
        let mut slice = recorded_slice();
        slice.spec.csr = Bytes::default();
        slice.spec.consumer_cluster_id = None;
        slice.spec.provider_cluster_id = None;
        slice.status = Default::default();
        slice.metadata.finalizers.clear();
        two.at_consumer.insert(slice.into());
    });
    compare(&two, "2-resourceslice");
}

#[test]
fn slices_of_a_cordoned_tenant_get_the_same_annotation_as_from_liqo() {
    let mut two = taken_over("2-resourceslice");
    set_condition(&mut two, "2026-11-20T22:47:33Z", TenantCondition::Cordoned);
    compare(&two, "3-cordon");
}

/// Our library also makes the cordon before the drain, because it has no record
/// of slices that Liqo granted earlier.
#[test]
fn a_drained_tenant_loses_the_same_objects_as_with_liqo() {
    let mut two = taken_over("2-resourceslice");
    set_condition(&mut two, "2026-11-20T22:47:33Z", TenantCondition::Cordoned);
    set_condition(&mut two, "2026-11-20T22:47:57Z", TenantCondition::Drained);
    compare(&two, "4-drain");
}

#[test]
fn a_tenant_that_is_active_again_gets_its_rights_back() {
    let mut two = taken_over("2-resourceslice");
    set_condition(&mut two, "2026-11-20T22:47:33Z", TenantCondition::Cordoned);
    set_condition(&mut two, "2026-11-20T22:47:57Z", TenantCondition::Drained);
    set_condition(&mut two, "2026-11-20T22:48:03Z", TenantCondition::Active);
    compare(&two, "5-active-again");
}

#[test]
fn the_identity_of_a_deleted_slice_is_deleted() {
    let mut two = taken_over("5-active-again");
    event(&mut two, "2026-11-20T22:48:09Z", |two| {
        two.at_consumer.remove(&recorded_slice().id());
    });
    compare(&two, "6-slice-deleted");
}

#[test]
fn after_the_end_the_rights_are_withdrawn() {
    let mut two = taken_over("6-slice-deleted");
    event(&mut two, "2026-11-20T22:48:15Z", |two| {
        let step = two.consumer.unauthenticate(&two.consumer_view()).unwrap();
        two.carry_out(false, step);
        let step = two.provider.end(&two.provider_view()).unwrap();
        two.carry_out(true, step);
    });
    compare(&two, "7-unauthenticated");
    assert_eq!(two.phases(), ("Ended", "AwaitsNonce"));
}

/// The phases of Liqo's objects before our machines write anything. The
/// consumer holds the Identity of an accepted slice, but the provider has no
/// record of the slice.
#[test]
fn each_stage_has_its_phases() {
    type Slices = (Option<&'static str>, Option<&'static str>);
    const AUTHENTICATED: (&str, &str) = ("Authenticated", "Authenticated");
    const ACCEPTED: Slices = (Some("NeedsRecord"), Some("Held"));
    const GONE_FROM_THE_PROVIDER: Slices = (None, Some("Held"));
    const NONE: Slices = (None, None);
    for (stage, phases, slices) in [
        ("1-authenticated", AUTHENTICATED, NONE),
        ("2-resourceslice", AUTHENTICATED, ACCEPTED),
        ("3-cordon", AUTHENTICATED, ACCEPTED),
        (
            "4-drain",
            ("Drained", "Authenticated"),
            GONE_FROM_THE_PROVIDER,
        ),
        ("5-active-again", AUTHENTICATED, GONE_FROM_THE_PROVIDER),
        ("6-slice-deleted", AUTHENTICATED, NONE),
        // Liqo leaves both nonces behind.
        (
            "7-unauthenticated",
            ("AwaitsTenant", "NeedsSignature"),
            NONE,
        ),
    ] {
        let two = at_stage(stage);
        let (at_provider, at_consumer) = (two.provider_view(), two.consumer_view());
        let provider = two.provider.look(&at_provider, two.now).unwrap();
        let consumer = two.consumer.look(&at_consumer, two.now).unwrap();
        let found = (provider.phase.name(), consumer.phase.name());
        assert_eq!(found, phases, "{stage}");
        let found: Slices = (
            provider.slices.first().map(|slice| slice.phase.name()),
            consumer.slices.first().map(|slice| slice.phase.name()),
        );
        assert_eq!(found, slices, "{stage}");
    }
}

/// A field in which Liqo's object and ours differ after a stage, and the
/// reason.
struct Difference {
    stages: &'static [&'static str],
    line: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    why: &'static str,
}

const ALL: &[&str] = &[
    "2-resourceslice",
    "3-cordon",
    "4-drain",
    "5-active-again",
    "6-slice-deleted",
    "7-unauthenticated",
];
const AUTHENTICATED_STILL: &[&str] = &[
    "2-resourceslice",
    "3-cordon",
    "4-drain",
    "5-active-again",
    "6-slice-deleted",
];

const DIFFERENCES: &[Difference] = &[
    Difference {
        stages: ALL,
        line: "Secret liqo/liqo-auth-consumer-cluster-b |  | absent | present",
        why: "what was pinned and received, out of the provider's reach",
    },
    Difference {
        stages: ALL,
        line: "Secret liqo/liqo-auth-provider-cluster-a |  | absent | present",
        why: "pin, proof and used nonces, out of the peer's reach; at the end, the tombstone",
    },
    Difference {
        stages: AUTHENTICATED_STILL,
        line: "Tenant liqo-tenant-cluster-a/cluster-a | metadata.annotations.liqo-auth/commitment | absent | key and signature",
        why: "the provider proves its own key",
    },
    Difference {
        stages: AUTHENTICATED_STILL,
        line: "Secret liqo/liqo-auth-slice-7f61cfefb9819a333c5a0486b2ab7744 |  | absent | present",
        why: "what was issued and decided, out of the peer's reach; then, that the name is taken",
    },
    Difference {
        stages: &["2-resourceslice"],
        line: "Identity liqo-tenant-cluster-b/resourceslice-mypool | spec.authParams.ca | PEM CERTIFICATE, 2 NUL bytes | PEM CERTIFICATE",
        why: "Liqo decodes an overriding CA into a buffer that is too long",
    },
    Difference {
        stages: &["2-resourceslice"],
        line: "ResourceSlice liqo-tenant-cluster-a/mypool | status.authParams.ca | PEM CERTIFICATE, 2 NUL bytes | PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        stages: &["2-resourceslice", "5-active-again"],
        line: "ResourceSlice liqo-tenant-cluster-b/mypool | status.authParams.ca | PEM CERTIFICATE, 2 NUL bytes | PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        stages: &["2-resourceslice"],
        line: "Secret liqo-tenant-cluster-b/kubeconfig-resourceslice-mypool | data.kubeconfig.certificate-authority-data | PEM CERTIFICATE, 2 NUL bytes | PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        stages: &["2-resourceslice"],
        line: r#"ResourceSlice liqo-tenant-cluster-b/mypool | metadata.finalizers | ["crdreplicator.liqo.io/resource"] | absent"#,
        why: "Liqo's crd-replicator puts it there",
    },
    Difference {
        stages: &["5-active-again"],
        line: "ResourceSlice liqo-tenant-cluster-b/mypool | status.conditions | Authentication Accepted 2026-11-20T22:47:09Z, Resources Denied 2026-11-20T22:47:57Z | Authentication Accepted 2026-11-20T22:48:03Z, Resources Accepted 2026-11-20T22:48:03Z",
        why: "and is decided on anew",
    },
    Difference {
        stages: &["2-resourceslice", "5-active-again"],
        line: "Secret liqo-tenant-cluster-a/liqo-remote-certificate-mypool | type | Opaque | absent",
        why: "the API server's default",
    },
    Difference {
        stages: &["2-resourceslice"],
        line: "Secret liqo-tenant-cluster-b/kubeconfig-resourceslice-mypool | type | Opaque | absent",
        why: "the API server's default",
    },
    Difference {
        stages: &["4-drain", "6-slice-deleted", "7-unauthenticated"],
        line: "Secret liqo-tenant-cluster-a/liqo-remote-certificate-mypool |  | present | absent",
        why: "no certificate is kept of a slice that is gone",
    },
    Difference {
        stages: &["5-active-again"],
        line: "ResourceSlice liqo-tenant-cluster-a/mypool |  | absent | present",
        why: "the consumer still wants it: its replica comes back with the rights",
    },
    Difference {
        stages: &["7-unauthenticated"],
        line: "Secret liqo-tenant-cluster-a/liqo-nonce |  | present | absent",
        why: "it has served",
    },
    Difference {
        stages: &["7-unauthenticated"],
        line: "Secret liqo-tenant-cluster-a/liqo-remote-certificate |  | present | absent",
        why: "nothing is handed out of it any more",
    },
    Difference {
        stages: &["7-unauthenticated"],
        line: "Secret liqo-tenant-cluster-b/liqo-signed-nonce |  | present | absent",
        why: "so that the next nonce is signed",
    },
];

/// Our machines, after they have taken over the objects of a stage. The time is
/// that at which Liqo accepted the slice.
fn taken_over(stage: &str) -> Exchange {
    let mut two = at_stage(stage);
    event(&mut two, "2026-11-20T22:47:09Z", |_| {});
    two
}

/// Sets the time, makes the change, and lets both sides work until they settle.
fn event(two: &mut Exchange, at: &str, happen: impl FnOnce(&mut Exchange)) {
    two.now = at.parse().unwrap();
    happen(two);
    settle(two);
    assert_eq!(two.refused, [], "{at}");
}

/// Sets a condition, as the provider's administrator does.
fn set_condition(two: &mut Exchange, at: &str, condition: TenantCondition) {
    event(two, at, |two| {
        let step = two.provider.set_condition(&two.provider_view(), condition);
        two.carry_out(true, step.unwrap());
    });
}

/// Checks that our objects differ from Liqo's only as in the table.
fn compare(two: &Exchange, stage: &str) {
    let anything = |_: &str| true;
    let liqo = at_stage(stage);
    let mut found = differences(
        &values_where(&liqo.at_provider, anything),
        &values_where(&two.at_provider, anything),
    );
    found.extend(differences(
        &values_where(&liqo.at_consumer, anything),
        &values_where(&two.at_consumer, anything),
    ));
    // Liqo's own summaries, and the requests to the API server's signer.
    found.retain(|line| {
        !line.starts_with("ForeignCluster ") && !line.starts_with("CertificateSigningRequest ")
    });
    found.sort();
    let mut expected: Vec<&str> = DIFFERENCES
        .iter()
        .filter(|difference| difference.stages.contains(&stage))
        .map(|difference| difference.line)
        .collect();
    expected.sort_unstable();
    assert_eq!(found, expected, "\n{stage}: found\n{}\n", found.join("\n"));
}

/// Both clusters with Liqo's objects after a stage.
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
    .principals(Arc::new(NameTable::default()))
    .key(Arc::clone(&recording.provider_key))
    .signer(Arc::new(Recorded::new()))
    .build();
    // As with Liqo, an administrator applies a slice by hand.
    let settings = PeerSettings {
        sign_slices_made_by_anyone: true,
        ..PeerSettings::default()
    };
    let keys = Arc::new(OneKey(Arc::clone(&recording.consumer_key)));
    let mut config = config_on_loopback(recording.consumer_id());
    config
        .peers
        .insert(exchange::id(recording.provider_id()), settings);
    let consumer = Consumer::new(config, keys);
    Exchange {
        provider,
        consumer,
        at_provider,
        at_consumer: objects(&folder.join("cluster-a")),
        ..without_keys
    }
}

/// Lets both sides work and replicates the shared objects, until nothing
/// changes.
fn settle(two: &mut Exchange) {
    for _ in 0..64 {
        let before = (two.at_provider.clone(), two.at_consumer.clone());
        two.refused.clear();
        let step = two.provider.reconcile(&two.provider_view(), two.env());
        two.carry_out(true, step.unwrap());
        two.replicate();
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

/// Deletes the objects whose owners are gone, as Kubernetes does.
fn collect_garbage(objects: &mut Objects) {
    loop {
        let present: BTreeSet<String> = objects
            .iter()
            .map(Object::metadata)
            .map(|metadata| metadata.uid.clone())
            .collect();
        let orphans: Vec<ObjectRef> = objects
            .iter()
            .filter(|object| {
                let owners = &object.metadata().owner_references;
                !owners.is_empty() && owners.iter().all(|owner| !present.contains(&owner.uid))
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

/// A signer that returns the certificates that Kubernetes signed.
struct Recorded(Mutex<BTreeMap<Vec<u8>, CertificateChain>>);

impl Recorded {
    fn new() -> Self {
        let folder = vectors().join("exchange/2-resourceslice/cluster-b");
        let issued = objects(&folder);
        let issued = issued.iter().filter_map(|object| match object {
            Object::CertificateSigningRequest(signed) => {
                let CertificateSigningRequest { spec, status, .. } = &**signed;
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
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        let issued = self.0.lock().unwrap();
        let chain = issued.get(request.csr.pem()).expect("a recorded request");
        Ok(Answer::Ready(chain.clone()))
    }
}

fn recorded_slice() -> ResourceSlice {
    let folder = vectors().join("exchange/2-resourceslice/cluster-a");
    let slices = objects(&folder);
    let slice: &ResourceSlice = slices.get("liqo-tenant-cluster-b", "mypool").unwrap();
    slice.clone()
}
