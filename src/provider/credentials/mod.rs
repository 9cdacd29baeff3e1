//! The credential of a holder: request, renewal, delivery, revocation. The rules are
//! the same for a control plane and for a slice.
//!
//! ```text
//!   Needs(request) ──ask──▶ InForce(credential) ──renewal──▶ Needs(request)
//! ```
//!
//! A new kind of credential needs a file here, a variant of [`Credential`] and of
//! [`CredentialRequest`], and a field in the holder's record.

mod aws;
mod certificate;
mod client_trust;
mod credential;
mod holder_context;
mod issued;
mod kubernetes;
mod renew_objects;
mod renewal;
mod revocation;
mod signer;

pub use aws::{AwsIdentities, AwsIdentityRequest};
pub(super) use certificate::lifetime;
pub use credential::{Credential, CredentialRequest};
pub(super) use holder_context::{CertificateSecret, CredentialState, HolderContext, RequestBasis};
pub use issued::Issued;
pub(super) use kubernetes::{delete_denied, delete_unanswered};
pub use renew_objects::RenewalChannel;
pub(super) use renew_objects::{answer_renews, check_renew};
pub use renewal::Renewal;
pub(super) use revocation::{await_revocations, forget_key};
pub use signer::{AuthoritySigner, CsrSigner, SigningRequest};
