//! Requests of a tool: the lists for one command, and the watches of single objects.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use kube::{
    Client, ResourceExt,
    api::{DynamicObject, ListParams, WatchEvent, WatchParams},
    runtime::watcher::watch_object,
};
use liqo_auth::{
    machine::{Requirement, Watch},
    model::{CertificateSigningRequest, Kind, Object, ObjectRef, Resource, names},
};
use tokio::time::{sleep, timeout};

use crate::{
    Error,
    bounded::bounded,
    error::in_time,
    object,
    watching::{Collects, Listed, Progress, Retry, may_be_of_peers, retried},
};

/// The objects that these watches select at present. If several watches select an
/// object, the result contains it several times. If the cluster's version of Liqo does
/// not have a resource, its list is empty.
///
/// A list is read page by page. Of the kinds that peers write, the list of each namespace has the
/// budget that a [`Mirror`](liqo_auth::machine::Mirror) gives a peer: beyond it, an object is
/// reduced to its metadata. The records of this side are whole. A list whose rest the API server
/// has no more begins anew, twice. One with more than 64 pages without an object is given up.
///
/// # Errors
/// [`Error::Request`] or [`Error::TimedOut`] for the first list that fails.
pub async fn list(
    client: &Client,
    watches: impl IntoIterator<Item = Watch>,
) -> Result<Vec<Object>, Error> {
    let client = &bounded(client);
    let lists: Vec<Watch> = watches.into_iter().collect();
    let lists = stream::iter(lists).map(|watch| async move { list_one(client, &watch).await });
    let listed: Vec<Vec<Object>> = lists.buffer_unordered(LISTS_AT_ONCE).try_collect().await?;
    Ok(listed.into_iter().flatten().collect())
}

async fn list_one(client: &Client, watch: &Watch) -> Result<Vec<Object>, Error> {
    let progress = Progress::default();
    let api = object::api(&progress.of(client), watch.kind, watch.namespace.as_deref());
    let is_of_peers = may_be_of_peers(watch.kind) && !is_of_records(watch);
    let mut first = ListParams::default().limit(match is_of_peers {
        true => PAGE_OF_PEERS,
        false => PAGE,
    });
    if !watch.labels.is_empty() {
        first = first.labels(&watch.selector());
    }
    let nothing = || -> Box<dyn Collects<Object> + Send> {
        match is_of_peers {
            true => Box::new(Listed::of(watch.kind)),
            false => Box::new(Vec::new()),
        }
    };
    let (mut listed, mut selected, mut beginnings) = (nothing(), first.clone(), 1);
    loop {
        match in_time(format!("list {watch}"), api.list(&selected)).await? {
            Ok(page) => {
                for item in page.items {
                    progress.note();
                    listed.push(object::read(watch.kind, item));
                }
                match page.metadata.continue_.filter(|next| !next.is_empty()) {
                    Some(next) => selected = selected.continue_token(&next),
                    None => return Ok(listed.take()),
                }
            }
            Err(kube::Error::Api(status))
                if status.is_not_found() && object::is_left_out(client, watch.kind).await =>
            {
                return Ok(Vec::new());
            }
            // The API server keeps the rest of a list for some minutes.
            Err(kube::Error::Api(status))
                if status.code == GONE && beginnings < MOST_BEGINNINGS =>
            {
                beginnings += 1;
                (listed, selected) = (nothing(), first.clone());
            }
            Err(error) => return Err(Error::request(format!("list {watch}"), error)),
        }
    }
}

/// Whether a watch selects the records of this side, which no peer writes.
fn is_of_records(watch: &Watch) -> bool {
    watch.labels == [Requirement::Exists(names::RECORD_PEER_LABEL)]
}

/// An object as it is now, and as it is after each change. `None` while it does not exist.
/// A failure is logged, and the watch is retried with backoff.
pub fn follow(client: &Client, id: &ObjectRef) -> BoxStream<'static, Option<DynamicObject>> {
    let namespace = Some(id.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let api = object::api(client, id.kind, namespace);
    let shown = id.clone();
    let states = retried(watch_object(api, &id.name).boxed(), Retry::default());
    let states = states.filter_map(move |state| {
        let state = state.inspect_err(|error| {
            tracing::warn!(object = %shown, %error, "the watch failed and is tried again");
        });
        std::future::ready(state.ok())
    });
    states.boxed()
}

/// Waits until a signer has answered a CertificateSigningRequest: with a certificate, or
/// with the condition Denied or Failed. Returns the answered request. `None` if the
/// request was deleted, or if the signer has not answered within the limit.
///
/// # Errors
/// [`Error::Request`].
pub async fn answered(
    client: &Client,
    request: &CertificateSigningRequest,
    limit: Duration,
) -> Result<Option<Object>, Error> {
    let api = object::api(client, Kind::CertificateSigningRequest, None);
    let name = &request.metadata.name;
    let named = WatchParams::default().fields(&format!("metadata.name={name}"));
    let failed = |error| Error::request(format!("watch {}", request.id()), error);
    let answer = async {
        let mut version = request.metadata.resource_version.clone();
        loop {
            let events = api.watch(&named, &version).await;
            let mut events = events.map_err(failed)?.boxed();
            while let Some(event) = events.try_next().await.map_err(failed)? {
                match event {
                    WatchEvent::Added(seen) | WatchEvent::Modified(seen) => {
                        if let Some(answered) = answer_in(name, seen) {
                            return Ok(Some(answered));
                        }
                    }
                    WatchEvent::Deleted(_) => return Ok(None),
                    // The version is too old for a watch.
                    WatchEvent::Error(_) => break,
                    WatchEvent::Bookmark(_) => {}
                }
            }
            // Some API servers and proxies end each watch at once.
            sleep(ONE_SECOND).await;
            let Some(seen) = api.get_opt(name).await.map_err(failed)? else {
                return Ok(None);
            };
            version = seen.resource_version().unwrap_or_default();
            if let Some(answered) = answer_in(name, seen) {
                return Ok(Some(answered));
            }
        }
    };
    timeout(limit, answer).await.unwrap_or(Ok(None))
}

/// The observed request, if it has that name and its signer has answered it.
fn answer_in(name: &str, seen: DynamicObject) -> Option<Object> {
    let seen = object::read(Kind::CertificateSigningRequest, seen);
    let read = CertificateSigningRequest::from_object(&seen);
    let is_it = read.is_some_and(|read| read.metadata.name == name && is_answered(read));
    is_it.then_some(seen)
}

/// Whether the signer has answered the request.
fn is_answered(request: &CertificateSigningRequest) -> bool {
    let mut conditions = request.status.conditions.iter();
    !request.status.certificate.is_empty()
        || conditions.any(|it| ["Denied", "Failed"].contains(&it.condition_type.as_str()))
}

const LISTS_AT_ONCE: usize = 8;
/// The number of objects in a page, as kubectl asks for them.
const PAGE: u32 = 500;
/// The same for what peers write, which may be large.
const PAGE_OF_PEERS: u32 = 32;
/// The status of a request for the rest of a list that the API server has no more.
const GONE: u16 = 410;
/// So many times, a list begins.
const MOST_BEGINNINGS: u32 = 3;
const ONE_SECOND: Duration = Duration::from_secs(1);
