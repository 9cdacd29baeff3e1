//! The messages that a peer has.

use std::collections::BTreeSet;

use crate::machine::Message;

/// The messages of one peer that were delivered. A step names its messages at each look, and
/// a driver need not deliver them each time.
///
/// This is a memory of the driver. If it is lost, the messages are delivered again, which
/// does no harm.
///
/// # Examples
/// ```
/// use liqo_auth::machine::{Message, drive::Deliveries};
/// # fn outbox() -> Vec<Message> { Vec::new() }
/// # fn deliver(_: &Message) -> bool { true }
///
/// let mut deliveries = Deliveries::default();
/// for message in deliveries.take(outbox()) {
///     if !deliver(&message) {
///         deliveries.failed(&message); // the next step returns it again
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Deliveries {
    /// The digests of the messages that the peer has.
    delivered: BTreeSet<[u8; 32]>,
}

impl Deliveries {
    /// The messages of a step at rest that the peer does not have. They count as delivered
    /// from now on. A message that the step does not name any more is forgotten, since the
    /// peer may need it again later.
    pub fn take(&mut self, mut outbox: Vec<Message>) -> Vec<Message> {
        let digests: Vec<_> = outbox.iter().map(Message::digest).collect();
        let before = core::mem::replace(&mut self.delivered, digests.iter().copied().collect());
        let mut digests = digests.iter();
        outbox.retain(|_| {
            let digest = digests.next();
            digest.is_some_and(|digest| !before.contains(digest))
        });
        outbox
    }

    /// Notes that the peer did not get a message.
    pub fn failed(&mut self, message: &Message) {
        self.delivered.remove(&message.digest());
    }
}
