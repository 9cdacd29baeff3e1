//! An identity on its way to its home.

use liqo_auth::model::ClusterId;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

use super::desk::Message;

/// Nobody else is dealt with under this cluster ID until it is known whether
/// the identity was written to the connection. Dropped, it was not: the same
/// request gets the same identity again.
pub(super) struct Delivery {
    peer: ClusterId,
    desk: UnboundedSender<Message>,
    is_told: bool,
}

impl Delivery {
    pub(super) fn new(peer: ClusterId, desk: UnboundedSender<Message>) -> Self {
        Self {
            peer,
            desk,
            is_told: false,
        }
    }

    /// The identity was written. Returns when that is on the disk.
    pub(super) async fn confirm(mut self) {
        let (done, is_done) = oneshot::channel();
        self.tell(true, Some(done));
        // A desk that failed says so in the log.
        let _ = is_done.await;
    }

    fn tell(&mut self, is_delivered: bool, done: Option<oneshot::Sender<()>>) {
        self.is_told = true;
        let _ = self.desk.send(Message::Finished {
            peer: self.peer.clone(),
            is_delivered,
            done,
        });
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.is_told {
            self.tell(false, None);
        }
    }
}
