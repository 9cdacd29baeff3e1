//! The watches of a cluster, as one stream of changes.

use std::future::ready;

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use liqo_auth::{machine::Watch, model::Object};

use crate::object;

/// A change that a watch reports.
pub(crate) enum Change<T = Object> {
    /// The complete list of the objects that the watch selects.
    Listed(Vec<T>),
    /// An object was created or has changed.
    Seen(Box<T>),
    /// An object was deleted, or the watch no longer selects it.
    Left(Box<T>),
}

/// The changes of all watches, as long as the stream is polled. A failure is logged,
/// and the watch is retried with backoff.
pub(crate) fn follow(
    client: &Client,
    watches: impl IntoIterator<Item = Watch>,
) -> BoxStream<'static, (Watch, Change)> {
    let changes = follow_with_failures(client, watches).filter_map(|(watch, change)| {
        let change = change.inspect_err(|error| {
            tracing::warn!(%watch, %error, "the watch failed and is tried again");
        });
        ready(change.ok().map(|change| (watch, change)))
    });
    changes.boxed()
}

/// Like [`follow`], with the failures.
pub(crate) fn follow_with_failures(
    client: &Client,
    watches: impl IntoIterator<Item = Watch>,
) -> BoxStream<'static, (Watch, watcher::Result<Change>)> {
    let streams = watches.into_iter().map(|watch| {
        let changes = follow_one(client, &watch);
        changes.map(move |change| (watch.clone(), change)).boxed()
    });
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

/// The number of objects in a page of a list. A page is held as bytes and as objects at the
/// same time, so that the size of the pages determines the memory of a controller that starts.
const PAGE: u32 = 50;

/// The changes of one watch, with each object as `read` returns it. The watch is retried with
/// backoff.
pub(crate) fn changes<T: Send + 'static>(
    api: Api<DynamicObject>,
    selected: watcher::Config,
    read: impl Fn(DynamicObject) -> T + Send + 'static,
) -> BoxStream<'static, watcher::Result<Change<T>>> {
    // The objects of the present list that have arrived so far.
    let mut listed = Vec::new();
    let events = watcher(api, selected.page_size(PAGE)).default_backoff();
    let changes = events.filter_map(move |event| {
        let change = event.map(|event| match event {
            watcher::Event::Init => {
                listed.clear();
                None
            }
            watcher::Event::InitApply(seen) => {
                listed.push(read(seen));
                None
            }
            watcher::Event::InitDone => Some(Change::Listed(core::mem::take(&mut listed))),
            watcher::Event::Apply(seen) => Some(Change::Seen(Box::new(read(seen)))),
            watcher::Event::Delete(seen) => Some(Change::Left(Box::new(read(seen)))),
        });
        ready(change.transpose())
    });
    changes.boxed()
}

/// One watch of a mirror.
struct Following {
    client: Client,
    watch: Watch,
    changes: BoxStream<'static, watcher::Result<Change>>,
    /// Whether the objects have been listed once.
    is_complete: bool,
}

fn follow_one(
    client: &Client,
    watch: &Watch,
) -> impl Stream<Item = watcher::Result<Change>> + Send + use<> {
    let kind = watch.kind;
    let api = object::api(client, kind, watch.namespace.as_deref());
    let mut selected = watcher::Config::default();
    if !watch.labels.is_empty() {
        selected = selected.labels(&watch.selector());
    }
    let following = Following {
        client: client.clone(),
        watch: watch.clone(),
        changes: changes(api, selected, move |seen| object::read(kind, seen)),
        is_complete: false,
    };
    stream::unfold(following, async |mut following| {
        let change = following.changes.next().await?;
        let change = following.take(change).await;
        Some((change, following))
    })
}

impl Following {
    /// The change. If the cluster does not have the resource, its list is empty.
    async fn take(&mut self, change: watcher::Result<Change>) -> watcher::Result<Change> {
        let is_missing = matches!(
            &change,
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
                if status.is_not_found()
        );
        let is_left_out = is_missing
            && !self.is_complete
            && object::is_left_out(&self.client, self.watch.kind).await;
        let change = if is_left_out {
            tracing::info!(watch = %self.watch, "the cluster has no such resource");
            Ok(Change::Listed(Vec::new()))
        } else {
            change
        };
        self.is_complete |= matches!(change, Ok(Change::Listed(_)));
        change
    }
}
