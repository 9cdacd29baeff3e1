//! Every rule of Liqo's webhooks and resource definitions, with the words and
//! status codes that Liqo answers with.
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

use liqo_auth::{
    admission::{
        Denial, Rule, Verdict, resource_slice,
        tenant::{self, Surroundings},
    },
    error::{Fault, PolicyRefusal},
    machine::Message,
    model::{
        AuthzPolicy, Metadata, Namespace, Object, Resource, ResourceSlice, Tenant, TenantCondition,
        TenantSpec, names,
    },
};

use exchange::{Setup, id};
use recording::{objects, recordings, vectors};

#[test]
fn a_tenant_gets_its_defaults_as_from_the_api_server() {
    let bare = Tenant {
        spec: TenantSpec {
            cluster_id: "cl-a".to_owned(),
            ..TenantSpec::default()
        },
        ..Tenant::default()
    };
    let full = tenant::defaulted(&bare);
    assert_eq!(full.metadata.labels[names::REMOTE_CLUSTER_ID_LABEL], "cl-a");
    assert_eq!(full.spec.authz_policy, Some(AuthzPolicy::KeysExchange));
    assert_eq!(full.spec.tenant_condition, Some(TenantCondition::Active));
    assert_eq!(tenant::defaulted(&full), full);
    // A label that is there stays, whatever it says.
    let mut other = bare;
    let labels = &mut other.metadata.labels;
    labels.insert(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), "cl-b".to_owned());
    other.spec.tenant_condition = Some(TenantCondition::Drained);
    let full = tenant::defaulted(&other);
    assert_eq!(full.metadata.labels[names::REMOTE_CLUSTER_ID_LABEL], "cl-b");
    assert_eq!(full.spec.tenant_condition, Some(TenantCondition::Drained));
}

#[test]
fn a_tenant_in_its_tenant_namespace_is_admitted() {
    let (namespace, new) = (namespace("cl-a"), a_tenant("cl-a"));
    assert_eq!(create(&new, Some(&namespace), &[]), Verdict::Allowed);
    assert_eq!(
        update(&new, &new, Some(&namespace), &[&new]),
        Verdict::Allowed
    );
    // Its name is free to choose, as far as Liqo's webhook goes.
    let mut named = new;
    named.metadata.name = "another".to_owned();
    assert_eq!(create(&named, Some(&namespace), &[]), Verdict::Allowed);
}

#[test]
fn what_is_wrong_with_a_tenant_by_itself_is_denied_on_creation_and_update() {
    let good = namespace("cl-a");
    let mut plain = good.clone();
    plain.metadata.labels.remove(names::TENANT_NAMESPACE_LABEL);
    let mut not_true = good.clone();
    let labels = &mut not_true.metadata.labels;
    labels.insert(names::TENANT_NAMESPACE_LABEL.to_owned(), "yes".to_owned());
    let mut relabelled = a_tenant("cl-a");
    let labels = &mut relabelled.metadata.labels;
    labels.insert(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), "cl-b".to_owned());
    let mut unlabelled = a_tenant("cl-a");
    unlabelled.metadata.labels.clear();
    let other_namespace = namespace("cl-b");
    let upper = a_tenant("CL-a");
    let hyphen = a_tenant("cl-");
    let label = "metadata.labels[liqo.io/remote-cluster-id]";
    for (new, namespace, rule, field) in [
        (
            &a_tenant("cl-a"),
            None,
            Rule::NamespaceMissing,
            "metadata.namespace",
        ),
        (
            &a_tenant("cl-a"),
            Some(&plain),
            Rule::TenantNamespace,
            "metadata.namespace",
        ),
        (
            &a_tenant("cl-a"),
            Some(&not_true),
            Rule::TenantNamespace,
            "metadata.namespace",
        ),
        (&relabelled, Some(&good), Rule::LabelMatchesSpec, label),
        (&unlabelled, Some(&good), Rule::LabelMatchesSpec, label),
        (
            &a_tenant("cl-a"),
            Some(&other_namespace),
            Rule::NamespaceOfSameCluster,
            "spec.clusterID",
        ),
        (&upper, Some(&good), Rule::ClusterIdForm, "spec.clusterID"),
        (&hyphen, Some(&good), Rule::ClusterIdForm, "spec.clusterID"),
    ] {
        let denied = Verdict::Denied(Denial { rule, field });
        assert_eq!(create(new, namespace, &[]), denied, "{rule:?}");
        assert_eq!(update(new, new, namespace, &[new]), denied, "{rule:?}");
    }
}

