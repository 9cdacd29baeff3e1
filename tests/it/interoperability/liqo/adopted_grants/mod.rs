//! What Liqo 1.2.0 granted to a slice outlives the take-over of its peering, up to the caps.

mod hostile;

use std::sync::Arc;

use liqo_auth::{
    Machine,
    audit::{Decision, Event},
    crypto::{Answer, BoxError, CaBundle, RecordKey},
    machine::{Notice, Step},
    model::{
        Kind, ObjectRef, ResourceSlice, ResourceSliceConditionStatus, ResourceSliceConditionType,
        names,
    },
    policy::Policy,
    provider::{
        Endpoint, Grant, NameRequest, NameTable, Principals, Provider, ProviderBuilder,
        RecordedSlice, ResourceSlicePolicy, SliceDecision, SliceRequest,
    },
};

use crate::{
    clusters::{
        exchange::{Exchange, Ledger, RECORD_KEY, id, secret_ref},
        pool::resources,
    },
    recordings::{self, AUTHENTICATED, Recording},
};

const NAMESPACE: &str = "liqo-tenant-cluster-a";

/// A policy that answers later.
struct Undecided;

impl ResourceSlicePolicy for Undecided {
    fn decide(&self, _: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        Ok(Answer::Pending)
    }
}

/// A policy that grants one CPU.
struct OneCpu;

impl ResourceSlicePolicy for OneCpu {
    fn decide(&self, _: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        Ok(Answer::Ready(SliceDecision::Grant(Grant {
            resources: resources(&[("cpu", "1")]),
            ..Grant::default()
        })))
    }
}

/// Both clusters with Liqo's objects, among them a slice. The policy for slices has not
/// answered.
fn with_slice() -> Exchange {
    with(|builder| builder)
}

fn with(change: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Exchange {
    let liqo = recording();
    let mut two = Exchange {
        provider: provider(&liqo, change),
        vouched: Vec::new(),
        ..liqo.after()
    };
    let later = recordings::dumped("exchange/2-resourceslice/cluster-b");
    let of_slice = [
        ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "mypool"),
        secret_ref(NAMESPACE, "liqo-remote-certificate-mypool"),
    ];
    let objects = later.iter().filter(|it| of_slice.contains(&it.id()));
    two.at_provider.extend(objects.cloned());
    two
}

fn recording() -> Recording {
    Recording::read(AUTHENTICATED, "cluster-b", "cluster-a")
}

