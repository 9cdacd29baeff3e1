//! The changes of a watch, read in a task of their own. Of several changes of one object that
//! wait to be taken, the last one remains.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use liqo_auth::model::{Object, ObjectRef};
use tokio::{sync::Notify, task::AbortHandle};

use super::{Change, Shown};

/// The changes of `changes`, which a task reads and decodes as they arrive. So a peer that
/// writes all the time costs its reader one change for each object, and not one for each
/// write. The task ends with the stream.
pub(crate) fn coalesced(
    mut changes: BoxStream<'static, Shown>,
) -> impl Stream<Item = Shown> + Send + use<> {
    let waiting = Arc::new(Waiting::default());
    let filled = waiting.clone();
    let reading = tokio::spawn(async move {
        while let Some(shown) = changes.next().await {
            if let Shown::Changed(change) = &shown {
                filled.room_for(change).await;
            }
            filled.put(shown);
        }
    });
    let reading = Reading(reading.abort_handle());
    stream::unfold((waiting, reading), async |(waiting, reading)| {
        let change = waiting.next().await;
        Some((change, (waiting, reading)))
    })
}

/// Ends the task.
struct Reading(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct Waiting {
    changes: Mutex<Changes>,
    arrived: Notify,
    taken: Notify,
}

#[derive(Default)]
struct Changes {
    is_late: bool,
    /// A list comes before the changes after it.
    listed: Option<Vec<Object>>,
    order: VecDeque<ObjectRef>,
    latest: BTreeMap<ObjectRef, Change>,
}

impl Waiting {
    fn put(&self, shown: Shown) {
        match shown {
            Shown::Changed(change) => self.changes().put(change),
            Shown::Late => self.changes().is_late = true,
        }
        self.arrived.notify_one();
    }

    /// Waits until the change can wait beside the others. So a peer's objects are not held
    /// here as well, however many they are.
    async fn room_for(&self, change: &Change) {
        while !self.changes().have_room_for(change) {
            self.taken.notified().await;
        }
    }

    async fn next(&self) -> Shown {
        loop {
            if let Some(change) = self.changes().take() {
                self.taken.notify_one();
                return Shown::Changed(change);
            }
            if core::mem::take(&mut self.changes().is_late) {
                return Shown::Late;
            }
            self.arrived.notified().await;
        }
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    fn put(&mut self, change: Change) {
        let id = match &change {
            Change::Listed(_) => {
                *self = Self::default();
                if let Change::Listed(objects) = change {
                    self.listed = Some(objects);
                }
                return;
            }
            Change::Seen(object) | Change::Left(object) => object.id(),
        };
        if self.latest.insert(id.clone(), change).is_none() {
            self.order.push_back(id);
        }
    }

    /// A list replaces what is waiting, and a change an earlier one of its object.
    fn have_room_for(&self, change: &Change) -> bool {
        match change {
            Change::Listed(_) => true,
            Change::Seen(object) | Change::Left(object) => {
                self.latest.len() < MOST_WAITING || self.latest.contains_key(&object.id())
            }
        }
    }

    fn take(&mut self) -> Option<Change> {
        if let Some(objects) = self.listed.take() {
            return Some(Change::Listed(objects));
        }
        let id = self.order.pop_front()?;
        self.latest.remove(&id)
    }
}

/// The most objects whose changes wait.
const MOST_WAITING: usize = 64;

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use liqo_auth::model::{Kind, Namespace};

    use super::*;

    fn namespace(name: &str, version: &str) -> Object {
        let mut namespace = Namespace::default();
        namespace.metadata.name = name.to_owned();
        namespace.metadata.resource_version = version.to_owned();
        namespace.into()
    }

    fn seen(name: &str, version: &str) -> Change {
        Change::Seen(Box::new(namespace(name, version)))
    }

    fn taken(changes: &mut Changes) -> Vec<String> {
        let shown = |object: &Object| {
            let metadata = object.metadata();
            format!("{}@{}", metadata.name, metadata.resource_version)
        };
        let taken = std::iter::from_fn(|| changes.take());
        let taken = taken.map(|change| match change {
            Change::Listed(objects) => {
                let objects: Vec<String> = objects.iter().map(shown).collect();
                format!("listed {}", objects.join(" "))
            }
            Change::Seen(object) => format!("seen {}", shown(&object)),
            Change::Left(object) => format!("left {}", shown(&object)),
        });
        taken.collect()
    }

    #[test]
    fn the_last_change_of_each_object_remains() {
        let mut changes = Changes::default();
        changes.put(seen("a", "1"));
        changes.put(seen("b", "2"));
        changes.put(seen("a", "3"));
        changes.put(Change::Left(Box::new(namespace("b", "4"))));
        assert_eq!(taken(&mut changes), ["seen a@3", "left b@4"]);
        assert_eq!(taken(&mut changes), Vec::<String>::new());
    }

    #[test]
    fn a_list_replaces_what_was_before_it_and_comes_before_what_is_after_it() {
        let mut changes = Changes::default();
        changes.put(seen("a", "1"));
        changes.put(Change::Listed(vec![namespace("a", "2")]));
        changes.put(seen("b", "3"));
        assert_eq!(taken(&mut changes), ["listed a@2", "seen b@3"]);
    }

    #[test]
    fn a_bounded_number_of_objects_waits() {
        let mut changes = Changes::default();
        for number in 0..MOST_WAITING {
            assert!(changes.have_room_for(&seen(&number.to_string(), "1")));
            changes.put(seen(&number.to_string(), "1"));
        }
        assert!(!changes.have_room_for(&seen("next", "1")));
        assert!(!changes.have_room_for(&Change::Left(Box::new(namespace("next", "1")))));
        assert!(changes.have_room_for(&seen("0", "2")));
        assert!(changes.have_room_for(&Change::Listed(Vec::new())));
    }

    #[tokio::test]
    async fn what_has_no_room_comes_when_another_change_is_taken() {
        let number = MOST_WAITING * 3;
        let changes = stream::iter((0..number).map(|number| seen(&number.to_string(), "1")));
        let taken = coalesced(changes.map(Shown::Changed).boxed()).take(number);
        assert_eq!(taken.count().await, number);
    }

    #[tokio::test]
    async fn a_list_that_is_late_is_shown_as_late_until_it_comes() {
        let shown = [Shown::Late, Shown::Changed(seen("a", "1"))];
        let mut late = Box::pin(coalesced(stream::iter(shown).take(1).boxed()));
        assert!(matches!(late.next().await, Some(Shown::Late)));
    }

    #[tokio::test]
    async fn the_task_ends_with_its_stream() {
        let (ended, mut is_ended) = tokio::sync::oneshot::channel::<()>();
        let changes = stream::iter([seen("a", "1")]).chain(stream::once(async move {
            let _ended = ended;
            std::future::pending().await
        }));
        let mut coalesced = Box::pin(coalesced(changes.map(Shown::Changed).boxed()));
        let change = coalesced.next().await;
        assert!(
            matches!(change, Some(Shown::Changed(Change::Seen(object))) if object.id().kind == Kind::Namespace)
        );
        assert!((&mut is_ended).now_or_never().is_none());
        drop(coalesced);
        assert!(is_ended.await.is_err());
    }
}
