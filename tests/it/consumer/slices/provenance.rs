//! Slices that the provider may have made, since it is a consumer of this cluster as well.

use std::sync::Arc;

use liqo_auth::{
    consumer::{PeerSettings, SliceOptions, SlicePhase},
    crypto::OneKey,
    error::PolicyRefusal,
    model::{Metadata, Namespace, Object, ResourceSlice, Timestamp, names},
};
use serde_json::json;

use super::object_ref;
use crate::{
    clusters::exchange::ed25519,
    consumer::{
        home::{HOUR, Home, MINUTE, NAMESPACE, RECORD, YEAR, consumer, env, mypool, provider},
        key_choice::of_a_consumer,
    },
};

const NEVER: &str = "9999-12-31T23:59:59Z";

/// The Tenant by which the provider is a consumer of this cluster.
pub(super) fn tenant() -> Object {
    let [_, tenant, _] = of_a_consumer();
    tenant
}

/// A slice as a person writes it.
pub(super) fn written(cpu: &str, uid: &str, made: Timestamp) -> ResourceSlice {
    ResourceSlice {
        metadata: Metadata {
            name: "mypool".to_owned(),
            namespace: NAMESPACE.to_owned(),
            uid: uid.to_owned(),
            creation_timestamp: Some(made),
            labels: [
                ("liqo.io/remote-cluster-id", "cl-provider"),
                ("liqo.io/remoteID", "cl-provider"),
                ("liqo.io/replication", "true"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect(),
            ..Metadata::default()
        },
        spec: liqo_auth::model::ResourceSliceSpec {
            class: "default".to_owned(),
            resources: [("cpu".to_owned(), cpu.into())].into(),
            ..Default::default()
        },
        ..ResourceSlice::default()
    }
}

/// A home whose slice was accepted before the provider was a consumer of this cluster.
fn accepted_before() -> Home {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(written("2", "one", home.now).into());
    home.settle();
    assert_eq!(home.slice_phase(), "AwaitsDecision");
    home.objects.insert(tenant());
    home.settle();
    home
}

/// A home with a slice that Liqo or an earlier version has signed: the record says nothing of
/// slices.
fn signed_before() -> (Home, ResourceSlice) {
    let mut home = Home::authenticated(YEAR);
    home.request_slice();
    let signed = home.slice();
    let mut record = home.record();
    for field in ["known", "requested", "virtualNodes"] {
        record.as_object_mut().unwrap().remove(field).unwrap();
    }
    home.put_record(&record);
    home.objects.insert(tenant());
    (home, signed)
}

impl Home {
    pub(super) fn is_accepted(&mut self) -> bool {
        self.settle();
        match self.status().slices.pop().unwrap().phase {
            SlicePhase::Refused(error) => {
                assert_eq!(error.fault(), &PolicyRefusal::SliceNotRequested.into());
                assert_eq!(error.at().object, Some(object_ref()));
                assert_eq!(self.refused, [error]);
                false
            }
            _ => {
                assert!(self.refused.is_empty(), "{:?}", self.refused);
                true
            }
        }
    }

    pub(super) fn change_slice(&mut self, change: impl FnOnce(&mut ResourceSlice)) {
        let mut slice = self.slice();
        change(&mut slice);
        self.objects.insert(slice.into());
    }

    /// Deletes the slice, and makes one of the same name at once.
    pub(super) fn make_again(&mut self, change: impl FnOnce(&mut ResourceSlice)) {
        let mut slice = self.slice();
        slice.metadata.uid = "again".to_owned();
        slice.metadata.creation_timestamp = Some(self.now);
        change(&mut slice);
        self.objects.remove(&object_ref()).unwrap();
        self.objects.insert(slice.into());
    }
}

pub(super) fn asks_for(cpu: &str) -> impl Fn(&mut ResourceSlice) {
    let cpu = cpu.to_owned();
    move |slice| {
        slice.spec.resources.insert("cpu".to_owned(), (*cpu).into());
    }
}

#[test]
fn a_slice_that_was_accepted_stays_accepted_when_the_provider_becomes_a_consumer() {
    let mut home = accepted_before();
    assert!(home.is_accepted());
    let asks = &home.record()["known"]["mypool"];
    assert_eq!(asks[0]["uid"], "one");
    assert_eq!(asks.as_array().unwrap().len(), 1);
    // Its request is made anew, if it has to be.
    home.change_slice(|slice| slice.spec.csr = Default::default());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    assert!(home.is_accepted());
    assert_eq!(home.slice_phase(), "AwaitsDecision");
}

#[test]
fn a_slice_of_an_accepted_name_is_a_new_slice() {
    for change in [asks_for("2"), asks_for("100")] {
        let mut home = accepted_before();
        home.make_again(change);
        assert!(!home.is_accepted());
    }
    for change in [
        |slice: &mut ResourceSlice| slice.spec.class = "other".to_owned(),
        |slice: &mut ResourceSlice| asks_for("100")(slice),
        |slice: &mut ResourceSlice| asks_for("2.5e")(slice),
        |slice: &mut ResourceSlice| slice.spec.resources.clear(),
    ] {
        let mut home = accepted_before();
        let before = home.slice();
        home.change_slice(change);
        assert!(!home.is_accepted());
        // With what it was accepted with, it is the accepted one.
        home.objects.insert(before.into());
        assert!(home.is_accepted());
    }
}

#[test]
fn a_requested_slice_that_is_made_again_is_a_new_slice() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.request_slice();
    assert!(home.is_accepted());
    home.now = home.now + HOUR;
    assert!(home.is_accepted());
    home.make_again(asks_for("100"));
    assert!(!home.is_accepted());
    // Its request accepts it.
    home.request_slice();
    assert!(home.is_accepted());
    assert_eq!(home.slice().spec.resources, mypool().resources);
}

/// As Liqo's programs write what they have read.
#[test]
fn an_amount_that_is_spelt_anew_is_the_same() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(written("0.5", "one", home.now).into());
    home.settle();
    home.objects.insert(tenant());
    home.change_slice(asks_for("500m"));
    assert!(home.is_accepted());
    home.change_slice(|slice| slice.spec.class.clear());
    assert!(home.is_accepted());
    home.change_slice(asks_for("501m"));
    assert!(!home.is_accepted());
}

