//! What the provider takes from a Tenant that comes as a message.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use liqo_auth::{
    Provider,
    crypto::{Answer, BoxError, RecordKey},
    error::{Backend, Fault, LocalFault, PolicyRefusal},
    machine::Awaited,
    model::{AuthzPolicy, Kind, TenantCondition, names},
    policy::Policy,
    provider::{NameRequest, Phase, Principals},
};

use crate::clusters::exchange::{Exchange, RECORD_KEY, Setup, id};

#[test]
fn a_first_tenant_for_another_namespace_is_refused() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    exchange.deliver("nonce");
    let mut tenant = exchange.tenant();
    tenant.metadata.namespace = "elsewhere".to_owned();
    let error = exchange.hand_over(tenant.clone()).unwrap_err();
    let refusal = PolicyRefusal::UnexpectedNamespace {
        expected: "liqo-tenant-cl-consumer".to_owned(),
        found: "elsewhere".to_owned(),
    };
    assert_eq!(error.fault(), &refusal.into());
    assert_eq!(error.at().field, "metadata.namespace");
    tenant.metadata.namespace = "liqo-tenant-cl-consumer".to_owned();
    exchange.hand_over(tenant).unwrap();
    assert_eq!(exchange.provider_phase().name(), "NeedsProof");
}

/// A Tenant is the peer's claim. Its condition and its policy are this side's words.
#[test]
fn the_condition_that_a_peer_sends_is_not_stored() {
    for sent in [
        TenantCondition::Active,
        TenantCondition::Cordoned,
        TenantCondition::Drained,
    ] {
        let mut exchange = Setup::new().exchange();
        exchange.invite();
        exchange.deliver("nonce");
        let mut tenant = exchange.tenant();
        tenant.spec.tenant_condition = Some(sent);
        tenant.spec.authz_policy = None;
        exchange.hand_over(tenant.clone()).unwrap();
        let stored = exchange.stored_tenant().spec;
        assert_eq!(stored.tenant_condition, None, "{sent:?}");
        assert_eq!(stored.authz_policy, Some(AuthzPolicy::KeysExchange));

        // The administrator's word stays when the Tenant comes again.
        exchange.settle();
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        let cordoned = TenantCondition::Cordoned;
        let view = exchange.provider_view();
        let step = exchange.provider.set_condition(&view, cordoned).unwrap();
        exchange.carry_out(true, step);
        exchange.hand_over(tenant).unwrap();
        exchange.turns_of_provider();
        let stored = exchange.stored_tenant().spec;
        assert_eq!(stored.tenant_condition, Some(cordoned), "{sent:?}");
    }
}

#[test]
fn a_tenant_that_comes_again_may_ask_for_another_proxy() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let proxy = "http://10.70.0.2:8118";
    let mut tenant = exchange.tenant();
    tenant.spec.proxy_url = Some(proxy.to_owned());
    exchange.hand_over(tenant).unwrap();
    exchange.turns_of_provider();
    let told = exchange.identity().spec.auth_params.proxy_url;
    assert_eq!(told.as_deref(), Some(proxy));
}

/// An API server with Liqo would refuse every change of this Tenant.
#[test]
fn a_tenant_that_liqo_would_not_admit_is_not_changed() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    exchange.edit_tenant(|tenant| {
        let label = names::REMOTE_CLUSTER_ID_LABEL;
        tenant.metadata.labels.remove(label).unwrap();
    });
    let error = exchange.hand_over(exchange.tenant()).unwrap_err();
    assert_eq!(error.code(), "not-admitted");
}

/// The text around a request is no part of it. So a request on record is recognized
/// with other text around it, if the whole text is no longer than a request may be.
#[test]
fn a_request_on_record_is_as_short_as_any_other() {
    let mut setup = Setup::new();
    setup.policy = Policy::compatible();
    let refusal = |length: usize| {
        let mut exchange: Exchange = setup.exchange();
        exchange.settle();
        exchange.edit_tenant(|tenant| {
            let csr = tenant.spec.csr.as_slice();
            let before = "x".repeat(length - csr.len() - 1);
            let text = [before.as_bytes(), b"\n", csr].concat();
            tenant.spec.csr = text.into();
        });
        match exchange.provider_phase() {
            Phase::Refused(error) => Some(error.code()),
            _ => None,
        }
    };
    assert_eq!(refusal(8192), None);
    assert_eq!(refusal(8193), Some("csr-refused"));
}

/// A look-up of names that answers when it is told to.
#[derive(Default)]
struct Later(AtomicBool);

impl Principals for Later {
    fn is_taken(&self, _: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Ok(match self.0.load(Ordering::Relaxed) {
            true => Answer::Ready(false),
            false => Answer::Pending,
        })
    }
}

#[test]
fn a_name_is_not_free_until_the_look_up_says_so() {
    let (setup, names) = (Setup::new(), Arc::new(Later::default()));
    let mut exchange = setup.exchange();
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    let provider = Provider::builder(id("cl-provider"), setup.endpoint.clone(), record_key);
    exchange.provider = provider
        .principals(names.clone())
        .signer(setup.signer)
        .build();
    exchange.invite();
    exchange.deliver("nonce");
    let step = exchange.hand_over(exchange.tenant()).unwrap();
    assert!(step.wait.awaiting.contains(&Awaited::Names), "{step:?}");
    assert_ne!(exchange.settle().phases().0, "Authenticated");
    let kinds: Vec<Kind> = exchange.at_provider.iter().map(|it| it.id().kind).collect();
    assert!(!kinds.contains(&Kind::RoleBinding), "{kinds:?}");

    names.0.store(true, Ordering::Relaxed);
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

/// A peer could take the name of a user whom nobody looked up.
#[test]
fn without_a_look_up_of_names_no_peer_is_let_in() {
    let setup = Setup::new();
    let mut exchange = setup.exchange();
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    let provider = Provider::builder(id("cl-provider"), setup.endpoint.clone(), record_key);
    exchange.provider = provider.signer(setup.signer).build();
    exchange.invite();
    exchange.deliver("nonce");
    let error = exchange.hand_over(exchange.tenant()).unwrap_err();
    let is_missing = matches!(
        error.fault(),
        Fault::Local(LocalFault::Backend {
            backend: Backend::Principals,
            ..
        })
    );
    assert!(is_missing, "{error:?}");
}
