//! The watches of Secrets, one for each tenant namespace.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    stream::{self, AbortHandle, BoxStream, SelectAll, abortable},
};
use kube::{Client, runtime::watcher};
use liqo_auth::machine::Watch;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::Account;
use crate::{
    error::with_sources,
    object,
    watching::{Change, Listed, Shown, changes, coalesced, page_of},
};

/// The watches of the tenant namespaces of a cluster. They feed one watch of the mirror.
pub(crate) struct TenantSecrets {
    client: Client,
    /// `None` if the controller has rights of its own. Then nothing is followed.
    account: Option<Arc<Account>>,
    /// The watch of the mirror; `None` if it is followed itself.
    watch: Option<Watch>,
    followed: BTreeMap<String, AbortHandle>,
    shown: SelectAll<BoxStream<'static, (String, Shown)>>,
    first_lists: Arc<Semaphore>,
}

impl TenantSecrets {
    pub(crate) fn new(client: Client, account: Option<Arc<Account>>, watch: Option<Watch>) -> Self {
        Self {
            client,
            account,
            watch,
            followed: BTreeMap::new(),
            shown: SelectAll::new(),
            first_lists: Arc::new(Semaphore::new(FIRST_LISTS_AT_ONCE)),
        }
    }

    /// The next change, with its namespace.
    pub(crate) fn next(
        &mut self,
    ) -> stream::Next<'_, SelectAll<BoxStream<'static, (String, Shown)>>> {
        self.shown.next()
    }

    /// The followed namespaces that are not among these.
    pub(crate) fn others<T>(&self, namespaces: &BTreeMap<String, T>) -> Vec<String> {
        let followed = self.followed.keys();
        let others = followed.filter(|namespace| !namespaces.contains_key(*namespace));
        others.cloned().collect()
    }

    /// Follows a namespace in which the account is probably bound already. Returns whether
    /// it was not followed before.
    pub(crate) fn follow_bound(&mut self, namespace: &str) -> bool {
        self.begin(namespace, false)
    }

    /// Follows a namespace that was just made. Returns whether it was not followed before.
    pub(crate) fn follow_new(&mut self, namespace: &str) -> bool {
        self.begin(namespace, true)
    }

    /// Leaves a namespace that was deleted, or is no tenant namespace any more. If it exists,
    /// the account gives up its rights there. Returns whether it was followed.
    pub(crate) fn leave(&mut self, namespace: &str, exists: bool) -> bool {
        let Some(watching) = self.followed.remove(namespace) else {
            return false;
        };
        watching.abort();
        let account = self.account.clone().filter(|_| exists);
        let Some(account) = account else {
            return true;
        };
        let namespace = namespace.to_owned();
        let released = stream::once(async move {
            if let Err(error) = account.release(&namespace).await {
                let error = with_sources(&error);
                tracing::warn!(%namespace, %error, "the account stays bound");
            }
        });
        self.shown
            .push(released.filter_map(async |()| None).boxed());
        true
    }

    /// The watch of the mirror that these watches feed; `None` if it is followed itself.
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }

    fn begin(&mut self, namespace: &str, is_new: bool) -> bool {
        let Some(account) = self.account.clone() else {
            return false;
        };
        if self.followed.contains_key(namespace) {
            return false;
        }
        let following = Following {
            client: self.client.clone(),
            account,
            namespace: namespace.to_owned(),
            watch: self.watch.clone(),
            first_lists: self.first_lists.clone(),
            is_unbound: is_new,
            changes: None,
            deadline: self.watch.as_ref().map(|_| Instant::now() + PATIENCE),
            bound_again: None,
            has_failed: false,
        };
        let shown = stream::unfold(following, async |mut following| {
            Some((following.next().await, following))
        });
        // A peer that writes Secrets all the time holds up no other one.
        let shown = coalesced(shown.boxed());
        let place = namespace.to_owned();
        let shown = shown.map(move |shown| (place.clone(), shown));
        let (shown, handle) = abortable(shown);
        self.shown.push(shown.boxed());
        self.followed.insert(namespace.to_owned(), handle);
        true
    }
}

/// The watch of one namespace.
struct Following {
    client: Client,
    account: Arc<Account>,
    namespace: String,
    watch: Option<Watch>,
    first_lists: Arc<Semaphore>,
    /// Whether the account is not bound yet, as in a namespace that was just made.
    is_unbound: bool,
    changes: Option<Begun>,
    /// Until when the first list is waited for.
    deadline: Option<Instant>,
    bound_again: Option<Instant>,
    /// Whether the failure is logged already.
    has_failed: bool,
}

struct Begun {
    changes: BoxStream<'static, watcher::Result<Change>>,
    /// Held until the first answer.
    permit: Option<OwnedSemaphorePermit>,
}

impl Following {
    async fn next(&mut self) -> Shown {
        let shown = match self.deadline {
            None => Ok(self.change().await),
            Some(deadline) => timeout_at(deadline, self.change()).await,
        };
        self.deadline = None;
        match shown {
            Ok(change) => Shown::Changed(change),
            Err(_) => {
                let namespace = &self.namespace;
                tracing::warn!(%namespace, "the Secrets have not been listed yet");
                Shown::Late
            }
        }
    }

