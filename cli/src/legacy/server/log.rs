//! The log of a server: one JSON object in each line.

use std::{io, io::Write, net::SocketAddr, time::Duration};

use liqo_auth::{legacy::Outcome, model::ClusterId};
use serde_json::{Map, Value, json};

use crate::{environment::Clock, failure::Failure, output::escaped};

/// The destination of the entries.
pub(crate) struct Log(Box<dyn Fn(&Entry<'_>) + Send + Sync>);

/// An entry of the log. It contains neither a body nor a header nor a token.
pub(crate) enum Entry<'a> {
    Started {
        address: SocketAddr,
    },
    /// A request was answered.
    Answered {
        remote: SocketAddr,
        method: &'a str,
        path: &'a str,
        status: u16,
        took: Duration,
        outcome: Option<&'a Outcome>,
    },
    /// A connection ended without a request that could be answered.
    Unanswered {
        remote: SocketAddr,
        reason: &'a str,
    },
    /// This side could not handle a request.
    Failed {
        peer: Option<&'a ClusterId>,
        failure: &'a Failure,
    },
    /// The operating system reported an error.
    Trouble {
        error: &'a io::Error,
    },
    Stopped,
}

impl Log {
    /// Entries in JSON, on standard error.
    pub(crate) fn json(clock: Clock) -> Self {
        Self(Box::new(move |entry| {
            let mut line = Value::Object(fields(entry, clock)).to_string();
            line.push('\n');
            // A failed write to standard error cannot be reported anywhere.
            let _ = io::stderr().lock().write_all(line.as_bytes());
        }))
    }

    /// Entries for a function of the command that runs the server.
    pub(crate) fn to(listener: impl Fn(&Entry<'_>) + Send + Sync + 'static) -> Self {
        Self(Box::new(listener))
    }

    pub(crate) fn write(&self, entry: &Entry<'_>) {
        (self.0)(entry);
    }
}

fn fields(entry: &Entry<'_>, clock: Clock) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| {
        fields.insert(key.to_owned(), value);
    };
    if let Ok(now) = clock.now() {
        put("time", now.to_string().into());
    }
    let (level, message) = match entry {
        Entry::Started { .. } => ("info", "started"),
        Entry::Answered { outcome, .. } => match outcome {
            Some(Outcome::Issued { .. }) | None => ("info", "answered"),
            Some(_) => ("warning", "refused"),
        },
        Entry::Unanswered { .. } => ("info", "unanswered"),
        Entry::Failed { .. } => ("error", "failed"),
        Entry::Trouble { .. } => ("error", "trouble"),
        Entry::Stopped => ("info", "stopped"),
    };
    put("level", level.into());
    put("message", message.into());
    match entry {
        Entry::Started { address } => put("address", address.to_string().into()),
        Entry::Answered {
            remote,
            method,
            path,
            status,
            took,
            outcome,
        } => {
            put("remote", remote.to_string().into());
            put("method", escaped(method).into());
            put("path", escaped(path).into());
            put("status", json!(status));
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            put("milliseconds", json!(milliseconds));
            if let Some(outcome) = outcome {
                if let Some(peer) = peer(outcome) {
                    put("peer", peer.to_string().into());
                }
                put("event", outcome.to_string().into());
            }
        }
        Entry::Unanswered { remote, reason } => {
            put("remote", remote.to_string().into());
            put("reason", escaped(reason).into());
        }
        Entry::Failed { peer, failure } => {
            if let Some(peer) = peer {
                put("peer", peer.to_string().into());
            }
            put("reason", failure.to_string().into());
        }
        Entry::Trouble { error } => put("reason", error.to_string().into()),
        Entry::Stopped => {}
    }
    fields
}

fn peer(outcome: &Outcome) -> Option<&ClusterId> {
    match outcome {
        Outcome::Issued { peer, .. }
        | Outcome::WrongToken { peer, .. }
        | Outcome::SecondIdentity { peer }
        | Outcome::Refused { peer, .. } => Some(peer),
        _ => None,
    }
}
