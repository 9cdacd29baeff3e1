//! A drain and an end leave a peer no rights in the namespaces that it has offloaded.

use liqo_auth::{
    Machine,
    machine::{Effect, Env, Objects, Step},
    model::{
        ClusterId, ClusterRoleBinding, Kind, Metadata, NamespaceMap, Object, ObjectRef,
        RbacSubject, Resource, ResourceSlice, RoleBinding, RoleRef, Secret, Tenant,
        TenantCondition, names,
    },
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const OFFLOADED: &str = "shop-cl-consumer";
const PEER: &str = "cl-consumer";

#[test]
fn a_drain_deletes_every_namespace_map_and_every_binding_of_the_peer() {
    let mut rehearsal = offloading();
    let others = others();
    for object in &others {
        rehearsal.at_provider.insert(object.clone());
    }
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(maps(&rehearsal.at_provider), Vec::<String>::new());
    assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
    for object in &others {
        assert!(rehearsal.at_provider.object(&object.id()).is_some());
    }
}

/// The peer does not write a NamespaceMap any more when the first of them goes, and Liqo does not
/// make a binding again when the first of these goes.
#[test]
fn the_tenant_namespace_is_unbound_first_and_bindings_elsewhere_go_last() {
    let mut rehearsal = offloading();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    let places: Vec<String> = step(&rehearsal).effects.iter().map(place).collect();
    let withdrawn = &places[..7];
    assert_eq!(
        withdrawn,
        [
            "delete RoleBinding liqo-tenant-cl-consumer/liqo-binding-liqo-remote-controlplane",
            "delete NamespaceMap liqo-tenant-cl-consumer/cl-provider",
            "delete NamespaceMap liqo-tenant-cl-consumer/held",
            "delete NamespaceMap liqo-tenant-cl-consumer/unlabelled",
            "delete RoleBinding by-hand/reads",
            "delete RoleBinding shop-cl-consumer/liqo-tenant-cl-consumer",
            "delete ClusterRoleBinding by-hand",
        ]
    );
}

#[test]
fn nobody_waits_for_the_finalizers_of_a_namespace_map() {
    let mut rehearsal = offloading();
    let held = ObjectRef::new(Kind::NamespaceMap, NAMESPACE, "held");
    let mut map = rehearsal.at_provider.object(&held).unwrap().clone();
    map.metadata_mut().finalizers = vec!["peer.example/never".into()];
    rehearsal.at_provider.insert(map);
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(maps(&rehearsal.at_provider), ["held"]);
    assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
    assert_eq!(step(&rehearsal).effects, []);

    // Liqo, which has seen the NamespaceMap late, has made a binding again.
    rehearsal.at_provider.insert(binding_of_liqo());
    rehearsal.settle().unwrap();
    assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
}

/// Liqo deletes the namespaces of a NamespaceMap that is deleted. An end keeps them.
#[test]
fn an_end_takes_the_rights_and_keeps_the_namespaces() {
    let mut rehearsal = offloading();
    delete_tenant(&mut rehearsal);
    rehearsal.settle().unwrap();
    assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
    assert_eq!(
        maps(&rehearsal.at_provider),
        ["cl-provider", "held", "unlabelled"]
    );
    for name in maps(&rehearsal.at_provider) {
        let map: &NamespaceMap = rehearsal.at_provider.get(NAMESPACE, &name).unwrap();
        let origin = map.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
        assert_eq!(
            origin.map(String::as_str),
            (name != "unlabelled").then_some("")
        );
        assert_eq!(map.metadata.deletion_timestamp, None);
    }
    let kept: &NamespaceMap = rehearsal.at_provider.get(NAMESPACE, "cl-provider").unwrap();
    let replicated = kept.metadata.labels.get(names::REPLICATED_LABEL);
    assert_eq!(replicated.map(String::as_str), Some(names::TRUE));
    assert_eq!(phase(&rehearsal), "Ended");

    let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
    let step = rehearsal.provider.delete_offloaded(&view).unwrap();
    let deleted: Vec<String> = step.effects.iter().map(place).collect();
    assert_eq!(
        deleted,
        ["cl-provider", "held", "unlabelled"]
            .map(|name| format!("delete NamespaceMap {NAMESPACE}/{name}"))
    );
}

/// Liqo binds the group that the label names. Its replicator does not write the label of a
/// replica that exists, which an end has emptied.
#[test]
fn a_namespace_map_names_the_peer_as_its_origin() {
    let mut rehearsal = offloading();
    let emptied = [(names::REPLICATION_ORIGIN_LABEL, "")];
    let lent = map("lent", &[(names::REPLICATION_ORIGIN_LABEL, "cl-other")]);
    rehearsal.at_provider.insert(lent.into());
    let mut deleted = map("held", &emptied);
    deleted.metadata.deletion_timestamp = Some(rehearsal.now);
    let mut of_another = map("cl-provider", &emptied);
    of_another.metadata.namespace = "elsewhere".into();
    for object in [map("cl-provider", &emptied), deleted, of_another] {
        rehearsal.at_provider.insert(object.into());
    }
    rehearsal.settle().unwrap();
    for (namespace, name, origin) in [
        (NAMESPACE, "cl-provider", Some(PEER)),
        (NAMESPACE, "lent", Some(PEER)),
        (NAMESPACE, "held", Some("")),
        (NAMESPACE, "unlabelled", None),
        ("elsewhere", "cl-provider", Some("")),
    ] {
        let map: &NamespaceMap = rehearsal.at_provider.get(namespace, name).unwrap();
        let found = map.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
        assert_eq!(found.map(String::as_str), origin, "{namespace}/{name}");
    }
    assert_eq!(step(&rehearsal).effects, []);
}

#[test]
fn rights_that_come_after_the_end_are_withdrawn() {
    let mut rehearsal = offloading();
    delete_tenant(&mut rehearsal);
    rehearsal.settle().unwrap();
    let late = [
        binding_of_liqo(),
        binding("by-hand", "later", "Group", &[]).into(),
        binding("by-hand", "of-user", "User", &[]).into(),
        map("late", &[(names::REPLICATION_ORIGIN_LABEL, PEER)]).into(),
    ];
    for object in late {
        rehearsal.at_provider.insert(object);
        assert_eq!(phase(&rehearsal), "Ending");
        rehearsal.settle().unwrap();
        assert_eq!(phase(&rehearsal), "Ended");
        assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
    }
}

/// The label of a NamespaceMap that is too large to be read may be one that counts.
#[test]
fn an_end_deletes_a_namespace_map_that_cannot_be_read() {
    let mut rehearsal = offloading();
    rehearsal.at_provider.insert(large_map("large", &[]));
    let own = [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, PEER),
    ];
    rehearsal.at_provider.insert(large_map("own", &own));
    delete_tenant(&mut rehearsal);
    rehearsal.settle().unwrap();
    assert_eq!(
        maps(&rehearsal.at_provider),
        ["cl-provider", "held", "own", "unlabelled"]
    );
}