    async fn change(&mut self) -> Change {
        if self.is_unbound {
            let bound = self.account.bind(&self.namespace).await;
            self.note(bound.err().map(|error| with_sources(&error)));
            self.is_unbound = false;
        }
        loop {
            let Some(changed) = self.begun().await.changes.next().await else {
                return std::future::pending().await;
            };
            // A namespace that refuses the account holds up no other one.
            if let Some(begun) = &mut self.changes {
                begun.permit = None;
            }
            match changed {
                Ok(change) => {
                    self.note(None);
                    return change;
                }
                Err(error) if is_forbidden(&error) && self.may_bind_again() => {
                    self.bound_again = Some(Instant::now());
                    match self.account.bind_again(&self.namespace).await {
                        // The new watch begins at once, without the delay of the old one.
                        Ok(()) => self.changes = None,
                        Err(error) => self.note(Some(with_sources(&error))),
                    }
                }
                Err(error) => self.note(Some(with_sources(&error))),
            }
        }
    }

    async fn begun(&mut self) -> &mut Begun {
        // The semaphore is never closed.
        let permit = match (&self.changes, &self.watch) {
            (None, Some(_)) => self.first_lists.clone().acquire_owned().await.ok(),
            _ => None,
        };
        let Self {
            client,
            namespace,
            watch,
            ..
        } = self;
        self.changes.get_or_insert_with(|| Begun {
            changes: match watch {
                Some(watch) => secrets(client, namespace, watch),
                None => stream::pending().boxed(),
            },
            permit,
        })
    }

    fn may_bind_again(&self) -> bool {
        self.bound_again
            .is_none_or(|last| last.elapsed() >= PATIENCE)
    }

    /// Logs a failure once, until the watch shows something again.
    fn note(&mut self, failure: Option<String>) {
        if let Some(error) = failure.as_ref().filter(|_| !self.has_failed) {
            let namespace = &self.namespace;
            tracing::warn!(%namespace, %error, "the Secrets cannot be watched; this is tried again");
        }
        self.has_failed = failure.is_some();
    }
}

fn secrets(
    client: &Client,
    namespace: &str,
    watch: &Watch,
) -> BoxStream<'static, watcher::Result<Change>> {
    let kind = watch.kind;
    let selected = watcher::Config::default()
        .labels(&watch.selector())
        .page_size(page_of(kind));
    let api = object::api(client, kind, Some(namespace));
    changes(api, selected, Listed::of(kind), move |seen| {
        object::read(kind, seen)
    })
}

fn is_forbidden(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    let (InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error)) = error else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.is_forbidden())
}

/// The number of namespaces whose first lists are asked for at the same time.
const FIRST_LISTS_AT_ONCE: usize = 32;
/// How long a peer waits for the first list of its Secrets, and how long the account is not
/// bound again in the same namespace.
const PATIENCE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use liqo_auth::model::Kind;
    use serde_json::json;
    use tokio::{sync::Notify, time::timeout};
    use tower::service_fn;

    use super::*;

    /// Answers a list without Secrets, and then one watch, in which one Secret changes a
    /// thousand times. Each further watch is noted, and shows nothing.
    fn client(read: Arc<Notify>) -> Client {
        let begun = Arc::new(Semaphore::new(1));
        let service = service_fn(move |request: Request<Body>| {
            let (read, begun) = (read.clone(), begun.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                if !query.contains("watch=") {
                    let list = json!({
                        "apiVersion": "v1",
                        "kind": "SecretList",
                        "metadata": { "resourceVersion": "1" },
                        "items": [],
                    });
                    return Ok::<_, std::io::Error>(Response::new(
                        list.to_string().into_bytes().into(),
                    ));
                }
                let Ok(permit) = begun.try_acquire() else {
                    read.notify_one();
                    return std::future::pending().await;
                };
                permit.forget();
                let events = (2..=1001).map(|version: u32| {
                    let secret = json!({
                        "apiVersion": "v1",
                        "kind": "Secret",
                        "metadata": {
                            "name": "a",
                            "namespace": "liqo-tenant-rome",
                            "resourceVersion": version.to_string(),
                        },
                    });
                    let event = json!({ "type": "MODIFIED", "object": secret });
                    format!("{event}\n")
                });
                Ok(Response::new(Body::from(
                    events.collect::<String>().into_bytes(),
                )))
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn changes_of_secrets_are_read_while_nobody_takes_them_and_the_last_one_remains() {
        let read = Arc::new(Notify::new());
        let client = client(read.clone());
        let account = Account::new(client.clone(), "liqo".to_owned(), "account".to_owned());
        let watch = Watch::all(Kind::Secret);
        let mut secrets = TenantSecrets::new(client, Some(Arc::new(account)), Some(watch));
        assert!(secrets.follow_bound("liqo-tenant-rome"));
        timeout(Duration::from_secs(30), read.notified())
            .await
            .unwrap();
        let mut shown = Vec::new();
        while let Ok(Some((namespace, change))) =
            timeout(Duration::from_millis(200), secrets.next()).await
        {
            assert_eq!(namespace, "liqo-tenant-rome");
            shown.push(match change {
                Shown::Changed(Change::Listed(objects)) => format!("{} listed", objects.len()),
                Shown::Changed(Change::Seen(object)) => object.metadata().resource_version.clone(),
                Shown::Changed(Change::Left(_)) => "left".to_owned(),
                Shown::Late => "late".to_owned(),
            });
        }
        assert_eq!(shown, ["0 listed", "1001"]);
    }
}
