//! The home of a server. It handles one request at a time.
//!
//! ```text
//!   request ──▶ the turn of its cluster ID ──▶ lock the home, read it anew if somebody changed it
//!                  look ──▶ claim ──▶ save
//!                  look ──▶ sign, keep, bind ──▶ save
//!               unlock ──▶ response ──▶ note the delivery ──▶ the next request of the cluster ID
//! ```
//!
//! A response is sent only when its content is on the disk. The turn of a cluster ID lasts
//! until its identity was written to the connection, or could not be written. Requests with
//! wrong tokens have no effects, and wait for no turn.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use liqo_auth::{
    legacy::{IdentityRequest, Reply},
    model::ClusterId,
};
use tokio::sync::Mutex;

use super::{
    log::{Entry, Log},
    turns::{Turn, Turns},
};
use crate::{
    failure::{Failure, Result},
    home::{Home, Resting, Site, Use},
    legacy::foreign_side::{ForeignSide, Look, apply},
};

/// The result of a request.
pub(super) enum Verdict {
    Reply(Box<Reply>, Option<Delivery>),
    /// The request waits for something that this server cannot provide.
    Unavailable,
    /// This side could not handle the request. The log has the reason.
    Failed,
}

/// An identity on its way to its home cluster. While it exists, no other request of its
/// cluster ID is handled. If it is dropped, the identity was not written to the connection,
/// and the same request gets the same identity again.
pub(super) struct Delivery {
    desk: Arc<Desk>,
    peer: ClusterId,
    _turn: Turn,
}

pub(super) struct Desk {
    site: Site,
    side: Arc<ForeignSide>,
    /// The home between two requests. None after a failure: then it is opened again.
    home: Arc<Mutex<Option<Resting>>>,
    /// Whether the home was changed without the tool.
    is_stale: AtomicBool,
    turns: Turns,
    log: Arc<Log>,
}

impl Delivery {
    /// Notes that the identity was written to the connection. Returns when this is on the
    /// disk.
    pub(super) async fn confirm(self) {
        let peer = self.peer.clone();
        let noted = self.desk.work(move |side, home| {
            side.delivered(home, &peer)?;
            home.save()
        });
        // The log has a failure.
        noted.await;
    }
}

impl Desk {
    pub(super) fn new(home: Resting, side: Arc<ForeignSide>, log: Arc<Log>) -> Self {
        Self {
            site: home.site().clone(),
            side,
            home: Arc::new(Mutex::new(Some(home))),
            is_stale: AtomicBool::new(false),
            turns: Turns::default(),
            log,
        }
    }

    /// Makes the next request read the home again.
    pub(super) fn read_anew(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Handles a request.
    pub(super) async fn answer(self: Arc<Self>, request: Box<IdentityRequest>) -> Verdict {
        let peer = request.peer.clone();
        let request = Arc::new(*request);
        let glanced = request.clone();
        // A request with effects is no fault here: it is settled in its turn.
        let glance = self.work(move |side, home| Ok(side.glance(home, &glanced).ok().flatten()));
        if let Some(Some(reply)) = glance.await
            && !reply.was_issued()
        {
            return Verdict::Reply(reply, None);
        }
        let turn = self.turns.take(&peer).await;
        let log = self.log.clone();
        let settled = self.work(move |side, home| {
            let settled = settle(side, home, &request, &log)?;
            home.save()?;
            Ok(settled)
        });
        match settled.await {
            Some(Verdict::Reply(reply, _)) if reply.was_issued() => {
                let delivery = Delivery {
                    desk: self.clone(),
                    peer,
                    _turn: turn,
                };
                Verdict::Reply(reply, Some(delivery))
            }
            settled => settled.unwrap_or(Verdict::Failed),
        }
    }

    /// Works with the home, when all earlier work is done. None if that fails: then nothing
    /// that is only in memory counts, and the log says why.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ForeignSide, &mut Home) -> Result<T> + Send + 'static,
    ) -> Option<T> {
        let mut place = self.home.clone().lock_owned().await;
        if self.is_stale.swap(false, Ordering::Relaxed)
            && let Some(resting) = place.as_mut()
        {
            resting.forget();
        }
        let (site, side) = (self.site.clone(), self.side.clone());
        let done = tokio::task::spawn_blocking(move || {
            let (mut home, is_read_anew) = match place.take() {
                Some(resting) => resting.wake()?,
                None => (Home::open(&site, Use::Write)?, true),
            };
            if is_read_anew {
                side.collect_garbage(&mut home)?;
            }
            side.ensure_token(&mut home)?;
            let done = work(&side, &mut home)?;
            *place = Some(home.rest()?);
            // Other processes get the lock meanwhile.
            std::thread::sleep(PAUSE);
            Ok(done)
        });
        let failure = match done.await {
            Ok(Ok(done)) => return Some(done),
            Ok(Err(failure)) => failure,
            Err(error) => Failure::from(anyhow::Error::new(error)),
        };
        self.log.write(&Entry::Failed {
            peer: None,
            failure: &failure,
        });
        None
    }
}

/// Handles a request whose cluster ID has the turn. What a reply needs is in memory then.
fn settle(
    side: &ForeignSide,
    home: &mut Home,
    request: &IdentityRequest,
    log: &Log,
) -> Result<Verdict> {
    let mut reason = None;
    for _ in 0..MOST_LOOKS {
        let look = match side.look(home, request) {
            Ok(look) => look,
            Err(failure) => {
                reason = Some(failure);
                break;
            }
        };
        match look {
            Look::Reply(reply) => return Ok(Verdict::Reply(reply, None)),
            // If an effect cannot be applied, the next look decides again.
            Look::Effects(effects) => reason = apply(home, &effects, side.clock()).err(),
            Look::Save => home.save()?,
            Look::Waits => return Ok(Verdict::Unavailable),
        }
    }
    let failure = reason
        .unwrap_or_else(|| Failure::at_odds(format!("{}: the request does not end", home.site())));
    log.write(&Entry::Failed {
        peer: Some(&request.peer),
        failure: &failure,
    });
    Ok(Verdict::Failed)
}

/// The time between two requests in which the home is not locked.
const PAUSE: Duration = Duration::from_millis(1);
const MOST_LOOKS: usize = 48;
