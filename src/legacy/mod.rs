//! The shared-token protocol of Liqo 0.2 to 0.10, both sides.
//!
//! Before Liqo exchanged nonces, each cluster had one secret token, and gave an
//! identity to any cluster that showed the token. A **home** cluster asks for an
//! identity, and a **foreign** cluster gives it. Use this protocol only for peers
//! that support no other. It is off until
//! [`TokenProtocol::TrustWhoeverHoldsTheToken`] is chosen.
//!
//! ```text
//!        home                                                    foreign
//!   ┌────────────────┐                                      ┌────────────────┐
//!   │ NeedsIds       │ ──────────── GET /ids ─────────────▶ │                │
//!   │                │ ◀──────── clusterId, name ────────── │                │
//!   │ NeedsRecord    │                                      │                │
//!   │  make, keep CSR│                                      │                │
//!   │ NeedsIdentity  │ ── POST: ID, token or none, CSR ───▶ │ compare token  │
//!   │                │                                      │ record claim   │
//!   │ AwaitsToken    │ ◀─── 401: empty token refused ────── │                │
//!   │ Refused        │ ◀─── 401: wrong token ────────────── │                │
//!   │                │ ◀─── 403: has an identity already ── │ have CSR signed│
//!   │  check, pin    │ ◀─── 202: certificate, CA, URL ───── │ bind, answer   │
//!   │ Accepted       │                                      │ delivered      │
//!   └────────────────┘                                      └────────────────┘
//! ```
//!
//! | version | request | answer |
//! |---|---|---|
//! | 0.2 | `POST /identity` `{clusterID, token}` | 201, the kubeconfig of a service account; 403 |
//! | 0.3 | `POST /identity/certificate` `{clusterID, originClusterToken, destinationClusterToken, certificateSigningRequest}` | 202 `{namespace, certificate, apiServerUrl, apiServerCA, aws}`; 400, 401, 403, 500 |
//! | 0.4 to 0.10 | the same, with `cluster: {clusterID, clusterName}` | the same |
//!
//! Like the rest of the library, this module does no I/O, and its state is in the
//! objects. HTTP requests and responses are values ([`HttpRequest`],
//! [`HttpResponse`]). A response is sent only after all effects of its own step
//! and of earlier steps have been applied.
//!
//! # Security
//!
//! The token is a bearer token, and the protocol does not bind it to a cluster.
//! A holder of the token can claim any cluster ID that has no identity yet. The library
//! limits such claims as far as possible without a change on the peer's side:
//!
//! - Each cluster ID gets one identity.
//! - A CSR is verified as in the new protocol.
//! - Tokens are compared in constant time. They may expire
//!   ([`ForeignSettings::token_lifetime`]) and may work only once
//!   ([`ForeignSettings::single_use_token`]).
//! - With the strict policy, each peer gets an origin token of its own, which is
//!   valid for its cluster ID only.

mod foreign;
mod home;
mod http;
mod message;
mod objects;
mod outcome;
mod record;
mod throttle;
mod token_protocol;

pub use crate::crypto::{AuthToken, TokenError};
pub use crate::model::ProtocolVersion;
pub use foreign::{Claimed, Foreign, ForeignSettings, Reading, Reply, TokenStore};
pub use home::{
    AcceptedIdentity, Asks, HomeCluster, HomeClusterSettings, Next, Phase, Request, Tls,
};
pub use http::{HttpRequest, HttpResponse};
pub use message::{IdentityRequest, RequestError};
pub use outcome::Outcome;
pub use throttle::Throttle;
pub use token_protocol::TokenProtocol;
