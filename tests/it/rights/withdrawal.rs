//! What withdraws a peer's rights, and who may restore them.

use liqo_auth::{
    Machine,
    crypto::{Authority, Csr, Entropy, Subject},
    error::{Fault, LocalFault},
    machine::{Awaited, Env, MessageBody, Notice, Objects},
    model::{
        ClusterRoleBinding, Kind, Metadata, Object, ObjectRef, Resource, RoleBinding, Secret,
        Tenant, TenantCondition, TextMap, names,
    },
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};

#[test]
fn draining_a_peer_deletes_its_bindings_and_keeps_its_certificate() {
    let mut rehearsal = authenticated();
    assert_eq!(bindings(&rehearsal.at_provider), 2);
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Drained");
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    assert_eq!(rehearsal.certificates_signed(), 1);
}

#[test]
fn a_tenant_applied_again_does_not_lift_the_condition() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();

    // The consumer's message does not change the condition in the Tenant.
    let number = rehearsal
        .messages
        .iter()
        .position(|message| matches!(message.body, MessageBody::Tenant(_)));
    rehearsal
        .play(Occurrence::Deliver {
            message: number.unwrap(),
            effects: ALL,
        })
        .unwrap();
    assert_eq!(
        tenant(&rehearsal).spec.tenant_condition,
        Some(TenantCondition::Drained)
    );

    // A file that says Active does not change the condition on record.
    set_condition(&mut rehearsal, TenantCondition::Active);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Drained");
    assert_eq!(bindings(&rehearsal.at_provider), 0);
}

#[test]
fn the_administrator_lifts_the_condition_and_the_bindings_come_back() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    set_condition(&mut rehearsal, TenantCondition::Active);

    let consumer = rehearsal.consumer.cluster_id().clone();
    let step = rehearsal
        .provider
        .lift_condition(&rehearsal.at_provider.view(&consumer))
        .unwrap();
    for effect in &step.effects {
        rehearsal.at_provider.apply(effect).unwrap();
    }
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Authenticated");
    assert_eq!(bindings(&rehearsal.at_provider), 2);
    assert_eq!(rehearsal.certificates_signed(), 1);
}

#[test]
fn cordoning_a_peer_keeps_its_rights() {
    let mut rehearsal = authenticated();
    set_condition(&mut rehearsal, TenantCondition::Cordoned);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Authenticated");
    assert_eq!(bindings(&rehearsal.at_provider), 2);
}

#[test]
fn the_bindings_of_a_deleted_tenant_are_deleted_before_its_finalizer() {
    let mut rehearsal = authenticated();
    let mut deleted = tenant(&rehearsal).clone();
    assert_eq!(deleted.metadata.finalizers, [names::TENANT_FINALIZER]);
    deleted.metadata.deletion_timestamp = Some(rehearsal.now);
    rehearsal.at_provider.insert(deleted.into());
    assert_eq!(phase(&rehearsal), "Ending");

    rehearsal.play(Occurrence::Provider { effects: 2 }).unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    assert_eq!(
        tenant(&rehearsal).metadata.finalizers,
        [names::TENANT_FINALIZER]
    );
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    assert_eq!(phase(&rehearsal), "Ended");
}

/// The peer can write Secrets in its tenant namespace. It cannot prevent the
/// withdrawal of its rights by that.
#[test]
fn an_unreadable_secret_does_not_prevent_the_withdrawal_of_rights() {
    for name in [names::NONCE_SECRET, names::ISSUED_CERTIFICATE_SECRET] {
        for condition in [None, Some(TenantCondition::Drained)] {
            let mut rehearsal = authenticated();
            rehearsal.at_provider.insert(unreadable_secret(name));
            let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
            let peering = rehearsal.provider.look(&view, rehearsal.now);
            let liqo_auth::provider::Phase::Refused(error) = peering.unwrap().phase else {
                panic!("it is not refused");
            };
            assert!(matches!(
                error.fault(),
                Fault::Local(LocalFault::Unreadable { .. })
            ));

            match condition {
                Some(condition) => set_condition(&mut rehearsal, condition),
                None => {
                    let id = tenant(&rehearsal).id();
                    rehearsal.at_provider.delete(&id);
                }
            }
            rehearsal
                .play(Occurrence::Provider { effects: ALL })
                .unwrap();
            assert_eq!(bindings(&rehearsal.at_provider), 0, "{name}, {condition:?}");
        }
    }
}

