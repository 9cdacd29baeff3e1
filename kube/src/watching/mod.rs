//! The watches of a cluster, as one stream of changes.

mod coalesced;
mod listed;
mod progress;
mod retry;

use std::{future::ready, time::Duration};

use futures::{
    Stream, StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::watcher::{self, DefaultBackoff},
};
use liqo_auth::{
    machine::Watch,
    model::{Kind, Object},
};
use tokio::time::sleep;

use self::progress::EmptyPages;
pub(crate) use self::{
    coalesced::coalesced,
    listed::Listed,
    progress::Progress,
    retry::{Retry, retried},
};
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

/// What a watch shows.
pub(crate) enum Shown {
    Changed(Change),
    /// The objects have not been listed in time. They are asked for again and again.
    Late,
}

/// The changes of all watches. Each watch is read in a task of its own, and shows the last
/// change of each object. A failure is logged, and the watch is retried with backoff.
pub(crate) fn follow(
    client: &Client,
    watches: impl IntoIterator<Item = Watch>,
) -> BoxStream<'static, (Watch, Change)> {
    let streams = watches.into_iter().map(|watch| {
        let shown = watch.clone();
        let changes = follow_one(client, &watch, changes_of).filter_map(move |change| {
            let change = change.inspect_err(|error| {
                tracing::warn!(watch = %shown, %error, "the watch failed and is tried again");
            });
            ready(change.ok())
        });
        let changes = coalesced(changes.map(Shown::Changed).boxed());
        let changes = changes.filter_map(|shown| {
            ready(match shown {
                Shown::Changed(change) => Some(change),
                Shown::Late => None,
            })
        });
        changes.map(move |change| (watch.clone(), change)).boxed()
    });
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

/// The changes and the failures of all watches of a cluster that is not trusted, as long as
/// the stream is polled. It shows a bounded number of bytes at a time, and asks for a bounded
/// number of pages.
pub(crate) fn follow_peer(
    client: &Client,
    watches: impl IntoIterator<Item = Watch>,
) -> BoxStream<'static, (Watch, Result<Change, Failure>)> {
    let streams = watches.into_iter().map(|watch| {
        let changes = follow_one(client, &watch, changes_within_bounds);
        changes.map(move |change| (watch.clone(), change)).boxed()
    });
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

/// Why a watch shows nothing at present. It is tried again by itself.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Watch(watcher::Error),
    #[error(transparent)]
    EmptyPages(EmptyPages),
    #[error(
        "the list has more than {MOST_OF_A_LIST} bytes of objects, expected at most {MOST_OF_A_LIST}"
    )]
    TooMuch,
}

impl From<watcher::Error> for Failure {
    fn from(error: watcher::Error) -> Self {
        match error {
            watcher::Error::InitialListFailed(kube::Error::Service(error))
                if error.is::<EmptyPages>() =>
            {
                Self::EmptyPages(EmptyPages)
            }
            error => Self::Watch(error),
        }
    }
}

/// The changes of the objects that a watch selects.
type ChangesOf =
    fn(&Watch, &Client, watcher::Config) -> BoxStream<'static, Result<Change, Failure>>;

/// The number of objects in a page of a list. A page is held as bytes and as objects at the
/// same time, so that the size of the pages determines the memory of a controller that starts.
/// What peers write may be as large as an object can be.
pub(crate) const fn page_of(kind: Kind) -> u32 {
    match may_be_of_peers(kind) {
        true => 16,
        false => PAGE,
    }
}

/// Whether peers write objects of the kind.
pub(crate) const fn may_be_of_peers(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Tenant
            | Kind::Identity
            | Kind::NamespaceMap
            | Kind::ResourceSlice
            | Kind::Renew
            | Kind::Secret
    )
}

pub(crate) const PAGE: u32 = 50;

/// The objects of the present list that have arrived so far.
pub(crate) trait Collects<T> {
    fn push(&mut self, object: T);
    /// What has arrived. The next list begins.
    fn take(&mut self) -> Vec<T>;
}

impl<T> Collects<T> for Vec<T> {
    fn push(&mut self, object: T) {
        self.push(object);
    }

    fn take(&mut self) -> Vec<T> {
        core::mem::take(self)
    }
}

/// The changes of one watch, with each object as `read` returns it. The watch is retried with
/// backoff.
pub(crate) fn changes<T: Send + 'static>(
    api: Api<DynamicObject>,
    selected: watcher::Config,
    mut listed: impl Collects<T> + Send + 'static,
    read: impl Fn(DynamicObject) -> T + Send + 'static,
) -> BoxStream<'static, watcher::Result<Change<T>>> {
    let events = retried(watcher::watcher(api, selected).boxed(), Retry::default());
    let changes = events.filter_map(move |event| {
        ready(
            event
                .map(|event| change(event, &mut listed, &read))
                .transpose(),
        )
    });
    changes.boxed()
}

