//! The signer of Kubernetes. The requests are objects of the view. The provider
//! creates, approves and collects them in three steps, of which the first one also records
//! the proof.

use core::time::Duration;

use liqo_auth::{
    Machine, Provider,
    crypto::{Entropy, RecordKey},
    error::{Fault, LocalFault, PolicyRefusal},
    machine::{Awaited, Effect, Env, Holder, MessageBody, Objects, Part, Step},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition, Kind, Object,
        ObjectRef, TenantCondition,
    },
    provider::{CredentialRequest, NameTable, Phase, ProviderConfig, Renewal},
};

use crate::clusters::exchange::{API_SERVER, Exchange, RECORD_KEY, Setup, authority, endpoint, id};

/// An exchange whose provider uses the signer of Kubernetes.
pub(super) fn exchange() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.provider = provider(RECORD_KEY);
    exchange
}

pub(super) fn provider(record_key: [u8; 32]) -> Provider {
    provider_with(RecordKey::new(record_key).unwrap())
}

fn provider_with(record_key: RecordKey) -> Provider {
    configured(record_key, |config| config.kubernetes_signer = true)
}

fn configured(record_key: RecordKey, change: impl FnOnce(&mut ProviderConfig)) -> Provider {
    Provider::builder(id("cl-provider"), endpoint(API_SERVER), record_key)
        .principals(std::sync::Arc::new(NameTable::default()))
        .configure(change)
        .build()
}

/// An exchange up to the first CertificateSigningRequest.
pub(super) fn requested() -> Exchange {
    let mut exchange = exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    exchange.deliver("Tenant");
    exchange.turn_of_provider();
    assert_eq!(requests(&exchange.at_provider).len(), 1);
    exchange
}

pub(super) fn requests(objects: &Objects) -> Vec<CertificateSigningRequest> {
    let requests = objects.iter().filter_map(|object| match object {
        Object::CertificateSigningRequest(request) => Some((**request).clone()),
        _ => None,
    });
    requests.collect()
}

pub(super) fn only_request(objects: &Objects) -> CertificateSigningRequest {
    let [request] = requests(objects).try_into().unwrap();
    request
}

/// Signs what is approved, as kube-controller-manager does.
pub(super) fn sign_approved(exchange: &mut Exchange) -> usize {
    let now = exchange.now;
    sign_approved_in(&mut exchange.at_provider, now)
}

fn sign_approved_in(objects: &mut Objects, now: liqo_auth::model::Timestamp) -> usize {
    let mut signed = 0;
    for mut request in requests(objects) {
        let entropy = Entropy::from_bytes([signed + 90; 32]);
        let chain = authority().sign_approved(&request, now, &entropy).unwrap();
        if let Some(chain) = chain {
            request.status.certificate = Bytes::from(chain.pem());
            objects.insert(request.into());
            signed += 1;
        }
    }
    usize::from(signed)
}

pub(super) fn condition(condition_type: &str, message: &str) -> CertificateSigningRequestCondition {
    CertificateSigningRequestCondition {
        condition_type: condition_type.to_owned(),
        status: "True".to_owned(),
        reason: "ByHand".to_owned(),
        message: message.to_owned(),
    }
}

pub(super) fn edit_request(
    exchange: &mut Exchange,
    edit: impl FnOnce(&mut CertificateSigningRequest),
) {
    let mut request = only_request(&exchange.at_provider);
    edit(&mut request);
    exchange.at_provider.insert(request.into());
}

fn denial(step: &Step) -> Option<&str> {
    step.refused
        .iter()
        .find_map(|refused| match refused.error.fault() {
            Fault::Policy(PolicyRefusal::CredentialDenied { reason }) => Some(reason.as_str()),
            _ => None,
        })
}