/// Whoever may write what gives the peer its rights: the withdrawal needs its metadata alone.
#[test]
fn a_binding_or_a_role_that_cannot_be_read_does_not_prevent_the_withdrawal_of_rights() {
    let namespace = "liqo-tenant-cl-consumer";
    let cluster_wide = "liqo-virtual-kubelet-remote-clusterwide";
    for id in [
        ObjectRef::new(
            Kind::RoleBinding,
            namespace,
            "liqo-binding-liqo-remote-controlplane",
        ),
        ObjectRef::new(
            Kind::ClusterRoleBinding,
            "",
            format!("liqo-binding-{cluster_wide}-cl-consumer"),
        ),
        ObjectRef::new(Kind::ClusterRole, "", cluster_wide),
    ] {
        for condition in [None, Some(TenantCondition::Drained)] {
            let mut rehearsal = authenticated();
            let mut value = { rehearsal.at_provider.iter() }
                .find(|object| object.id() == id)
                .unwrap()
                .to_value();
            value["metadata"]["annotations"] =
                serde_json::json!({ "padding": "A".repeat(300 * 1024) });
            rehearsal.at_provider.insert(Object::from_value(value));
            let consumer = rehearsal.consumer.cluster_id().clone();
            let view = rehearsal.at_provider.view(&consumer);
            // Nothing is granted meanwhile, and nobody is told that a role is missing.
            let error = rehearsal.provider.look(&view, rehearsal.now).unwrap_err();
            assert_eq!(error.at().object.as_ref(), Some(&id));

            match condition {
                Some(condition) => set_condition(&mut rehearsal, condition),
                None => {
                    let id = tenant(&rehearsal).id();
                    rehearsal.at_provider.delete(&id);
                }
            }
            let status = rehearsal
                .provider
                .look(&rehearsal.at_provider.view(&consumer), rehearsal.now);
            let missing = |notice: &Notice| matches!(notice, Notice::NoClusterRole { .. });
            assert!(!status.unwrap().notices.iter().any(missing));
            rehearsal
                .play(Occurrence::Provider { effects: ALL })
                .unwrap();
            let left = { rehearsal.at_provider.iter() }
                .filter(|object| {
                    [Kind::RoleBinding, Kind::ClusterRoleBinding].contains(&object.id().kind)
                })
                .count();
            assert_eq!(left, 0, "{id}, {condition:?}");
        }
    }
}

#[test]
fn draining_works_without_a_valid_tenant() {
    let mut rehearsal = authenticated();
    let mut broken = tenant(&rehearsal).clone();
    broken.spec.csr = b"no request".as_slice().into();
    broken.spec.tenant_condition = Some(TenantCondition::Drained);
    rehearsal.at_provider.insert(broken.into());
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 0);
}

#[test]
fn a_condition_is_recorded_even_if_the_tenant_is_invalid() {
    let mut rehearsal = authenticated();
    let sound = tenant(&rehearsal).clone();
    let mut broken = sound.clone();
    broken.spec.csr = b"no request".as_slice().into();
    broken.spec.tenant_condition = Some(TenantCondition::Cordoned);
    rehearsal.at_provider.insert(broken.into());
    assert_eq!(phase(&rehearsal), "Refused");
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    let before = rehearsal.at_provider.clone();

    // The condition is on record. If an Active Tenant is applied again, the
    // record does not change.
    rehearsal.at_provider.insert(sound.into());
    rehearsal.settle().unwrap();
    let record = |objects: &Objects| {
        let name = "liqo-auth-provider-cl-consumer";
        objects
            .get::<Secret>(names::LIQO_NAMESPACE, name)
            .unwrap()
            .data
            .clone()
    };
    assert_eq!(record(&rehearsal.at_provider), record(&before));
}

#[test]
fn no_peer_comes_or_comes_back_without_an_invitation() {
    let mut rehearsal = authenticated();
    let id = tenant(&rehearsal).id();
    rehearsal.at_provider.delete(&id);
    rehearsal.settle().unwrap();
    assert_eq!(phase(&rehearsal), "Ended");
    assert!(
        rehearsal
            .at_provider
            .get::<Tenant>(&id.namespace, &id.name)
            .is_none()
    );

    // A label that the peer writes does not make another cluster a peer.
    let stranger = "stranger".parse().unwrap();
    let mut objects = rehearsal.at_provider.clone();
    let labels = [(names::REMOTE_CLUSTER_ID_LABEL, "stranger")];
    objects.insert(secret("bait", labels.into()));
    let env = Env {
        now: rehearsal.now,
        entropy: Entropy::from_bytes([7; 32]),
    };
    let step = rehearsal
        .provider
        .reconcile(&objects.view(&stranger), env)
        .unwrap();
    assert_eq!(step.effects, []);
    assert_eq!(step.wait.awaiting, [Awaited::Invitation]);
}

