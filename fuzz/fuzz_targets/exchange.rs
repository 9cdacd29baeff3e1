//! A whole exchange with crashes, delays, repetitions, and a forged message in
//! between.
//!
//! Without the forgery, the exchange completes with one certificate. With the
//! forgery, no certificate is issued for another key.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use liqo_auth::{
    Machine,
    crypto::{CertificateChain, Subject},
    model::{Secret, names},
    policy::Policy,
};
use liqo_auth_fuzz::{forgery, occurrences};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};

fuzz_target!(|bytes: &[u8]| {
    let Some((head, bytes)) = bytes.split_first_chunk::<18>() else {
        return;
    };
    REHEARSAL.with_borrow_mut(|rehearsal| {
        rehearsal.begin_again();
        exchange(rehearsal, head, bytes);
    });
});

// Made once, because making the clusters' keys and certificates takes long.
thread_local! {
    static REHEARSAL: RefCell<Rehearsal> =
        RefCell::new(Rehearsal::new(7).expect("the rehearsal's own keys are valid"));
}

fn exchange(rehearsal: &mut Rehearsal, head: &[u8; 18], bytes: &[u8]) {
    let [choice, number, seed @ ..] = head;
    let (before, after) = bytes.split_at(bytes.len().min(usize::from(*number)));
    play(rehearsal, before);
    let is_forged = choice & 1 == 1;
    if is_forged && let Some(message) = forgery(rehearsal, seed) {
        let number = rehearsal.messages.len();
        rehearsal.messages.push(message);
        let event = Occurrence::Deliver {
            message: number,
            effects: ALL,
        };
        rehearsal
            .play(event)
            .expect("a message from outside causes no local error");
    }
    play(rehearsal, after);
    rehearsal.settle().expect("no local error occurs");
    if is_forged {
        assert!(rehearsal.certificates_signed() <= 1);
    } else {
        assert!(rehearsal.is_complete().expect("no local error occurs"));
        assert_eq!(rehearsal.certificates_signed(), 1);
    }
    certificate_is_the_consumers(rehearsal);
}

fn play(rehearsal: &mut Rehearsal, bytes: &[u8]) {
    for event in occurrences(bytes) {
        rehearsal.play(event).expect("no local error occurs");
    }
}

fn certificate_is_the_consumers(rehearsal: &Rehearsal) {
    let consumer = rehearsal.consumer.cluster_id();
    let namespace = names::tenant_namespace(consumer);
    let secret: Option<&Secret> = rehearsal
        .at_provider
        .get(&namespace, names::ISSUED_CERTIFICATE_SECRET);
    if let Some(secret) = secret {
        let pem = secret.data[names::CERTIFICATE].expose();
        let chain = CertificateChain::from_pem(pem, &Policy::strict()).expect("it was issued");
        assert!(chain.leaf().subject_is(&Subject::control_plane(consumer)));
        let key = rehearsal.consumer_key.public_key();
        assert_eq!(chain.leaf().spki_der, key.spki_der());
    }
}
