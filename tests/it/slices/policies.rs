//! Who decides on the resources of a slice, and when.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    crypto::{Answer, BoxError},
    error::{Backend, Fault, LocalFault, Precondition},
    machine::Awaited,
    model::{
        Kind, ObjectRef, ResourceSliceConditionStatus as Said, ResourceSliceConditionType as About,
    },
    provider::{Grant, LiqoClasses, ResourceSlicePolicy, SliceDecision, SliceRequest},
};

use crate::clusters::pool::{self, NAMESPACE, Pool, replica, resources};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

/// An embedder's policy: of the amounts that the library's own would grant, two
/// are too much.
struct LessThanAsked(LiqoClasses);

impl ResourceSlicePolicy for LessThanAsked {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        let mut decision = self.0.decide(request)?;
        if let Answer::Ready(SliceDecision::Grant(grant)) = &mut decision {
            for quantity in grant.resources.values_mut() {
                match quantity.as_str() {
                    "2" => *quantity = "1500m".into(),
                    "4Gi" => *quantity = "2Gi".into(),
                    _ => {}
                }
            }
        }
        Ok(decision)
    }
}

/// A policy that decides by the class.
struct ByClass;

impl ResourceSlicePolicy for ByClass {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        let decision = match request.class {
            "never" => SliceDecision::Deny {
                reason: "OutOfStock".into(),
                message: "there is nothing left".into(),
            },
            "later" => return Ok(Answer::Pending),
            "broken" => return Err("out of order".into()),
            _ => return LiqoClasses::default().decide(request),
        };
        Ok(Answer::Ready(decision))
    }
}

#[test]
fn a_policy_may_deny_wait_leave_the_decision_to_others_or_fail() {
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(ByClass)));
    for class in ["never", "later", "broken", "theirs", ""] {
        let mut slice = replica(&format!("of-{class}x"));
        slice.spec.class = class.to_owned();
        // The resources that another controller or the peer has written.
        slice.status.resources = resources(&[("cpu", "7")]);
        pool.bring(slice);
    }
    let step = pool.settle().reconcile();
    assert_eq!(
        pool.said("of-neverx"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    let denied = pool.condition("of-neverx", About::Resources).unwrap();
    assert_eq!(
        (denied.reason.as_str(), denied.message.as_str()),
        ("OutOfStock", "there is nothing left")
    );
    assert_eq!(pool.phase("of-neverx"), "Denied");

    assert_eq!(pool.said("of-laterx"), [Some(Said::Accepted), None]);
    assert_eq!(
        pool.slice("of-laterx").unwrap().status.resources,
        resources(&[])
    );
    assert_eq!(pool.phase("of-laterx"), "NeedsDecision");
    let waits = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "of-laterx");
    assert!(step.wait.awaiting.contains(&Awaited::Resources(waits)));

    assert_eq!(
        pool.refused[0].1.fault(),
        &LocalFault::Backend {
            backend: Backend::ResourceSlicePolicy,
            message: "out of order".into()
        }
        .into()
    );
    let source = std::error::Error::source(&pool.refused[0].1).unwrap();
    assert_eq!(source.to_string(), "out of order");

    assert_eq!(pool.said("of-brokenx"), [Some(Said::Accepted), None]);
    assert_eq!(pool.wake_at, Some(pool.now + Duration::from_secs(60)));

    assert_eq!(pool.said("of-theirsx"), [Some(Said::Accepted), None]);
    assert_eq!(
        pool.slice("of-theirsx").unwrap().status.resources,
        resources(&[("cpu", "7")])
    );
    pool.edit("of-theirsx", |slice| {
        let mut accepted = slice.status.conditions[0].clone();
        accepted.condition_type = About::Resources;
        slice.status.conditions.push(accepted);
    })
    .settle();
    assert_eq!(pool.said("of-theirsx"), ACCEPTED);
    assert_eq!(pool.said("of-x"), ACCEPTED);
}

