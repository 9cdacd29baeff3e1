use super::*;
use crate::model::{ClusterRoleBinding, RoleBinding};

fn registry() -> NameRegistry {
    let key = RecordKey::new([1; 32]).unwrap();
    let registry = NameRegistry::new(id("provider"), key, &Entropy::from_bytes([1; 32]));
    registry.complete();
    registry
}

fn is_taken(registry: &NameRegistry, name: PrincipalName<'_>, claimant: Claimant<'_>) -> bool {
    registry.is_taken(&NameRequest { name, claimant }).unwrap() == Answer::Ready(true)
}

/// How many names are taken.
fn len(registry: &NameRegistry) -> usize {
    let tables = registry.tables.read().unwrap();
    let names: BTreeSet<u64> = tables.names.iter().map(|(name, ..)| *name).collect();
    names.len()
}

fn id(name: &str) -> ClusterId {
    name.parse().unwrap()
}

fn tenancy(peer: &str) -> Object {
    Namespace::for_tenant(&id(peer)).into()
}

/// A record as the provider of that name seals it.
fn record(provider: &str, domain: &str, peer: &str, text: &str) -> Secret {
    let parts = [provider, peer, text].map(str::as_bytes);
    let seal = RecordKey::new([1; 32]).unwrap().mac(domain, &parts);
    let mut secret = Secret::default();
    secret.metadata.name = format!("{domain}-{peer}");
    secret.metadata.namespace = "liqo".to_owned();
    let labels = &mut secret.metadata.labels;
    labels.insert(names::RECORD_PEER_LABEL.to_owned(), peer.to_owned());
    secret.data = [
        ("record".to_owned(), text.as_bytes().into()),
        ("seal".to_owned(), seal.as_slice().into()),
    ]
    .into();
    secret
}

