//! All backends of a provider answer later, in every order, and the provider
//! crashes after each effect.

use liqo_auth::{
    model::{Object, ResourceSlice},
    provider::{Phase, SlicePhase},
};

use super::{
    backends::Mood,
    provider_life::{Act, Bringing, Deed, Life, Signer},
};
use crate::clusters::pool::NAMESPACE;

/// One effect of each step is carried out. All others are lost in a crash.
const CRASH: usize = 1;
/// More steps than any stage needs.
const LOOKS: usize = 24;

/// Reconciles until there is nothing to do. The consumer answers the nonce before
/// each step.
fn settle(life: &mut Life) {
    for _ in 0..LOOKS {
        life.play(&Deed::Answer { effects: CRASH }, &mut |_, _, _| {});
        let before: Vec<Object> = life.objects().iter().cloned().collect();
        life.play(&Deed::Look { effects: CRASH }, &mut |_, step, _| {
            let step = step.as_ref().unwrap();
            assert!(step.refused.is_empty(), "{:?}", step.refused);
        });
        if life.objects().iter().eq(&before) {
            return;
        }
    }
    panic!("the provider runs in circles");
}

/// A peer with a slice. The backends begin to answer in this order.
fn authenticated(signer: Signer, order: &[&'static str]) -> Life {
    let mut life = Life::new(signer);
    life.backends.set(Mood::Pends);
    life.play(
        &Deed::Administer(Act::Invite, usize::MAX),
        &mut |_, _, _| {},
    );
    life.play(
        &Deed::Look {
            effects: usize::MAX,
        },
        &mut |_, _, _| {},
    );
    life.play(&Deed::Bring(0, Bringing::Good), &mut |_, _, _| {});
    settle(&mut life);
    for backend in order {
        assert!(!is_complete(&life), "{order:?} before {backend}");
        life.backends.set_one(backend, Mood::Answers);
        settle(&mut life);
    }
    assert!(is_complete(&life), "{order:?}");
    life
}

/// The Identity is sent last, with the provider's commitment.
fn is_complete(life: &Life) -> bool {
    let status = life.exchange.provider.look(&life.view(), life.exchange.now);
    let status = status.unwrap();
    let [slice] = &status.slices[..] else {
        return false;
    };
    matches!(status.phase, Phase::Authenticated(_))
        && matches!(slice.phase, SlicePhase::Accepted(_))
        && life.exchange.sent.contains_key("Identity")
}

/// The names of all objects in the end, and the resources of the slice.
/// Certificates are not compared, because their serial numbers differ.
fn outcome(life: &mut Life) -> (Vec<String>, String) {
    let mut objects: Vec<String> = life
        .objects()
        .iter()
        .map(|it| it.id().to_string())
        .collect();
    objects.sort();
    let slice = life.objects().get::<ResourceSlice>(NAMESPACE, "a").unwrap();
    (objects, format!("{:?}", slice.status.resources))
}

fn every_order_ends_alike(signer: Signer, backends: &[&'static str], credentials: usize) {
    let mut undisturbed = authenticated(signer, backends);
    let expected = outcome(&mut undisturbed);
    for order in permutations(backends) {
        let mut life = authenticated(signer, &order);
        assert_eq!(outcome(&mut life), expected, "{order:?}");
        assert_eq!(life.backends.credentials_given(), credentials, "{order:?}");
    }
}

/// All orders of the items.
fn permutations(items: &[&'static str]) -> Vec<Vec<&'static str>> {
    let Some((last, rest)) = items.split_last() else {
        return vec![Vec::new()];
    };
    let mut orders = Vec::new();
    for order in permutations(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, last);
            orders.push(order);
        }
    }
    orders
}

#[test]
fn with_a_signer_every_order_of_answers_leads_to_the_same_objects() {
    let backends = ["names", "key", "approver", "policy", "signer"];
    assert_eq!(permutations(&backends).len(), 120);
    every_order_ends_alike(Signer::Backend, &backends, 2);
}

#[test]
fn with_aws_every_order_of_answers_leads_to_the_same_objects() {
    let backends = ["names", "key", "approver", "policy", "aws"];
    every_order_ends_alike(Signer::Aws, &backends, 2);
}
