//! The approval of a signing request by an administrator or by a program.

use std::sync::{Arc, Mutex};

use liqo_auth::{
    Machine,
    audit::Decision,
    crypto::{Answer, BoxError, Entropy},
    error::{Backend, Disposition, Fault, LocalFault, PolicyRefusal, Precondition},
    machine::{Awaited, Objects, Step},
    model::{Object, Resource, TenantStatus},
    provider::{self, ApprovalRequest, Approver, Provider},
};

use crate::clusters::{
    exchange::{Exchange, Setup, ed25519, id},
    notary::{DAY, Notary, YEAR},
};

#[test]
fn nothing_is_signed_before_the_approval() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    assert_eq!(notary.asked(), 0);
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.wait.awaiting, [Awaited::Approval]);
    let provider::Phase::NeedsApproval(needs) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    let key = ed25519(1).public_key().fingerprint();
    assert_eq!(needs.fingerprint, key);
    assert_eq!(needs.peer, id("cl-consumer"));

    let step = approve(&mut exchange);
    assert_eq!(step.events[0].decision, Decision::Approved);
    assert_eq!(step.events[0].key, Some(key));
    assert_eq!(notary.asked(), 0);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));

    // A renewal does not need another approval, even if the certificate has expired
    // before it.
    exchange.now = exchange.now + 70 * DAY;
    exchange.settle();
    exchange.now = exchange.now + YEAR;
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
    assert_eq!(notary.signed(), 3);
    assert_eq!(nothing_to_approve(&exchange), "Authenticated");
}

#[test]
fn a_denied_request_is_refused_until_it_is_approved() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    let step = exchange
        .provider
        .deny(&exchange.provider_view(), "who is that?", exchange.now)
        .unwrap();
    let reason = "who is that?".to_owned();
    assert_eq!(
        step.events[0].decision,
        Decision::Disapproved {
            reason: reason.clone()
        }
    );
    let denied: Fault = PolicyRefusal::Disapproved { reason }.into();
    let refused = step.refused.iter().map(|refused| refused.error.fault());
    assert_eq!(refused.collect::<Vec<_>>(), [&denied]);
    exchange.carry_out(true, step);
    for _ in 0..2 {
        let step = exchange.turn_of_provider();
        assert!(step.is_settled());
        assert_eq!(step.refused[0].error.fault(), &denied);
        assert_eq!(
            step.refused[0].error.disposition(),
            Disposition::WaitForChange
        );
    }
    assert_eq!(notary.asked(), 0);
    approve(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// A proof by another nonce, in another Tenant or by another key needs its own approval.
#[test]
fn an_approval_is_for_one_key_one_request_one_tenant_and_one_nonce() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    approve(&mut exchange);
    replace_nonce(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    approve(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));

    end(&mut exchange);
    exchange.invite();
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");

    let step = exchange
        .provider
        .release_key(&exchange.provider_view())
        .unwrap();
    exchange.carry_out(true, step);
    replace_nonce(&mut exchange);
    exchange.lose_the_consumer();
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    assert_eq!(notary.signed(), 1);
}

/// A new nonce takes nothing away: the certificate, the rights and the renewals of the
/// approved proof go on. The answer to the new proof waits.
#[test]
fn a_peer_keeps_what_it_has_while_its_newer_proof_waits_for_approval() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    approve(&mut exchange);
    exchange.settle();
    let granted = exchange.stored_tenant().status;
    let answer = exchange.identity();
    replace_nonce(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases().0, "NeedsApproval");
    assert_eq!(exchange.stored_tenant().status, granted);
    assert_eq!(bindings(&exchange), 2);
    assert_eq!(notary.signed(), 1);

    exchange.now = exchange.now + 70 * DAY;
    exchange.settle();
    assert_eq!(exchange.phases().0, "NeedsApproval");
    assert_eq!(notary.signed(), 2);
    let renewed = exchange.stored_tenant().status;
    assert_ne!(renewed, granted);
    assert_eq!(
        renewed.auth_params.unwrap().signed_crt.as_slice(),
        exchange.certificate().pem()
    );
    assert_eq!(
        exchange.identity(),
        answer,
        "the new proof has no answer yet"
    );

    // An expired certificate is not replaced without the approval.
    exchange.now = exchange.now + YEAR;
    exchange.settle();
    assert_eq!(notary.signed(), 2);
    approve(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(notary.signed(), 3);
}