fn slice(consumer: &str, name: &str) -> Object {
    let text = format!(r#"{{"slice":"{name}"}}"#);
    record("provider", SLICE_DOMAIN, consumer, &text).into()
}

fn cluster_binding(subjects: Vec<RbacSubject>, labels: &[(&str, &str)]) -> ClusterRoleBinding {
    let mut binding = ClusterRoleBinding {
        subjects,
        ..ClusterRoleBinding::default()
    };
    binding.metadata.name = "binding".to_owned();
    binding.metadata.labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    binding
}

#[test]
fn a_slice_and_a_control_plane_keep_out_of_each_others_way() {
    let registry = registry();
    registry.observe(&slice("victim-cluster", "pool"));
    let user = PrincipalName::User("pool-37893f03fd76");
    let victim = id("victim-cluster");
    let own = Claimant::Slice {
        consumer: &victim,
        slice: "pool",
    };
    assert!(!is_taken(&registry, user, own));
    let attacker = id("pool-37893f03fd76");
    let claimant = Claimant::ControlPlane(&attacker);
    assert!(is_taken(&registry, user, claimant));
    let group = PrincipalName::Group("pool-37893f03fd76");
    assert!(!is_taken(&registry, group, claimant));

    // The other way round.
    let registry = self::registry();
    registry.observe(&tenancy("pool-37893f03fd76"));
    assert!(!is_taken(&registry, user, claimant));
    assert!(is_taken(&registry, user, own));
}

/// The table is sorted by hashes, so either of the peers may come first.
#[test]
fn a_name_that_two_peers_claim_is_taken_for_both() {
    let registry = registry();
    let peers = ["cl-one", "cl-two"].map(id);
    for peer in &peers {
        let labels = [
            (names::REMOTE_CLUSTER_ID_LABEL, peer.as_str()),
            (names::MANAGED_BY_LABEL, "liqo"),
        ];
        let mut binding = cluster_binding(vec![RbacSubject::user("shared")], &labels);
        binding.metadata.name = format!("binding-{peer}");
        registry.observe(&binding.into());
    }
    let name = PrincipalName::User("shared");
    for peer in &peers {
        assert!(
            is_taken(&registry, name, Claimant::ControlPlane(peer)),
            "{peer}"
        );
    }
}

#[test]
fn a_name_is_free_when_the_last_object_that_names_it_is_gone() {
    let registry = registry();
    let (peer, other) = (id("cl-consumer"), id("cl-other"));
    let name = PrincipalName::User("cl-consumer");
    let taken = |peer| is_taken(&registry, name, Claimant::ControlPlane(peer));
    let ours = [
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
        (names::MANAGED_BY_LABEL, "liqo"),
    ];
    let mut binding = RoleBinding {
        metadata: cluster_binding(Vec::new(), &ours).metadata,
        subjects: vec![RbacSubject::user("cl-consumer")],
        ..RoleBinding::default()
    };
    binding.metadata.namespace = "liqo-tenant-cl-consumer".to_owned();
    let objects = [tenancy("cl-consumer"), binding.clone().into()];
    for object in &objects {
        registry.observe(object);
        registry.observe(object);
        assert!(!taken(&peer) && taken(&other));
    }
    // A binding of somebody else names the same user.
    binding.metadata.labels.clear();
    binding.metadata.name = "admins".to_owned();
    let admins = Object::from(binding);
    registry.observe(&admins);
    assert!(taken(&peer) && taken(&other));
    registry.forget(&admins.id());
    assert!(!taken(&peer) && taken(&other));
    registry.forget(&objects[0].id());
    registry.forget(&objects[0].id());
    assert!(taken(&other));
    registry.forget(&objects[1].id());
    assert!(!taken(&other));
    assert_eq!(len(&registry), 0);
}

#[test]
fn an_object_that_changes_names_others() {
    let registry = registry();
    let other = id("cl-other");
    let taken = |name| is_taken(&registry, name, Claimant::ControlPlane(&other));
    let subjects = ["one", "two", "three"].map(RbacSubject::user).to_vec();
    registry.observe(&cluster_binding(subjects, &[]).into());
    assert!(taken(PrincipalName::User("three")));
    assert!(!taken(PrincipalName::Group("three")));
    let subjects = vec![RbacSubject::group("three"), RbacSubject::group("four")];
    registry.observe(&cluster_binding(subjects, &[]).into());
    assert!(!taken(PrincipalName::User("three")));
    assert!(taken(PrincipalName::Group("three")));
    assert_eq!(len(&registry), 2);
    registry.observe(&cluster_binding(Vec::new(), &[]).into());
    assert_eq!(len(&registry), 0);
}

#[test]
fn what_a_peer_can_write_names_nobody() {
    use crate::model::{ResourceSlice, Tenant};

    let registry = registry();
    let mut tenant = Tenant::default();
    tenant.metadata.name = "victim".into();
    tenant.spec.cluster_id = "victim".into();
    registry.observe(&tenant.into());
    let mut replica = ResourceSlice::default();
    replica.metadata.name = "pool".into();
    replica.spec.consumer_cluster_id = Some("victim".into());
    let labels = [
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, "victim"),
    ];
    replica.metadata.labels = labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    registry.observe(&replica.into());
    // Records with the right name and label, but in another namespace, without a
    // seal, or with the seal of another peer or provider.
    let sealed = record("provider", PEER_DOMAIN, "victim", "{}");
    let mut elsewhere = sealed.clone();
    elsewhere.metadata.namespace = "liqo-tenant-attacker".into();
    let mut unsealed = sealed.clone();
    unsealed.data.remove("seal");
    let mut relabelled = sealed.clone();
    let labels = &mut relabelled.metadata.labels;
    labels.insert(names::RECORD_PEER_LABEL.into(), "attacker".into());
    let anothers = record("another", PEER_DOMAIN, "victim", "{}");
    for secret in [elsewhere, unsealed, relabelled, anothers] {
        registry.observe(&secret.into());
    }
    assert_eq!(len(&registry), 0);
    registry.observe(&sealed.into());
    assert_eq!(len(&registry), 2);
}

#[test]
fn there_is_no_answer_before_everything_was_seen() {
    let key = RecordKey::new([1; 32]).unwrap();
    let registry = NameRegistry::new(id("provider"), key, &Entropy::from_bytes([1; 32]));
    let (peer, name) = (id("peer"), PrincipalName::User("peer"));
    let claimant = Claimant::ControlPlane(&peer);
    let answer = || registry.is_taken(&NameRequest { name, claimant }).unwrap();
    assert_eq!(answer(), Answer::Pending);
    registry.complete();
    assert_eq!(answer(), Answer::Ready(false));
}
