//! Which Tenants are denied on creation and update.

use liqo_auth::{
    admission::{AdmissionRule, Denial, tenant},
    model::{AuthzPolicy, Tenant, TenantCondition, TenantSpec, names},
};

use super::{a_tenant, create, denied, namespace, update};

#[test]
fn a_tenant_gets_the_defaults_of_the_api_server() {
    let bare = Tenant {
        spec: TenantSpec {
            cluster_id: "cl-a".to_owned(),
            ..TenantSpec::default()
        },
        ..Tenant::default()
    };
    let full = tenant::defaulted(&bare);
    assert_eq!(
        full.metadata
            .labels
            .get(names::REMOTE_CLUSTER_ID_LABEL)
            .unwrap(),
        "cl-a"
    );
    assert_eq!(full.spec.authz_policy, Some(AuthzPolicy::KeysExchange));
    assert_eq!(full.spec.tenant_condition, Some(TenantCondition::Active));
    assert_eq!(tenant::defaulted(&full), full);
    // An existing label is kept, whatever its value.
    let mut other = bare;
    let labels = &mut other.metadata.labels;
    labels.insert(names::REMOTE_CLUSTER_ID_LABEL.to_owned(), "cl-b".to_owned());
    other.spec.tenant_condition = Some(TenantCondition::Drained);
    let full = tenant::defaulted(&other);
    assert_eq!(
        full.metadata
            .labels
            .get(names::REMOTE_CLUSTER_ID_LABEL)
            .unwrap(),
        "cl-b"
    );
    assert_eq!(full.spec.tenant_condition, Some(TenantCondition::Drained));
}

#[test]
fn a_tenant_in_its_tenant_namespace_is_admitted() {
    let (namespace, new) = (namespace("cl-a"), a_tenant("cl-a"));
    assert_eq!(create(&new, Some(&namespace), &[]), Ok(()));
    assert_eq!(update(&new, &new, Some(&namespace), &[&new]), Ok(()));
    // Liqo's webhook does not restrict the Tenant's name.
    let mut named = new;
    named.metadata.name = "another".to_owned();
    assert_eq!(create(&named, Some(&namespace), &[]), Ok(()));
}

#[test]
fn an_invalid_tenant_is_denied_on_creation_and_update() {
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
            AdmissionRule::NamespaceMissing,
            "metadata.namespace",
        ),
        (
            &a_tenant("cl-a"),
            Some(&plain),
            AdmissionRule::TenantNamespace,
            "metadata.namespace",
        ),
        (
            &a_tenant("cl-a"),
            Some(&not_true),
            AdmissionRule::TenantNamespace,
            "metadata.namespace",
        ),
        (
            &relabelled,
            Some(&good),
            AdmissionRule::LabelMatchesSpec,
            label,
        ),
        (
            &unlabelled,
            Some(&good),
            AdmissionRule::LabelMatchesSpec,
            label,
        ),
        (
            &a_tenant("cl-a"),
            Some(&other_namespace),
            AdmissionRule::NamespaceOfSameCluster,
            "spec.clusterID",
        ),
        (
            &upper,
            Some(&good),
            AdmissionRule::ClusterIdForm,
            "spec.clusterID",
        ),
        (
            &hyphen,
            Some(&good),
            AdmissionRule::ClusterIdForm,
            "spec.clusterID",
        ),
    ] {
        let denied = Err(Denial { rule, field });
        assert_eq!(create(new, namespace, &[]), denied, "{rule:?}");
        assert_eq!(update(new, new, namespace, &[new]), denied, "{rule:?}");
    }
}

#[test]
fn a_second_tenant_in_a_namespace_or_of_the_same_name_is_denied() {
    let (namespace, new) = (namespace("cl-a"), a_tenant("cl-a"));
    let mut neighbour = a_tenant("cl-a");
    neighbour.metadata.name = "neighbour".to_owned();
    assert_eq!(
        create(&new, Some(&namespace), &[&neighbour]),
        denied(AdmissionRule::TenantInNamespace, "metadata.namespace")
    );
    let mut elsewhere = a_tenant("cl-b");
    elsewhere.metadata.name = "cl-a".to_owned();
    elsewhere.metadata.uid = "2".to_owned();
    assert_eq!(
        create(&new, Some(&namespace), &[&elsewhere]),
        denied(AdmissionRule::TenantName, "metadata.name")
    );
    assert_eq!(
        update(&new, &new, Some(&namespace), &[&elsewhere]),
        denied(AdmissionRule::TenantName, "metadata.name")
    );
    // Two Tenants that already have the same name may be changed, so that one
    // can be deleted.
    assert_eq!(
        update(&new, &new, Some(&namespace), &[&new, &elsewhere]),
        Ok(())
    );
}

#[test]
fn the_cluster_id_of_a_tenant_is_immutable() {
    let namespace = namespace("cl-b");
    let (old, new) = (a_tenant("cl-a"), a_tenant("cl-b"));
    assert_eq!(
        update(&old, &new, Some(&namespace), &[&old]),
        denied(AdmissionRule::ClusterIdImmutable, "spec.clusterID")
    );
    // The cluster ID cannot be removed either, because Liqo would then accept
    // any new one.
    let mut without = old.clone();
    without.spec.cluster_id.clear();
    assert_eq!(
        update(&old, &without, Some(&namespace), &[&old]),
        denied(AdmissionRule::ClusterIdImmutable, "spec.clusterID")
    );
    assert_eq!(
        update(&without, &new, Some(&namespace), &[&without]),
        Ok(())
    );
}

#[test]
fn a_milder_condition_alone_lifts_the_recorded_one() {
    use TenantCondition::{Active, Cordoned, Drained};

    let in_condition = |condition| {
        let mut tenant = a_tenant("cl-a");
        tenant.spec.tenant_condition = condition;
        tenant
    };
    for (before, after, expected) in [
        (Some(Drained), Some(Active), Some(names::LIFT_CONDITION)),
        (Some(Cordoned), Some(Active), Some(names::LIFT_CONDITION)),
        (
            Some(Drained),
            Some(Cordoned),
            Some(names::LIFT_CONDITION_TO_CORDONED),
        ),
        (Some(Drained), None, Some(names::LIFT_CONDITION)),
        (Some(Active), Some(Active), None),
        (Some(Active), Some(Cordoned), None),
        (Some(Cordoned), Some(Drained), None),
        (Some(Cordoned), Some(Cordoned), None),
        (None, Some(Active), None),
    ] {
        let (old, mut new) = (in_condition(before), in_condition(after));
        new.metadata.resource_version = "later".to_owned();
        let token = tenant::lifted_by(&old, &new);
        assert_eq!(token, expected, "{before:?} to {after:?}");
    }

    let old = in_condition(Some(Drained));
    let changes: [fn(&mut Tenant); 4] = [
        |tenant| tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake),
        |tenant| tenant.metadata.labels.clear(),
        |tenant| drop(tenant.metadata.annotations.insert("a".into(), "b".into())),
        |tenant| tenant.metadata.uid = "another".to_owned(),
    ];
    for change in changes {
        let mut new = in_condition(Some(Active));
        change(&mut new);
        assert_eq!(tenant::lifted_by(&old, &new), None, "{new:?}");
    }
}