#[test]
fn a_certificate_needs_three_steps() {
    let mut exchange = requested();
    let request = only_request(&exchange.at_provider);
    assert_eq!(
        request.spec.signer_name,
        "kubernetes.io/kube-apiserver-client"
    );
    assert_eq!(request.spec.expiration_seconds, Some(365 * 86_400));
    assert!(request.metadata.name.starts_with("liqo-auth-"));

    let step = exchange.turn_of_provider();
    let [
        Effect::Patch {
            id,
            part: Part::Approval,
            version,
            ..
        },
    ] = &step.effects[..]
    else {
        panic!("{:?}", step.effects);
    };
    assert_eq!(id.kind, Kind::CertificateSigningRequest);
    assert_eq!(version.resource_version, request.metadata.resource_version);
    assert!(matches!(step.wait.awaiting[..], [Awaited::Credential(_)]));

    // Until the signer answers, nothing is to be done.
    assert!(exchange.turn_of_provider().is_settled());
    assert_eq!(sign_approved(&mut exchange), 1);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(requests(&exchange.at_provider).len(), 1);
}

#[test]
fn the_record_of_proof_and_request_comes_before_the_request() {
    let mut exchange = exchange();
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    exchange.deliver("Tenant");
    let step = exchange.turn_of_provider();
    let kinds: Vec<Kind> = step.effects.iter().map(|effect| effect.id().kind).collect();
    assert_eq!(
        kinds,
        [Kind::Secret, Kind::Tenant, Kind::CertificateSigningRequest]
    );
}

#[test]
fn the_request_waits_for_the_approval() {
    let mut exchange = exchange();
    exchange.provider = configured(RecordKey::new(RECORD_KEY).unwrap(), |config| {
        config.kubernetes_signer = true;
        config.require_approval = true;
    });
    exchange.turn_of_provider();
    exchange.deliver("nonce");
    exchange.deliver("Tenant");
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsApproval");
    assert_eq!(requests(&exchange.at_provider), []);
    let approved = exchange
        .provider
        .approve(&exchange.provider_view(), exchange.now)
        .unwrap();
    exchange.carry_out(true, approved);
    exchange.turn_of_provider();
    assert_eq!(requests(&exchange.at_provider).len(), 1);
}