/// A cluster may offload to its consumer. Its own NamespaceMap gives the consumer nothing.
#[test]
fn this_clusters_own_namespace_map_stays() {
    let own = [
        (names::REPLICATION_LABEL, names::TRUE),
        (names::REPLICATION_DESTINATION_LABEL, PEER),
    ];
    let requested = ResourceSlice {
        metadata: metadata("ours", NAMESPACE, &own),
        ..ResourceSlice::default()
    };
    let with = |rehearsal: &mut Rehearsal, map: NamespaceMap| {
        rehearsal.at_provider.insert(map.into());
        set_condition(rehearsal, TenantCondition::Drained);
        rehearsal.settle().unwrap();
        maps(&rehearsal.at_provider)
    };
    let mut rehearsal = offloading();
    rehearsal.at_provider.insert(requested.clone().into());
    assert_eq!(with(&mut rehearsal, map(PEER, &own)), [PEER]);

    // Only the one of this name, with these labels, beside a slice that was requested.
    let mut rehearsal = offloading();
    rehearsal.at_provider.insert(requested.clone().into());
    assert!(with(&mut rehearsal, map("another", &own)).is_empty());
    let mut rehearsal = offloading();
    rehearsal.at_provider.insert(requested.clone().into());
    let origin = [own[0], own[1], (names::REPLICATION_ORIGIN_LABEL, PEER)];
    assert!(with(&mut rehearsal, map(PEER, &origin)).is_empty());
    let mut rehearsal = offloading();
    assert!(with(&mut rehearsal, map(PEER, &own)).is_empty());
    let mut rehearsal = offloading();
    let mut elsewhere = requested;
    elsewhere.metadata.namespace = "elsewhere".into();
    rehearsal.at_provider.insert(elsewhere.into());
    assert!(with(&mut rehearsal, map(PEER, &own)).is_empty());
}

