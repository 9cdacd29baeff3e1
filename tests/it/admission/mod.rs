//! All rules of Liqo's webhooks and resource definitions, with the messages and
//! status codes that Liqo answers.

mod resource_slices;
mod tenants;

use liqo_auth::{
    admission::{
        AdmissionRule, Denial, resource_slice,
        tenant::{self, Surroundings},
    },
    error::{Fault, PolicyRefusal},
    model::{Metadata, Namespace, Object, Resource, ResourceSlice, Tenant, TenantSpec, names},
};

use crate::{
    clusters::exchange::{Setup, id},
    recordings::{objects, recordings, vectors},
};

#[test]
fn rules_have_liqos_messages_and_status_codes() {
    for (rule, code, words) in [
        (
            AdmissionRule::ClusterIdImmutable,
            422,
            "ClusterID is immutable",
        ),
        (
            AdmissionRule::ClusterIdForm,
            422,
            "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
        ),
        (
            AdmissionRule::NamespaceMissing,
            500,
            "failed getting the tenant namespace",
        ),
        (
            AdmissionRule::TenantNamespace,
            400,
            "resources Tenant must be created in a tenant namespace, check the documentation for further info",
        ),
        (
            AdmissionRule::LabelMatchesSpec,
            400,
            "the \"liqo.io/remote-cluster-id\" label must match the cluster ID in the specs",
        ),
        (
            AdmissionRule::NamespaceOfSameCluster,
            403,
            "the Tenant must have the same cluster ID of its tenant namespace",
        ),
        (
            AdmissionRule::TenantInNamespace,
            403,
            "a Tenant already exists in the tenant namespace",
        ),
        (
            AdmissionRule::TenantName,
            403,
            "tenant should have a unique name across the cluster: a Tenant with the same name already exists in the cluster",
        ),
        (
            AdmissionRule::SliceName,
            403,
            "a resourceslice with the same name already exists in the cluster",
        ),
        (
            AdmissionRule::LabelChanged,
            403,
            "can't change the remoteClusterID label",
        ),
        (
            AdmissionRule::LabelDeleted,
            403,
            "can't delete the remoteClusterID label",
        ),
        (
            AdmissionRule::LabelAdded,
            403,
            "can't add the remoteClusterID label",
        ),
        (
            AdmissionRule::CordonChanged,
            403,
            "control plane users can't change the liqo.io/cordon annotation",
        ),
        (
            AdmissionRule::CordonDeleted,
            403,
            "control plane users can't delete the liqo.io/cordon annotation",
        ),
        (
            AdmissionRule::CordonAdded,
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
fn objects_that_liqo_admitted_are_admitted() {
    for liqo in recordings() {
        let namespaces = |name: &str| liqo.at_provider.get::<Namespace>("", name);
        let namespace = namespaces(&liqo.tenant.metadata.namespace);
        // In the recording by hand, Liqo's webhook was not running, and the
        // Tenant is in the namespace `default`.
        if liqo.by_hand {
            continue;
        }
        let mut sent = liqo.tenant.clone();
        sent.metadata.labels.clear();
        let sent = tenant::defaulted(&sent);
        assert_eq!(create(&sent, namespace, &[]), Ok(()));
        assert_eq!(
            update(&sent, &liqo.tenant, namespace, &[&liqo.tenant]),
            Ok(())
        );
    }
    for stage in ["2-resourceslice", "3-cordon", "4-drain", "5-active-again"] {
        for side in ["cluster-a", "cluster-b"] {
            let seen = objects(&vectors().join("exchange").join(stage).join(side));
            for slice in seen.iter().filter_map(ResourceSlice::from_object) {
                assert_eq!(resource_slice::create(slice, &[]), Ok(()));
                let same = resource_slice::update(slice, slice, &["liqo.io"]);
                assert_eq!(same, Ok(()));
            }
        }
    }
}

#[test]
fn the_provider_stores_no_tenant_that_liqo_would_deny() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    exchange.deliver("nonce");
    // One that names this consumer would be its own.
    let mut neighbour = a_tenant("cl-consumer");
    neighbour.metadata.name = "neighbour".to_owned();
    neighbour.spec.cluster_id = "neighbour".to_owned();
    exchange.at_provider.insert(neighbour.into());
    let tenant = exchange.tenant();
    let error = exchange.hand_over(tenant).unwrap_err();
    let denial = Denial {
        rule: AdmissionRule::TenantInNamespace,
        field: "metadata.namespace",
    };
    assert_eq!(
        error.to_string(),
        "Tenant liqo-tenant-cl-consumer/cl-consumer, metadata.namespace: the policy refuses: \
         the object is not admitted: a Tenant already exists in the tenant namespace"
    );
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::NotAdmitted(denial))
    );
    assert_eq!(error.at().field, "metadata.namespace");
}

fn create(new: &Tenant, namespace: Option<&Namespace>, tenants: &[&Tenant]) -> Result<(), Denial> {
    tenant::create(new, &Surroundings { namespace, tenants })
}

fn update(
    old: &Tenant,
    new: &Tenant,
    namespace: Option<&Namespace>,
    tenants: &[&Tenant],
) -> Result<(), Denial> {
    tenant::update(old, new, &Surroundings { namespace, tenants })
}

fn denied(rule: AdmissionRule, field: &'static str) -> Result<(), Denial> {
    Err(Denial { rule, field })
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
