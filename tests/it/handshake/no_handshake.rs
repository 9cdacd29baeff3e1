//! Peers without a handshake. Only this side's administrator can allow them.

use liqo_auth::{
    Machine,
    audit::Decision,
    error::{Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Rule},
    machine::Step,
    model::{
        AuthzPolicy, ClusterRoleBinding, Metadata, Object, Resource, RoleBinding, Tenant,
        TenantCondition, TenantSpec, names,
    },
    policy::Policy,
    provider::{self, Provider, ProviderBuilder},
};

use crate::clusters::{
    bindings::group,
    exchange::{Exchange, Setup, id},
    notary::{Notary, YEAR},
    store,
};

#[test]
fn a_tolerated_peer_gets_the_rights_of_its_group_and_no_certificate() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    assert_eq!(exchange.provider_phase().name(), "Tolerated");
    let mut events = Vec::new();
    loop {
        let step = exchange.turn_of_provider();
        assert_eq!(step.outbox, []);
        assert_eq!(step.refused, []);
        if step.is_settled() {
            break;
        }
        events.extend(step.events.into_iter().map(|event| event.decision));
    }
    assert_eq!(events, [Decision::RightsGranted]);
    let tenant = exchange.stored_tenant();
    assert_eq!(tenant.status.tenant_namespace, "liqo-tenant-cl-consumer");
    assert_eq!(tenant.status.auth_params, None);
    assert_eq!(tenant.metadata.finalizers, [names::TENANT_FINALIZER]);
    assert_eq!(notary.asked(), 0);
    let objects = exchange.at_provider.iter();
    let cluster_wide: Vec<_> = objects
        .filter_map(ClusterRoleBinding::from_object)
        .collect();
    assert_eq!(cluster_wide.len(), 1);
    assert_eq!(cluster_wide[0].subjects, [group("cl-consumer")]);
    let mut objects = exchange.at_provider.iter();
    assert_eq!(objects.find_map(RoleBinding::from_object), None);
    assert_eq!(exchange.provider_phase().name(), "Tolerated");
}

#[test]
fn a_deleted_binding_of_a_tolerated_peer_is_made_again() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    exchange.turns_of_provider();
    let binding = exchange
        .at_provider
        .iter()
        .find_map(ClusterRoleBinding::from_object)
        .unwrap()
        .id();
    exchange.at_provider.remove(&binding).unwrap();
    let events = exchange.turn_of_provider().events.into_iter();
    let decisions: Vec<Decision> = events.map(|event| event.decision).collect();
    assert_eq!(decisions, [Decision::RightsGranted]);
    assert_eq!(bindings(&exchange), 1);
    assert_eq!(exchange.turn_of_provider().events, []);
}

/// The peer gets its credentials by other means; they are not overwritten.
#[test]
fn parameters_that_an_administrator_wrote_are_kept() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    exchange.turns_of_provider();
    let by_hand = liqo_auth::model::AuthParams {
        api_server: "https://elsewhere:6443".into(),
        ..Default::default()
    };
    exchange.edit_tenant(|tenant| tenant.status.auth_params = Some(by_hand.clone()));
    assert!(exchange.turn_of_provider().is_settled());
    assert_eq!(exchange.stored_tenant().status.auth_params, Some(by_hand));
}

#[test]
fn a_tenant_cannot_declare_that_it_needs_no_handshake() {
    let notary = Notary::new(YEAR);
    for configured in [None, Some(("cl-other", true)), Some(("cl-consumer", false))] {
        let mut exchange = tolerated(&notary);
        exchange.provider = notary.provider(|builder| match configured {
            Some((peer, tolerates)) => builder.configure(|config| {
                config
                    .peers
                    .entry(id(peer))
                    .or_default()
                    .tolerate_no_handshake = tolerates
            }),
            None => builder,
        });
        let provider::Phase::Refused(error) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        assert_eq!(error.fault(), &PolicyRefusal::SelfDeclaredPolicy.into());
        assert_eq!(error.rule().map(Rule::number), Some(6));
    }
}

#[test]
fn a_tolerated_peer_that_has_authenticated_must_stay_authenticated() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider = provider(&notary, |builder| builder);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange.edit_tenant(|tenant| tenant.spec.signature = b"none".as_slice().into());
    exchange.edit_tenant(|tenant| tenant.spec.csr = b"none".as_slice().into());
    assert_eq!(exchange.provider_phase().name(), "Refused");
    // A message that does not demand a handshake is refused in any case.
    let mut tenant = exchange.tenant();
    tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake);
    let message = liqo_auth::machine::MessageBody::Tenant(Box::new(tenant));
    let error = exchange.hand_over(message).unwrap_err();
    assert_eq!(error.fault(), &PolicyRefusal::SelfDeclaredPolicy.into());
}

#[test]
fn names_and_principals_are_checked_for_tolerated_peers_too() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    exchange.edit_tenant(|tenant| tenant.spec.cluster_id = "cl-other".into());
    let error = refused(&exchange);
    assert!(matches!(
        error,
        Fault::PeerIncompatible(PeerIncompatible::NameMismatch { .. })
    ));
    let mut exchange = tolerated(&notary);
    exchange.edit_tenant(|tenant| tenant.spec.proxy_url = Some("ftp://10.0.0.1".into()));
    let error = refused(&exchange);
    assert!(matches!(
        error,
        Fault::PeerMisbehaved(PeerMisbehaved::Url(_))
    ));
    let mut exchange = tolerated(&notary);
    let names: provider::NameTable = ["cl-consumer".to_owned()].into_iter().collect();
    exchange.provider = provider(&notary, |builder| {
        builder.principals(std::sync::Arc::new(names))
    });
    let taken = PolicyRefusal::NameTaken {
        name: "cl-consumer".into(),
    };
    assert_eq!(refused(&exchange), taken.into());
}

