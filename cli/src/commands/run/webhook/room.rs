//! The room for reviews. All of them come from the API server, so the user in the review
//! counts. Half of the room is for users that no group shows to be a peer's. A user whose
//! credentials an administrator has made for a peer is among them, so one user gets half of it.
//! A review takes a place for each MiB of it, so that what is judged at once is bounded in bytes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::core::admission::AdmissionResponse;
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    super::connections::{LargeBody, SMALL},
    no_review, written,
};
use liqo_auth_inspection::subject;

use crate::limits::{Rates, Share, Shares, locked};

/// Has a review judged if there is room for it. Otherwise the change is denied: without an
/// answer, a configuration that ignores failures would let it through.
pub(crate) async fn within(
    State(room): State<Arc<Room>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let large = parts.extensions.remove::<LargeBody>();
    // The connection has read and bounded it.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Ok(Review { request: asked }) = serde_json::from_slice(&body) else {
        return no_review();
    };
    let Some(_place) = room.enter(&asked.user_info, body.len()).await else {
        let user = asked.user_info.username.as_deref();
        tracing::debug!(user, "no room for a review");
        return no_room(asked.uid);
    };
    // From now on, the room bounds it.
    drop(large);
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// What of a review says whether there is room for it. The rest is read in the room.
#[derive(Deserialize)]
struct Review {
    request: Asked,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    uid: String,
    user_info: UserInfo,
}

fn no_room(uid: String) -> Response {
    let reason = "too many changes by users of this peer, or of all peers: try again later";
    let mut denied = AdmissionResponse::invalid(reason);
    denied.uid = uid;
    denied.result.code = 429;
    "TooManyRequests".clone_into(&mut denied.result.reason);
    written(denied)
}

pub(crate) struct Room {
    of_peers: Arc<Semaphore>,
    of_others: Arc<Semaphore>,
    /// The places of each other user with a review.
    of_users: Mutex<HashMap<String, Weak<Semaphore>>>,
    /// Of the peers' room.
    shares: Shares<String>,
    rates: Rates<String>,
}

/// The places of one review.
struct Place {
    _permit: OwnedSemaphorePermit,
    _of_client: OfClient,
}

/// What a review takes of its client's places.
enum OfClient {
    Peer { _shares: Vec<Share<String>> },
    Other { _permit: OwnedSemaphorePermit },
}

impl Default for Room {
    fn default() -> Self {
        Self {
            of_peers: Arc::new(Semaphore::new(HALF)),
            of_others: Arc::new(Semaphore::new(HALF)),
            of_users: Mutex::default(),
            shares: Shares::of(HALF),
            rates: Rates::new(BURST, INTERVAL),
        }
    }
}

impl Room {
    /// The places for a review of this user's request, which has so many bytes. A peer gets none,
    /// if it has too many, or all peers have. Others wait for them. Only a large review of a user
    /// with too many gets none.
    async fn enter(&self, user: &UserInfo, bytes: usize) -> Option<Place> {
        let places = u32::try_from(bytes.div_ceil(MIB).max(1)).ok()?;
        let Some(peer) = peer(user) else {
            let name = user.username.as_deref().unwrap_or_default();
            let of_user = self.of_user(name);
            let of_user = match bytes > SMALL {
                // It would wait in place of the large reviews of others.
                true => of_user.try_acquire_many_owned(places).ok()?,
                false => of_user.acquire_many_owned(places).await.ok()?,
            };
            let of_others = self.of_others.clone().acquire_many_owned(places);
            return Some(Place {
                _permit: of_others.await.ok()?,
                _of_client: OfClient::Other { _permit: of_user },
            });
        };
        if !self.rates.allows(&peer) {
            return None;
        }
        let shares = (0..places).map(|_| self.shares.take(peer.clone()));
        let shares = shares.collect::<Option<Vec<_>>>()?;
        let permit = self.of_peers.clone().try_acquire_many_owned(places).ok()?;
        Some(Place {
            _permit: permit,
            _of_client: OfClient::Peer { _shares: shares },
        })
    }

    /// The places of a user that is no peer's. Only users with a review are kept.
    fn of_user(&self, name: &str) -> Arc<Semaphore> {
        let mut users = locked(&self.of_users);
        users.retain(|_, places| places.strong_count() > 0);
        let kept = users.get(name).and_then(Weak::upgrade);
        kept.unwrap_or_else(|| {
            let places = Arc::new(Semaphore::new(OF_ONE_USER));
            users.insert(name.to_owned(), Arc::downgrade(&places));
            places
        })
    }
}

/// The peer whose user this is, by the subjects of the peers' certificates.
pub(super) fn peer(user: &UserInfo) -> Option<String> {
    let name = user.username.as_deref().unwrap_or_default();
    let mut groups = user.groups.iter().flatten();
    groups.find_map(|group| subject::peer(group, name))
}

