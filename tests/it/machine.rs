//! Both sides through one trait: the same driver works for a provider and for a
//! consumer.

use liqo_auth::machine::{Holder, HolderStatus, Machine, Notice, Side, Stage, Status, View};

use crate::clusters::{
    exchange::{Exchange, Setup},
    pool::{self, Pool, key, replica, replica_of},
    store,
};

#[test]
fn both_sides_report_their_status_in_one_form() {
    let mut exchange = Setup::new().exchange();
    let [provider, consumer] = looks(&exchange);
    assert_eq!(
        (provider.side, consumer.side),
        (Side::Provider, Side::Consumer)
    );
    assert_eq!(provider.peer, *exchange.consumer.cluster_id());
    assert_eq!(consumer.peer, *exchange.provider.cluster_id());
    assert_eq!(told(&provider), ("Uninvited", Stage::Waiting));
    assert_eq!(told(&consumer), ("AwaitsNonce", Stage::Waiting));

    exchange.turn_of_provider();
    exchange.turn_of_provider();
    assert_eq!(told(&looks(&exchange)[0]), ("AwaitsTenant", Stage::Waiting));
    exchange.deliver("nonce");
    assert_eq!(
        told(&looks(&exchange)[1]),
        ("AwaitsIdentity", Stage::Waiting)
    );
    exchange.deliver("Tenant");
    assert_eq!(told(&looks(&exchange)[0]).1, Stage::InProgress);

    exchange.settle();
    for status in looks(&exchange) {
        assert_eq!(told(&status), ("Authenticated", Stage::Authenticated));
        let HolderStatus {
            holder,
            valid_until,
            renewal_due_at,
            refused,
            ..
        } = status.control_plane;
        assert_eq!(holder, Holder::ControlPlane);
        assert_eq!(valid_until, Some(exchange.certificate().leaf().not_after));
        assert!(renewal_due_at > Some(exchange.now) && renewal_due_at < valid_until);
        assert_eq!(refused, None);
    }
}

#[test]
fn a_status_has_the_same_notices_as_a_step() {
    let mut setup = Setup::new();
    setup.provider_key = None;
    let mut exchange = setup.exchange();
    exchange.at_provider = store::empty();
    exchange.settle();
    let roles_are_missing = |notice: &Notice| matches!(notice, Notice::NoClusterRole { .. });
    for (status, machine, view) in both(&exchange) {
        let step = machine.reconcile(&view, exchange.env()).unwrap();
        assert_eq!(status.notices, step.notices, "{:?}", status.side);
        let wants_roles = status.side == Side::Provider;
        assert_eq!(status.notices.iter().any(roles_are_missing), wants_roles);
        assert_eq!(
            status.notices.contains(&Notice::ProviderUnproven),
            !wants_roles
        );
    }
}

#[test]
fn a_refusal_has_its_error_in_the_status() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    exchange.edit_tenant(|tenant| tenant.spec.public_key = b"none".as_slice().into());
    let [provider, _] = looks(&exchange);
    assert_eq!(told(&provider).1, Stage::Refused);
    assert!(provider.control_plane.refused.is_some());
}

#[test]
fn slices_are_holders_in_addition_to_the_control_plane() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.bring(replica_of("cl-consumer", "other", &key(9)))
        .settle();
    let provider: &dyn Machine = &pool.provider;
    let status = provider
        .look(&pool.at_provider.view(&pool::consumer()), pool.now)
        .unwrap();
    let holders: Vec<_> = status
        .holders()
        .map(|status| (status.holder.to_string(), status.phase, status.stage))
        .collect();
    assert_eq!(
        holders,
        [
            (
                "control plane".to_owned(),
                "Authenticated",
                Stage::Authenticated
            ),
            (
                "resource slice mypool".to_owned(),
                "Accepted",
                Stage::Authenticated
            ),
            ("resource slice other".to_owned(), "Refused", Stage::Refused),
        ]
    );
    assert!(status.slices[0].valid_until > status.slices[0].renewal_due_at);
    assert!(status.slices[1].refused.is_some());
}

/// The statuses of both sides, the provider's first.
fn looks(exchange: &Exchange) -> [Status; 2] {
    both(exchange).map(|(status, ..)| status)
}

fn both(exchange: &Exchange) -> [(Status, &dyn Machine, View<'_>); 2] {
    let sides: [(&dyn Machine, View<'_>); 2] = [
        (&exchange.provider, exchange.provider_view()),
        (&exchange.consumer, exchange.consumer_view()),
    ];
    sides.map(|(machine, view)| (machine.look(&view, exchange.now).unwrap(), machine, view))
}

fn told(status: &Status) -> (&'static str, Stage) {
    (status.control_plane.phase, status.control_plane.stage)
}
