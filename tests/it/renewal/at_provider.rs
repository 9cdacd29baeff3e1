//! A provider renews its certificates: in time, once, and without a gap.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine,
    audit::Decision,
    crypto::CertificateChain,
    error::{ApiMisuse, Backend, Error, Fault, LocalFault, PeerIncompatible, PolicyRefusal},
    machine::{Awaited, Notice, Step},
    model::{Secret, TenantCondition, Timestamp, names},
    provider::{self, CredentialRequest, Issued, Renewal},
};

use crate::clusters::{
    exchange::{self, Exchange, Setup, now},
    notary::{DAY, Mood, Notary, YEAR},
};

#[test]
fn a_certificate_is_renewed_at_two_thirds_of_its_life() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let first = exchange.certificate();
    let due = now() + 60 * DAY;
    assert_eq!(exchange.turn_of_provider().wait.wake_at, Some(due));

    exchange.now = due - SECOND;
    assert!(matches!(renewal_of(&exchange), Renewal::NotBefore(at) if at == due));
    assert!(exchange.turn_of_provider().is_settled());
    assert_eq!(notary.signed(), 1);

    exchange.now = due;
    assert!(matches!(renewal_of(&exchange), Renewal::Due(_)));
    let step = exchange.turn_of_provider();
    let issued = step.events.iter().find_map(|event| match &event.decision {
        Decision::CertificateIssued {
            certificate,
            replaces,
            ..
        } => Some((*certificate, *replaces)),
        _ => None,
    });
    let second = exchange.certificate();
    assert_eq!(
        issued,
        Some((
            second.leaf().fingerprint(),
            Some(first.leaf().fingerprint())
        ))
    );
    // The certificate changes first, then the status, then the Identity.
    assert_eq!(step.outbox, []);
    assert_eq!(exchange.provider_phase().name(), "NeedsRights");
    let step = settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(handed_out(&exchange), second.pem());
    assert_eq!(step.outbox.len(), 1);
    assert!(step.notices.contains(&Notice::RenewalNotCarried));
    assert_eq!(second.leaf().not_after, due + 90 * DAY);
    assert_eq!(notary.signed(), 2);
}

/// Whatever happens to a renewal, the current certificate stays: in the phase,
/// in the status and in the Identity.
#[test]
fn a_failed_renewal_leaves_the_current_certificate() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let first = exchange.certificate();
    exchange.now = now() + 61 * DAY;
    let before = exchange.at_provider.clone();

    notary.mood(Mood::Keeps);
    let step = exchange.turn_of_provider();
    let Renewal::Due(request) = renewal_of(&exchange) else {
        panic!("{:?}", renewal_of(&exchange));
    };
    assert_eq!(step.wait.awaiting, [Awaited::Credential(request.id)]);
    assert_eq!(step.outbox.len(), 1);
    assert_eq!(exchange.at_provider, before);

    notary.mood(Mood::Fails);
    let step = exchange.turn_of_provider();
    assert_eq!(
        faults(&step),
        [LocalFault::Backend {
            backend: Backend::Credentials,
            message: "the signer is away".into()
        }
        .into()]
    );
    // A signer that fails is asked again soon. After a wrong answer there is a
    // pause.
    assert_eq!(step.wait.wake_at, Some(exchange.now + 60 * SECOND));
    assert_eq!(exchange.at_provider, before);

    notary.mood(Mood::Gives(other_peers_certificate()));
    let step = exchange.turn_of_provider();
    assert_eq!(step.wait.wake_at, Some(exchange.now + 9 * DAY));
    assert!(matches!(
        step.refused[0].error.fault(),
        Fault::ApiMisuse(ApiMisuse::SignerCertificate(_))
    ));
    assert_eq!(exchange.at_provider, before);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(exchange.certificate(), first);

    notary.mood(Mood::Signs);
    settle(&mut exchange);
    assert_ne!(exchange.certificate(), first);
    assert_eq!(notary.signed(), 2);
}

