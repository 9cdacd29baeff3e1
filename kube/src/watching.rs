//! The watches of a cluster, as one stream of changes.

use std::future::ready;

use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Client,
    api::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use liqo_auth::{
    machine::Watch,
    model::{Object, ObjectRef},
};

use crate::object;

/// A change that a watch reports.
pub(crate) enum Change {
    /// The complete list of the objects that the watch selects.
    Listed(Vec<Object>),
    /// An object was created or has changed.
    Seen(Box<Object>),
    /// An object was deleted, or the watch no longer selects it.
    Left(ObjectRef),
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

/// One watch, with the objects of its present list that have arrived so far.
struct Following {
    client: Client,
    watch: Watch,
    events: BoxStream<'static, watcher::Result<watcher::Event<DynamicObject>>>,
    listed: Vec<Object>,
    is_complete: bool,
}

fn follow_one(
    client: &Client,
    watch: &Watch,
) -> impl Stream<Item = watcher::Result<Change>> + Send + use<> {
    let api = object::api(client, watch.kind, watch.namespace.as_deref());
    let mut selected = watcher::Config::default().page_size(PAGE);
    if !watch.labels.is_empty() {
        selected = selected.labels(&watch.selector());
    }
    let following = Following {
        client: client.clone(),
        watch: watch.clone(),
        events: watcher(api, selected).default_backoff().boxed(),
        listed: Vec::new(),
        is_complete: false,
    };
    stream::unfold(following, async |mut following| {
        loop {
            let event = following.events.next().await?;
            if let Some(change) = following.take(event).await {
                return Some((change, following));
            }
        }
    })
}

impl Following {
    async fn take(
        &mut self,
        event: watcher::Result<watcher::Event<DynamicObject>>,
    ) -> Option<watcher::Result<Change>> {
        let kind = self.watch.kind;
        match event {
            Ok(watcher::Event::Init) => self.listed.clear(),
            Ok(watcher::Event::InitApply(seen)) => self.listed.push(object::read(kind, seen)),
            Ok(watcher::Event::InitDone) => {
                self.is_complete = true;
                return Some(Ok(Change::Listed(core::mem::take(&mut self.listed))));
            }
            Ok(watcher::Event::Apply(seen)) => {
                return Some(Ok(Change::Seen(Box::new(object::read(kind, seen)))));
            }
            Ok(watcher::Event::Delete(seen)) => {
                return Some(Ok(Change::Left(object::read(kind, seen).id())));
            }
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
                if status.is_not_found()
                    && !self.is_complete
                    && object::is_left_out(&self.client, kind).await =>
            {
                tracing::info!(watch = %self.watch, "the cluster has no such resource");
                self.is_complete = true;
                return Some(Ok(Change::Listed(Vec::new())));
            }
            Err(error) => return Some(Err(error)),
        }
        None
    }
}
