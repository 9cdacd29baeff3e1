//! The watches of VirtualNodes and Quotas, as one stream of changes.

use std::future::ready;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Client,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};

use super::MadeKind;

/// A change that a watch reports.
pub(crate) enum Change {
    /// The complete list.
    Listed(Vec<DynamicObject>),
    /// An object was created or has changed.
    Seen(Box<DynamicObject>),
    /// An object was deleted, or the watch no longer selects it.
    Left(Box<DynamicObject>),
    /// The cluster does not serve the kind. The watch is retried.
    NotServed,
}

/// The changes of the objects of these kinds, as long as the stream is polled. A failure
/// is logged, and the watch is retried with backoff.
pub(crate) fn follow(
    client: &Client,
    kinds: &[MadeKind],
) -> BoxStream<'static, (MadeKind, Change)> {
    let streams = kinds.iter().map(|kind| follow_one(client, *kind));
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

fn follow_one(client: &Client, kind: MadeKind) -> BoxStream<'static, (MadeKind, Change)> {
    let mut listed = Vec::new();
    let events = watcher(kind.everywhere(client), kind.selected()).default_backoff();
    let changes = events.filter_map(move |event| {
        let change = change(kind, &mut listed, event);
        ready(change.map(|change| (kind, change)))
    });
    changes.boxed()
}

/// The change that an event of a watch reports, if it reports one. `listed` has the objects
/// of the present list that have arrived so far.
fn change(
    kind: MadeKind,
    listed: &mut Vec<DynamicObject>,
    event: watcher::Result<watcher::Event<DynamicObject>>,
) -> Option<Change> {
    match event {
        Ok(watcher::Event::Init) => listed.clear(),
        Ok(watcher::Event::InitApply(seen)) => listed.push(seen),
        Ok(watcher::Event::InitDone) => return Some(Change::Listed(core::mem::take(listed))),
        Ok(watcher::Event::Apply(seen)) => return Some(Change::Seen(Box::new(seen))),
        Ok(watcher::Event::Delete(seen)) => return Some(Change::Left(Box::new(seen))),
        Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
            if status.is_not_found() =>
        {
            return Some(Change::NotServed);
        }
        Err(error) => {
            let watch = kind.plural();
            tracing::warn!(watch, %error, "the watch failed and is tried again");
        }
    }
    None
}