/// A certificate that the peer stores is not used, and it does not cause
/// another signature.
#[test]
fn a_certificate_that_the_peer_stored_is_replaced_by_the_one_on_record() {
    let mut rehearsal = authenticated();
    let namespace = names::tenant_namespace(rehearsal.consumer.cluster_id());
    let issued = |rehearsal: &Rehearsal| {
        let secret: &Secret = rehearsal
            .at_provider
            .get(&namespace, names::ISSUED_CERTIFICATE_SECRET)
            .unwrap();
        secret.data[names::CERTIFICATE].clone()
    };
    let honest = issued(&rehearsal);
    let elsewhere = {
        let key = &rehearsal.consumer_key;
        let now = rehearsal.now;
        let subject = Subject::control_plane(rehearsal.consumer.cluster_id());
        let own = Authority::new("peer", now, LIFETIME, &Entropy::from_bytes([9; 32])).unwrap();
        let csr = Csr::make(&subject, &**key).unwrap().at_once().unwrap();
        let entropy = Entropy::from_bytes([8; 32]);
        own.issue(&csr, &subject, key.public_key(), now, LIFETIME, &entropy)
            .unwrap()
    };
    for planted in [elsewhere.pem().to_vec(), b"junk".to_vec(), Vec::new()] {
        let mut secret: Secret = rehearsal
            .at_provider
            .get::<Secret>(&namespace, names::ISSUED_CERTIFICATE_SECRET)
            .unwrap()
            .clone();
        secret
            .data
            .insert(names::CERTIFICATE.into(), planted.into());
        rehearsal.at_provider.insert(secret.into());
        rehearsal.settle().unwrap();
        assert!(rehearsal.is_complete().unwrap());
        assert_eq!(issued(&rehearsal), honest);
        assert_eq!(rehearsal.certificates_signed(), 1);
    }
}

#[test]
fn the_release_of_a_key_keeps_the_condition_and_the_used_nonces() {
    let mut rehearsal = authenticated();
    let consumer = rehearsal.consumer.cluster_id().clone();
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    let id = tenant(&rehearsal).id();
    rehearsal.at_provider.delete(&id);
    rehearsal.settle().unwrap();

    let step = rehearsal
        .provider
        .release_key(&rehearsal.at_provider.view(&consumer))
        .unwrap();
    step.effects
        .iter()
        .for_each(|effect| rehearsal.at_provider.apply(effect).unwrap());
    // The old Tenant with its used nonce comes again.
    let number = rehearsal
        .messages
        .iter()
        .position(|message| matches!(message.body, MessageBody::Tenant(_)));
    rehearsal
        .play(Occurrence::Deliver {
            message: number.unwrap(),
            effects: ALL,
        })
        .unwrap();
    assert_eq!(phase(&rehearsal), "Ended");
}

#[test]
fn rights_without_a_tenant_are_withdrawn() {
    let mut rehearsal = authenticated();
    let id = tenant(&rehearsal).id();
    rehearsal.at_provider.remove(&id).unwrap();
    assert_eq!(phase(&rehearsal), "Ending");
    rehearsal
        .play(Occurrence::Provider { effects: ALL })
        .unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 0);
    // The peer does not come back by itself.
    assert_eq!(phase(&rehearsal), "Ended");
}

#[test]
fn bindings_of_others_are_kept() {
    let mut rehearsal = authenticated();
    let mut foreign: ClusterRoleBinding = rehearsal
        .at_provider
        .iter()
        .find_map(ClusterRoleBinding::from_object)
        .unwrap()
        .clone();
    foreign.metadata.name = "somebody-elses".into();
    foreign.subjects[0].name = "somebody-else".into();
    rehearsal.at_provider.insert(foreign.into());
    set_condition(&mut rehearsal, TenantCondition::Drained);
    rehearsal.settle().unwrap();
    assert_eq!(bindings(&rehearsal.at_provider), 1);
}

/// An object that is larger than the limit.
fn unreadable_secret(name: &str) -> Object {
    let namespace = "liqo-tenant-cl-consumer";
    let data = "A".repeat(300 * 1024);
    Object::from_value(serde_json::json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "namespace": namespace },
        "data": { "padding": data },
    }))
}

fn secret(name: &str, labels: TextMap) -> Object {
    Secret {
        metadata: Metadata {
            name: name.into(),
            namespace: "liqo-tenant-cl-consumer".into(),
            labels,
            ..Metadata::default()
        },
        ..Secret::default()
    }
    .into()
}

const LIFETIME: core::time::Duration = core::time::Duration::from_secs(8 * 365 * 86_400);

fn authenticated() -> Rehearsal {
    let mut rehearsal = Rehearsal::new(7).unwrap();
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    rehearsal
}

fn tenant(rehearsal: &Rehearsal) -> &Tenant {
    let consumer = rehearsal.consumer.cluster_id();
    let namespace = names::tenant_namespace(consumer);
    rehearsal
        .at_provider
        .get(&namespace, consumer.as_str())
        .unwrap()
}

/// Writes a condition, as `kubectl apply` or `kubectl patch` does.
fn set_condition(rehearsal: &mut Rehearsal, condition: TenantCondition) {
    let mut changed = tenant(rehearsal).clone();
    changed.spec.tenant_condition = Some(condition);
    rehearsal.at_provider.insert(changed.into());
}

fn phase(rehearsal: &Rehearsal) -> &'static str {
    let view = rehearsal.at_provider.view(rehearsal.consumer.cluster_id());
    rehearsal
        .provider
        .look(&view, rehearsal.now)
        .unwrap()
        .phase
        .name()
}

fn bindings(objects: &Objects) -> usize {
    let is_binding = |object: &&Object| {
        RoleBinding::from_object(object).is_some() || object.id().kind == Kind::ClusterRoleBinding
    };
    objects.iter().filter(is_binding).count()
}
