//! The answer to a request.

use crate::{
    legacy::{HttpResponse, IdentityRequest, Outcome},
    machine::Step,
    model::ProtocolVersion,
};

/// The result of reading a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "it lives for one call")]
pub enum Reading {
    /// The reply is complete, and does not need objects.
    Reply(Reply),
    /// The request is for an identity. Look up the peer's objects, and call
    /// [`Foreign::handle`](super::Foreign::handle).
    Identity(Box<IdentityRequest>),
}

/// The next step for a request.
///
/// # Guarantees
/// - A reply with a response has no effects: the whole content of the response is
///   stored already.
/// - A reply without a response has effects to apply, or something to wait for. The
///   caller then looks up the objects again and calls again, even if an effect
///   fails.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Reply {
    /// The effects on local objects, and what to wait for.
    pub step: Step,
    /// The response to send, if it is complete.
    pub response: Option<HttpResponse>,
    /// The outcome to log, if the response is complete.
    pub outcome: Option<Outcome>,
}

impl Reply {
    /// Whether the response contains an identity.
    /// [`Foreign::delivered`](super::Foreign::delivered) must follow.
    pub fn was_issued(&self) -> bool {
        matches!(self.outcome, Some(Outcome::Issued { .. }))
    }

    /// No response yet.
    pub(super) fn later(step: Step) -> Self {
        Self {
            step,
            ..Self::default()
        }
    }

    pub(super) fn of(response: HttpResponse, outcome: Outcome) -> Self {
        Self {
            step: Step::default(),
            response: Some(response),
            outcome: Some(outcome),
        }
    }

    pub(super) fn issued(request: &IdentityRequest, response: HttpResponse) -> Self {
        let (peer, version) = (request.peer.clone(), request.version);
        Self::of(response, Outcome::Issued { peer, version })
    }

    pub(super) fn second_identity(request: &IdentityRequest) -> Self {
        let peer = request.peer.clone();
        Self::of(forbidden(request.version), Outcome::SecondIdentity { peer })
    }

    /// The answer does not contain the refused token, because the token may be valid at
    /// another cluster.
    pub(super) fn wrong_token(request: &IdentityRequest) -> Self {
        let response = match request.version {
            ProtocolVersion::V0_2 => forbidden(request.version),
            ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => {
                HttpResponse::error(401, "invalid token")
            }
        };
        let outcome = Outcome::WrongToken {
            peer: request.peer.clone(),
            is_empty: request.token.is_empty(),
        };
        Self::of(response, outcome)
    }
}

impl From<HttpResponse> for Reply {
    fn from(response: HttpResponse) -> Self {
        Self {
            response: Some(response),
            ..Self::default()
        }
    }
}

impl From<HttpResponse> for Reading {
    fn from(response: HttpResponse) -> Self {
        Self::Reply(response.into())
    }
}

/// Liqo 0.2 answers with a JSON text, and later versions with an empty line.
pub(super) fn forbidden(version: ProtocolVersion) -> HttpResponse {
    let text = match version {
        ProtocolVersion::V0_2 => "\"forbidden\"",
        ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => "",
    };
    HttpResponse::error(403, text)
}
