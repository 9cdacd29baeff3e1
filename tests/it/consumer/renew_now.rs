//! The annotation that requests the next certificate at once.

use liqo_auth::{
    audit::Decision,
    consumer::{PeerSettings, Renewal, RenewalScheme},
    error::{Fault, Precondition},
    machine::{MessageBody, Step},
    model::{Identity, names},
};

use crate::{
    clusters::exchange::ed25519,
    consumer::home::{HOUR, Home, IDENTITY, MINUTE, YEAR, issue_control_plane},
};

fn home(renewal: RenewalScheme) -> Home {
    Home::with(PeerSettings {
        renewal,
        ..PeerSettings::default()
    })
    .authenticate(YEAR)
}

fn annotate(home: &mut Home, value: &str) {
    let mut identity = home.identity_of(IDENTITY);
    let annotation = names::RENEW_ANNOTATION.to_owned();
    identity
        .metadata
        .annotations
        .insert(annotation, value.to_owned());
    home.objects.insert(identity.into());
}

fn annotation(identity: &Identity) -> Option<&str> {
    let annotations = &identity.metadata.annotations;
    annotations.get(names::RENEW_ANNOTATION).map(String::as_str)
}

fn asks(step: &Step) -> bool {
    let mut decisions = step.events.iter().map(|event| &event.decision);
    decisions.any(|decision| *decision == Decision::RenewalRequested)
}

fn is_asked_for(home: &Home) -> bool {
    home.renew().is_some_and(|renew| !renew.spec.csr.is_empty())
}

#[test]
fn the_annotation_makes_a_certificate_due_once() {
    for scheme in [RenewalScheme::ByConsumer, RenewalScheme::ByEvidence] {
        for value in ["true", "True"] {
            let mut home = home(scheme);
            assert!(!is_asked_for(&home));
            annotate(&mut home, value);
            assert_eq!(home.held().renewal, Renewal::Due);
            assert!(asks(&home.turn()));
            assert!(is_asked_for(&home));
            assert!(!asks(&home.settle()));
            let renewal = home.held().renewal;
            assert!(matches!(renewal, Renewal::Awaited { .. }), "{renewal:?}");

            home.now = home.now + HOUR;
            let next = home.issue(YEAR);
            home.answer_renew(next.clone());
            home.settle();
            let identity = home.identity_of(IDENTITY);
            assert_eq!(identity.spec.auth_params, next);
            // The annotation is removed with the answer, so that there is no
            // loop of renewals.
            assert_eq!(annotation(&identity), None);
            assert!(!is_asked_for(&home));
            let renewal = home.held().renewal;
            assert!(matches!(renewal, Renewal::NotBefore(_)), "{renewal:?}");

            annotate(&mut home, value);
            assert!(asks(&home.turn()));
        }
    }
}

#[test]
fn after_a_bad_answer_the_request_is_not_repeated() {
    let mut home = home(RenewalScheme::ByConsumer);
    annotate(&mut home, "true");
    home.settle();
    home.now = home.now + MINUTE;
    let older = issue_control_plane(&*ed25519(1), home.now - 5 * MINUTE, 2 * HOUR);
    home.answer_renew(older);
    home.turn();
    let Fault::Precondition(fault) = home.refused[0].fault() else {
        panic!("{:?}", home.refused);
    };
    assert!(matches!(fault, Precondition::NotNewer { .. }), "{fault}");
    for _ in 0..4 {
        assert!(!asks(&home.turn()));
    }
    assert!(!is_asked_for(&home));
    let renewal = home.held().renewal;
    assert!(matches!(renewal, Renewal::PeerCannot(_)), "{renewal:?}");
    assert_eq!(annotation(&home.identity_of(IDENTITY)), Some("true"));
}

#[test]
fn an_identity_that_is_handed_over_removes_the_annotation() {
    let mut home = home(RenewalScheme::ByConsumer);
    annotate(&mut home, "true");
    let same = Box::new(home.identity(&home.identity_of(IDENTITY).spec.auth_params));
    home.receive(MessageBody::Identity(same)).unwrap();
    assert_eq!(annotation(&home.identity_of(IDENTITY)), Some("true"));
    home.now = home.now + HOUR;
    let next = Box::new(home.identity(&home.issue(YEAR)));
    home.receive(MessageBody::Identity(next)).unwrap();
    assert_eq!(annotation(&home.identity_of(IDENTITY)), None);
}

#[test]
fn other_values_and_other_schemes_request_nothing() {
    for value in ["false", "", "TRUE", "1"] {
        let mut home = home(RenewalScheme::ByConsumer);
        annotate(&mut home, value);
        assert!(!asks(&home.turn()), "{value}");
        assert!(!is_asked_for(&home));
    }
    for scheme in [RenewalScheme::ByProvider, RenewalScheme::ByHand] {
        let mut home = home(scheme);
        annotate(&mut home, "true");
        assert!(!asks(&home.turn()), "{scheme:?}");
        assert!(!is_asked_for(&home));
    }
    // A provider that has renewed by itself before.
    let mut home = home(RenewalScheme::ByEvidence);
    let same = home.identity_of(IDENTITY).spec.auth_params;
    home.answer_renew(same);
    home.settle();
    annotate(&mut home, "true");
    assert!(!asks(&home.turn()));
    assert!(!is_asked_for(&home));
}
