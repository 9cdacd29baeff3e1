//! The requests of one list or watch to an API server that is not trusted.
//!
//! A watch asks for the next page of a list as long as there is one, and again when an API
//! server has ended it. So a server that answers with pages without objects, or ends each watch
//! at once, would be asked at full speed, and nothing of it would be an event.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::Request;
use kube::{Client, client::Body};
use tokio::time::{Instant, sleep_until};
use tower::service_fn;

/// A list is given up at so many pages without an object. API servers fill their pages.
const MOST_EMPTY_PAGES: usize = 64;
/// A watch begins a second after the last one of the same objects at the earliest.
const A_SECOND: Duration = Duration::from_secs(1);

/// A list has too many pages without an object.
#[derive(Debug, thiserror::Error)]
#[error(
    "the list has more than {MOST_EMPTY_PAGES} pages without an object, expected at most {MOST_EMPTY_PAGES}"
)]
pub(crate) struct EmptyPages;

/// What the requests of one list or watch have shown. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Mutex<Shown>>);

#[derive(Default)]
struct Shown {
    /// Whether an object has come since the last request.
    is_new: bool,
    /// The number of the pages of the present list that had no object.
    empty_pages: usize,
    /// When the last watch began.
    begun: Option<Instant>,
}

impl Progress {
    /// The same client for one list or watch.
    pub(crate) fn of(&self, client: &Client) -> Client {
        let (inner, progress) = (client.clone(), self.clone());
        let service = service_fn(move |request: Request<Body>| {
            let begin = progress.ask(request.uri().query().unwrap_or_default());
            let inner = inner.clone();
            async move {
                let begin = begin.map_err(|error| kube::Error::Service(error.into()))?;
                sleep_until(begin).await;
                inner.send(request).await
            }
        });
        Client::new(service, client.default_namespace()).with_valid_until(*client.valid_until())
    }

    /// An object has come.
    pub(crate) fn note(&self) {
        self.shown().is_new = true;
    }

    /// When the request with this query may be sent.
    fn ask(&self, query: &str) -> Result<Instant, EmptyPages> {
        let now = Instant::now();
        let mut shown = self.shown();
        let was_new = core::mem::take(&mut shown.is_new);
        let has = |name: &str| query.split('&').any(|it| it.starts_with(name));
        if has("watch=") {
            let begin = shown.begun.map_or(now, |begun| begun + A_SECOND);
            shown.begun = Some(now.max(begin));
            return Ok(now.max(begin));
        }
        match has("continue=") {
            false => shown.empty_pages = 0,
            true if was_new => {}
            true => shown.empty_pages += 1,
        }
        match shown.empty_pages > MOST_EMPTY_PAGES {
            true => Err(EmptyPages),
            false => Ok(now),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_have_any_number_of_pages_with_objects_and_few_without() {
        let progress = Progress::default();
        for _ in 0..2 {
            progress.ask("&limit=16").unwrap();
            for _ in 0..5000 {
                progress.note();
                progress.ask("&limit=16&continue=a").unwrap();
            }
            for _ in 0..MOST_EMPTY_PAGES {
                progress.ask("&limit=16&continue=a").unwrap();
            }
            // One object does not make up for the others.
            progress.note();
            progress.ask("&limit=16&continue=a").unwrap();
            let error = progress.ask("&limit=16&continue=a").unwrap_err();
            assert_eq!(
                error.to_string(),
                "the list has more than 64 pages without an object, expected at most 64"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_begins_once_a_second() {
        let progress = Progress::default();
        let now = Instant::now();
        let watch = || progress.ask("&watch=true&continue=a").unwrap() - now;
        assert_eq!(watch(), Duration::ZERO);
        assert_eq!(watch(), A_SECOND);
        // The list after it does not wait.
        assert_eq!(progress.ask("&limit=16").unwrap(), now);
        tokio::time::advance(5 * A_SECOND).await;
        assert_eq!(watch(), 5 * A_SECOND);
    }
}
