//! [`liqo_auth`] behind a border of bytes: a request in JSON goes in, an answer in
//! JSON comes out.
//!
//! The module keeps no state between calls. Configuration, objects, time and
//! randomness come with each request, so that any instance serves any call. There
//! are no callbacks: a question to a backend (key, signer, approver, names, AWS)
//! leaves with the answer, and its answer comes with the next call. A private key
//! never enters.
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
//! | `verifyTenant` | `tenant`, `consumer` (or none: the one that the Tenant names), `nonce`, `policy` | `clusterID`, `publicKey` (DER), `csr` (PEM), `proxyURL` |
//! | `verifyResourceSlice` | `name`, `consumer`, `csr`, `tenantKey` (or none), `policy` | `publicKey` (DER) |
//! | `verifyRequest` | `csr` of a control plane, `consumer`, `publicKey` (DER), `policy` | none |
//! | `verifySignature` | `publicKey` (DER), `nonce`, `signature`, `policy` | `verified` |
//! | `checkNonce` | `nonce`, `policy` | none |
//! | `readPublicKey` | `publicKey` (`spec.publicKey` of a Tenant), `policy` | `publicKey` (DER) |
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
//! `request-form`.

mod answer;
pub mod border;
mod desk;
mod failure;
pub mod functions;
mod json;
pub mod machine;
mod status;

pub use answer::answer;