/// The peer has its rights without the nonce on offer.
#[test]
fn an_invitation_ends_when_its_peer_is_tolerated() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    let tenant = exchange.stored_tenant();
    exchange.at_provider.remove(&tenant.id());
    exchange.invite();
    assert_eq!(exchange.provider_phase().name(), "AwaitsTenant");
    exchange.at_provider.insert(tenant.clone().into());
    settled(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Tolerated");
    exchange.at_provider.remove(&tenant.id());
    settled(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
}

/// The compatible policy accepts longer names, but does not make namespaces for them.
#[test]
fn a_tolerated_peer_whose_name_is_too_long_for_a_namespace_is_refused() {
    let notary = Notary::new(YEAR);
    for found in [51, 52] {
        let peer = id(&"c".repeat(found));
        let provider = notary.provider(|builder| {
            builder.configure(|config| {
                config.policy = Policy::compatible();
                let settings = config.peers.entry(peer.clone()).or_default();
                settings.tolerate_no_handshake = true;
            })
        });
        let exchange = tolerated(&notary);
        let mut tenant = exchange.stored_tenant();
        tenant.metadata.name = peer.to_string();
        tenant.metadata.namespace = "elsewhere".into();
        tenant.spec.cluster_id = peer.to_string();
        let label = names::REMOTE_CLUSTER_ID_LABEL.to_owned();
        tenant.metadata.labels.insert(label, peer.to_string());
        let objects = store::holding([Object::from(tenant)]);
        let step = provider.reconcile(&objects.view(&peer), exchange.env());
        let refusal = step.err().map(|error| error.fault().clone());
        let too_long = PolicyRefusal::ClusterIdTooLong { found, limit: 51 };
        assert_eq!(refusal, (found > 51).then_some(too_long.into()));
        // A look says what the step could not do.
        let machine: &dyn Machine = &provider;
        let status = machine.look(&objects.view(&peer), exchange.now).unwrap();
        let refused = status.refused.into_iter().next();
        assert_eq!(
            refused.map(|refused| refused.error.fault().clone()),
            refusal
        );
    }
}

#[test]
fn draining_and_ending_withdraw_the_rights() {
    let notary = Notary::new(YEAR);
    let mut exchange = tolerated(&notary);
    exchange.turns_of_provider();
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    let step = settled(&mut exchange);
    assert_eq!(bindings(&exchange), 0);
    assert_eq!(step.refused, []);
    // The condition is on record. A Tenant that says Active does not lift it.
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = None);
    settled(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Drained");
    let step = exchange
        .provider
        .lift_condition(&exchange.provider_view())
        .unwrap();
    exchange.carry_out(true, step);
    settled(&mut exchange);
    assert_eq!(bindings(&exchange), 1);

    let step = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, step);
    settled(&mut exchange);
    assert_eq!(bindings(&exchange), 0);
    // There is no key, certificate or nonce, so nothing has to stay on record.
    assert_eq!(exchange.provider_phase().name(), "Uninvited");
}

#[test]
fn a_crash_after_any_effect_leads_to_the_same_objects() {
    let notary = Notary::new(YEAR);
    let mut undisturbed = tolerated(&notary);
    settled(&mut undisturbed);
    for steps in 0..3 {
        for effects in 0..5 {
            let mut crashing = tolerated(&notary);
            for _ in 0..steps {
                crashing.turn_of_provider();
            }
            let view = crashing.provider_view();
            let step = crashing.provider.reconcile(&view, crashing.env()).unwrap();
            for effect in step.effects.iter().take(effects) {
                crashing.at_provider.apply(effect).unwrap();
            }
            settled(&mut crashing);
            let ids = |exchange: &Exchange| -> Vec<_> {
                exchange.at_provider.iter().map(Object::id).collect()
            };
            assert_eq!(ids(&crashing), ids(&undisturbed));
        }
    }
}

fn tolerated(notary: &std::sync::Arc<Notary>) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = provider(notary, |builder| builder);
    let tenant = Tenant {
        metadata: Metadata {
            name: "cl-consumer".into(),
            namespace: "liqo-tenant-cl-consumer".into(),
            labels: [(
                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                "cl-consumer".to_owned(),
            )]
            .into(),
            ..Metadata::default()
        },
        spec: TenantSpec {
            cluster_id: "cl-consumer".into(),
            authz_policy: Some(AuthzPolicy::TolerateNoHandshake),
            ..TenantSpec::default()
        },
        ..Tenant::default()
    };
    exchange.at_provider.insert(tenant.into());
    exchange
}

fn provider(
    notary: &std::sync::Arc<Notary>,
    configure: impl FnOnce(ProviderBuilder) -> ProviderBuilder,
) -> Provider {
    notary.provider(|builder| {
        configure(builder.configure(|config| {
            config
                .peers
                .entry(id("cl-consumer"))
                .or_default()
                .tolerate_no_handshake = true
        }))
    })
}

fn settled(exchange: &mut Exchange) -> Step {
    for _ in 0..8 {
        let view = exchange.provider_view();
        let step = exchange.provider.reconcile(&view, exchange.env()).unwrap();
        let step = exchange.carry_out(true, step);
        if step.is_settled() {
            return step;
        }
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

fn refused(exchange: &Exchange) -> Fault {
    match exchange.provider_phase() {
        provider::Phase::Refused(error) => error.fault().clone(),
        phase => panic!("{phase:?}"),
    }
}

fn bindings(exchange: &Exchange) -> usize {
    let objects = exchange.at_provider.iter();
    objects.filter_map(ClusterRoleBinding::from_object).count()
}