/// Also if nobody has looked while it was done.
#[test]
fn a_replica_that_is_relabelled_is_a_new_slice() {
    let replica = |home: &Home| {
        let mut replica = written("2", "planted", home.now);
        let labels = &mut replica.metadata.labels;
        labels.insert(names::REPLICATED_LABEL.to_owned(), "true".to_owned());
        replica
    };
    let relabel = |slice: &mut ResourceSlice| {
        slice.metadata.labels.remove(names::REPLICATED_LABEL);
    };
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.objects.insert(replica(&home).into());
    home.settle();
    assert_eq!(home.record()["doubtedUntil"], NEVER);
    home.change_slice(relabel);
    assert!(!home.is_accepted());

    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.objects.insert(replica(&home).into());
    home.settle();
    home.now = home.now + HOUR;
    home.change_slice(relabel);
    home.objects.remove(&tenant().id()).unwrap();
    assert!(!home.is_accepted());
    assert_eq!(home.record()["doubtedUntil"], json!(home.now));
    // What is made from then on is not the provider's.
    home.now = home.now + MINUTE;
    home.make_again(|_| {});
    assert!(home.is_accepted());
}

/// Liqo and earlier versions have signed the request of each slice that they have accepted.
#[test]
fn what_was_signed_before_there_was_a_record_of_slices_is_accepted_once() {
    let (mut home, signed) = signed_before();
    assert!(home.is_accepted());

    home.objects.remove(&object_ref()).unwrap();
    home.settle();
    assert_eq!(home.record()["known"], json!({}));
    home.objects.insert(signed.into());
    assert!(!home.is_accepted());
}

/// The request was all that was known of the slice. Without it, this side would sign another one.
#[test]
fn what_was_accepted_by_its_request_alone_needs_this_request() {
    let (mut home, signed) = signed_before();
    for _ in 0..2 {
        assert!(home.is_accepted());
        home.change_slice(|slice| slice.spec.csr = Default::default());
        assert!(!home.is_accepted());
        home.change_slice(|slice| slice.spec.csr = signed.spec.csr.clone());
    }
    // A person requests what it asks for.
    home.change_slice(|slice| slice.spec.csr = Default::default());
    assert!(!home.is_accepted());
    home.request_slice();
    assert!(home.is_accepted());
    home.change_slice(|slice| slice.spec.csr = Default::default());
    assert!(home.is_accepted());
}

#[test]
fn what_was_accepted_by_its_request_alone_gets_no_request_by_another_key() {
    let phase = |mut home: Home| {
        home.consumer = consumer(PeerSettings::default(), Arc::new(OneKey(ed25519(2))));
        home.slice_phase()
    };
    let (mut home, _) = signed_before();
    assert!(home.is_accepted());
    assert_eq!(phase(home), "Refused");
    let mut home = accepted_before();
    assert!(home.is_accepted());
    assert_eq!(phase(home), "NeedsRequest");
}

/// A record of an earlier version has the names of the requested slices alone.
#[test]
fn a_name_on_record_is_the_slice_that_has_it_first() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.put_on_record(&["mypool"]);
    home.objects.insert(written("2", "one", home.now).into());
    assert!(home.is_accepted());
    assert_eq!(home.record()["known"]["mypool"][0]["uid"], "one");
    home.make_again(asks_for("100"));
    assert!(!home.is_accepted());
}