#[test]
fn a_denied_renewal_is_repeated_a_few_times_but_not_in_a_loop() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let first = exchange.certificate();
    exchange.now = now() + 60 * DAY;
    notary.mood(Mood::Denies("not on Saturdays"));
    let asked = notary.asked();
    let denied = PolicyRefusal::CredentialDenied {
        reason: "not on Saturdays".into(),
    };
    for _ in 0..5 {
        let step = exchange.turn_of_provider();
        assert_eq!(faults(&step), [denied.clone().into()]);
        assert_eq!(step.wait.wake_at, Some(now() + 69 * DAY));
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
    }
    assert_eq!(notary.asked(), asked + 1);
    assert!(matches!(
        renewal_of(&exchange),
        Renewal::Denied { again_at, .. } if again_at == now() + 69 * DAY
    ));
    // A clock that is set back does not delay the next attempt.
    exchange.now = now() + 60 * DAY - SECOND;
    assert!(matches!(renewal_of(&exchange), Renewal::NotBefore(_)));

    // Until the certificate expires, the signer is asked three more times. Then
    // no certificate is left.
    exchange.now = now() + 60 * DAY;
    run_until(&mut exchange, now() + 90 * DAY);
    assert_eq!(notary.asked(), asked + 4);
    assert_eq!(exchange.certificate(), first);
    exchange.now = now() + 90 * DAY + SECOND;
    assert_eq!(exchange.provider_phase().name(), "NeedsCredential");
    notary.mood(Mood::Signs);
    settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(notary.signed(), 2);
}

/// A denial counts for its own request, and not before its own time.
#[test]
fn a_denied_renewal_delays_no_other_request() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let denied_at = now() + 61 * DAY;
    exchange.now = denied_at;
    notary.mood(Mood::Denies("not on Saturdays"));
    exchange.turn_of_provider();
    assert!(matches!(renewal_of(&exchange), Renewal::Denied { .. }));
    // The clock was ahead, and the renewal is due nevertheless.
    exchange.now = denied_at - SECOND;
    assert!(matches!(renewal_of(&exchange), Renewal::Due(_)));
    // A request for another lifetime is another request.
    exchange.now = denied_at;
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = 80 * DAY));
    assert!(matches!(renewal_of(&exchange), Renewal::Due(_)));
}

/// The signer's own certificate expires. A certificate cannot be valid longer
/// than its signer's.
#[test]
fn a_certificate_that_does_not_expire_later_is_no_renewal() {
    let notary = Notary::forgetful(100 * DAY);
    let mut exchange = authenticated(&notary, YEAR);
    let first = exchange.certificate();
    let end = now() + 100 * DAY;
    assert_eq!(first.leaf().not_after, end);
    exchange.now = now() + 100 * DAY / 3 * 2;
    let step = exchange.turn_of_provider();
    let refusal = PolicyRefusal::RenewalEndsNoLater {
        found: end,
        present: end,
    };
    assert_eq!(faults(&step), [refusal.clone().into()]);
    assert_eq!(exchange.certificate(), first);
    for _ in 0..5 {
        assert_eq!(
            faults(&exchange.turn_of_provider()),
            [refusal.clone().into()]
        );
    }
    assert_eq!(notary.signed(), 2);
    run_until(&mut exchange, end);
    assert!(notary.signed() <= 6, "{}", notary.signed());
    assert_eq!(exchange.certificate(), first);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
}

/// The Kubernetes signer sets notBefore back by five minutes. Measured from
/// notBefore, a certificate with a lifetime of 90 seconds would be due before
/// it is made.
#[test]
fn certificates_that_live_for_90_seconds_are_not_renewed_in_a_loop() {
    for forgets in [false, true] {
        let notary = if forgets {
            Notary::forgetful(30 * YEAR)
        } else {
            Notary::new(30 * YEAR)
        };
        let mut exchange = authenticated(&notary, Duration::from_secs(90));
        run_until(&mut exchange, now() + Duration::from_secs(3600));
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        // One certificate each minute, and the first one.
        assert_eq!(notary.signed(), 61);
    }
}

#[test]
fn certificates_that_live_for_a_second_are_signed_once_a_second_at_most() {
    let notary = Notary::forgetful(30 * YEAR);
    let mut exchange = authenticated(&notary, SECOND);
    for _ in 0..20 {
        exchange.turn_of_provider();
    }
    assert!(notary.signed() <= 2, "{}", notary.signed());
    for second in 1..30 {
        exchange.now = now() + Duration::from_secs(second);
        for _ in 0..4 {
            exchange.turn_of_provider();
        }
    }
    assert!(notary.signed() <= 60, "{}", notary.signed());
}