#[test]
fn an_approver_that_fails_stops_no_renewal() {
    let notary = Notary::new(30 * YEAR);
    let approver = Arc::new(Panel::default());
    *approver.answer.lock().unwrap() = Some(Answer::Ready(()));
    let mut exchange = Setup::new().exchange();
    exchange.provider = with_approver(&notary, approver.clone());
    exchange.settle();
    *approver.answer.lock().unwrap() = Some(Answer::Pending);
    replace_nonce(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases().0, "NeedsApproval");
    *approver.answer.lock().unwrap() = None;
    exchange.now = exchange.now + 300 * DAY;
    let step = exchange.turn_of_provider();
    assert_eq!(notary.signed(), 2);
    let failures = step.refused.iter().map(|refused| refused.error.code());
    assert_eq!(failures.collect::<Vec<_>>(), ["backend-failed"]);
}

#[test]
fn a_denial_of_the_newer_proof_stops_the_next_request_and_takes_nothing_away() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    approve(&mut exchange);
    exchange.settle();
    replace_nonce(&mut exchange);
    exchange.settle();
    let view = exchange.provider_view();
    let step = exchange.provider.deny(&view, "no", exchange.now).unwrap();
    exchange.carry_out(true, step);
    exchange.now = exchange.now + 70 * DAY;
    exchange.settle();
    assert_eq!(exchange.phases().0, "Refused");
    assert_eq!(bindings(&exchange), 2);
    assert_eq!(notary.signed(), 1);
}

/// A store in which the second Tenant gets the UID of the first one.
#[test]
fn a_second_peering_of_the_same_key_waits_for_its_own_approval() {
    for is_end_seen in [true, false] {
        let notary = Notary::new(30 * YEAR);
        let mut exchange = waiting(&notary);
        approve(&mut exchange);
        exchange.settle();
        let first = exchange.stored_tenant();
        if is_end_seen {
            end(&mut exchange);
            exchange.invite();
        } else {
            replace_nonce(&mut exchange);
            exchange.at_provider.remove(&first.id()).unwrap();
        }
        exchange.deliver("nonce");
        let mut second = exchange.tenant();
        assert_eq!(second.spec.csr, first.spec.csr);
        second.metadata.uid.clone_from(&first.metadata.uid);
        second
            .metadata
            .namespace
            .clone_from(&first.metadata.namespace);
        exchange.at_provider.insert(second.into());
        exchange.settle();
        assert_eq!(exchange.phases().0, "NeedsApproval", "{is_end_seen}");
        assert_eq!(exchange.stored_tenant().status, TenantStatus::default());
        assert_eq!(notary.signed(), 1);
    }
}

/// As in a program that makes its store anew from files at each call.
#[test]
fn a_second_peering_waits_for_its_own_approval_if_each_call_makes_the_store_anew() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    let mut drawn = 0;
    let mut peer = |exchange: &mut Exchange| {
        for _ in 0..12 {
            drawn += 1;
            let mut anew = Objects::new(&Entropy::from_bytes([drawn; 32]));
            anew.extend(exchange.at_provider.iter().cloned());
            exchange.at_provider = anew;
            exchange.deliver("nonce");
            exchange.deliver("Tenant");
            exchange.turn_of_provider();
        }
    };
    approve(&mut exchange);
    peer(&mut exchange);
    let first = exchange.stored_tenant().metadata.uid;
    end(&mut exchange);
    exchange.invite();
    peer(&mut exchange);
    assert_ne!(exchange.stored_tenant().metadata.uid, first);
    assert_eq!(exchange.phases().0, "NeedsApproval");
    assert_eq!(notary.signed(), 1);
}