/// The record is written first. The provider sees it no sooner than the slice, but it may guess
/// the name.
#[test]
fn a_request_is_for_what_it_asks_for() {
    let requested = || {
        let mut home = Home::authenticated(YEAR);
        home.objects.insert(tenant());
        let options = SliceOptions {
            create_virtual_node: false,
            resources: [("cpu".to_owned(), "2".into())].into(),
            ..SliceOptions::named("mypool")
        };
        let step = home
            .consumer
            .request_slice(&home.view(), &options, env(home.now));
        let mut step = step.unwrap();
        step.effects.truncate(1);
        home.carry_out(step);
        // A controller looks at it before the slice is stored.
        home.settle();
        home
    };
    for (cpu, late, accepted) in [
        ("2", false, true),
        ("100", false, false),
        ("2", true, false),
    ] {
        let mut home = requested();
        if late {
            home.now = home.now + MINUTE;
            home.settle();
            assert_eq!(home.record()["known"], json!({}));
            assert_eq!(home.record().get("virtualNodes"), None);
        }
        let mut slice = written(cpu, "one", home.now);
        let wanted = (names::CREATE_VIRTUAL_NODE_ANNOTATION, names::TRUE);
        slice.metadata.annotations = [wanted.0.to_owned()]
            .map(|it| (it, wanted.1.to_owned()))
            .into_iter()
            .collect();
        home.objects.insert(slice.into());
        assert_eq!(home.is_accepted(), accepted, "{cpu} {late}");
        if accepted {
            assert!(!home.status().slices[0].virtual_node);
        }
    }
}

/// A changed request is on record before its slice is changed.
#[test]
fn a_look_between_keeps_the_former_request_and_the_next_one() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.request_slice();
    home.settle();
    home.now = home.now + HOUR;
    let mut options = mypool();
    options.resources.insert("cpu".to_owned(), "8".into());
    let step = home
        .consumer
        .request_slice(&home.view(), &options, env(home.now));
    let mut step = step.unwrap();
    let rest = step.effects.split_off(1);
    home.carry_out(step);
    assert!(home.is_accepted());
    for effect in &rest {
        home.objects.apply(effect).unwrap();
    }
    assert!(home.is_accepted());
    assert_eq!(home.slice().spec.resources["cpu"].as_str(), "8");
}

#[test]
fn the_setting_accepts_what_is_stored() {
    let anyone = PeerSettings {
        sign_slices_made_by_anyone: true,
        ..PeerSettings::default()
    };
    let mut home = Home::with(anyone).authenticate(YEAR);
    home.objects.insert(tenant());
    home.objects.insert(written("2", "one", home.now).into());
    assert!(home.is_accepted());
    home.make_again(asks_for("100"));
    assert!(home.is_accepted());
}

/// It cannot be granted either.
#[test]
fn amounts_that_nobody_can_count_differ_in_their_text() {
    for (before, after) in [
        ("many", "more"),
        ("10000000000000000000", "10000000000000000001"),
    ] {
        let mut home = Home::authenticated(YEAR);
        home.objects.insert(written(before, "one", home.now).into());
        home.settle();
        home.objects.insert(tenant());
        assert!(home.is_accepted());
        home.change_slice(asks_for(after));
        assert!(!home.is_accepted(), "{before} {after}");
    }
}

#[test]
fn a_request_that_is_made_again_waits_for_its_slice_anew() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    for _ in 0..3 {
        let options = mypool();
        let step = home
            .consumer
            .request_slice(&home.view(), &options, env(home.now));
        let mut step = step.unwrap();
        step.effects.truncate(1);
        home.carry_out(step);
        home.now = home.now + MINUTE / 2;
    }
    home.settle();
    let mut slice = written("2", "one", home.now);
    slice.spec.resources = mypool().resources;
    home.objects.insert(slice.into());
    assert!(home.is_accepted());
}

/// Before the first authentication, there is no record.
#[test]
fn a_record_is_made_for_a_slice_that_is_doubted() {
    let mut home = Home::new();
    home.objects
        .insert(Namespace::for_tenant(&provider()).into());
    home.objects.insert(tenant());
    home.settle();
    assert!(!home.names().iter().any(|name| name.ends_with(RECORD)));
    home.objects.insert(written("2", "one", home.now).into());
    assert!(!home.is_accepted());
    assert_eq!(home.record()["doubtedUntil"], NEVER);
}

/// What cannot be read may show that the provider is a consumer.
#[test]
fn an_unreadable_record_of_the_provider_leaves_everything_doubted() {
    let mut home = Home::authenticated(YEAR);
    let [record, ..] = of_a_consumer();
    let mut record = record.to_value();
    record["data"] = json!(7);
    home.objects.insert(Object::from_value(record));
    home.settle();
    assert_eq!(home.record()["doubtedUntil"], NEVER);
}
