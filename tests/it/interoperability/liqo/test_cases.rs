//! The cases of Liqo's own tests (1.2.0), as facts: the same inputs, Liqo's verdicts, and ours.
//! The table `vectors/liqo-1.2.0/test-cases.json` says why, where ours is another one.

use core::time::Duration;

use liqo_auth::{
    Machine,
    admission::{
        Denial,
        tenant::{self, Surroundings},
    },
    crypto::{CertificateChain, CertificateError},
    machine::{Effect, Objects, replication},
    model::{
        ClusterId, Namespace, RbacSubject, Resource, ResourceSlice, RoleBinding, Tenant,
        TenantSpec, Timestamp, names,
    },
    policy::Policy,
    provider::{self, Renewal},
};
use serde_json::Value;

use crate::{
    clusters::{
        exchange::{Setup, id, now},
        identities::differing_identities,
        notary::{Notary, YEAR},
        store,
    },
    mirror,
    recordings::{objects, recordings, vectors},
};

/// The rows of a table.
fn table(name: &str) -> Vec<Value> {
    let text = std::fs::read(vectors().join("test-cases.json")).unwrap();
    let tables: Value = serde_json::from_slice(&text).unwrap();
    let rows = tables[name].as_array().unwrap().clone();
    for row in &rows {
        let has_reason = row.get("ours").is_none() || row["why"].is_string();
        assert!(has_reason, "{row}: a difference has a reason");
    }
    rows
}

/// What becomes of a case here: as with Liqo, unless the table says otherwise.
fn expected(row: &Value) -> &Value {
    row.get("ours").unwrap_or(&row["liqo"])
}

/// A Tenant with this label, and with a UID of its own.
fn tenant(name: &str, namespace: &str, cluster_id: &str, label: Option<&str>) -> Tenant {
    let labels: Vec<_> = label
        .map(|label| (names::REMOTE_CLUSTER_ID_LABEL, label))
        .into_iter()
        .collect();
    let mut metadata = mirror::metadata(namespace, name, &labels);
    metadata.uid = format!("{namespace}/{name}");
    let spec = TenantSpec {
        cluster_id: cluster_id.to_owned(),
        ..TenantSpec::default()
    };
    Tenant {
        metadata,
        spec,
        ..Tenant::default()
    }
}

#[test]
fn a_tenant_gets_its_label_as_by_liqos_webhook() {
    for row in table("defaults") {
        let label = row["label"].as_bool().unwrap().then_some("fake-cluster");
        let given = tenant("fake-tenant", "fake-namespace", "fake-cluster", label);
        let labels = tenant::defaulted(&given).metadata.labels;
        assert_eq!(
            labels.get(names::REMOTE_CLUSTER_ID_LABEL).unwrap(),
            "fake-cluster"
        );
        let adds_label = labels != given.metadata.labels;
        assert_eq!(expected(&row)["adds_label"], adds_label, "{row}");
    }
}

#[test]
fn tenants_are_admitted_as_by_liqos_webhook() {
    for row in table("tenants") {
        let verdict = match judged(&row) {
            Ok(()) => Value::from("admitted"),
            Err(denial) => {
                let words = expected(&row)["words"].as_str().unwrap_or_default();
                assert!(denial.rule.to_string().contains(words), "{row}: {denial:?}");
                serde_json::json!({ "code": denial.rule.status_code(), "words": words })
            }
        };
        assert_eq!(&verdict, expected(&row), "{row}");
    }
}

