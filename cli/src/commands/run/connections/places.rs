//! The places of a listener. If all are taken, a connection that asks for nothing gives way
//! to the next one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use crate::limits::{locked, network};

pub(super) struct Places {
    most: usize,
    /// Whether clients have to show a certificate. Then one that has not yet gives way first.
    verifies_clients: bool,
    taken: Mutex<Taken>,
    /// Told when a connection ends, or has got its answer.
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    /// The oldest connection has the lowest number.
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

struct Connection {
    source: IpAddr,
    state: State,
    gives_way: Arc<Notify>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The TLS handshake is not over.
    Arriving,
    /// No complete request is there.
    Idle,
    /// A request is being answered.
    Busy,
}

/// The place of one connection. It ends with this value.
pub(super) struct Place {
    places: Arc<Places>,
    number: u64,
    gives_way: Arc<Notify>,
}

/// While it lives, the connection does not give way.
pub(super) struct Busy<'p>(&'p Place);

impl Places {
    pub(super) fn new(most: usize, verifies_clients: bool) -> Arc<Self> {
        Arc::new(Self {
            most,
            verifies_clients,
            taken: Mutex::default(),
            freed: Notify::new(),
        })
    }

    /// A place for a connection from this address. It waits only while all connections are
    /// being answered. One caller at a time may wait.
    pub(super) async fn take(self: &Arc<Self>, source: IpAddr) -> Place {
        loop {
            if let Some(place) = self.take_now(source) {
                return place;
            }
            self.freed.notified().await;
        }
    }

    fn take_now(self: &Arc<Self>, source: IpAddr) -> Option<Place> {
        let mut taken = locked(&self.taken);
        if taken.connections.len() >= self.most {
            let number = taken.to_give_way(self.verifies_clients)?;
            if let Some(connection) = taken.connections.remove(&number) {
                connection.gives_way.notify_one();
            }
        }
        let number = taken.next;
        taken.next += 1;
        let gives_way = Arc::new(Notify::new());
        let connection = Connection {
            source: network(source),
            state: State::Arriving,
            gives_way: gives_way.clone(),
        };
        taken.connections.insert(number, connection);
        Some(Place {
            places: self.clone(),
            number,
            gives_way,
        })
    }

    fn set(&self, number: u64, state: State) {
        if let Some(connection) = locked(&self.taken).connections.get_mut(&number) {
            connection.state = state;
        }
        if state == State::Idle {
            self.freed.notify_one();
        }
    }
}

impl Taken {
    /// The oldest of the source with the most connections. So a client that opens many of
    /// them takes places from itself.
    fn to_give_way(&self, verifies_clients: bool) -> Option<u64> {
        let mut of_sources: HashMap<IpAddr, usize> = HashMap::new();
        for connection in self.connections.values() {
            *of_sources.entry(connection.source).or_default() += 1;
        }
        let (number, _) = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.state != State::Busy)
            .max_by_key(|(number, connection)| {
                let is_unverified = verifies_clients && connection.state == State::Arriving;
                let number_of_source = of_sources.get(&connection.source);
                (is_unverified, number_of_source, Reverse(**number))
            })?;
        Some(*number)
    }
}

impl Place {
    /// The TLS handshake is over, or there is none.
    pub(super) fn has_arrived(&self) {
        self.places.set(self.number, State::Idle);
    }

    /// Waits until the connection has to give way.
    pub(super) async fn gives_way(&self) {
        self.gives_way.notified().await;
    }

    /// All of a request is there, and is answered now.
    pub(super) fn busy(&self) -> Busy<'_> {
        self.places.set(self.number, State::Busy);
        Busy(self)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.places.set(self.0.number, State::Idle);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        locked(&self.places.taken).connections.remove(&self.number);
        self.places.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn take(places: &Arc<Places>, source: &str) -> Option<Place> {
        places.take_now(source.parse().unwrap())
    }

    fn has_to_go(place: &Place) -> bool {
        place.gives_way().now_or_never().is_some()
    }

    #[test]
    fn a_source_with_many_connections_gives_way_to_others_and_to_itself() {
        let places = Places::new(4, false);
        let quiet = take(&places, "192.0.2.1").unwrap();
        // Of one network.
        let flood: Vec<Place> = (1..=3)
            .map(|number| take(&places, &format!("2001:db8::{number}")).unwrap())
            .collect();
        let next = take(&places, "2001:db8::4").unwrap();
        assert!(has_to_go(&flood[0]));
        let other = take(&places, "192.0.2.2").unwrap();
        assert!(has_to_go(&flood[1]));
        for stays in [&quiet, &flood[2], &next, &other] {
            assert!(!has_to_go(stays));
        }
        // Where all have one, it is the oldest.
        drop(next);
        let _last = take(&places, "192.0.2.3").unwrap();
        let _another = take(&places, "192.0.2.4").unwrap();
        assert!(has_to_go(&quiet));
    }

    #[test]
    fn a_connection_that_is_answered_stays() {
        let places = Places::new(2, false);
        let (first, second) = (
            take(&places, "192.0.2.1").unwrap(),
            take(&places, "192.0.2.1").unwrap(),
        );
        let answered = first.busy();
        let third = take(&places, "192.0.2.1").unwrap();
        assert!(has_to_go(&second) && !has_to_go(&first));
        let _also = third.busy();
        assert!(take(&places, "192.0.2.2").is_none());
        drop(answered);
        assert!(take(&places, "192.0.2.2").is_some());
        assert!(has_to_go(&first));
    }

    #[tokio::test]
    async fn who_waits_gets_the_place_that_is_left() {
        let places = Places::new(1, false);
        let first = take(&places, "192.0.2.1").unwrap();
        let answered = first.busy();
        let waiting = places.clone();
        let waiting =
            tokio::spawn(async move { waiting.take("192.0.2.2".parse().unwrap()).await.number });
        tokio::task::yield_now().await;
        drop(answered);
        assert_eq!(waiting.await.unwrap(), 1);
    }

    #[test]
    fn a_client_without_its_certificate_gives_way_first() {
        let places = Places::new(3, true);
        let server: Vec<Place> = (0..2)
            .map(|_| take(&places, "192.0.2.1").unwrap())
            .collect();
        server.iter().for_each(Place::has_arrived);
        let silent = take(&places, "192.0.2.2").unwrap();
        let next = take(&places, "192.0.2.1").unwrap();
        assert!(has_to_go(&silent));
        next.has_arrived();
        let _last = take(&places, "192.0.2.3").unwrap();
        assert!(has_to_go(&server[0]));
    }
}