/// Anybody's group may have the name of a cluster that was never let in.
#[test]
fn a_stranger_costs_nobody_a_binding() {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    let mut stranger = Tenant {
        metadata: metadata("staff", "liqo-tenant-staff", &[]),
        ..Tenant::default()
    };
    stranger.spec.tenant_condition = Some(TenantCondition::Drained);
    let mut staff = binding("by-hand", "staff", "Group", &[]);
    staff.subjects[0].name = "staff".into();
    let mut of_liqo = staff.clone();
    of_liqo.metadata = metadata(
        "liqo-tenant-staff",
        "shop-staff",
        &[(names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO)],
    );
    rehearsal.at_provider.insert(stranger.into());
    rehearsal.at_provider.insert(staff.into());
    rehearsal.at_provider.insert(of_liqo.clone().into());
    let peer: ClusterId = "staff".parse().unwrap();
    let step = reconcile(&rehearsal, &peer);
    let deleted: Vec<ObjectRef> = step.effects.iter().map(Effect::id).collect();
    assert_eq!(deleted, [of_liqo.id()]);
}

#[test]
fn a_record_that_cannot_be_read_keeps_no_rights() {
    let mut rehearsal = offloading();
    let name = "liqo-auth-provider-cl-consumer";
    let record: &Secret = rehearsal
        .at_provider
        .get(names::LIQO_NAMESPACE, name)
        .unwrap();
    let mut broken = record.clone();
    broken.data.insert("record".into(), b"{}".to_vec().into());
    rehearsal.at_provider.insert(broken.into());
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    assert_eq!(rights(&rehearsal.at_provider), Vec::<String>::new());
}

/// A peering whose consumer offloads: Liqo has bound its group, and so has a person.
fn offloading() -> Rehearsal {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    let replica = [
        (names::REPLICATED_LABEL, names::TRUE),
        (names::REPLICATION_ORIGIN_LABEL, PEER),
    ];
    let cluster_wide = ClusterRoleBinding {
        metadata: metadata("by-hand", "", &[]),
        role_ref: RoleRef::cluster_role("view"),
        subjects: vec![subject("Group", PEER), subject("User", "somebody")],
    };
    let objects: [Object; 6] = [
        map("cl-provider", &replica).into(),
        map("held", &replica).into(),
        map("unlabelled", &[]).into(),
        binding_of_liqo(),
        binding("by-hand", "reads", "Group", &[]).into(),
        cluster_wide.into(),
    ];
    for object in objects {
        rehearsal.at_provider.insert(object);
    }
    assert_eq!(rights(&rehearsal.at_provider).len(), 5);
    rehearsal
}

/// Objects that give the peer nothing.
fn others() -> Vec<Object> {
    let mut of_another = binding("by-hand", "another", "Group", &[]);
    of_another.subjects[0].name = "cl-other".into();
    let account = binding("by-hand", "account", "ServiceAccount", &[]);
    let mut map = map("cl-provider", &[(names::REPLICATION_ORIGIN_LABEL, PEER)]);
    map.metadata.namespace = "liqo-tenant-cl-other".into();
    vec![of_another.into(), account.into(), map.into()]
}

fn map(name: &str, labels: &[(&str, &str)]) -> NamespaceMap {
    NamespaceMap {
        metadata: metadata(name, NAMESPACE, labels),
    }
}

