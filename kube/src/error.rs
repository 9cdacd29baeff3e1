use std::time::Duration;

use liqo_auth::{
    crypto::BoxError,
    error,
    model::{ClusterId, ObjectRef},
};

/// What went wrong between the library and a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server did not answer, or refused the request.
    #[error("the API server refuses {request}")]
    Request {
        /// What was asked: the method and the object, or what was to be read.
        request: String,
        /// The answer.
        source: Box<kube::Error>,
    },
    /// The library refuses what it sees, or what it is asked to do.
    #[error(transparent)]
    Library(#[from] error::Error),
    /// An object of this cluster that has to be there is missing or malformed.
    #[error("{object}: {problem}")]
    Setup {
        /// The object.
        object: ObjectRef,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The system gives no randomness, or its clock is before 1970.
    #[error("this machine gives no {0}")]
    Machine(&'static str),
    /// Not all objects of the cluster have been listed yet.
    #[error("the controller has not listed all objects of its cluster yet; try again")]
    NotSynchronized,
    /// The same object changes faster than the controller can write it.
    #[error("{0} changes with each attempt to write it; try again")]
    Conflict(ObjectRef),
    /// The controller does not run that side.
    #[error("this controller has no {0} side")]
    NoSuchSide(&'static str),
    /// The controller has stopped.
    #[error("the controller has stopped")]
    Stopped,
    /// A message could not be carried to the peer.
    #[error("the {message} cannot be carried to the peer")]
    Delivery {
        /// The message: a nonce, a Tenant or an Identity.
        message: &'static str,
        /// Why.
        source: BoxError,
    },
    /// The API server does not answer.
    #[error("the API server has not answered {request} within {seconds} s")]
    TimedOut {
        /// What was asked: the method and the object, or what was to be read.
        request: String,
        /// How long was waited, in seconds.
        seconds: u64,
    },
    /// The peer's cluster does not have a message for this cluster in time.
    #[error("{peer} has no {message} for this cluster after {seconds} s")]
    Unanswered {
        /// The peer.
        peer: ClusterId,
        /// The message: a nonce or an Identity.
        message: &'static str,
        /// How long was waited, in seconds.
        seconds: u64,
        /// Why the last one was refused, if there was one.
        source: Option<Box<Error>>,
    },
}

/// Waits for the answer to a request, for half a minute at most.
pub(crate) async fn in_time<T>(
    request: String,
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<Result<T, kube::Error>, Error> {
    let answered = tokio::time::timeout(HALF_A_MINUTE, answer).await;
    answered.map_err(|_| Error::TimedOut {
        request,
        seconds: HALF_A_MINUTE.as_secs(),
    })
}

const HALF_A_MINUTE: Duration = Duration::from_secs(30);

impl Error {
    pub(crate) fn request(request: impl ToString, source: kube::Error) -> Self {
        Self::Request {
            request: request.to_string(),
            source: Box::new(source),
        }
    }
}

/// An error with all its causes, on one line.
pub(crate) fn with_sources(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        let source_text = source.to_string();
        if !text.contains(&source_text) {
            text.push_str(": ");
            text.push_str(&source_text);
        }
        cause = source.source();
    }
    text
}