#[test]
fn changed_resources_are_decided_on_again_and_unchanged_ones_are_not() {
    let policy = LessThanAsked(LiqoClasses {
        defaults: Grant {
            resources: resources(&[("pods", "110"), ("cpu", "1")]),
            node_labels: [("region".to_owned(), "europe".to_owned())].into(),
            ..Grant::default()
        },
        ..LiqoClasses::default()
    });
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    pool.bring(replica("mypool")).settle();
    let status = &pool.slice("mypool").unwrap().status;
    assert_eq!(
        status.resources,
        resources(&[("cpu", "1500m"), ("memory", "2Gi"), ("pods", "110")])
    );
    assert_eq!(status.node_labels["region"], "europe");
    let since = status.conditions[1].last_transition_time;

    pool.wait(Duration::from_secs(3600));
    pool.edit("mypool", |slice| {
        slice.spec.resources = resources(&[("cpu", "500m"), ("memory", "2000Mi")]);
    })
    .settle();
    let status = &pool.slice("mypool").unwrap().status;
    assert_eq!(
        status.resources,
        resources(&[("cpu", "500m"), ("memory", "2000Mi"), ("pods", "110")])
    );
    assert_eq!(status.conditions[1].last_transition_time, since);

    // A text that is no quantity is denied.
    for quantity in ["much", "-1"] {
        pool.edit("mypool", |slice| {
            slice.spec.resources = resources(&[("cpu", quantity)]);
        })
        .settle();
        assert_eq!(
            pool.said("mypool"),
            [Some(Said::Accepted), Some(Said::Denied)],
            "{quantity}"
        );
        assert_eq!(
            pool.slice("mypool").unwrap().status.resources,
            resources(&[])
        );
    }
    assert_eq!(pool.signer.different(), 1);
}

#[test]
fn the_time_of_a_condition_is_that_of_its_last_change() {
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(ByClass)));
    pool.bring(replica("mypool")).settle();
    let [_, mut since] = pool.since("mypool");
    assert_eq!(since, Some(pool.now));
    for (class, cpu, phase, changes) in [
        ("default", "1", "Accepted", false),
        ("never", "1", "Denied", true),
        ("never", "3", "Denied", false),
        ("default", "3", "Accepted", true),
    ] {
        pool.wait(Duration::from_secs(60));
        pool.edit("mypool", |slice| {
            slice.spec.class = class.to_owned();
            slice.spec.resources = resources(&[("cpu", cpu)]);
        })
        .settle();
        if changes {
            since = Some(pool.now);
        }
        assert_eq!(pool.phase("mypool"), phase, "{class} {cpu}");
        assert_eq!(pool.since("mypool")[1], since, "{class} {cpu}");
    }
}

/// The certificate and the decision belong to one replica, not to its name.
#[test]
fn a_slice_that_is_made_anew_is_signed_and_decided_on_anew() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    pool.wait(Duration::from_secs(3600));
    pool.remove("mypool").bring(replica("mypool")).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.since("mypool"), [Some(pool.now); 2]);
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn the_administrator_can_request_a_new_decision() {
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(ByClass)));
    let mut slice = replica("mypool");
    slice.spec.class = "never".into();
    pool.bring(slice).settle();
    let granting = Pool::new();
    pool.provider = granting.provider;
    pool.edit("mypool", |slice| slice.spec.class = "default".into());
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);

    pool.administer(|provider, objects, _| {
        provider.reconsider_slice(&objects.view(&pool::consumer()), "mypool")
    });
    assert_eq!(pool.phase("mypool"), "NeedsDecision");
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    let error = pool
        .provider
        .reconsider_slice(&pool.at_provider.view(&pool::consumer()), "nothere")
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Precondition(Precondition::NoSlice));
}