/// A NamespaceMap with more values than are read.
fn large_map(name: &str, labels: &[(&str, &str)]) -> Object {
    let mut value = Object::from(map(name, labels)).to_value();
    let mapped = (0..3000).map(|number| (format!("n{number}"), "x".into()));
    let mapped: serde_json::Map<_, _> = mapped.collect();
    value["spec"] = serde_json::json!({ "desiredMapping": mapped });
    let object = Object::from_value(value);
    assert!(object.as_unreadable().is_some());
    object
}

/// The binding that Liqo makes for a NamespaceMap.
fn binding_of_liqo() -> Object {
    let labels = [
        (names::MANAGED_BY_LABEL, names::MANAGED_BY_LIQO),
        (names::REMOTE_CLUSTER_ID_LABEL, PEER),
    ];
    binding(OFFLOADED, NAMESPACE, "Group", &labels).into()
}

fn binding(namespace: &str, name: &str, kind: &str, labels: &[(&str, &str)]) -> RoleBinding {
    RoleBinding {
        metadata: metadata(name, namespace, labels),
        role_ref: RoleRef::cluster_role("liqo-virtual-kubelet-remote"),
        subjects: vec![subject(kind, PEER)],
    }
}

fn subject(kind: &str, name: &str) -> RbacSubject {
    RbacSubject {
        kind: kind.into(),
        name: name.into(),
        ..RbacSubject::default()
    }
}

fn metadata(name: &str, namespace: &str, labels: &[(&str, &str)]) -> Metadata {
    Metadata {
        name: name.into(),
        namespace: namespace.into(),
        labels: labels
            .iter()
            .map(|(label, value)| ((*label).to_owned(), (*value).to_owned()))
            .collect(),
        ..Metadata::default()
    }
}

/// The bindings that name the peer's user or group.
fn rights(objects: &Objects) -> Vec<String> {
    let names_peer = |subjects: &[RbacSubject]| {
        let mut subjects = subjects.iter();
        subjects.any(|subject| subject.name == PEER && subject.kind != "ServiceAccount")
    };
    let bindings = objects.iter().filter(|object| match object {
        Object::RoleBinding(binding) => names_peer(&binding.subjects),
        Object::ClusterRoleBinding(binding) => names_peer(&binding.subjects),
        _ => false,
    });
    bindings.map(|binding| binding.id().to_string()).collect()
}

/// The NamespaceMaps in the tenant namespace.
fn maps(objects: &Objects) -> Vec<String> {
    let ids = objects.iter().map(Object::id);
    let maps = ids.filter(|id| id.kind == Kind::NamespaceMap && id.namespace == NAMESPACE);
    maps.map(|id| id.name).collect()
}

fn place(effect: &Effect) -> String {
    let verb = match effect {
        Effect::Delete { .. } => "delete",
        _ => "write",
    };
    format!("{verb} {}", effect.id())
}

fn step(rehearsal: &Rehearsal) -> Step {
    reconcile(rehearsal, rehearsal.consumer.cluster_id())
}

fn reconcile(rehearsal: &Rehearsal, peer: &ClusterId) -> Step {
    let env = Env {
        now: rehearsal.now,
        entropy: liqo_auth::crypto::Entropy::from_bytes([7; 32]),
    };
    let view = rehearsal.at_provider.view(peer);
    rehearsal.provider.reconcile(&view, env).unwrap()
}

fn phase(rehearsal: &Rehearsal) -> &'static str {
    let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
    let status = rehearsal.provider.look(&view, rehearsal.now).unwrap();
    status.phase.name()
}

fn set_condition(rehearsal: &mut Rehearsal, condition: TenantCondition) {
    let tenant: &Tenant = rehearsal.at_provider.get(NAMESPACE, PEER).unwrap();
    let mut changed = tenant.clone();
    changed.spec.tenant_condition = Some(condition);
    rehearsal.at_provider.insert(changed.into());
}

fn delete_tenant(rehearsal: &mut Rehearsal) {
    let id = ObjectRef::new(Kind::Tenant, NAMESPACE, PEER);
    rehearsal.at_provider.delete(&id);
}