#[test]
fn a_request_of_others_with_the_same_name_is_left_alone() {
    let mut exchange = requested();
    edit_request(&mut exchange, |request| {
        request.spec.signer_name = "example.com/another".to_owned();
        request.status.conditions = vec![condition("Approved", "")];
        request.status.certificate = Bytes::from(&b"theirs"[..]);
    });
    let theirs = only_request(&exchange.at_provider);
    exchange.turn_of_provider();
    let there = requests(&exchange.at_provider);
    assert_eq!(there.len(), 2);
    assert!(there.contains(&theirs));
    exchange.turn_of_provider();
    edit_ours(&mut exchange, &theirs);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// Signs what is approved, except `theirs`.
fn edit_ours(exchange: &mut Exchange, theirs: &CertificateSigningRequest) {
    let removed = exchange
        .at_provider
        .remove(&ObjectRef::new(
            Kind::CertificateSigningRequest,
            "",
            &theirs.metadata.name,
        ))
        .unwrap();
    assert_eq!(sign_approved(exchange), 1);
    exchange.at_provider.insert(removed);
}

#[test]
fn if_all_names_are_in_use_the_attempts_end_with_an_error() {
    let mut exchange = requested();
    for _ in 0..20 {
        for mut request in requests(&exchange.at_provider) {
            request.spec.usages = vec!["any".to_owned()];
            exchange.at_provider.insert(request.into());
        }
        let env = exchange.env();
        match exchange.provider.reconcile(&exchange.provider_view(), env) {
            Ok(step) => drop(exchange.carry_out(true, step)),
            Err(error) => {
                assert!(matches!(error.fault(), Fault::Local(LocalFault::Conflict)));
                assert_eq!(requests(&exchange.at_provider).len(), 8);
                return;
            }
        }
    }
    panic!("the attempts do not end");
}

#[test]
fn a_request_that_an_administrator_approved_is_used() {
    let mut exchange = requested();
    edit_request(&mut exchange, |request| {
        request.status.conditions = vec![condition("Approved", "by kubectl")];
    });
    assert!(exchange.turn_of_provider().is_settled());
    assert_eq!(sign_approved(&mut exchange), 1);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_denied_request_is_not_made_again_until_an_administrator_asks() {
    for kind in ["Denied", "Failed"] {
        let mut exchange = requested();
        edit_request(&mut exchange, |request| {
            request.status.conditions = vec![condition(kind, "no such peer")];
        });
        let step = exchange.turn_of_provider();
        assert_eq!(denial(&step), Some("no such peer"));
        // Kubernetes deletes the request after an hour.
        let name = only_request(&exchange.at_provider).metadata.name;
        let request = ObjectRef::new(Kind::CertificateSigningRequest, "", name);
        exchange.at_provider.remove(&request);
        exchange.now = exchange.now + Duration::from_secs(2 * 3600);
        for _ in 0..3 {
            let step = exchange.turn_of_provider();
            assert!(step.is_settled());
            assert_eq!(denial(&step), Some("no such peer"));
        }
        let again = exchange
            .provider
            .sign_again(
                &exchange.provider_view(),
                &Holder::ControlPlane,
                false,
                exchange.now,
            )
            .unwrap();
        exchange.carry_out(true, again);
        exchange.turn_of_provider();
        exchange.turn_of_provider();
        assert_eq!(sign_approved(&mut exchange), 1);
        exchange.settle();
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    }
}

/// Kubernetes has not deleted the denied request yet.
#[test]
fn an_administrator_can_repeat_a_denied_request_before_kubernetes_deletes_it() {
    let mut exchange = requested();
    edit_request(&mut exchange, |request| {
        request.status.conditions = vec![condition("Denied", "no such peer")];
    });
    exchange.turn_of_provider();
    let again = exchange
        .provider
        .sign_again(
            &exchange.provider_view(),
            &Holder::ControlPlane,
            false,
            exchange.now,
        )
        .unwrap();
    assert!(matches!(
        again.effects.as_slice(),
        [_, Effect::Delete { id, .. }] if id.kind == Kind::CertificateSigningRequest
    ));
    exchange.carry_out(true, again);
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    assert_eq!(sign_approved(&mut exchange), 1);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    // Without a denied request, a second call changes nothing.
    let again = exchange
        .provider
        .sign_again(
            &exchange.provider_view(),
            &Holder::ControlPlane,
            false,
            exchange.now,
        )
        .unwrap();
    assert!(again.is_settled());
}

#[test]
fn a_request_that_the_cleaner_deleted_is_made_anew() {
    let mut exchange = requested();
    let first = only_request(&exchange.at_provider);
    let id = ObjectRef::new(Kind::CertificateSigningRequest, "", &first.metadata.name);
    exchange.at_provider.remove(&id);
    exchange.now = exchange.now + Duration::from_secs(2 * 3600);
    exchange.turn_of_provider();
    let second = only_request(&exchange.at_provider);
    assert_eq!(second.metadata.name, first.metadata.name);
    exchange.turn_of_provider();
    sign_approved(&mut exchange);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn a_request_that_was_not_answered_keeps_the_peer_on_record() {
    let mut exchange = requested();
    let name = only_request(&exchange.at_provider).metadata.name;
    // The peering ends before the answer comes.
    let end = exchange.provider.end(&exchange.provider_view()).unwrap();
    exchange.carry_out(true, end);
    for _ in 0..3 {
        exchange.turn_of_provider();
    }
    let request = ObjectRef::new(Kind::CertificateSigningRequest, "", name);
    assert!(
        exchange
            .at_provider
            .iter()
            .all(|object| object.id() != request)
    );
    let Phase::Ended { kept_until } = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    let until = exchange.now + Duration::from_secs(365 * 86_400);
    assert!(kept_until.is_some_and(|kept_until| kept_until >= until));
}

#[test]
fn a_drain_deletes_an_unanswered_request() {
    let mut exchange = requested();
    let drain = exchange
        .provider
        .set_condition(&exchange.provider_view(), TenantCondition::Drained)
        .unwrap();
    exchange.carry_out(true, drain);
    exchange.turn_of_provider();
    assert_eq!(requests(&exchange.at_provider), []);
}

#[test]
fn a_renewal_makes_another_request() {
    let mut exchange = requested();
    exchange.turn_of_provider();
    sign_approved(&mut exchange);
    exchange.settle();
    let first = only_request(&exchange.at_provider);
    exchange.now = exchange.now + Duration::from_secs(300 * 86_400);
    let status = exchange
        .provider
        .look(&exchange.provider_view(), exchange.now)
        .unwrap();
    let Phase::Authenticated(issued) = status.phase else {
        panic!("{:?}", status.phase);
    };
    assert!(matches!(issued.renewal, Renewal::Due(_)));
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    assert_eq!(sign_approved(&mut exchange), 1);
    exchange.turn_of_provider();
    let names: Vec<String> = requests(&exchange.at_provider)
        .into_iter()
        .map(|request| request.metadata.name)
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&first.metadata.name));
    assert_eq!(exchange.provider_phase().name(), "NeedsRights");
}

/// The wish is on record until the certificate comes, since that takes several steps.
#[test]
fn a_certificate_in_force_is_signed_again_in_the_same_steps() {
    let mut exchange = requested();
    exchange.turn_of_provider();
    sign_approved(&mut exchange);
    exchange.settle();
    let first = exchange.certificate();
    exchange.now = exchange.now + Duration::from_secs(86_400);
    let (view, holder) = (exchange.provider_view(), Holder::ControlPlane);
    let again = exchange
        .provider
        .sign_again(&view, &holder, true, exchange.now);
    exchange.carry_out(true, again.unwrap());
    exchange.turn_of_provider();
    exchange.turn_of_provider();
    assert_eq!(exchange.certificate(), first);
    assert_eq!(sign_approved(&mut exchange), 1);
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    assert_ne!(exchange.certificate(), first);
    assert_eq!(requests(&exchange.at_provider).len(), 2);
    assert_eq!(exchange.provider_phase().name(), "Authenticated");
}

#[test]
fn another_record_key_leads_to_another_name_for_the_same_request() {
    let mut proven = exchange();
    // Without a signer, the proof alone is recorded.
    proven.provider = configured(RecordKey::new(RECORD_KEY).unwrap(), |_| {});
    proven.turn_of_provider();
    proven.deliver("nonce");
    proven.deliver("Tenant");
    proven.turn_of_provider();
    // The nonce on record and the request stay the same.
    let names = |record_key: RecordKey| {
        let provider = provider_with(record_key);
        let mut objects = proven.at_provider.clone();
        let view = objects.view(proven.consumer.cluster_id());
        let Phase::NeedsCredential(needs) = provider.look(&view, proven.now).unwrap().phase else {
            panic!("the proof is on record");
        };
        let CredentialRequest::Certificate(request) = needs.request else {
            panic!("{:?}", needs.request);
        };
        let step = provider.reconcile(&view, proven.env()).unwrap();
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
        (request.id, only_request(&objects).metadata.name)
    };
    let (request, name) = names(RecordKey::new(RECORD_KEY).unwrap());
    let same = names(RecordKey::new(RECORD_KEY).unwrap());
    assert_eq!(same, (request, name.clone()));
    let next = RecordKey::new([2; 32]).unwrap();
    let (same, other) = names(next.with_predecessor(RECORD_KEY).unwrap());
    assert_eq!(same, request);
    assert_ne!(other, name);
}

#[test]
fn the_outbox_has_the_identity_when_all_effects_are_applied() {
    let mut exchange = requested();
    exchange.turn_of_provider();
    sign_approved(&mut exchange);
    for _ in 0..4 {
        exchange.turn_of_provider();
    }
    let env: Env = exchange.env();
    let step = exchange
        .provider
        .reconcile(&exchange.provider_view(), env)
        .unwrap();
    let [message] = &step.outbox[..] else {
        panic!("{:?}", step.outbox);
    };
    assert!(matches!(message.body, MessageBody::Identity(_)));
}