fn judged(row: &Value) -> Result<(), Denial> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let [name, cluster_id, label] = [0, 1, 2].map(|at| text(&row["tenant"][at]));
    let new = tenant(&name, "fake-namespace", &cluster_id, Some(&label));
    let others = row["others"].as_array().unwrap().iter().map(|other| {
        let [name, namespace, cluster_id] = [0, 1, 2].map(|at| text(&other[at]));
        tenant(&name, &namespace, &cluster_id, Some(&cluster_id))
    });
    let others: Vec<Tenant> = others.collect();
    let labels: Vec<_> = match row["namespace"].as_str() {
        Some(peer) => vec![
            (names::REMOTE_CLUSTER_ID_LABEL, peer),
            (names::TENANT_NAMESPACE_LABEL, "true"),
        ],
        None => Vec::new(),
    };
    let namespace = Namespace {
        metadata: mirror::metadata("", "fake-namespace", &labels),
    };
    let surroundings = Surroundings {
        namespace: Some(&namespace),
        tenants: &others.iter().collect::<Vec<_>>(),
    };
    match row["operation"].as_str().unwrap() {
        "create" => tenant::create(&new, &surroundings),
        _ => tenant::update(&new, &new, &surroundings),
    }
}

#[test]
fn certificates_are_due_as_with_liqo() {
    for row in table("renewals") {
        let seconds = |field: &str| Duration::from_secs(row[field].as_u64().unwrap());
        let lifetime = seconds("lifetime");
        let notary = Notary::new(30 * YEAR);
        let mut exchange = Setup::new().exchange();
        exchange.provider = notary
            .provider(|builder| builder.configure(|config| config.certificate_lifetime = lifetime));
        exchange.settle();
        exchange.now = now() + seconds("age");
        let is_due = match exchange.provider_phase() {
            provider::Phase::Authenticated(issued) => matches!(issued.renewal, Renewal::Due(_)),
            // The last certificate has ended.
            provider::Phase::NeedsCredential(_) => true,
            phase => panic!("{row}: {phase:?}"),
        };
        assert_eq!(row["liqo"]["due"], is_due, "{row}");
        let step = exchange
            .provider
            .reconcile(&exchange.provider_view(), exchange.env())
            .unwrap();
        assert_eq!(step.is_settled(), !is_due, "{row}");
        if !is_due {
            let looks_at = step.wait.wake_at.unwrap();
            let looks_after = looks_at.since(exchange.now).as_secs();
            assert_eq!(expected(&row)["looks_after"], looks_after, "{row}");
        }
    }
}

#[test]
fn what_is_no_certificate_is_refused_as_by_liqo() {
    for row in table("certificates") {
        let pem = row["pem"].as_str().unwrap().as_bytes();
        let error = CertificateChain::from_pem(pem, &Policy::compatible()).unwrap_err();
        let found = match error {
            CertificateError::Pem(_) | CertificateError::Empty => "no PEM",
            _ => "no certificate",
        };
        assert_eq!(expected(&row), found, "{row}: {error:?}");
    }
}

const ORIGINAL: (&str, &str) = ("liqo-tenant-remote", "existing");
const REPLICA: (&str, &str) = ("liqo-tenant-local", "existing");

#[test]
fn replicas_come_and_go_as_with_liqos_replicator() {
    for row in table("replicas") {
        let (at_consumer, mut at_provider) = clusters(&row);
        let (local, remote) = (id("local"), id("remote"));
        let step = replication::to_provider(&at_consumer.view(&remote), &at_provider.view(&local));
        let step = step.unwrap();
        for effect in &step.effects {
            at_provider.apply(effect).unwrap();
        }
        let is_created = step
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Create(_)));
        let found = match at_provider.get::<ResourceSlice>(REPLICA.0, REPLICA.1) {
            None => "absent",
            Some(replica) if replica.spec.class != "as asked" => "kept",
            Some(replica) if is_created => {
                is_marked(replica);
                "created"
            }
            Some(_) => "has the spec",
        };
        assert_eq!(expected(&row), found, "{row}");
    }
}

