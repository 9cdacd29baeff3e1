//! Slowing down wrong tokens.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Mutex,
};

use liqo_auth::{
    legacy::{Outcome, Throttle},
    model::Timestamp,
    policy::Limits,
};
use tokio::sync::oneshot;

use super::locked;

/// Holds the refusals of wrong tokens back, longer and longer for the same
/// address. A right token is never held back; nor is it kept out by refusals
/// that wait: of those there are only so many, and the eldest goes when
/// another one comes.
pub(super) struct HoldBack {
    state: Mutex<State>,
    most: usize,
    limits: Limits,
}

#[derive(Default)]
struct State {
    throttles: HashMap<IpAddr, Throttle>,
    held: VecDeque<oneshot::Sender<()>>,
    is_over: bool,
}

impl HoldBack {
    /// One that holds so many refusals back at once.
    pub(super) fn new(most: usize, limits: Limits) -> Self {
        Self {
            state: Mutex::default(),
            most: most.max(1),
            limits,
        }
    }

    /// Waits as long as the outcome that came with a response has it wait.
    pub(super) async fn wait(&self, from: IpAddr, outcome: Option<&Outcome>, now: Timestamp) {
        let (delay, let_go) = {
            let mut state = locked(&self.state);
            let delay = state.delay(from, outcome, now, &self.limits);
            if delay.is_zero() || state.is_over {
                return;
            }
            let (sender, let_go) = oneshot::channel();
            state.held.retain(|held| !held.is_closed());
            if state.held.len() >= self.most {
                // Dropped: it goes.
                state.held.pop_front();
            }
            state.held.push_back(sender);
            (delay, let_go)
        };
        // Over in either case.
        let _ = tokio::time::timeout(delay, let_go).await;
    }

    /// Lets everybody go: the server stops.
    pub(super) fn let_go(&self) {
        let mut state = locked(&self.state);
        state.is_over = true;
        state.held.clear();
    }
}

impl State {
    fn delay(
        &mut self,
        from: IpAddr,
        outcome: Option<&Outcome>,
        now: Timestamp,
        limits: &Limits,
    ) -> std::time::Duration {
        if !matches!(outcome, Some(Outcome::WrongToken { .. })) {
            return std::time::Duration::ZERO;
        }
        let from = network(from);
        if self.throttles.len() >= MOST_ADDRESSES && !self.throttles.contains_key(&from) {
            // As a restart would.
            self.throttles.clear();
        }
        let throttle = self.throttles.entry(from).or_default();
        throttle.delay(outcome, now, limits)
    }
}

/// Whoever has an address of IPv6 has a whole network of them.
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    fn wrong() -> Outcome {
        Outcome::WrongToken {
            peer: "cl-a".parse().unwrap(),
            is_empty: false,
        }
    }

    fn limits(delay: Duration) -> Limits {
        Limits {
            wrong_token_delay: delay,
            wrong_token_longest_delay: delay,
            ..Limits::default()
        }
    }

    #[test]
    fn the_eldest_goes_when_there_are_too_many() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let hold_back = Arc::new(HoldBack::new(2, limits(Duration::from_secs(3600))));
            let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
            let mut held = Vec::new();
            for _ in 0..3 {
                let hold_back = hold_back.clone();
                held.push(tokio::spawn(async move {
                    let outcome = wrong();
                    let from = "192.0.2.1".parse().unwrap();
                    hold_back.wait(from, Some(&outcome), now).await;
                }));
                tokio::task::yield_now().await;
            }
            held.remove(0).await.unwrap();
            assert!(held.iter().all(|held| !held.is_finished()));
            // Nobody else waits.
            let from = "192.0.2.1".parse().unwrap();
            hold_back.wait(from, None, now).await;
            hold_back.let_go();
            for held in held {
                held.await.unwrap();
            }
        });
    }

    #[test]
    fn addresses_do_not_slow_each_other_down() {
        let limits = Limits::default();
        let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
        let mut state = State::default();
        let outcome = wrong();
        let mut delay =
            |from: &str| state.delay(from.parse().unwrap(), Some(&outcome), now, &limits);
        let first = delay("192.0.2.1");
        assert_eq!(delay("192.0.2.1"), 2 * first);
        assert_eq!(delay("192.0.2.2"), first);
        assert_eq!(delay("2001:db8::1"), first);
        assert_eq!(delay("2001:db8::2"), 2 * first);
    }
}