#[test]
fn a_tenant_namespace_has_one_tenant_and_a_name_is_taken_once() {
    let (namespace, new) = (namespace("cl-a"), a_tenant("cl-a"));
    let mut neighbour = a_tenant("cl-a");
    neighbour.metadata.name = "neighbour".to_owned();
    assert_eq!(
        create(&new, Some(&namespace), &[&neighbour]),
        denied(Rule::TenantInNamespace, "metadata.namespace")
    );
    let mut elsewhere = a_tenant("cl-b");
    elsewhere.metadata.name = "cl-a".to_owned();
    elsewhere.metadata.uid = "2".to_owned();
    assert_eq!(
        create(&new, Some(&namespace), &[&elsewhere]),
        denied(Rule::TenantName, "metadata.name")
    );
    assert_eq!(
        update(&new, &new, Some(&namespace), &[&elsewhere]),
        denied(Rule::TenantName, "metadata.name")
    );
    // Two that have one name already may be changed, so that one can go.
    assert_eq!(
        update(&new, &new, Some(&namespace), &[&new, &elsewhere]),
        Verdict::Allowed
    );
}

#[test]
fn a_cluster_id_does_not_change() {
    let namespace = namespace("cl-b");
    let (old, new) = (a_tenant("cl-a"), a_tenant("cl-b"));
    assert_eq!(
        update(&old, &new, Some(&namespace), &[&old]),
        denied(Rule::ClusterIdImmutable, "spec.clusterID")
    );
    // Nor goes: once it is gone, Liqo takes any.
    let mut without = old.clone();
    without.spec.cluster_id.clear();
    assert_eq!(
        update(&old, &without, Some(&namespace), &[&old]),
        denied(Rule::ClusterIdImmutable, "spec.clusterID")
    );
    assert_eq!(
        update(&without, &new, Some(&namespace), &[&without]),
        Verdict::Allowed
    );
}

#[test]
fn a_slice_that_is_asked_for_here_has_a_name_of_its_own() {
    let asked = |name: &str, namespace: &str| {
        let labels = [(names::REPLICATION_LABEL, "true")];
        slice(name, namespace, &labels)
    };
    let replica = |name: &str| {
        let labels = [
            (names::REPLICATION_LABEL, "false"),
            (names::REPLICATED_LABEL, "true"),
        ];
        slice(name, "liqo-tenant-cl-a", &labels)
    };
    let new = asked("mypool", "liqo-tenant-cl-b");
    assert_eq!(resource_slice::create(&new, &[]), Verdict::Allowed);
    let taken = asked("mypool", "liqo-tenant-cl-c");
    assert_eq!(
        resource_slice::create(&new, &[&taken]),
        denied(Rule::SliceName, "metadata.name")
    );
    // Another cluster's slices have names of their own, and so have those that
    // are not replicated anywhere.
    let local = slice("mypool", "liqo-tenant-cl-c", &[]);
    for other in [
        &replica("mypool"),
        &asked("other", "liqo-tenant-cl-c"),
        &local,
    ] {
        assert_eq!(resource_slice::create(&new, &[other]), Verdict::Allowed);
    }
    assert_eq!(
        resource_slice::create(&replica("mypool"), &[&taken]),
        Verdict::Allowed
    );
}

