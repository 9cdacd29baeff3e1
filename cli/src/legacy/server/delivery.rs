//! An identity on its way to its home cluster.

use tokio::sync::oneshot;

/// The delivery of an identity. While it exists, the worker does not issue another identity
/// under this cluster ID. If it is dropped without [`confirm`](Self::confirm), the
/// identity was not written to the connection, and the same request gets the same
/// identity again.
pub(super) struct Delivery(Option<Box<dyn FnOnce(Outcome) + Send>>);

/// The outcome of a delivery.
pub(super) struct Outcome {
    pub(super) is_delivered: bool,
    /// The sender is used when the outcome is on the disk.
    pub(super) done: Option<oneshot::Sender<()>>,
}

impl Delivery {
    /// A delivery. `tell` is called with its outcome.
    pub(super) fn new(tell: impl FnOnce(Outcome) + Send + 'static) -> Self {
        Self(Some(Box::new(tell)))
    }

    /// Tells the worker that the identity was written to the connection. Returns when
    /// this is on the disk.
    pub(super) async fn confirm(mut self) {
        let (done, is_done) = oneshot::channel();
        self.tell(true, Some(done));
        // If the worker fails, it writes the failure to the log.
        let _ = is_done.await;
    }

    fn tell(&mut self, is_delivered: bool, done: Option<oneshot::Sender<()>>) {
        if let Some(tell) = self.0.take() {
            tell(Outcome { is_delivered, done });
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.tell(false, None);
    }
}