#[test]
fn a_final_answer_of_an_approver_is_not_asked_for_again() {
    let notary = Notary::new(30 * YEAR);
    let approver = Arc::new(Panel::default());
    let mut exchange = Setup::new().exchange();
    exchange.provider = with_approver(&notary, approver.clone());
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");

    *approver.answer.lock().unwrap() = None;
    let view = exchange.provider_view();
    let error = exchange
        .provider
        .reconcile(&view, exchange.env())
        .unwrap_err();
    let fault = LocalFault::Backend {
        backend: Backend::Approver,
        message: "nobody is in".into(),
    };
    assert_eq!(error.fault(), &fault.into());
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "nobody is in");

    *approver.answer.lock().unwrap() = Some(Answer::Denied("no".into()));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Refused");
    let asked = *approver.asked.lock().unwrap();
    *approver.answer.lock().unwrap() = Some(Answer::Ready(()));
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "Refused");
    assert_eq!(*approver.asked.lock().unwrap(), asked);

    let mut other = Setup::new().exchange();
    other.provider = with_approver(&notary, approver);
    other.settle();
    assert_eq!(other.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn an_approver_is_not_asked_if_an_administrator_decides() {
    let notary = Notary::new(30 * YEAR);
    let approver = Arc::new(Panel::default());
    *approver.answer.lock().unwrap() = Some(Answer::Ready(()));
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary.provider(|builder| {
        builder
            .approver(approver.clone())
            .configure(|config| config.require_approval = true)
    });
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    assert_eq!(*approver.asked.lock().unwrap(), 0);
    approve(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn an_approval_without_a_tenant_is_an_error() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider =
        notary.provider(|builder| builder.configure(|config| config.require_approval = true));
    assert_eq!(nothing_to_approve(&exchange), "Uninvited");
    exchange.invite();
    assert_eq!(nothing_to_approve(&exchange), "AwaitsTenant");
}

#[test]
fn a_tenant_that_is_refused_for_another_reason_is_not_approved() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = Setup::new().exchange();
    exchange.provider =
        notary.provider(|builder| builder.configure(|config| config.require_approval = true));
    exchange.invite();
    exchange.deliver("nonce");
    exchange.hand_over(exchange.tenant()).unwrap();
    exchange.edit_tenant(|tenant| tenant.spec.signature = vec![1; 64].into());
    assert_eq!(nothing_to_approve(&exchange), "Refused");
}

#[test]
fn a_crash_around_the_approval_loses_nothing() {
    let notary = Notary::new(30 * YEAR);
    let mut exchange = waiting(&notary);
    // The approval is lost before its effect. It has to be given again.
    let view = exchange.provider_view();
    exchange.provider.approve(&view, exchange.now).unwrap();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    approve(&mut exchange);
    for _ in 0..3 {
        let view = exchange.provider_view();
        let step = exchange.provider.reconcile(&view, exchange.env()).unwrap();
        for effect in step.effects.iter().take(1) {
            exchange.at_provider.apply(effect).unwrap();
        }
    }
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(notary.signed(), 1);
}

/// Gives the answer that the test sets. `None` makes it fail.
struct Panel {
    answer: Mutex<Option<Answer<()>>>,
    asked: Mutex<usize>,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            answer: Mutex::new(Some(Answer::Pending)),
            asked: Mutex::default(),
        }
    }
}

impl Approver for Panel {
    fn decide(&self, _: &ApprovalRequest) -> Result<Answer<()>, BoxError> {
        *self.asked.lock().unwrap() += 1;
        let answer = self.answer.lock().unwrap().clone();
        answer.ok_or_else(|| "nobody is in".into())
    }
}

fn with_approver(notary: &Arc<Notary>, approver: Arc<Panel>) -> Provider {
    notary.provider(|builder| builder.approver(approver))
}

/// An exchange whose request waits for approval.
fn waiting(notary: &Arc<Notary>) -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = notary.provider(|builder| {
        builder
            .configure(|config| config.require_approval = true)
            .configure(|config| config.certificate_lifetime = 90 * DAY)
    });
    exchange.settle();
    exchange
}

fn replace_nonce(exchange: &mut Exchange) {
    let view = exchange.provider_view();
    let step = exchange.provider.replace_nonce(&view, exchange.env());
    exchange.carry_out(true, step.unwrap());
}

/// Deletes the Tenant, and lets the provider end the peering.
fn end(exchange: &mut Exchange) {
    let tenant = exchange.stored_tenant().id();
    exchange.at_provider.delete(&tenant);
    exchange.turns_of_provider();
}

fn bindings(exchange: &Exchange) -> usize {
    let is_binding = |object: &&Object| {
        matches!(
            object,
            Object::RoleBinding(_) | Object::ClusterRoleBinding(_)
        )
    };
    exchange.at_provider.iter().filter(is_binding).count()
}

fn approve(exchange: &mut Exchange) -> Step {
    let view = exchange.provider_view();
    let step = exchange.provider.approve(&view, exchange.now).unwrap();
    exchange.carry_out(true, step)
}

fn nothing_to_approve(exchange: &Exchange) -> &'static str {
    let view = exchange.provider_view();
    let error = exchange.provider.approve(&view, exchange.now).unwrap_err();
    match error.fault() {
        Fault::Precondition(Precondition::NothingToApprove { phase }) => phase,
        fault => panic!("{fault:?}"),
    }
}
