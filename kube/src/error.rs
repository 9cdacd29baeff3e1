use std::time::Duration;

use kube::{config::KubeconfigError, core::Status};
use liqo_auth::{
    crypto::BoxError,
    error,
    model::{ClusterId, ObjectRef},
};

use crate::InBandError;

/// An error of a request, a cluster's setup, or the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server refused the request, or could not be reached.
    #[error("the request failed: {request}")]
    Request {
        /// The request: a verb and an object, such as `get Secret liqo/a`.
        request: String,
        /// The error of kube-rs.
        source: Box<kube::Error>,
    },
    /// The library refuses an object, a message or a call.
    #[error(transparent)]
    Library(#[from] error::Error),
    /// A required object of a cluster is missing, malformed or ambiguous.
    #[error("{object}: {problem}")]
    Setup {
        /// The object.
        object: ObjectRef,
        /// The problem, and what to do.
        problem: String,
    },
    /// A kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(Box<KubeconfigError>),
    /// A client cannot be made of a verified identity.
    #[error("the identity cannot be used to log in: {0}")]
    Identity(String),
    /// The proxy that a kubeconfig or the environment names cannot be used.
    #[error("{field}: {problem}")]
    Proxy {
        /// What names the proxy, such as `proxy-url of the kubeconfig`.
        field: String,
        /// The problem, and what to do. It has no password of the proxy's URL.
        problem: String,
    },
    /// A consumer has no way to a provider through Liqo's network.
    #[error(transparent)]
    InBand(#[from] InBandError),
    /// An answer of an API server is larger than any that is needed.
    #[error("the answer is too large: {0}")]
    Answer(String),
    /// A key of the cluster does not exist yet.
    #[error("{0} does not exist yet: the first authentication creates it")]
    NoKey(ObjectRef),
    /// The system provides no randomness, or its clock is out of range.
    #[error("{0}")]
    Machine(&'static str),
    /// Not all objects of the cluster have been listed yet.
    #[error("the controller has not listed all objects of its cluster yet; try again")]
    NotSynchronized,
    /// The same object changes faster than the controller can write it.
    #[error("other writers change {0} again and again; try again later")]
    Conflict(ObjectRef),
    /// The controller does not run that side.
    #[error("this controller has no {0} side")]
    NoSuchSide(&'static str),
    /// The new configuration watches other objects than the running controller.
    #[error("this configuration watches other objects; start a new controller with it")]
    OtherWatches,
    /// The controller has stopped.
    #[error("the controller has stopped")]
    Stopped,
    /// A message could not be delivered to the peer.
    #[error("the {message} cannot be delivered to the peer")]
    Delivery {
        /// The message: a nonce, a Tenant or an Identity.
        message: &'static str,
        /// The transport's error.
        source: BoxError,
    },
    /// A VirtualNode or a Quota that is wanted for a slice has another controller.
    #[error(
        "{object} belongs to {controller}, so that nothing is made for the slice; delete it, or give the slice another name"
    )]
    Controlled {
        /// The VirtualNode or the Quota: its kind, namespace and name.
        object: String,
        /// The kind and the name of its controller.
        controller: String,
    },
    /// The cluster does not serve the kind that accepted slices need for offloading.
    #[error(
        "the cluster does not serve {0} of offloading.liqo.io/v1beta1, which an accepted slice needs; install Liqo with its resource definitions, or run without offloading"
    )]
    NoOffloading(&'static str),
    /// The API server did not answer in time.
    #[error("the API server has not answered within {seconds} s: {request}")]
    TimedOut {
        /// The request: a verb and an object, such as `get Secret liqo/a`.
        request: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The peer has made no message for this cluster in time, or none that was
    /// accepted.
    #[error("{peer} has no {message} for this cluster after {seconds} s")]
    Unanswered {
        /// The peer.
        peer: ClusterId,
        /// The message: a nonce or an Identity.
        message: &'static str,
        /// The time limit, in seconds.
        seconds: u64,
        /// The refusal of the last message, if one was refused.
        source: Option<Box<Error>>,
    },
}

/// Waits at most half a minute for the answer to a request.
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

/// As [`in_time`], where a failure is [`Error::Request`].
pub(crate) async fn succeeds_in_time<T>(
    request: String,
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    let answered = in_time(request.clone(), answer).await?;
    answered.map_err(|error| Error::request(request, error))
}

const HALF_A_MINUTE: Duration = Duration::from_secs(30);

impl Error {
    /// The object that the error speaks of, if it names one.
    pub(crate) fn object(&self) -> Option<&ObjectRef> {
        match self {
            Self::Library(error) => error.at().object.as_ref(),
            Self::Setup { object, .. } | Self::NoKey(object) | Self::Conflict(object) => {
                Some(object)
            }
            _ => None,
        }
    }

    /// Whether the API server refuses the request to this user (403).
    pub fn is_forbidden(&self) -> bool {
        let Self::Request { source, .. } = self else {
            return false;
        };
        matches!(&**source, kube::Error::Api(status) if status.is_forbidden())
    }

    pub(crate) fn request(request: impl ToString, source: kube::Error) -> Self {
        Self::Request {
            request: request.to_string(),
            source: Box::new(source),
        }
    }
}

/// An error with all its causes, on one line. The words of an API server are bounded.
pub(crate) fn with_sources(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        if let Some(status) = answer_in(source) {
            let words = status.message.chars().take(LONGEST_WORDS);
            let words: String = words.map(shown).collect();
            return format!("{text}: the API server answers {}: {words}", status.code);
        }
        let source_text = source.to_string();
        if !text.contains(&source_text) {
            text.push_str(": ");
            text.push_str(&source_text);
        }
        cause = source.source();
    }
    text
}