/// Both clusters of a case.
fn clusters(row: &Value) -> (Objects, Objects) {
    let original = ResourceSlice {
        metadata: mirror::metadata(
            ORIGINAL.0,
            ORIGINAL.1,
            &[
                ("liqo.io/replication", "true"),
                ("liqo.io/remoteID", "remote"),
                ("liqo.io/ownership", "tester"),
                ("foo", "bar"),
            ],
        ),
        ..ResourceSlice::default()
    };
    let mut at_consumer = store::holding([Namespace::for_tenant(&id("remote")).into()]);
    let mut original = original;
    original.spec.class = "as asked".to_owned();
    let note = ("note".to_owned(), "of the original".to_owned());
    original.metadata.annotations.extend([note]);
    if row["original"] == "deleted" {
        original.metadata.deletion_timestamp = Some(Timestamp::EPOCH);
        let finalizer = "crdreplicator.liqo.io/resource".to_owned();
        original.metadata.finalizers.push(finalizer);
    }
    if row["original"] != "absent" {
        at_consumer.insert(original.into());
    }
    let mut at_provider = store::holding([Namespace::for_tenant(&id("local")).into()]);
    let labels: &[(&str, &str)] = match row["replica"].as_str().unwrap() {
        "labelled" => &[
            ("liqo.io/replicated", "true"),
            ("liqo.io/originID", "local"),
        ],
        _ => &[],
    };
    if row["replica"] != "absent" {
        let metadata = mirror::metadata(REPLICA.0, REPLICA.1, labels);
        at_provider.insert(
            ResourceSlice {
                metadata,
                ..ResourceSlice::default()
            }
            .into(),
        );
    }
    (at_consumer, at_provider)
}

/// A new replica has Liqo's marks, and what else its original has.
fn is_marked(replica: &ResourceSlice) {
    let labels = [
        ("liqo.io/replication", "false"),
        ("liqo.io/remoteID", "remote"),
        ("liqo.io/originID", "local"),
        ("liqo.io/replicated", "true"),
        ("liqo.io/remote-cluster-id", "local"),
        ("foo", "bar"),
    ];
    let expected = mirror::metadata(REPLICA.0, REPLICA.1, &labels);
    assert_eq!(replica.metadata.labels, expected.labels);
    let annotations = &replica.metadata.annotations;
    assert_eq!(annotations.get("note").unwrap(), "of the original");
}

/// The test `renewal::ten_years` asks the same of this library after each renewal.
#[test]
fn identities_have_what_the_provider_granted_with_liqo_and_with_us() {
    let now: Timestamp = "2026-11-20T23:00:00Z".parse().unwrap();
    for stage in ["1-authenticated", "2-resourceslice", "3-cordon"] {
        let side = |side: &str| objects(&vectors().join("exchange").join(stage).join(side));
        let found = differing_identities(&side("cluster-a"), &side("cluster-b"), now);
        assert_eq!(found, Vec::<String>::new(), "{stage}");
    }
    for liqo in recordings() {
        let ours = liqo.replayed();
        let found = differing_identities(&ours.at_consumer, &ours.at_provider, ours.now);
        assert_eq!(found, Vec::<String>::new(), "{}", liqo.name);
    }
}

/// `pkg/tenantNamespace`: a namespace's name and label, and one binding of a role for the peer's
/// user.
#[test]
fn a_tenant_namespace_is_as_liqos_manager_makes_it() {
    let peer: ClusterId = id("cl-consumer");
    let namespace = Namespace::for_tenant(&peer);
    assert!(namespace.metadata.name.starts_with("liqo-tenant-"));
    let labels = &namespace.metadata.labels;
    assert!(labels.contains_key(names::TENANT_NAMESPACE_LABEL));
    assert_eq!(Namespace::for_tenant(&peer), namespace);

    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let objects = exchange.at_provider.iter();
    let bindings: Vec<&RoleBinding> = objects.filter_map(RoleBinding::from_object).collect();
    let [binding] = bindings[..] else {
        panic!("{bindings:?}");
    };
    assert_eq!(binding.metadata.namespace, namespace.metadata.name);
    let [RbacSubject { kind, name, .. }] = &binding.subjects[..] else {
        panic!("{:?}", binding.subjects);
    };
    assert_eq!((kind.as_str(), name.as_str()), ("User", "cl-consumer"));
    let role = &binding.role_ref;
    assert_eq!(role.kind, "ClusterRole");
    assert_eq!(role.name, "liqo-remote-controlplane");
}