/// Ten years with a clock that is sometimes wrong, forward and back, by minutes
/// and by years. Each jump costs at most one certificate.
#[test]
fn after_ten_years_the_certificate_is_valid_and_no_signature_was_needless() {
    for (lifetime, jumps) in [(YEAR, 0), (90 * DAY, 0), (90 * DAY, 40), (7 * DAY, 40)] {
        let notary = Notary::forgetful(40 * YEAR);
        let mut exchange = authenticated(&notary, lifetime);
        let end = now() + 10 * YEAR;
        for jump in 0..jumps {
            run_until(&mut exchange, now() + 10 * YEAR / jumps * jump);
            let right = exchange.now;
            exchange.now = match jump % 5 {
                0 => right + Duration::from_secs(200),
                1 => right - Duration::from_secs(200),
                2 => right + lifetime,
                3 => right - lifetime / 2,
                _ => right - lifetime * 2,
            };
            if exchange.now < now() {
                exchange.now = now();
            }
            settle(&mut exchange);
            assert_eq!(exchange.provider_phase().name(), "Authenticated", "{jump}");
            exchange.now = right;
            settle(&mut exchange);
            assert_eq!(exchange.provider_phase().name(), "Authenticated", "{jump}");
        }
        run_until(&mut exchange, end);
        exchange.now = end;
        settle(&mut exchange);
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
        assert!(exchange.certificate().leaf().not_after > end);
        let interval = lifetime / 3 * 2;
        let needed = 1 + (10 * YEAR).as_secs().div_ceil(interval.as_secs());
        let needed = usize::try_from(needed).unwrap();
        let jumps = usize::try_from(jumps).unwrap();
        // A jump and its correction: two certificates.
        assert!(
            notary.signed() <= needed + 2 * jumps,
            "{} signed, {needed} needed, {jumps} jumps",
            notary.signed(),
        );
        assert!(notary.signed() + jumps >= needed - 1, "{}", notary.signed());
    }
}

#[test]
fn a_crash_after_any_effect_of_a_renewal_causes_no_second_request() {
    let notary = Notary::new(30 * YEAR);
    let mut before = authenticated(&notary, 90 * DAY);
    before.now = now() + 60 * DAY;
    let mut undisturbed = copy(&before);
    settle(&mut undisturbed);
    assert_eq!(notary.signed(), 2);
    for steps in 0..4 {
        for effects in 0..3 {
            let mut crashing = copy(&before);
            for _ in 0..steps {
                crashing.turn_of_provider();
            }
            let step = reconciled(&crashing);
            for effect in step.effects.iter().take(effects) {
                crashing.at_provider.apply(effect).unwrap();
            }
            // The peer stays authenticated in between.
            let phase = crashing.provider_phase().name();
            assert!(["Authenticated", "NeedsRights"].contains(&phase), "{phase}");
            crashing.now = crashing.now + SECOND;
            settle(&mut crashing);
            assert_eq!(crashing.certificate(), undisturbed.certificate());
            assert_eq!(handed_out(&crashing), handed_out(&undisturbed));
            assert_eq!(notary.signed(), 2, "{steps} {effects}");
        }
    }
}

/// The peer can write the Secret. The Secret is restored from the record, and
/// nothing is signed for that.
#[test]
fn a_secret_that_the_peer_changed_is_restored_without_the_signer() {
    let notary = Notary::forgetful(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let old = exchange.provider_secret(names::ISSUED_CERTIFICATE_SECRET);
    exchange.now = now() + 60 * DAY;
    settle(&mut exchange);
    let renewed = exchange.certificate();
    let planted: [fn(&mut Secret); 3] = [
        |_| {},
        |secret| secret.data.clear(),
        |secret| {
            secret
                .data
                .insert("certificate".into(), b"junk".to_vec().into());
        },
    ];
    for plant in planted {
        let mut secret = old.clone();
        plant(&mut secret);
        exchange.at_provider.insert(secret.into());
        settle(&mut exchange);
        assert_eq!(exchange.certificate(), renewed);
        assert_eq!(exchange.provider_phase().name(), "Authenticated");
    }
    assert_eq!(notary.signed(), 2);
}

#[test]
fn a_drained_peer_is_not_renewed_and_gets_its_certificate_when_it_is_back() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Drained));
    exchange.now = now() + 70 * DAY;
    settle(&mut exchange);
    assert_eq!(notary.signed(), 1);
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Active));
    let step = exchange
        .provider
        .lift_condition(&exchange.provider_view())
        .unwrap();
    exchange.carry_out(true, step);
    settle(&mut exchange);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(notary.signed(), 2);

    // A cordoned peer's certificate is renewed.
    exchange.edit_tenant(|tenant| tenant.spec.tenant_condition = Some(TenantCondition::Cordoned));
    exchange.now = exchange.now + 60 * DAY;
    settle(&mut exchange);
    assert_eq!(notary.signed(), 3);
}

