//! What becomes of a request.

use crate::{
    legacy::{HttpResponse, IdentityRequest, Outcome},
    machine::Step,
    model::ProtocolVersion,
};

/// What a request turned out to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "it lives for one call")]
pub enum Reading {
    /// The reply is complete: no object is needed.
    Reply(Reply),
    /// An identity is asked for: look up the peer's objects, and call
    /// [`Foreign::handle`](super::Foreign::handle).
    Identity(Box<IdentityRequest>),
}

/// What to do about a request.
///
/// # Guarantees
/// - The response comes without effects: what the response says is stored
///   already.
/// - Without a response there are effects to apply, or something to wait for;
///   then the caller looks again and calls again, also where an effect fails.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Reply {
    /// What to do to local objects, and what to wait for.
    pub step: Step,
    /// What to send, once there is something.
    pub response: Option<HttpResponse>,
    /// What to log, once there is a response.
    pub outcome: Option<Outcome>,
}

impl Reply {
    /// Whether the response carries an identity, so that
    /// [`Foreign::delivered`](super::Foreign::delivered) is to follow.
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

    /// Liqo shows the token that it refuses. That token may be right elsewhere,
    /// so it is not shown here.
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

/// 0.2 says a JSON text, later versions an empty line.
pub(super) fn forbidden(version: ProtocolVersion) -> HttpResponse {
    let text = match version {
        ProtocolVersion::V0_2 => "\"forbidden\"",
        ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => "",
    };
    HttpResponse::error(403, text)
}
