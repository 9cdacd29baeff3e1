//! A client whose answers are bounded while they are read.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Request;
use http_body::{Body as HttpBody, Frame};
use kube::{Client, client::Body};
use liqo_auth::{model::BoundedReader, policy::Limits};
use tower::service_fn;

use crate::Error;

/// The same client. An object in its answers that exceeds the limits is reduced to its
/// metadata before it is decoded, so that a peer's large objects cost little memory.
pub(crate) fn bounded(client: &Client) -> Client {
    with_answers_of(client, usize::MAX)
}

/// The same client, for a cluster that is not trusted: an answer is given up when more than
/// [`MOST_OF_A_PEER`] bytes of it would be kept. The events of a watch are one answer, which
/// then begins again.
pub(crate) fn bounded_for_peer(client: &Client) -> Client {
    with_answers_of(client, MOST_OF_A_PEER)
}

fn with_answers_of(client: &Client, most: usize) -> Client {
    let inner = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move {
            let mut answer = inner.send(request).await?;
            // The client may be bounded already.
            let is_read = answer.extensions_mut().insert(IsRead).is_some();
            let reader = (!is_read).then(|| BoundedReader::new(&Limits::default()));
            Ok::<_, kube::Error>(answer.map(|body| Bounded {
                body,
                reader,
                room: most,
            }))
        }
    });
    Client::new(service, client.default_namespace()).with_valid_until(*client.valid_until())
}

/// Marks an answer whose objects are bounded.
#[derive(Clone)]
struct IsRead;

/// An answer that is bounded while it is read.
struct Bounded {
    body: Body,
    /// `None` if the body is one that is bounded already.
    reader: Option<BoundedReader>,
    /// The bytes that may still be kept.
    room: usize,
}

impl Bounded {
    fn read(&mut self, bytes: Bytes) -> Result<Bytes, Error> {
        let kept = match &mut self.reader {
            Some(reader) => reader.read(&bytes).map(Bytes::from),
            None => Ok(bytes),
        };
        let kept = kept.map_err(|error| Error::Answer(error.to_string()))?;
        match self.room.checked_sub(kept.len()) {
            Some(room) => self.room = room,
            None => {
                return Err(Error::Answer(format!(
                    "found more than {MOST_OF_A_PEER} bytes, expected at most {MOST_OF_A_PEER}"
                )));
            }
        }
        Ok(kept)
    }
}

impl HttpBody for Bounded {
    type Data = Bytes;
    type Error = liqo_auth::crypto::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(frame) => frame?,
            };
            let bytes = match frame.into_data() {
                Ok(bytes) => bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            let kept = self.read(bytes)?;
            // An object is kept at its end, so that most frames of a large one give nothing.
            if !kept.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(kept))));
            }
        }
    }
}

/// 8 MiB: some 64 slices and as many renewals take a tenth of it.
const MOST_OF_A_PEER: usize = 8 * 1024 * 1024;
