//! Tenants: those of a manifest, and near-honest ones signed with the consumer's key.
//! Nothing panics. A refused Tenant changes nothing but the provider's own record. Of all
//! requests that the key can sign, the strict policy accepts exactly one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::{Csr, Subject},
    machine::{Effect, Message},
    model::{Kind, Resource, Tenant, names},
    policy::Policy,
    verify::{self, TenantExpectation},
};
use liqo_auth_fuzz::{awaiting, draw, env, nonce, objects, policies};
use proptest::strategy::BoxedStrategy;

fuzz_target!(|bytes: &[u8]| {
    for object in objects(bytes) {
        if let Some(tenant) = Tenant::from_object(&object) {
            judge(tenant);
        }
    }
    if let Some(tenant) = TENANTS.with(|tenants| draw(tenants, bytes)) {
        judge(&tenant);
        strict_takes_one_request(&tenant);
    }
});

// Made once, because compiling the regular expressions takes long.
thread_local! {
    static TENANTS: BoxedStrategy<Tenant> = awaiting().forged_tenants();
}

fn judge(tenant: &Tenant) {
    let Ok(consumer) = verify::claimed_consumer(tenant) else {
        return;
    };
    let expectation = TenantExpectation {
        consumer: &consumer,
        nonce: nonce(),
    };
    let [strict, compatible] =
        policies().map(|policy| verify::tenant(tenant, &expectation, &policy));
    assert!(
        strict.is_err() || strict == compatible,
        "{strict:?} {compatible:?}"
    );

    let rehearsal = awaiting();
    let provider = rehearsal.provider.cluster_id();
    let message = Message::new(&consumer, provider, tenant.clone());
    let view = rehearsal.at_provider.view(&consumer);
    let received = rehearsal.provider.receive(&view, message, env());
    assert!(received.is_err() || strict.is_ok(), "{received:?}");

    // Another program may store the Tenant without the library.
    let mut stored = rehearsal.at_provider.clone();
    stored.insert(tenant.clone().into());
    if let Ok(step) = rehearsal.provider.reconcile(&stored.view(&consumer), env()) {
        // The provider's sealed record may remember that the key was tested.
        let is_record = |effect: &Effect| {
            let id = effect.id();
            id.kind == Kind::Secret && id.namespace == names::LIQO_NAMESPACE
        };
        assert!(
            step.refused.is_empty() || step.effects.iter().all(is_record),
            "{step:?}"
        );
        for effect in &step.effects {
            stored
                .apply(effect)
                .expect("the effect applies to the stored objects");
        }
    }
}

fn strict_takes_one_request(tenant: &Tenant) {
    let (consumer, key) = (awaiting().consumer.cluster_id(), &awaiting().consumer_key);
    let expectation = TenantExpectation {
        consumer,
        nonce: nonce(),
    };
    if let Ok(verified) = verify::tenant(tenant, &expectation, &Policy::strict()) {
        let honest = Csr::make(&Subject::control_plane(consumer), &**key)
            .expect("the key signs")
            .at_once()
            .expect("the key answers immediately");
        assert_eq!(&verified.public_key, key.public_key());
        assert_eq!(tenant.spec.csr.as_slice(), honest.pem());
    }
}