#[test]
fn a_control_plane_identity_changes_neither_label_nor_cordon() {
    let label = "metadata.labels[liqo.io/remote-cluster-id]";
    let cordon = "metadata.annotations[liqo.io/cordon]";
    let with = |label: Option<&str>, cordon: Option<&str>| {
        let mut slice = slice("mypool", "liqo-tenant-cl-a", &[]);
        let mut put =
            |map: fn(&mut Metadata) -> &mut std::collections::BTreeMap<String, String>,
             key: &str,
             value: Option<&str>| {
                if let Some(value) = value {
                    map(&mut slice.metadata).insert(key.to_owned(), value.to_owned());
                }
            };
        put(
            |metadata| &mut metadata.labels,
            names::REMOTE_CLUSTER_ID_LABEL,
            label,
        );
        put(
            |metadata| &mut metadata.annotations,
            names::CORDON_ANNOTATION,
            cordon,
        );
        slice
    };
    for (old, new, rule, field) in [
        (
            with(Some("a"), None),
            with(Some("b"), None),
            Rule::LabelChanged,
            label,
        ),
        (
            with(Some("a"), None),
            with(None, None),
            Rule::LabelDeleted,
            label,
        ),
        (
            with(None, None),
            with(Some("a"), None),
            Rule::LabelAdded,
            label,
        ),
        (
            with(None, Some("")),
            with(None, Some("x")),
            Rule::CordonChanged,
            cordon,
        ),
        (
            with(None, Some("")),
            with(None, None),
            Rule::CordonDeleted,
            cordon,
        ),
        (
            with(None, None),
            with(None, Some("")),
            Rule::CordonAdded,
            cordon,
        ),
    ] {
        assert_eq!(
            resource_slice::update(&old, &new, &["system:authenticated", "liqo.io"]),
            denied(rule, field)
        );
        for others in [&["system:masters"][..], &["cl-a"], &[]] {
            assert_eq!(resource_slice::update(&old, &new, others), Verdict::Allowed);
        }
        let same = resource_slice::update(&old, &old, &["liqo.io"]);
        assert_eq!(same, Verdict::Allowed);
    }
}

#[test]
fn ids_and_quantities_of_a_slice_have_their_form() {
    let good = slice("mypool", "liqo-tenant-cl-a", &[]);
    let with = |change: fn(&mut ResourceSlice)| {
        let mut slice = good.clone();
        change(&mut slice);
        slice
    };
    for (slice, rule, field) in [
        (
            with(|slice| slice.spec.consumer_cluster_id = Some("A".to_owned())),
            Rule::ClusterIdForm,
            "spec.consumerClusterID",
        ),
        (
            with(|slice| slice.spec.provider_cluster_id = Some(String::new())),
            Rule::ClusterIdForm,
            "spec.providerClusterID",
        ),
        (
            with(|slice| {
                drop(
                    slice
                        .spec
                        .resources
                        .insert("cpu".to_owned(), "2 cores".into()),
                )
            }),
            Rule::QuantityForm,
            "spec.resources",
        ),
        (
            with(|slice| drop(slice.status.resources.insert("cpu".to_owned(), "".into()))),
            Rule::QuantityForm,
            "status.resources",
        ),
    ] {
        assert_eq!(resource_slice::create(&slice, &[]), denied(rule, field));
        assert_eq!(
            resource_slice::update(&good, &slice, &[]),
            denied(rule, field)
        );
    }
}

#[test]
fn tools_read_liqos_words_and_codes() {
    for (rule, code, words) in [
        (Rule::ClusterIdImmutable, 422, "ClusterID is immutable"),
        (
            Rule::ClusterIdForm,
            422,
            "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
        ),
        (
            Rule::NamespaceMissing,
            500,
            "failed getting the tenant namespace",
        ),
        (
            Rule::TenantNamespace,
            400,
            "resources Tenant must be created in a tenant namespace, check the documentation for further info",
        ),
        (
            Rule::LabelMatchesSpec,
            400,
            "the \"liqo.io/remote-cluster-id\" label must match the cluster ID in the specs",
        ),
        (
            Rule::NamespaceOfSameCluster,
            403,
            "the Tenant must have the same cluster ID of its tenant namespace",
        ),
        (
            Rule::TenantInNamespace,
            403,
            "a Tenant already exists in the tenant namespace",
        ),
        (
            Rule::TenantName,
            403,
            "tenant should have a unique name across the cluster: a Tenant with the same name already exists in the cluster",
        ),
        (
            Rule::SliceName,
            403,
            "a resourceslice with the same name already exists in the cluster",
        ),
        (
            Rule::LabelChanged,
            403,
            "can't change the remoteClusterID label",
        ),
        (
            Rule::LabelDeleted,
            403,
            "can't delete the remoteClusterID label",
        ),
        (Rule::LabelAdded, 403, "can't add the remoteClusterID label"),
        (
            Rule::CordonChanged,
            403,
            "control plane users can't change the liqo.io/cordon annotation",
        ),
        (
            Rule::CordonDeleted,
            403,
            "control plane users can't delete the liqo.io/cordon annotation",
        ),
        (
            Rule::CordonAdded,
            403,
            "control plane users can't add the liqo.io/cordon annotation",
        ),
    ] {
        assert_eq!(
            (rule.status_code(), rule.to_string().as_str()),
            (code, words)
        );
    }
}

