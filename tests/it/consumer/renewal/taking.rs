//! Which renewed certificates replace the current one.

use liqo_auth::{
    consumer::{Renewal, RenewalScheme},
    crypto::{Authority, CertificateChain, CertificateError, Entropy},
    error::{Fault, PeerIncompatible, PeerMisbehaved, Precondition},
    model::{AuthParams, Bytes, Kind, Object, ResourceSliceConditionStatus::Accepted, Timestamp},
    policy::Policy,
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
            |fault| {
                matches!(
                    fault,
                    Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
                )
            },
        ),
        (
            "an older certificate",
            |given, home| {
                *given = issue_control_plane(&*ed25519(1), home.now - 45 * MINUTE, 50 * MINUTE);
            },
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
            |fault| *fault == PeerIncompatible::ProxyMismatch.into(),
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
                let (cause, _) = reported(&home);
                let is_kept = cause == PeerIncompatible::EndpointChanged.into();
                assert!(is_kept || is_unusable(&cause), "{name}: {cause:?}");
                assert_eq!(is_kept, name == "another API server");
            }
        }
    }
}

/// The answer is deleted, and what it differed from is still named, until the pins are released.
#[test]
fn a_changed_endpoint_stays_the_cause_of_a_refused_renewal() {
    type Tamper = fn(&mut AuthParams, Timestamp);
    let cases: [(&str, Tamper); 2] = [
        ("spec.authParams.apiServer", |given, _| {
            given.api_server = "https://203.0.113.9:6443".to_owned();
        }),
        ("spec.authParams.ca", |given, now| {
            let entropy = Entropy::from_bytes([8; 32]);
            let other = Authority::new("other", now, YEAR, &entropy).unwrap();
            given.ca = Bytes::from(other.ca_bundle().pem());
        }),
    ];
    for (field, tamper) in cases {
        let mut home = Home::authenticated(HOUR);
        home.now = home.now + 41 * MINUTE;
        home.settle();
        let mut given = home.issue(YEAR);
        tamper(&mut given, home.now);
        home.answer_renew(given);
        home.settle();
        assert_eq!(home.renew(), None);
        assert_eq!(
            reported(&home),
            (PeerIncompatible::EndpointChanged.into(), field.to_owned())
        );
        let step = home.consumer.release_pins(&home.view()).unwrap();
        home.carry_out(step);
        let (cause, field) = reported(&home);
        assert!(is_unusable(&cause), "{cause:?}");
        assert_eq!(field, "spec.authParams.signedCRT");
    }
}

/// Why the next certificate does not come, and the field of the Identity.
fn reported(home: &Home) -> (Fault, String) {
    let Renewal::PeerCannot(error) = home.held().renewal else {
        panic!("{:?}", home.held().renewal);
    };
    (error.fault().clone(), error.at().field.to_string())
}

fn is_unusable(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::PeerIncompatible(PeerIncompatible::RenewalUnusable { .. })
    )
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

/// The provider's next CA, or its next lifetime, makes certificates that end earlier.
#[test]
fn a_later_certificate_that_ends_earlier_is_taken_and_the_earlier_one_does_not_come_back() {
    type Come = fn(&mut Home, &AuthParams);
    let ways: [Come; 2] = [
        |home, given| home.answer_renew(given.clone()),
        |home, given| {
            let identity = home.identity(given);
            home.receive(identity).unwrap();
        },
    ];
    for comes in ways {
        let mut home = Home::authenticated(YEAR);
        let first = home.identity_of(IDENTITY).spec.auth_params;
        home.now = home.now + MINUTE;
        let second = home.issue(2 * HOUR);
        comes(&mut home, &second);
        home.settle();
        assert_eq!(home.refused, []);
        let holds = |home: &Home| home.identity_of(IDENTITY).spec.auth_params;
        assert_eq!(holds(&home), second);
        assert_eq!(home.phase(), "Authenticated");
        // It is due by its own end.
        let due = home.now + 80 * MINUTE;
        assert_eq!(home.held().renewal, Renewal::NotBefore(due));

        let is_older = |fault: &Fault| {
            let expected = Precondition::Older {
                found: begin(&first),
                none_before: begin(&second),
            };
            *fault == expected.into()
        };
        let comes_back = |home: &mut Home| {
            let error = home.receive(home.identity(&first)).unwrap_err();
            assert!(is_older(error.fault()), "{error}");
            assert_eq!(error.at().field, "spec.authParams.signedCRT");
            home.answer_renew(first.clone());
            home.turn();
            let [error] = &home.refused[..] else {
                panic!("{:?}", home.refused);
            };
            assert!(is_older(error.fault()), "{error}");
            assert_eq!(error.at().field, "status.authParams.signedCRT");
        };
        comes_back(&mut home);
        assert_eq!(holds(&home), second);
        // Nor does it after the next renewal.
        home.now = home.now + HOUR;
        let third = home.issue(2 * HOUR);
        comes(&mut home, &third);
        home.settle();
        assert_eq!(holds(&home), third);
        comes_back(&mut home);
        // The second one ends earlier than the third, and began before it.
        let error = home.receive(home.identity(&second)).unwrap_err();
        assert!(matches!(
            error.fault(),
            Fault::Precondition(Precondition::NotNewer { .. })
        ));
        // Nor does it when the last one has ended.
        home.now = home.now + 3 * HOUR;
        let error = home.receive(home.identity(&first)).unwrap_err();
        assert!(is_older(error.fault()), "{error}");
        home.answer_renew(first.clone());
        home.turn();
        assert_eq!(home.phase(), "Refused");
        assert_eq!(holds(&home), third);
    }
}

#[test]
fn that_of_a_slice_does_not_come_back_either() {
    let mut home = Home::with_slice(YEAR);
    let first = home.identity_of("resourceslice-mypool").spec.auth_params;
    home.now = home.now + MINUTE;
    home.accept_slice(HOUR);
    home.settle();
    assert_eq!(home.refused, []);
    let second = home.identity_of("resourceslice-mypool");
    assert_eq!(
        Some(&second.spec.auth_params),
        home.slice().status.auth_params.as_ref()
    );
    home.answer_slice(Accepted, Some(first));
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.refused[0].fault(),
        Fault::Precondition(Precondition::Older { .. })
    ));
    assert_eq!(home.identity_of("resourceslice-mypool"), second);
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn another_peering_may_begin_with_a_certificate_of_any_age() {
    let mut home = Home::authenticated(YEAR);
    let first = home.identity_of(IDENTITY).spec.auth_params;
    home.now = home.now + MINUTE;
    home.receive(home.identity(&home.issue(HOUR))).unwrap();
    home.settle();
    let end = home.consumer.unauthenticate(&home.view()).unwrap();
    home.carry_out(end);
    home.settle();
    home.sign_nonce(8);
    home.receive(home.identity(&first)).unwrap();
    home.settle();
    assert_eq!(home.phase(), "Authenticated");
}

fn begin(given: &AuthParams) -> Timestamp {
    let pem = given.signed_crt.as_slice();
    let chain = CertificateChain::from_pem(pem, &Policy::strict()).unwrap();
    chain.leaf().not_before
}

fn is_certificate(fault: &Fault, is: impl Fn(&CertificateError) -> bool) -> bool {
    matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(error)) if is(error))
}
