//! Delays clients that guess tokens, and limits the connections of each address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Instant,
};

use liqo_auth::{
    legacy::{Outcome, Throttle},
    model::Timestamp,
    policy::Limits,
};

use super::locked;

/// Delays the verdicts about tokens for an address that sent wrong ones.
///
/// The delay comes before the next verdict, whether that is right or wrong, and
/// only one request of the address waits for it. So a client that opens many
/// connections, or closes each one early, learns no more verdicts than one that
/// waits. Other addresses are not delayed.
pub(super) struct HoldBack {
    addresses: Mutex<HashMap<IpAddr, Penalty>>,
    limits: Limits,
}

struct Penalty {
    throttle: Throttle,
    /// The address learns no verdict before this time.
    until: Instant,
    has_waiter: bool,
}

impl HoldBack {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            addresses: Mutex::default(),
            limits,
        }
    }

    /// Waits until the address may learn a verdict. None if another request of the
    /// address waits already.
    #[must_use]
    pub(super) async fn wait(&self, from: IpAddr) -> Option<()> {
        let from = network(from);
        let (until, _waiter) = {
            let mut addresses = locked(&self.addresses);
            let now = Instant::now();
            let penalty = addresses.get_mut(&from);
            let Some(penalty) = penalty.filter(|penalty| penalty.until > now) else {
                return Some(());
            };
            if penalty.has_waiter {
                return None;
            }
            penalty.has_waiter = true;
            let waiter = Waiter {
                hold_back: self,
                from,
            };
            (penalty.until, waiter)
        };
        tokio::time::sleep_until(until.into()).await;
        Some(())
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
            has_waiter: false,
        });
        let delay = penalty.throttle.delay(outcome, now, &self.limits);
        penalty.until = penalty.until.max(instant + delay);
    }
}

/// A request that waits. If its client disconnects, it is dropped and waits no longer.
struct Waiter<'a> {
    hold_back: &'a HoldBack,
    from: IpAddr,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(penalty) = locked(&self.hold_back.addresses).get_mut(&self.from) {
            penalty.has_waiter = false;
        }
    }
}

/// The connections of each address.
#[derive(Clone)]
pub(super) struct Shares {
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    most: usize,
}

/// The place of one connection in its address's share.
pub(super) struct Share {
    shares: Shares,
    from: IpAddr,
}

impl Shares {
    /// An eighth of all connections for each address.
    pub(super) fn of(most_connections: usize) -> Self {
        Self {
            taken: Arc::default(),
            most: (most_connections / 8).max(SMALLEST_SHARE),
        }
    }

    /// A place for a connection. None if the address has all its places already.
    pub(super) fn take(&self, from: IpAddr) -> Option<Share> {
        let from = network(from);
        let mut taken = locked(&self.taken);
        let number = taken.entry(from).or_default();
        if *number >= self.most {
            return None;
        }
        *number += 1;
        Some(Share {
            shares: self.clone(),
            from,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = locked(&self.shares.taken);
        if let Some(number) = taken.get_mut(&self.from) {
            *number = number.saturating_sub(1);
            if *number == 0 {
                taken.remove(&self.from);
            }
        }
    }
}

/// The network that counts as one address: for IPv6, the /64 network, since one
/// client can have all addresses of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
    }
}

const MOST_ADDRESSES: usize = 4096;
const SMALLEST_SHARE: usize = 4;

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    #[test]
    fn one_request_of_an_address_waits_and_others_do_not() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let limits = Limits {
                wrong_token_delay: Duration::from_secs(3600),
                wrong_token_longest_delay: Duration::from_secs(3600),
                ..Limits::default()
            };
            let hold_back = Arc::new(HoldBack::new(limits));
            let [guesser, other]: [IpAddr; 2] =
                ["192.0.2.1", "192.0.2.2"].map(|address| address.parse().unwrap());
            hold_back.count(guesser, Some(&wrong(true)), now());
            assert_eq!(hold_back.wait(guesser).await, Some(()));
            hold_back.count(guesser, Some(&wrong(false)), now());
            let waiting = hold_back.clone();
            let waiting = tokio::spawn(async move { waiting.wait(guesser).await });
            tokio::task::yield_now().await;
            let second = tokio::time::timeout(Duration::from_secs(10), hold_back.wait(guesser));
            assert_eq!(second.await, Ok(None));
            assert_eq!(hold_back.wait(other).await, Some(()));
            // A request whose client disconnects no longer waits.
            waiting.abort();
            assert!(waiting.await.is_err());
            let again = tokio::time::timeout(Duration::from_millis(10), hold_back.wait(guesser));
            assert!(again.await.is_err());
        });
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

    #[test]
    fn each_address_has_its_share() {
        let shares = Shares::of(64);
        let take = |from: &str| shares.take(from.parse().unwrap());
        let held: Vec<Share> = (0..8).filter_map(|_| take("2001:db8::1")).collect();
        assert_eq!(held.len(), 8);
        // Of the same network.
        assert!(take("2001:db8::2").is_none());
        assert!(take("192.0.2.1").is_some());
        drop(held);
        assert!(take("2001:db8::2").is_some());
        assert!(locked(&shares.taken).is_empty());
    }
}
