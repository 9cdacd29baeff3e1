//! The Secrets and Tenants that an authenticated consumer may write in its tenant namespace
//! at the provider, one after the other, near-honest and arbitrary. Nothing panics, and the
//! provider settles. It signs nothing more and gives no more rights. No other object changes,
//! and no other peer has another step.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine, Step, View,
    crypto::CertificateChain,
    machine::Objects,
    model::{ClusterId, Kind, Object, ObjectRef, Secret, Tenant, names},
    policy::Policy,
    provider::Phase,
};
use liqo_auth_fuzz::{
    complete, draw, env, objects,
    writes::{
        Write, bystander, look, others, place, settles, write_manifest, write_secret, writes,
    },
};
use proptest::strategy::BoxedStrategy;

fuzz_target!(|bytes: &[u8]| {
    let mut store = complete().at_provider.clone();
    store.extend(bystander());
    let before = store.clone();
    let steps_of_others = step_of(&store, &bystander_id());
    let namespace = names::tenant_namespace(consumer());
    for object in objects(bytes) {
        if matches!(object.id().kind, Kind::Secret | Kind::Tenant) {
            write_manifest(&mut store, &namespace, object);
        }
    }
    look(&mut store, reconcile);
    for write in writes(bytes) {
        match write {
            [kind, ..] if kind % 4 == 0 => write_tenant(&mut store, write),
            _ => write_secret(&mut store, consumer(), secret_names(), write),
        }
        look(&mut store, reconcile);
    }
    let rests = settles(&mut store, reconcile);
    assert!(rests, "the provider does not settle");
    check(&before, &store);
    assert_eq!(step_of(&store, &bystander_id()), steps_of_others);
});

/// Writes or deletes a Tenant of the peer's own name or of another one.
fn write_tenant(store: &mut Objects, write: &Write) {
    thread_local! {
        static TENANTS: BoxedStrategy<Tenant> = complete().forged_tenants();
    }
    let [number, how, seed @ ..] = write;
    let is = |bit: u8| how & (1 << bit) != 0;
    let namespace = names::tenant_namespace(consumer());
    let name = match number / 4 % 4 {
        0 => "cl-bystander",
        1 => "cl-nobody",
        _ => consumer().as_str(),
    };
    let id = ObjectRef::new(Kind::Tenant, &namespace, name);
    if is(0) {
        store.delete(&id);
        if is(1) {
            return;
        }
    }
    let present = store.get::<Tenant>(&namespace, name).cloned();
    if let Some(mut tenant) = TENANTS.with(|tenants| draw(tenants, seed)) {
        place(&mut tenant.metadata, &namespace, name, is(2));
        if let Some(present) = present {
            tenant.metadata.uid = present.metadata.uid;
            tenant.metadata.finalizers = present.metadata.finalizers;
            tenant.metadata.deletion_timestamp = present.metadata.deletion_timestamp;
            tenant.status = present.status;
        }
        store.insert(tenant.into());
    }
}

fn reconcile(store: &Objects) -> Step {
    let step = complete()
        .provider
        .reconcile(&store.view(consumer()), env());
    step.expect("a peer's objects cause no local error")
}

/// The step of another peer, whose objects are looked up as `interests` says.
fn step_of(store: &Objects, peer: &ClusterId) -> Step {
    let provider = &complete().provider;
    let interests = provider.interests(peer);
    let seen = |object: &&Object| interests.iter().any(|it| it.matches(object));
    let view = View::of(peer, store.iter().filter(seen));
    let step = provider.reconcile(&view, env());
    step.expect("a peer's objects cause no local error")
}

fn check(before: &Objects, after: &Objects) {
    let rehearsal = complete();
    assert_eq!(rehearsal.certificates_signed(), 1);
    let namespace = names::tenant_namespace(consumer());
    let is_of_peer = |id: &ObjectRef| {
        id.kind == Kind::ClusterRoleBinding
            || (id.namespace == names::LIQO_NAMESPACE && id.name.starts_with("liqo-auth-"))
    };
    let [were, are] = [before, after].map(|store| others(store, &namespace, is_of_peer));
    assert!(were.eq(are));
    let bindings = |store: &Objects| {
        let is_binding = |object: &&Object| {
            let kind = object.id().kind;
            matches!(kind, Kind::RoleBinding | Kind::ClusterRoleBinding)
        };
        store.iter().filter(is_binding).count()
    };
    assert!(bindings(after) <= bindings(before));
    let status = rehearsal.provider.look(&after.view(consumer()), env().now);
    let status = status.expect("a peer's objects cause no local error");
    // What the peer reads is the issued certificate, whatever was in its place.
    if let Phase::Authenticated(_) = status.phase {
        let secret: &Secret = after
            .get(&namespace, names::ISSUED_CERTIFICATE_SECRET)
            .expect("the certificate is handed out");
        let pem = secret.data[names::CERTIFICATE].expose();
        let chain = CertificateChain::from_pem(pem, &Policy::strict()).expect("it was issued");
        let key = rehearsal.consumer_key.public_key();
        assert_eq!(chain.leaf().spki_der, key.spki_der());
    }
}

/// The names of both sides' Secrets.
fn secret_names() -> &'static [String] {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let peer = consumer();
        vec![
            names::NONCE_SECRET.to_owned(),
            names::ISSUED_CERTIFICATE_SECRET.to_owned(),
            format!("liqo-auth-provider-{peer}"),
            names::SIGNED_NONCE_SECRET.to_owned(),
            format!("{}-mypool", names::ISSUED_CERTIFICATE_SECRET),
            names::kubeconfig_secret(&names::identity_name(peer)),
            "another".to_owned(),
        ]
    })
}

fn consumer() -> &'static ClusterId {
    complete().consumer.cluster_id()
}

fn bystander_id() -> ClusterId {
    "cl-bystander".parse().expect("it is an ID")
}