const HALF: usize = 16;
/// Half of the room of the others.
const OF_ONE_USER: usize = 8;
const MIB: usize = 1024 * 1024;
/// Some hundred slices, each with a few changes, are no reason to wait.
const BURST: u32 = 500;
const INTERVAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use liqo_auth::crypto::Subject;

    use super::*;
    use crate::commands::run::connections::LARGEST_BODY;

    fn user(name: &str, group: &str) -> UserInfo {
        UserInfo {
            username: Some(name.to_owned()),
            groups: Some(vec![group.to_owned(), "system:authenticated".to_owned()]),
            ..UserInfo::default()
        }
    }

    fn of_slice(slice: &str) -> UserInfo {
        let subject = Subject::resource_slice(slice, &"rome".parse().unwrap());
        user(subject.common_name(), subject.organization())
    }

    fn enter(room: &Room, user: &UserInfo) -> Option<Place> {
        room.enter(user, 1000).now_or_never().unwrap()
    }

    #[test]
    fn all_users_of_a_peer_count_as_the_peer() {
        assert_eq!(peer(&user("rome", "liqo.io")).as_deref(), Some("rome"));
        assert_eq!(peer(&of_slice("pool")).as_deref(), Some("rome"));
        let peering_user = user("liqo-peer-user-rome-00ff", "liqo.io");
        assert!(peer(&peering_user).is_some());
        for (name, group) in [
            ("kubernetes-admin", "system:masters"),
            (
                "system:serviceaccount:liqo:liqo-auth",
                "system:serviceaccounts",
            ),
            // Groups of other systems look like cluster IDs.
            ("jane", "developers"),
        ] {
            assert_eq!(peer(&user(name, group)), None, "{name}");
        }
    }

    #[test]
    fn peers_leave_the_room_of_others_to_them() {
        let room = Room::default();
        let mut held = Vec::new();
        held.extend((0..9).filter_map(|number| enter(&room, &of_slice(&format!("pool{number}")))));
        assert_eq!(held.len(), 4, "of one peer");
        assert!(enter(&room, &user("rome", "liqo.io")).is_none());
        for number in 0..9 {
            let peer = user(&format!("peer-{number}"), "liqo.io");
            held.extend((0..4).filter_map(|_| enter(&room, &peer)));
        }
        assert_eq!(held.len(), HALF, "of all peers");
        let admin = user("kubernetes-admin", "system:masters");
        let account = user("argocd", "system:serviceaccounts");
        let others = (0..HALF / 2).flat_map(|_| [&admin, &account]);
        let others: Vec<_> = others.filter_map(|user| enter(&room, user)).collect();
        assert_eq!(others.len(), HALF);
        // One more of them waits, and is not refused.
        let third = user("jane", "developers");
        assert!(room.enter(&third, 0).now_or_never().is_none());
        drop(held);
        assert!(enter(&room, &user("rome", "liqo.io")).is_some());
    }

    /// No group shows that its credentials were made for a peer.
    #[test]
    fn one_user_leaves_half_of_the_room_of_others_to_them() {
        let room = Room::default();
        let declared = user("rome-user", "declared");
        let held: Vec<_> = (0..HALF / 2).map(|_| enter(&room, &declared)).collect();
        let more = |bytes| room.enter(&declared, bytes).now_or_never();
        assert!(more(SMALL).is_none(), "it waits");
        assert!(more(SMALL + 1).unwrap().is_none(), "it is refused");
        let admin = user("kubernetes-admin", "system:masters");
        assert!(enter(&room, &admin).is_some());
        drop(held);
        drop(enter(&room, &declared));
        drop(room.of_user("nobody"));
        assert_eq!(locked(&room.of_users).len(), 1, "the others are forgotten");
    }

    /// The largest review takes the whole share of a peer, a quarter of the peers' room, and half of
    /// what one other user gets.
    #[test]
    fn large_reviews_take_more_room_and_leave_that_of_others_to_them() {
        let room = Room::default();
        let enter = |user: &UserInfo, bytes| room.enter(user, bytes).now_or_never();
        let (rome, turin) = (user("rome", "liqo.io"), user("turin", "liqo.io"));
        let whole = enter(&rome, LARGEST_BODY).unwrap().unwrap();
        assert!(enter(&rome, 0).unwrap().is_none());
        drop(whole);
        let halves: Vec<_> = (0..3).map(|_| enter(&rome, MIB + 1).unwrap()).collect();
        assert_eq!(halves.iter().flatten().count(), 2);
        let peers = (0..4).map(|number| user(&format!("peer-{number}"), "liqo.io"));
        let peers: Vec<_> = peers.map(|it| enter(&it, LARGEST_BODY).unwrap()).collect();
        assert_eq!(peers.iter().flatten().count(), 3);
        assert!(enter(&turin, MIB).unwrap().is_none());
        let admins = ["kubernetes-admin", "jane"].map(|name| user(name, "system:masters"));
        let held = admins.iter().flat_map(|admin| [admin; 3]);
        let held: Vec<_> = held.map(|it| enter(it, LARGEST_BODY).unwrap()).collect();
        assert_eq!(held.iter().flatten().count(), 4);
        assert!(enter(&user("third", "developers"), MIB).is_none());
    }

    #[test]
    fn a_peer_that_asks_all_the_time_is_refused() {
        let room = Room::default();
        let rome = user("rome", "liqo.io");
        // More than come back meanwhile.
        let asks = (0..20 * BURST).map(|_| enter(&room, &rome).is_some());
        assert!(asks.filter(|got| !got).count() > 0);
        assert!(enter(&room, &user("turin", "liqo.io")).is_some());
        let admin = user("kubernetes-admin", "system:masters");
        assert!((0..2 * BURST).all(|_| enter(&room, &admin).is_some()));
    }
}
