//! Delays clients that guess tokens.

use std::{collections::HashMap, net::IpAddr, sync::Mutex, time::Instant};

use liqo_auth::{
    legacy::{Outcome, Throttle},
    model::Timestamp,
    policy::Limits,
};

use crate::limits::{locked, network};

/// Delays the verdicts about tokens for an address that sent wrong ones.
///
/// The delay comes before the next verdict, whether that is right or wrong. Such an address
/// learns one verdict at a time: a single request waits for the delay, and has the turn until
/// its verdict is counted. So a client that opens many connections, sends many requests at
/// once, or closes each connection early, does not learn more verdicts than one that waits.
/// Other addresses are not delayed.
pub(super) struct HoldBack {
    addresses: Mutex<HashMap<IpAddr, Penalty>>,
    limits: Limits,
}

struct Penalty {
    throttle: Throttle,
    /// The address does not learn a verdict before this time.
    until: Instant,
    /// Whether a request waits for its verdict.
    has_turn: bool,
}

impl HoldBack {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            addresses: Mutex::default(),
            limits,
        }
    }

    /// Waits until the address may learn a verdict. Keep the turn until the verdict is
    /// counted. `None` if another request of the address has the turn.
    #[must_use]
    pub(super) async fn turn(&self, from: IpAddr) -> Option<Turn<'_>> {
        let from = network(from);
        let (until, turn) = {
            let mut addresses = locked(&self.addresses);
            let longest = self.limits.wrong_token_longest_delay;
            let is_recent = |penalty: &&mut Penalty| penalty.until.elapsed() < longest;
            let Some(penalty) = addresses.get_mut(&from).filter(is_recent) else {
                return Some(Turn { penalized: None });
            };
            if penalty.has_turn {
                return None;
            }
            penalty.has_turn = true;
            let penalized = Some((self, from));
            (penalty.until, Turn { penalized })
        };
        tokio::time::sleep_until(until.into()).await;
        Some(turn)
    }

    /// Counts a wrong token. An empty token does not count.
    pub(super) fn count(&self, from: IpAddr, outcome: Option<&Outcome>, now: Timestamp) {
        let Some(Outcome::WrongToken {
            is_empty: false, ..
        }) = outcome
        else {
            return;
        };
        let (from, instant) = (network(from), Instant::now());
        let mut addresses = locked(&self.addresses);
        if addresses.len() >= MOST_ADDRESSES && !addresses.contains_key(&from) {
            let eldest = addresses.iter().min_by_key(|(_, penalty)| penalty.until);
            if let Some(eldest) = eldest.map(|(address, _)| *address) {
                addresses.remove(&eldest);
            }
        }
        let penalty = addresses.entry(from).or_insert(Penalty {
            throttle: Throttle::default(),
            until: instant,
            has_turn: false,
        });
        let delay = penalty.throttle.delay(outcome, now, &self.limits);
        penalty.until = penalty.until.max(instant + delay);
    }
}

/// The turn of a request. It ends with the request, also if its client disconnects.
pub(super) struct Turn<'a> {
    /// The address, if it has sent wrong tokens lately.
    penalized: Option<(&'a HoldBack, IpAddr)>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some((hold_back, from)) = self.penalized else {
            return;
        };
        if let Some(penalty) = locked(&hold_back.addresses).get_mut(&from) {
            penalty.has_turn = false;
        }
    }
}

const MOST_ADDRESSES: usize = 4096;

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    fn wrong(is_empty: bool) -> Outcome {
        Outcome::WrongToken {
            peer: "cl-a".parse().unwrap(),
            is_empty,
        }
    }

    fn now() -> Timestamp {
        "2026-11-20T13:00:00Z".parse().unwrap()
    }

    #[tokio::test]
    async fn one_request_of_an_address_waits_and_others_do_not() {
        let limits = Limits {
            wrong_token_delay: Duration::from_secs(3600),
            wrong_token_longest_delay: Duration::from_secs(3600),
            ..Limits::default()
        };
        let hold_back = Arc::new(HoldBack::new(limits));
        let [guesser, other]: [IpAddr; 2] =
            ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
        hold_back.count(guesser, Some(&wrong(true)), now());
        assert!(hold_back.turn(guesser).await.is_some());
        hold_back.count(guesser, Some(&wrong(false)), now());
        let waiting = hold_back.clone();
        let waiting = tokio::spawn(async move { waiting.turn(guesser).await.is_some() });
        tokio::task::yield_now().await;
        let second = tokio::time::timeout(Duration::from_secs(10), hold_back.turn(guesser));
        assert!(matches!(second.await, Ok(None)));
        assert!(hold_back.turn(other).await.is_some());
        // A request whose client disconnects no longer waits.
        waiting.abort();
        assert!(waiting.await.is_err());
        let again = tokio::time::timeout(Duration::from_millis(10), hold_back.turn(guesser));
        assert!(again.await.is_err());
    }

    #[tokio::test]
    async fn requests_that_arrive_together_after_the_delay_take_turns() {
        let limits = Limits {
            wrong_token_delay: Duration::ZERO,
            wrong_token_longest_delay: Duration::from_secs(3600),
            ..Limits::default()
        };
        let hold_back = HoldBack::new(limits);
        let guesser: IpAddr = "192.0.2.1".parse().unwrap();
        // The delay is over at once.
        hold_back.count(guesser, Some(&wrong(false)), now());
        let first = hold_back.turn(guesser).await;
        assert!(first.is_some());
        assert!(hold_back.turn(guesser).await.is_none());
        hold_back.count(guesser, Some(&wrong(false)), now());
        drop(first);
        assert!(hold_back.turn(guesser).await.is_some());
    }

    #[test]
    fn the_memory_is_bounded() {
        let hold_back = HoldBack::new(Limits::default());
        for number in 0..=u32::try_from(MOST_ADDRESSES).unwrap() {
            let from = std::net::Ipv4Addr::from_bits(number).into();
            hold_back.count(from, Some(&wrong(false)), now());
        }
        assert_eq!(locked(&hold_back.addresses).len(), MOST_ADDRESSES);
    }
}
