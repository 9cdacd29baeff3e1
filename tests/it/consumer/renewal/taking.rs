//! Which renewed certificates replace the current one.

use liqo_auth::{
    consumer::{Renewal, RenewalScheme},
    crypto::CertificateError,
    error::{Fault, PeerIncompatible, PeerMisbehaved, Precondition},
    model::{AuthParams, Kind, Object},
};

use super::by;
use crate::{
    clusters::exchange::ed25519,
    consumer::home::{HOUR, Home, IDENTITY, MINUTE, YEAR, issue_control_plane, object},
};

#[test]
fn a_bad_answer_in_a_renew_is_refused_and_the_identity_stays() {
    type Tamper = fn(&mut AuthParams, &Home);
    type Expected = fn(&Fault) -> bool;
    let cases: [(&str, Tamper, Expected); 6] = [
        (
            "another key's certificate",
            |given, home| *given = issue_control_plane(&*ed25519(3), home.now, YEAR),
            |fault| is_certificate(fault, |error| matches!(error, CertificateError::Key { .. })),
        ),
        (
            "an older certificate",
            |given, home| *given = issue_control_plane(&*ed25519(1), home.now, MINUTE),
            |fault| matches!(fault, Fault::Precondition(Precondition::NotNewer { .. })),
        ),
        (
            "an expired certificate",
            |given, home| {
                *given = issue_control_plane(&*ed25519(1), home.now - 2 * MINUTE, MINUTE);
            },
            |fault| {
                matches!(
                    fault,
                    Fault::PeerIncompatible(PeerIncompatible::CertificateExpired { .. })
                )
            },
        ),
        (
            "another API server",
            |given, _| given.api_server = "https://203.0.113.9:6443".to_owned(),
            |fault| *fault == PeerIncompatible::EndpointChanged.into(),
        ),
        (
            "a proxy",
            |given, _| given.proxy_url = Some("http://203.0.113.9:8118".to_owned()),
            |fault| *fault == PeerMisbehaved::ProxyMismatch.into(),
        ),
        (
            "no certificate",
            |given, _| given.signed_crt = b"-----BEGIN".as_slice().into(),
            |fault| is_certificate(fault, |error| matches!(error, CertificateError::Pem(_))),
        ),
    ];
    for (name, tamper, expected) in cases {
        for asked in [false, true] {
            let mut home = Home::authenticated(HOUR);
            home.now = home.now + 41 * MINUTE;
            if asked {
                home.settle();
            }
            let held = home.identity_of(IDENTITY);
            let kubeconfig = home.kubeconfig(IDENTITY);
            let mut given = home.issue(YEAR);
            tamper(&mut given, &home);
            home.answer_renew(given);
            let step = home.turn();
            assert!(
                matches!(&home.refused[..], [error] if expected(error.fault())),
                "{name}: {:?}",
                home.refused
            );
            assert_eq!(
                step.refused[0].object,
                Some(object(Kind::Renew, IDENTITY)),
                "{name}"
            );
            home.settle();
            assert_eq!(home.identity_of(IDENTITY).spec, held.spec, "{name}");
            assert_eq!(home.kubeconfig(IDENTITY), kubeconfig, "{name}");
            assert_eq!(home.phase(), "Authenticated", "{name}");
            if asked {
                // After a bad answer, the provider is not asked again, and so
                // it signs no more.
                assert_eq!(home.renew(), None, "{name}");
                assert!(matches!(
                    home.held().renewal,
                    Renewal::PeerCannot(error) if matches!(
                        error.fault(),
                        Fault::PeerIncompatible(PeerIncompatible::RenewalUnusable { .. })
                    )
                ));
            }
        }
    }
}

#[test]
fn a_certificate_that_is_not_yet_valid_is_awaited() {
    let mut home = by(RenewalScheme::ByConsumer, HOUR);
    home.now = home.now + 41 * MINUTE;
    home.settle();
    // The provider's clock is half an hour ahead. Signers set notBefore back by
    // five minutes.
    let begins = home.now + 10 * MINUTE;
    let given = issue_control_plane(&*ed25519(1), begins + 5 * MINUTE, HOUR);
    home.answer_renew(given.clone());
    let step = home.settle();
    assert!(matches!(
        home.refused[0].fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateNotYetValid { .. })
    ));
    assert!(home.renew().is_some());
    assert!(step.wait.wake_at.unwrap() <= begins);
    home.now = begins;
    home.settle();
    assert_eq!(home.identity_of(IDENTITY).spec.auth_params, given);
}

#[test]
fn an_unreadable_renew_changes_nothing_else() {
    let mut home = Home::authenticated(HOUR);
    let mut renew = Object::from(home.renew().unwrap()).to_value();
    renew["status"] = serde_json::json!({ "authParams": 5 });
    home.objects.insert(Object::from_value(renew));
    assert!(home.turn().is_settled());
    assert_eq!(home.refused.len(), 1);
    assert_eq!(home.phase(), "Authenticated");
}

#[test]
fn an_expired_identity_is_replaced_by_the_certificate_in_the_channel() {
    let mut home = Home::authenticated(HOUR);
    home.now = home.now + 2 * HOUR;
    assert_eq!(home.phase(), "Refused");
    home.answer_renew(home.issue(HOUR));
    assert_eq!(home.phase(), "NeedsIdentity");
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
}

#[test]
fn the_endpoint_may_change_only_after_a_release_of_the_pins() {
    let mut home = Home::authenticated(HOUR);
    home.now = home.now + MINUTE;
    let mut moved = home.issue(HOUR);
    moved.api_server = "https://172.19.0.4:6443".to_owned();
    home.answer_renew(moved.clone());
    home.settle();
    assert_eq!(
        home.refused[0].fault(),
        &PeerIncompatible::EndpointChanged.into()
    );
    // The release of the pins lasts until another Identity comes.
    let renew = home.renew().unwrap();
    home.objects.remove(&object(Kind::Renew, IDENTITY));
    let step = home.consumer.release_pins(&home.view()).unwrap();
    home.carry_out(step);
    home.settle();
    home.objects.insert(renew.into());
    home.settle();
    assert_eq!(home.refused, []);
    assert_eq!(home.identity_of(IDENTITY).spec.auth_params, moved);
    assert_eq!(home.phase(), "Authenticated");
    assert_eq!(home.record()["endpoint"]["apiServer"], moved.api_server);
}

#[test]
fn an_older_identity_that_is_handed_over_is_refused() {
    let mut home = Home::authenticated(HOUR);
    let before = home.objects.clone();
    let older = home.identity(&home.issue(MINUTE));
    let error = home.receive(older).unwrap_err();
    assert_eq!(
        error.fault(),
        &Precondition::NotNewer {
            found: home.now + MINUTE,
            held: home.now + HOUR,
        }
        .into()
    );
    assert_eq!(home.objects, before);
}

fn is_certificate(fault: &Fault, is: impl Fn(&CertificateError) -> bool) -> bool {
    matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(error)) if is(error))
}
