//! The watches of VirtualNodes and Quotas, as one stream of changes.

use std::future::ready;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{Client, api::DynamicObject, runtime::watcher};

use super::MadeKind;
use crate::watching::{Change, PAGE, changes};

/// A change that a watch reports.
pub(crate) type MadeChange = Result<Change<DynamicObject>, NotServed>;

/// The cluster does not serve the kind. The watch is retried.
pub(crate) struct NotServed;

/// The changes of the objects of these kinds, as long as the stream is polled. A failure
/// is logged, and the watch is retried with backoff.
pub(crate) fn follow(
    client: &Client,
    kinds: &[MadeKind],
) -> BoxStream<'static, (MadeKind, MadeChange)> {
    let streams = kinds.iter().map(|kind| follow_one(client, *kind));
    stream::select_all(streams.collect::<Vec<_>>()).boxed()
}

fn follow_one(client: &Client, kind: MadeKind) -> BoxStream<'static, (MadeKind, MadeChange)> {
    let selected = kind.selected().page_size(PAGE);
    let changes = changes(kind.everywhere(client), selected, Vec::new(), |seen| seen);
    let changes = changes.filter_map(move |change| {
        let change = match change {
            Ok(change) => Some(Ok(change)),
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
                if status.is_not_found() =>
            {
                Some(Err(NotServed))
            }
            Err(error) => {
                let watch = kind.plural();
                tracing::warn!(watch, %error, "the watch failed and is tried again");
                None
            }
        };
        ready(change.map(|change| (kind, change)))
    });
    changes.boxed()
}