#[test]
fn a_slice_gets_at_most_its_caps() {
    let policy = LiqoClasses {
        defaults: Grant::of_liqo(),
        caps: resources(&[
            ("cpu", "1500m"),
            ("pods", "20"),
            ("memory", "4Gi"),
            ("gpu", "1"),
        ]),
        ..LiqoClasses::default()
    };
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    let mut slice = replica("mypool");
    slice.spec.resources = resources(&[("cpu", "2"), ("memory", "4096Mi"), ("fpga", "7")]);
    pool.bring(slice).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(
        pool.slice("mypool").unwrap().status.resources,
        resources(&[
            ("cpu", "1500m"),
            // As Kubernetes spells 4096Mi.
            ("memory", "4Gi"),
            ("pods", "20"),
            ("ephemeral-storage", "20Gi"),
            ("fpga", "7"),
        ])
    );
}

/// `1500m` is longer than `1.5`, and a record with it could not be read again.
#[test]
fn an_amount_counts_in_the_spelling_in_which_it_is_granted() {
    for (limit, decision) in [(4, Said::Denied), (5, Said::Accepted)] {
        let mut pool = Pool::with(|builder| {
            builder.configure(|settings| settings.policy.limits.quantity = limit)
        });
        let mut slice = replica("mypool");
        slice.spec.resources = resources(&[("cpu", "1.5")]);
        pool.bring(slice).settle();
        let said = pool.said("mypool");
        assert_eq!(said, [Some(Said::Accepted), Some(decision)], "{limit}");
    }
}

#[test]
fn all_slices_of_a_peer_get_at_most_the_total() {
    let policy = LiqoClasses {
        total: resources(&[("cpu", "4"), ("memory", "8Gi")]),
        ..LiqoClasses::default()
    };
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    let slice = |name: &str, asked: &[(&str, &str)]| {
        let mut slice = replica(name);
        slice.spec.resources = resources(asked);
        slice
    };
    // Both are decided on in one look.
    pool.bring(slice("first", &[("cpu", "2500m"), ("gpu", "9")]));
    pool.bring(slice("second", &[("cpu", "2")]));
    pool.settle();
    assert_eq!(pool.said("first"), ACCEPTED);
    assert_eq!(
        pool.said("second"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    let denied = pool.condition("second", About::Resources).unwrap();
    assert_eq!(denied.reason, "ResourceSliceResourcesDenied");
    assert_eq!(
        denied.message,
        "the consumer's slices may have 4 of \"cpu\" in all, and the other slices have 2500m of it"
    );
    // A slice with nothing of it, and one that fits.
    pool.bring(slice("third", &[("memory", "8Gi")]));
    pool.bring(slice("fourth", &[("cpu", "1500m"), ("memory", "0")]));
    pool.settle();
    assert_eq!(
        (pool.said("third"), pool.said("fourth")),
        (ACCEPTED, ACCEPTED)
    );
    // Its own grant does not count when a slice changes its request.
    pool.edit("first", |slice| {
        slice.spec.resources = resources(&[("cpu", "2")]);
    });
    pool.settle();
    assert_eq!(pool.said("first"), ACCEPTED);
    // A slice that is gone frees its part.
    let fourth = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "fourth");
    pool.at_provider.remove(&fourth);
    pool.settle();
    pool.administer(|provider, objects, _| {
        provider.reconsider_slice(&objects.view(&pool::consumer()), "second")
    });
    pool.settle();
    assert_eq!(pool.said("second"), ACCEPTED);
}

#[test]
fn slices_of_liqos_class_may_be_denied() {
    let policy = LiqoClasses {
        denied: true,
        ..LiqoClasses::default()
    };
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    let mut theirs = replica("theirs");
    theirs.spec.class = "gold".to_owned();
    pool.bring(replica("mypool"));
    pool.bring(theirs);
    pool.settle();
    assert_eq!(
        pool.said("mypool"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    let denied = pool.condition("mypool", About::Resources).unwrap();
    assert_eq!(denied.message, "ResourceSlice resources denied");
    assert_eq!(pool.said("theirs"), [Some(Said::Accepted), None]);
}