#[test]
fn what_liqo_admitted_is_admitted() {
    for liqo in recordings() {
        let namespaces = |name: &str| liqo.at_provider.get::<Namespace>("", name);
        let namespace = namespaces(&liqo.tenant.metadata.namespace);
        // By hand, Liqo's webhook was not running, and the Tenant lies in the
        // namespace `default`.
        if liqo.by_hand {
            continue;
        }
        let mut sent = liqo.tenant.clone();
        sent.metadata.labels.clear();
        let sent = tenant::defaulted(&sent);
        assert_eq!(create(&sent, namespace, &[]), Verdict::Allowed);
        assert_eq!(
            update(&sent, &liqo.tenant, namespace, &[&liqo.tenant]),
            Verdict::Allowed
        );
    }
    for stage in ["2-resourceslice", "3-cordon", "4-drain", "5-active-again"] {
        for side in ["cluster-a", "cluster-b"] {
            let seen = objects(&vectors().join("exchange").join(stage).join(side));
            for slice in seen.iter().filter_map(ResourceSlice::from_object) {
                assert_eq!(resource_slice::create(slice, &[]), Verdict::Allowed);
                let same = resource_slice::update(slice, slice, &["liqo.io"]);
                assert_eq!(same, Verdict::Allowed);
            }
        }
    }
}

#[test]
fn the_provider_makes_no_tenant_that_would_not_be_admitted() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    exchange.deliver("nonce");
    let mut neighbour = a_tenant("cl-consumer");
    neighbour.metadata.name = "neighbour".to_owned();
    exchange.at_provider.insert(neighbour.into());
    let tenant = exchange.tenant();
    let error = exchange
        .hand_over(Message::Tenant(Box::new(tenant)))
        .unwrap_err();
    let denial = Denial {
        rule: Rule::TenantInNamespace,
        field: "metadata.namespace",
    };
    assert_eq!(
        error.to_string(),
        "Tenant liqo-tenant-cl-consumer/cl-consumer, metadata.namespace: the policy refuses: \
         it is not admitted: a Tenant already exists in the tenant namespace"
    );
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::NotAdmitted(denial))
    );
    assert_eq!(error.at().field, "metadata.namespace");
}

fn create(new: &Tenant, namespace: Option<&Namespace>, tenants: &[&Tenant]) -> Verdict {
    tenant::create(new, &Surroundings { namespace, tenants })
}

fn update(
    old: &Tenant,
    new: &Tenant,
    namespace: Option<&Namespace>,
    tenants: &[&Tenant],
) -> Verdict {
    tenant::update(old, new, &Surroundings { namespace, tenants })
}

fn denied(rule: Rule, field: &'static str) -> Verdict {
    Verdict::Denied(Denial { rule, field })
}

fn namespace(peer: &str) -> Namespace {
    Namespace::for_tenant(&id(peer))
}

fn a_tenant(cluster_id: &str) -> Tenant {
    Tenant {
        metadata: Metadata {
            name: cluster_id.to_owned(),
            namespace: format!("liqo-tenant-{cluster_id}"),
            uid: "1".to_owned(),
            labels: [(
                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                cluster_id.to_owned(),
            )]
            .into(),
            ..Metadata::default()
        },
        spec: TenantSpec {
            cluster_id: cluster_id.to_owned(),
            ..TenantSpec::default()
        },
        ..Tenant::default()
    }
}

fn slice(name: &str, namespace: &str, labels: &[(&str, &str)]) -> ResourceSlice {
    let labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let slice = ResourceSlice {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            labels: labels.collect(),
            ..Metadata::default()
        },
        ..ResourceSlice::default()
    };
    assert!(Object::from(slice.clone()).as_unreadable().is_none());
    slice
}
