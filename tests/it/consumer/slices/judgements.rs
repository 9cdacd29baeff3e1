//! Slices whose writers were judged, as the admission webhook does.

use liqo_auth::{
    Machine,
    machine::Step,
    model::{Object, ResourceSlice, names},
};
use serde_json::json;

use super::{
    object_ref,
    provenance::{asks_for, tenant, written},
};
use crate::consumer::home::{HOUR, Home, MINUTE, YEAR, env};

impl Home {
    /// Somebody writes this slice, who is no user of the provider.
    fn judge(&self, slice: &ResourceSlice) -> Step {
        let changed = Object::from(slice.clone());
        self.consumer
            .guard(&self.view(), &changed, env(self.now))
            .unwrap()
    }

    fn let_through(&mut self, slice: ResourceSlice) {
        let step = self.judge(&slice);
        self.carry_out(step);
        self.objects.insert(slice.into());
    }
}

#[test]
fn a_slice_whose_writer_was_judged_is_accepted() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.settle();
    home.let_through(written("2", "one", home.now));
    assert!(home.is_accepted());
    // The next change of it as well, whoever has requested the slice.
    home.now = home.now + HOUR;
    let mut changed = home.slice();
    asks_for("8")(&mut changed);
    home.let_through(changed);
    assert!(home.is_accepted());
    let known = home.record()["known"]["mypool"].clone();
    assert_eq!(known.as_array().unwrap().len(), 1, "{known}");
}

/// The judgement is about one slice and its content: a webhook that is away vouches for nothing.
#[test]
fn a_judgement_is_for_one_slice_and_its_content() {
    let judged = || {
        let mut home = Home::authenticated(YEAR);
        home.objects.insert(tenant());
        home.settle();
        home.let_through(written("2", "one", home.now));
        home
    };
    let mut home = judged();
    home.change_slice(asks_for("100"));
    assert!(!home.is_accepted());
    let mut home = judged();
    home.make_again(|_| {});
    assert!(!home.is_accepted());
}

#[test]
fn a_change_of_a_planted_slice_makes_it_nobody_elses() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.objects
        .insert(written("2", "planted", home.now).into());
    assert!(!home.is_accepted());
    let mut touched = home.slice();
    touched
        .metadata
        .annotations
        .insert("a".to_owned(), "b".to_owned());
    home.let_through(touched);
    assert!(!home.is_accepted());
    let mut changed = home.slice();
    asks_for("1")(&mut changed);
    assert!(home.judge(&changed).effects.is_empty());
    // Made again, it is the slice of who makes it.
    home.objects.remove(&object_ref()).unwrap();
    home.let_through(written("2", "by a person", home.now));
    assert!(home.is_accepted());
}

/// An API server asks about a slice before it finds that there is one of this name.
#[test]
fn a_judgement_of_what_is_not_stored_changes_nothing() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.settle();
    home.let_through(written("2", "one", home.now));
    for number in 0..40 {
        let other = written("2", &format!("other-{number}"), home.now);
        home.objects.remove(&object_ref());
        let step = home.judge(&other);
        home.carry_out(step);
        home.objects.insert(written("2", "one", home.now).into());
        assert!(home.is_accepted(), "{number}");
    }
    let known = home.record()["known"]["mypool"].clone();
    let known = known.as_array().unwrap();
    assert_eq!(known.len(), 17);
    assert_eq!(known[16]["uid"], "other-39");
    home.now = home.now + MINUTE;
    assert!(home.is_accepted());
    let known = home.record()["known"]["mypool"].as_array().unwrap().len();
    assert_eq!(known, 1);
}

#[test]
fn what_needs_no_judgement_is_not_recorded() {
    let mut home = Home::authenticated(YEAR);
    let slice = written("2", "one", home.now);
    assert!(home.judge(&slice).is_settled(), "no consumer");
    home.objects.insert(tenant());
    home.settle();
    let mut replica = slice.clone();
    let labels = &mut replica.metadata.labels;
    labels.insert(names::REPLICATED_LABEL.to_owned(), "true".to_owned());
    let mut deleted = slice.clone();
    deleted.metadata.deletion_timestamp = Some(home.now);
    let mut of_another = slice.clone();
    let labels = &mut of_another.metadata.labels;
    labels.insert("liqo.io/remoteID".to_owned(), "cl-other".to_owned());
    let mut elsewhere = slice.clone();
    elsewhere.metadata.namespace = "default".to_owned();
    for other in [replica, deleted, of_another, elsewhere] {
        assert!(home.judge(&other).is_settled(), "{other:?}");
    }
    assert_eq!(home.judge(&slice).effects.len(), 1);
}

/// The first judgement takes over what was signed before.
#[test]
fn a_judgement_forgets_no_slice_of_an_earlier_version() {
    let mut home = Home::authenticated(YEAR);
    home.request_slice();
    let mut record = home.record();
    for field in ["known", "requested", "virtualNodes"] {
        record.as_object_mut().unwrap().remove(field).unwrap();
    }
    home.put_record(&record);
    home.objects.insert(tenant());
    let mut other = written("1", "two", home.now);
    other.metadata.name = "other".to_owned();
    let step = home.judge(&other);
    home.carry_out(step);
    assert!(home.is_accepted());
}

/// A person may make any number of slices that are refused after the judgement.
#[test]
fn a_record_of_many_names_takes_no_more() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(tenant());
    home.settle();
    let slice = written("2", "one", home.now);
    home.let_through(slice.clone());
    home.objects.remove(&object_ref());
    let mut record = home.record();
    let waiting = record["known"]["mypool"].clone();
    let known = record["known"].as_object_mut().unwrap();
    for number in 0..1022 {
        known.insert(format!("pool-{number}"), waiting.clone());
    }
    home.put_record(&record);
    let mut other = slice;
    other.metadata.name = "last".to_owned();
    assert_eq!(home.judge(&other).effects.len(), 1);
    record["known"]["pool"] = waiting;
    home.put_record(&record);
    assert!(home.judge(&other).is_settled());
    home.now = home.now + MINUTE;
    home.settle();
    assert_eq!(home.record()["known"], json!({}));
}