/// The change that an event shows, if it completes one.
fn change<T>(
    event: watcher::Event<DynamicObject>,
    listed: &mut impl Collects<T>,
    read: impl Fn(DynamicObject) -> T,
) -> Option<Change<T>> {
    match event {
        watcher::Event::Init => {
            drop(listed.take());
            None
        }
        watcher::Event::InitApply(seen) => {
            listed.push(read(seen));
            None
        }
        watcher::Event::InitDone => Some(Change::Listed(listed.take())),
        watcher::Event::Apply(seen) => Some(Change::Seen(Box::new(read(seen)))),
        watcher::Event::Delete(seen) => Some(Change::Left(Box::new(read(seen)))),
    }
}

fn changes_of(
    watch: &Watch,
    client: &Client,
    selected: watcher::Config,
) -> BoxStream<'static, Result<Change, Failure>> {
    let kind = watch.kind;
    let api = object::api(client, kind, watch.namespace.as_deref());
    let read = move |seen| object::read(kind, seen);
    // No peer writes in a namespace that a watch names: the records are there.
    let changes = match watch.namespace.is_none() && may_be_of_peers(kind) {
        true => changes(api, selected, Listed::of(kind), read),
        false => changes(api, selected, Vec::new(), read),
    };
    changes.map_err(Failure::from).boxed()
}

/// The changes of one watch of a cluster that is not trusted. A list that does not end is
/// given up, and what follows a list is listed anew when it has become too much.
fn changes_within_bounds(
    watch: &Watch,
    client: &Client,
    selected: watcher::Config,
) -> BoxStream<'static, Result<Change, Failure>> {
    let kind = watch.kind;
    let progress = Progress::default();
    let api = object::api(&progress.of(client), kind, watch.namespace.as_deref());
    let begin = move |delay: Duration| {
        let events = watcher::watcher(api.clone(), selected.clone()).boxed();
        let events = retried(events, DefaultBackoff::default());
        let begins = stream::once(sleep(delay)).filter_map(|()| ready(None));
        begins.chain(events).boxed()
    };
    let read = move |seen| object::read(kind, seen);
    let reading = (begin(Duration::ZERO), Vec::new(), MOST_OF_A_LIST);
    let changes = stream::unfold(reading, move |(mut events, mut listed, mut room)| {
        let (begin, progress) = (begin.clone(), progress.clone());
        async move {
            loop {
                let event = match events.next().await? {
                    Ok(event) => event,
                    Err(error) => return Some((Err(error.into()), (events, listed, room))),
                };
                let is_list = matches!(event, watcher::Event::InitApply(_));
                if is_list {
                    progress.note();
                }
                let left = match &event {
                    watcher::Event::Init => Some(MOST_OF_A_LIST),
                    watcher::Event::InitApply(seen) | watcher::Event::Apply(seen) => {
                        room.checked_sub(object::bytes_of(seen))
                    }
                    watcher::Event::InitDone | watcher::Event::Delete(_) => Some(room),
                };
                match left {
                    Some(left) => room = left,
                    None if is_list => {
                        let again = (begin(A_MINUTE), Vec::new(), MOST_OF_A_LIST);
                        return Some((Err(Failure::TooMuch), again));
                    }
                    None => {
                        events = begin(Duration::ZERO);
                        continue;
                    }
                }
                if let Some(change) = change(event, &mut listed, read) {
                    return Some((Ok(change), (events, listed, room)));
                }
            }
        }
    });
    changes.boxed()
}

/// One watch of a mirror.
struct Following {
    client: Client,
    watch: Watch,
    changes: BoxStream<'static, Result<Change, Failure>>,
    /// Whether the objects have been listed once.
    is_complete: bool,
    /// Whether the cluster did not have the resource at the last list.
    is_left_out: bool,
}

fn follow_one(
    client: &Client,
    watch: &Watch,
    changes: ChangesOf,
) -> impl Stream<Item = Result<Change, Failure>> + Send + use<> {
    let mut selected = watcher::Config::default().page_size(page_of(watch.kind));
    if !watch.labels.is_empty() {
        selected = selected.labels(&watch.selector());
    }
    let following = Following {
        client: client.clone(),
        watch: watch.clone(),
        changes: changes(watch, client, selected),
        is_complete: false,
        is_left_out: false,
    };
    stream::unfold(following, async |mut following| {
        let change = following.changes.next().await?;
        let change = following.take(change).await;
        Some((change, following))
    })
}

impl Following {
    /// The change. If the cluster does not have the resource, its list is empty.
    async fn take(&mut self, change: Result<Change, Failure>) -> Result<Change, Failure> {
        let is_missing = matches!(
            &change,
            Err(Failure::Watch(watcher::Error::InitialListFailed(kube::Error::Api(status))))
                if status.is_not_found()
        );
        let was_left_out = self.is_left_out;
        self.is_left_out = is_missing
            && (was_left_out
                || (!self.is_complete && object::is_left_out(&self.client, self.watch.kind).await));
        if self.is_left_out && !was_left_out {
            tracing::info!(watch = %self.watch, "the cluster has no such resource");
        }
        let change = match self.is_left_out {
            true => Ok(Change::Listed(Vec::new())),
            false => change,
        };
        self.is_complete |= matches!(change, Ok(Change::Listed(_)));
        change
    }
}

/// 16 MiB: some 64 slices and as many renewals take a twentieth of it.
const MOST_OF_A_LIST: usize = 16 * 1024 * 1024;
const A_MINUTE: Duration = Duration::from_secs(60);