/// The answer of an API server, if an error is one.
fn answer_in<'e>(error: &'e (dyn core::error::Error + 'static)) -> Option<&'e Status> {
    let of_kube = error.downcast_ref::<kube::Error>();
    let boxed = || {
        error
            .downcast_ref::<Box<kube::Error>>()
            .map(|boxed| &**boxed)
    };
    match of_kube.or_else(boxed) {
        Some(kube::Error::Api(status)) => Some(status),
        _ => None,
    }
}

fn shown(character: char) -> String {
    match character.is_control() {
        true => character.escape_unicode().to_string(),
        false => character.to_string(),
    }
}

/// The most characters of an API server's words.
const LONGEST_WORDS: usize = 300;

#[cfg(test)]
mod tests {
    use liqo_auth::{
        model::{Kind, Tenant},
        verify::claimed_consumer,
    };

    use super::*;

    #[test]
    fn the_words_of_an_api_server_are_bounded() {
        let status = Status {
            code: 403,
            message: format!("no\u{1b}[2J{}", "a".repeat(10_000)),
            reason: "Forbidden".to_owned(),
            ..Status::default()
        };
        let error = Error::request("get Secret liqo/a", kube::Error::Api(Box::new(status)));
        let text = with_sources(&error);
        let begin =
            "the request failed: get Secret liqo/a: the API server answers 403: no\\u{1b}[2Ja";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.len() < 400 && !text.contains("Forbidden"), "{text}");
    }

    #[test]
    fn some_errors_name_an_object() {
        let id = ObjectRef::new(Kind::Tenant, "liqo-tenant-rome", "rome");
        let mut tenant = Tenant::default();
        tenant.metadata.name.clone_from(&id.name);
        tenant.metadata.namespace.clone_from(&id.namespace);
        let setup = Error::Setup {
            object: id.clone(),
            problem: String::new(),
        };
        for error in [
            Error::Library(claimed_consumer(&tenant).unwrap_err()),
            setup,
            Error::NoKey(id.clone()),
            Error::Conflict(id.clone()),
        ] {
            assert_eq!(error.object(), Some(&id), "{error}");
        }
        assert_eq!(Error::Stopped.object(), None);
    }
}