/// The consumer asks for the proxy and checks that the Identity has it. If
/// another proxy is handed out, the certificate stays the same.
#[test]
fn a_proxy_that_changes_later_is_handed_out_with_the_same_certificate() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = authenticated(&notary, 90 * DAY);
    let proxy = "http://proxy.example:8118".to_owned();
    exchange.edit_tenant(|tenant| tenant.spec.proxy_url = Some(proxy.clone()));
    settle(&mut exchange);
    let parameters = exchange.stored_tenant().status.auth_params.unwrap();
    assert_eq!(parameters.proxy_url, Some(proxy));
    assert_eq!(notary.signed(), 1);
    // This consumer did not ask for a proxy.
    exchange.deliver("Identity");
    exchange.turn_of_consumer();
    assert!(
        exchange
            .refused
            .iter()
            .any(|error| *error.fault() == PeerIncompatible::ProxyMismatch.into())
    );
}

#[test]
fn kubernetes_accepts_no_lifetime_of_less_than_ten_minutes() {
    for (lifetime, expected) in [
        (Duration::from_secs(90), 600),
        (Duration::from_secs(3600), 3600),
        (200 * YEAR, i32::MAX),
    ] {
        let notary = Notary::new(30 * YEAR);
        let mut exchange = Setup::new().exchange();
        exchange.provider = notary.provider(|builder| {
            builder
                .configure(|config| config.certificate_lifetime = lifetime)
                .configure(|config| config.policy = liqo_auth::Policy::compatible())
        });
        notary.mood(Mood::Keeps);
        exchange.settle();
        let provider::Phase::NeedsCredential(needs) = exchange.provider_phase() else {
            panic!("{:?}", exchange.provider_phase());
        };
        let CredentialRequest::Certificate(request) = needs.request else {
            panic!("{:?}", needs.request);
        };
        assert_eq!(request.expiration_seconds(), expected);
    }
}

fn authenticated(notary: &Arc<Notary>, lifetime: Duration) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary
        .provider(|builder| builder.configure(|config| config.certificate_lifetime = lifetime));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    exchange
}

fn copy(exchange: &Exchange) -> Exchange {
    Exchange {
        provider: exchange.provider.clone(),
        at_provider: exchange.at_provider.clone(),
        now: exchange.now,
        ..Setup::new().exchange()
    }
}

fn reconciled(exchange: &Exchange) -> Step {
    let view = exchange.provider_view();
    exchange.provider.reconcile(&view, exchange.env()).unwrap()
}

/// Lets the provider work until nothing is left to do, and returns the last
/// step.
fn settle(exchange: &mut Exchange) -> Step {
    for _ in 0..8 {
        let step = exchange.turn_of_provider();
        if step.is_settled() {
            return step;
        }
    }
    panic!("it does not settle: {:?}", exchange.provider_phase());
}

/// Reconciles whenever the provider asked to be woken, until that time.
fn run_until(exchange: &mut Exchange, end: Timestamp) {
    loop {
        let step = settle(exchange);
        let wake_at = step.wait.wake_at.expect("it wants to look again");
        assert!(wake_at > exchange.now, "it looks again and again");
        if wake_at > end {
            return;
        }
        exchange.now = wake_at;
    }
}

fn renewal_of(exchange: &Exchange) -> Renewal {
    issued(exchange).renewal.clone()
}

fn issued(exchange: &Exchange) -> Issued {
    match exchange.provider_phase() {
        provider::Phase::Authenticated(issued) => *issued,
        phase => panic!("{phase:?}"),
    }
}

/// The certificate in the Tenant's status.
fn handed_out(exchange: &Exchange) -> Vec<u8> {
    let status = exchange.stored_tenant().status;
    status.auth_params.unwrap().signed_crt.as_slice().to_vec()
}

fn faults(step: &Step) -> Vec<Fault> {
    let errors = step.refused.iter().map(|refused| &refused.error);
    errors.map(Error::fault).cloned().collect()
}

fn other_peers_certificate() -> CertificateChain {
    let mut other = Setup::new();
    other.consumer_key = exchange::ed25519(60);
    let mut exchange = other.exchange();
    exchange.settle();
    exchange.certificate()
}

const SECOND: Duration = Duration::from_secs(1);
