//! The objects that an authenticated peer may write on the provider: replicas of
//! slices and renewals, near-honest and arbitrary. Nothing panics, and the provider
//! settles. The provider signs only for the peer's key and the slice's own subject.
//! No other object changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::{CertificateChain, Csr, Subject},
    machine::Objects,
    model::{Kind, Object, Renew, Resource, ResourceSlice, Secret, names},
    policy::Policy,
};
use liqo_auth_fuzz::{complete, draw, env, objects};
use proptest::{arbitrary::any, strategy::BoxedStrategy};

fuzz_target!(|bytes: &[u8]| {
    let Some((how, bytes)) = bytes.split_first() else {
        return;
    };
    let mut written: Vec<Object> = objects(bytes)
        .into_iter()
        .filter(|object| matches!(object.id().kind, Kind::ResourceSlice | Kind::Renew))
        .collect();
    DRAWN.with(|(slices, renews)| {
        written.extend(draw(slices, bytes).map(|slice| near_honest(slice, *how).into()));
        written.extend(draw(renews, bytes).map(|renew| replica(renew).into()));
    });
    deal_with(written);
});

// Made once, because compiling the regular expressions takes long.
thread_local! {
    static DRAWN: (BoxedStrategy<ResourceSlice>, BoxedStrategy<Renew>) =
        (any::<ResourceSlice>(), any::<Renew>());
}

/// A slice of the peer. Each bit of `how` makes one field honest.
fn near_honest(slice: ResourceSlice, how: u8) -> ResourceSlice {
    let right = |bit: u8| how & (1 << bit) != 0;
    let rehearsal = complete();
    let consumer = rehearsal.consumer.cluster_id();
    let mut slice = replica(slice);
    if right(0) {
        slice.metadata.name = "mypool".to_owned();
    }
    if right(1) {
        slice.spec.consumer_cluster_id = Some(consumer.to_string());
    }
    if right(2) {
        slice.spec.provider_cluster_id = Some(rehearsal.provider.cluster_id().to_string());
    }
    if right(3) {
        let subject = Subject::resource_slice("mypool", consumer);
        let csr = Csr::make(&subject, &*rehearsal.consumer_key)
            .expect("the key signs")
            .at_once()
            .expect("the key answers immediately");
        slice.spec.csr = csr.pem().into();
    }
    if right(4) {
        slice.spec.class.clear();
    }
    slice
}

/// The object with the namespace and the labels of a replica from the peer.
fn replica<K: Resource>(mut object: K) -> K {
    let consumer = complete().consumer.cluster_id();
    let metadata = object.metadata_mut();
    metadata.namespace = names::tenant_namespace(consumer);
    metadata.deletion_timestamp = None;
    for (key, value) in [
        (names::REPLICATED_LABEL, names::TRUE),
        (names::REPLICATION_ORIGIN_LABEL, consumer.as_str()),
        (names::REMOTE_CLUSTER_ID_LABEL, consumer.as_str()),
    ] {
        metadata.labels.insert(key.to_owned(), value.to_owned());
    }
    object
}

fn deal_with(written: Vec<Object>) {
    let rehearsal = complete();
    let (provider, consumer) = (&rehearsal.provider, rehearsal.consumer.cluster_id());
    let mut store = rehearsal.at_provider.clone();
    for object in written {
        store.insert(object);
    }
    let before = store.clone();
    let mut rests = false;
    for _ in 0..32 {
        let step = provider.reconcile(&store.view(consumer), env());
        let step = step.expect("a peer's objects cause no local error");
        for effect in &step.effects {
            store.apply(effect).expect("nobody else writes");
        }
        rests = step.is_settled();
        if rests {
            break;
        }
    }
    assert!(rests, "the provider does not settle");
    assert!(others(&before).eq(others(&store)));
    certificates_are_the_slices(&store);
}

/// All objects except slices, renewals, and the records about them.
fn others(store: &Objects) -> impl Iterator<Item = &Object> {
    store.iter().filter(|object| {
        let id = object.id();
        let is_about_slices = matches!(id.kind, Kind::ResourceSlice | Kind::Renew)
            || (id.kind == Kind::Secret
                && (id.name.starts_with("liqo-auth-")
                    || id.name.starts_with(names::ISSUED_CERTIFICATE_SECRET)));
        !is_about_slices
    })
}

fn certificates_are_the_slices(store: &Objects) {
    let rehearsal = complete();
    let consumer = rehearsal.consumer.cluster_id();
    let prefix = format!("{}-", names::ISSUED_CERTIFICATE_SECRET);
    for secret in store.iter().filter_map(Secret::from_object) {
        let Some(slice) = secret.metadata.name.strip_prefix(&prefix) else {
            continue;
        };
        let pem = secret.data[names::CERTIFICATE].expose();
        let chain = CertificateChain::from_pem(pem, &Policy::strict()).expect("it was issued");
        let subject = Subject::resource_slice(slice, consumer);
        assert!(chain.leaf().subject_is(&subject));
        let key = rehearsal.consumer_key.public_key();
        assert_eq!(chain.leaf().spki_der, key.spki_der());
    }
}
