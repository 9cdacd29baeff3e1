//! [`liqo_auth`] as a function from bytes to bytes: the input is a request in JSON, and
//! the output is an answer in JSON.
//!
//! The module does not keep state between calls, except for a [`session`] of one peer. (It also
//! remembers what the last certificates say, on which no answer depends.)
//! Otherwise, configuration, objects, time and randomness come with each request, so that
//! any instance serves any call. The answer to a call contains the questions to the backends
//! (key, signer, approver, names, slices, AWS) that are open. The next call contains the
//! answers to these questions. No private key enters the module.
//!
//! The module of the Go package imports the arithmetic of Ed25519 from its host. It also asks
//! its host for the answers to questions. The host may leave each of them open, so no call
//! depends on that.
//!
//! # Requests
//!
//! A request is a map with one field, which names the call. Binary values are text
//! in base64. The forms of steps, messages, questions and answers are those of
//! [`liqo_auth::machine::json`].
//!
//! | call | fields | answer |
//! |---|---|---|
//! | `provider` | [`machine::ProviderRequest`] | [`machine`] |
//! | `consumer` | [`machine::ConsumerRequest`] | [`machine`] |
//! | `session` | [`session::SessionRequest`] | [`session`] |
//! | `closeSession` (text, not a map) | none | none |
//! | `verifyTenant` | `tenant`, `consumer` (or none: the one that the Tenant names), `nonce`, `policy` | `clusterID`, `publicKey` (DER), `csr` (PEM), `proxyURL` |
//! | `verifyResourceSlice` | `name`, `consumer`, `csr`, `tenantKey` (or none), `policy` | `publicKey` (DER) |
//! | `verifyRequest` | `csr` of a control plane, `consumer`, `publicKey` (DER), `policy` | none |
//! | `verifySignature` | `publicKey` (DER), `nonce`, `signature`, `policy` | `verified` |
//! | `checkNonce` | `nonce`, `policy` | none |
//! | `readPublicKey` | `publicKey` (`spec.publicKey` of a Tenant), `policy` | `publicKey` (DER) |
//! | `limits` (text, not a map) | none | `object` (bytes) and `objectValues`: the limits of one object |
//! | `makeRequest` | `subject`, `consumer`, `key` (`publicKey` in PEM, `clientKey`), `answers` (or none) | `commonName`, `csr` (PEM, or null), `questions` |
//!
//! The `subject` of `makeRequest` is `"controlPlane"`, `{"resourceSlice": name}` or
//! `{"peeringUser": suffix}` with 16 random bytes. While `csr` is null, answer the
//! `questions` and repeat the call with the `answers`.
//!
//! # Answers
//!
//! An answer is a map with `ok`, which has the value, or with `error`, which has the
//! form of [`liqo_auth::Error`]. A request that cannot be read has the error's code
//! `request-form`. Bytes follow the requests and the answers of a [`session`] alone.

#[cfg(liqo_auth_cheap_signatures)]
compile_error!("liqo_auth_cheap_signatures makes signatures that everybody can forge");

mod answer;
pub mod border;
mod calls;
#[cfg(any(target_arch = "wasm32", test))]
mod comparison;
mod desk;
mod failure;
pub mod functions;
mod host;
mod json;
pub mod machine;
#[cfg(any(target_arch = "wasm32", test))]
mod memory;
mod objects;
mod placed;
pub mod session;
mod side;

pub use answer::answer;