fn provider(liqo: &Recording, change: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Provider {
    let parameters = liqo.tenant.status.auth_params.as_ref().unwrap();
    let bundle = CaBundle::from_pem(parameters.ca.as_slice(), &Policy::strict()).unwrap();
    let endpoint = Endpoint::new(parameters.api_server.parse().unwrap(), Some(&bundle));
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    let builder = Provider::builder(id(liqo.provider_id()), endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .key(Arc::clone(&liqo.provider_key))
        .signer(Arc::new(Ledger::new()))
        .slices(Arc::new(Undecided))
        .configure(|config| config.adopt_from_liqo = true);
    change(builder).build()
}

fn edit(two: &mut Exchange, change: impl FnOnce(&mut ResourceSlice)) {
    let mut slice = slice(two).clone();
    change(&mut slice);
    two.at_provider.insert(slice.into());
}

fn slice(two: &Exchange) -> &ResourceSlice {
    two.at_provider.get(NAMESPACE, "mypool").unwrap()
}

/// Says what Liqo would have granted, in the request and in the status.
fn liqo_granted(two: &mut Exchange, granted: &[(&str, &str)]) {
    edit(two, |slice| {
        slice.spec.resources = resources(granted);
        slice.status.resources = resources(granted);
    });
}

fn recorded(two: &Exchange) -> RecordedSlice {
    let mut slices = two.provider.recorded_slices(&two.provider_view()).unwrap();
    assert_eq!(slices.len(), 1, "{slices:?}");
    slices.remove(0)
}

/// What the record and the status grant, which is the same.
#[track_caller]
fn assert_has(two: &Exchange, expected: &[(&str, &str)]) {
    let recorded = recorded(two);
    let granted = recorded.grant.unwrap().resources;
    assert_eq!(granted, resources(expected));
    assert!(!recorded.cordoned);
    assert_eq!(slice(two).status.resources, resources(expected));
    assert!(is_accepted(slice(two)));
}

/// Nothing is granted before the policy answers.
#[track_caller]
fn assert_has_nothing(two: &Exchange, why: &str) {
    let recorded = recorded(two);
    assert_eq!(recorded.grant, None, "{why}");
    assert!(recorded.cordoned, "{why}");
    assert!(slice(two).status.resources.is_empty(), "{why}");
    assert!(!is_accepted(slice(two)), "{why}");
}

fn is_accepted(slice: &ResourceSlice) -> bool {
    let condition = slice
        .status
        .condition(ResourceSliceConditionType::Resources);
    condition.is_some_and(|it| it.status == ResourceSliceConditionStatus::Accepted)
}

/// Lets the provider work until nothing is left, and returns what was decided.
fn settle(two: &mut Exchange) -> Vec<Decision> {
    let mut events: Vec<Event> = Vec::new();
    for _ in 0..32 {
        let step = two.turn_of_provider();
        let is_settled = step.is_settled();
        events.extend(step.events);
        if is_settled {
            return events.into_iter().map(|event| event.decision).collect();
        }
    }
    panic!("the provider does not settle");
}

fn adopted(decisions: &[Decision]) -> Vec<&Decision> {
    let is_adopted = |it: &&Decision| matches!(it, Decision::ResourcesAdopted { .. });
    decisions.iter().filter(is_adopted).collect()
}

fn unconfirmed(two: &Exchange) -> Vec<Notice> {
    let status = two.provider.look(&two.provider_view(), two.now).unwrap();
    let notices = status.notices.into_iter();
    let is_unconfirmed = |it: &Notice| matches!(it, Notice::GrantUnconfirmed { .. });
    notices.filter(is_unconfirmed).collect()
}

fn confirm(two: &mut Exchange) -> Step {
    let step = two
        .provider
        .confirm_slice(&two.provider_view(), "mypool")
        .unwrap();
    two.carry_out(true, step)
}

#[test]
fn what_liqo_granted_stays_before_the_policy_answers() {
    let mut two = with_slice();
    let before = slice(&two).status.clone();
    let granted = [("cpu", "2"), ("memory", "4Gi")];
    for _ in 0..8 {
        two.turn_of_provider();
        assert_has(&two, &granted);
    }
    assert_eq!(unconfirmed(&two), []);
    assert_eq!(slice(&two).status.node_labels, before.node_labels);
    let status = two.provider.look(&two.provider_view(), two.now).unwrap();
    assert_eq!(status.slices[0].phase.name(), "Accepted");
}

#[test]
fn an_event_lists_what_the_slice_keeps() {
    let mut two = with_slice();
    let decisions = settle(&mut two);
    let expected = Decision::ResourcesAdopted {
        resources: resources(&[("cpu", "2"), ("memory", "4Gi")]),
        unconfirmed: resources(&[]),
    };
    assert_eq!(adopted(&decisions), [&expected]);
}

#[test]
fn classes_and_labels_stay_as_well() {
    let mut two = with_slice();
    edit(&mut two, |slice| {
        slice.status.node_labels = [("region".to_owned(), "south".to_owned())].into();
        slice.status.storage_classes = serde_json::from_value(serde_json::json!([
            { "storageClassName": "standard", "default": true },
        ]))
        .unwrap();
    });
    let before = slice(&two).status.clone();
    settle(&mut two);
    let status = &slice(&two).status;
    assert_eq!(status.node_labels, before.node_labels);
    assert_eq!(status.storage_classes, before.storage_classes);
}

#[test]
fn what_goes_beyond_the_caps_waits_for_a_person() {
    let mut two = with_slice();
    let liqos = [
        ("cpu", "16"),
        ("ephemeral-storage", "20Gi"),
        ("memory", "9000Mi"),
        ("nvidia.com/gpu", "2"),
        ("pods", "110"),
    ];
    liqo_granted(&mut two, &liqos);
    let decisions = settle(&mut two);
    let within = [
        ("cpu", "4"),
        ("ephemeral-storage", "20Gi"),
        ("memory", "8Gi"),
        ("pods", "110"),
    ];
    assert_has(&two, &within);
    let beyond = resources(&[("cpu", "16"), ("memory", "9000Mi"), ("nvidia.com/gpu", "2")]);
    let expected = Decision::ResourcesAdopted {
        resources: resources(&within),
        unconfirmed: beyond.clone(),
    };
    assert_eq!(adopted(&decisions), [&expected]);
    let slice = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "mypool");
    let notice = Notice::GrantUnconfirmed {
        slice,
        resources: beyond,
    };
    assert_eq!(unconfirmed(&two), [notice]);

    let step = confirm(&mut two);
    let decisions: Vec<&Decision> = step.events.iter().map(|event| &event.decision).collect();
    assert_eq!(decisions, [&Decision::ResourcesConfirmed]);
    settle(&mut two);
    assert_has(&two, &liqos);
    assert_eq!(unconfirmed(&two), []);
    assert!(confirm(&mut two).is_settled());
}

#[test]
fn the_embedder_sets_the_caps() {
    let mut two = with(|builder| {
        builder.configure(|config| config.adopt_up_to = resources(&[("cpu", "1500m")]))
    });
    settle(&mut two);
    assert_has(&two, &[("cpu", "1500m")]);
    let mut two = with(|builder| builder.configure(|config| config.adopt_up_to.clear()));
    assert_eq!(adopted(&settle(&mut two)), Vec::<&Decision>::new());
    assert_has_nothing(&two, "no caps");
}

#[test]
fn a_request_that_liqo_has_not_answered_goes_to_the_policy() {
    let mut two = with_slice();
    edit(&mut two, |slice| {
        slice.spec.resources = resources(&[("cpu", "3"), ("memory", "4Gi")]);
    });
    settle(&mut two);
    assert_has(&two, &[("cpu", "2"), ("memory", "4Gi")]);
    let status = two.provider.look(&two.provider_view(), two.now).unwrap();
    assert_eq!(status.slices[0].phase.name(), "NeedsDecision");

    // The same amounts in another form are the same request.
    let mut two = with_slice();
    edit(&mut two, |slice| {
        slice.spec.resources = resources(&[("cpu", "2000m"), ("memory", "4096Mi")]);
    });
    settle(&mut two);
    let status = two.provider.look(&two.provider_view(), two.now).unwrap();
    assert_eq!(status.slices[0].phase.name(), "Accepted");
}

#[test]
fn a_changed_request_ends_what_waits_for_a_person() {
    let mut two = with(|builder| builder.slices(Arc::new(OneCpu)));
    liqo_granted(&mut two, &[("cpu", "16")]);
    settle(&mut two);
    assert_has(&two, &[("cpu", "4")]);
    edit(&mut two, |slice| {
        slice.spec.resources = resources(&[("cpu", "17")])
    });
    settle(&mut two);
    assert_has(&two, &[("cpu", "1")]);
    assert_eq!(unconfirmed(&two), []);
    assert!(confirm(&mut two).is_settled());
}

/// Liqo's certificate of the peer does not count, so that the exchange goes on.
#[test]
fn the_slice_keeps_its_resources_while_the_peer_gets_another_certificate() {
    let mut two = with_slice();
    let kept = secret_ref(NAMESPACE, names::ISSUED_CERTIFICATE_SECRET);
    two.at_provider.remove(&kept).unwrap();
    assert_eq!(two.provider_phase().name(), "NeedsProof");
    for _ in 0..12 {
        two.turn_of_provider();
        assert_has(&two, &[("cpu", "2"), ("memory", "4Gi")]);
    }
    assert_eq!(two.provider_phase().name(), "Authenticated");
}

/// A look-up of names that has not answered.
struct NoAnswer;

impl Principals for NoAnswer {
    fn is_taken(&self, _: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Ok(Answer::Pending)
    }
}

/// A look-up of names that fails.
struct Broken;

impl Principals for Broken {
    fn is_taken(&self, _: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        Err("out of order".into())
    }
}

#[test]
fn the_slice_keeps_its_resources_while_a_backend_does_not_answer() {
    let backends: [Arc<dyn Principals>; 2] = [Arc::new(NoAnswer), Arc::new(Broken)];
    for backend in backends {
        let mut two = with(|builder| builder.principals(backend));
        for _ in 0..3 {
            if let Ok(step) = two.provider.reconcile(&two.provider_view(), two.env()) {
                let machine: &dyn Machine = &two.provider;
                // Without the names, a look does not know the phase.
                if let Ok(status) = machine.look(&two.provider_view(), two.now) {
                    assert_eq!(status.is_due, !step.is_settled());
                    assert_eq!(status.awaits, step.wait.awaiting);
                }
                two.carry_out(true, step);
            }
            assert_has(&two, &[("cpu", "2"), ("memory", "4Gi")]);
            // What was read counts, though the peer is not on record.
            edit(&mut two, |slice| {
                slice.status.resources = resources(&[("cpu", "3")])
            });
            assert_eq!(
                recorded(&two).grant.unwrap().resources,
                resources(&[("cpu", "2"), ("memory", "4Gi")])
            );
        }
        let answering = with_slice().provider;
        two.provider = answering;
        settle(&mut two);
        assert_has(&two, &[("cpu", "2"), ("memory", "4Gi")]);
    }
}

#[test]
fn a_cordoned_slice_of_liqo_stays_cordoned_and_keeps_its_grant() {
    let mut two = with_slice();
    edit(&mut two, |slice| {
        let annotations = &mut slice.metadata.annotations;
        annotations.insert(names::CORDON_ANNOTATION.to_owned(), names::TRUE.to_owned());
    });
    two.turn_of_provider();
    let found = recorded(&two);
    assert!(found.cordoned && found.grant.is_some(), "{found:?}");
    settle(&mut two);
    assert!(recorded(&two).cordoned);
}

#[test]
fn a_cordon_before_the_take_over_takes_no_grant_away() {
    let mut two = with_slice();
    let step = two.provider.cordon_slice(&two.provider_view(), "mypool");
    two.carry_out(true, step.unwrap());
    settle(&mut two);
    let found = recorded(&two);
    assert!(found.cordoned && found.grant.is_some(), "{found:?}");
}
