//! The provider's records: one of each peer, and one of each slice of a peer. A
//! record is a sealed Secret in the provider's own namespace.

mod aws_keys;
mod grant;
mod held;
mod issued_certificate;
mod other_name;
mod peer;
mod reservation;
mod signing_rate;
mod slice;

pub(super) use aws_keys::{AccessKey, HeldKey, SliceKey};
pub use grant::Grant;
pub(super) use held::{HeldCredentials, SigningAttempt};
pub(super) use issued_certificate::{IssuedCertificate, RefusedRenewal};
pub(super) use other_name::OtherName;
pub(super) use peer::{
    Offer, Proof, Record, StoredCommitment, TestedKey, Verdict, signature_digest,
};
pub(super) use signing_rate::{RequestDigest, SigningRate};
pub(super) use slice::{
    Decided, NAME_PREFIX as SLICE_NAME_PREFIX, Outcome, SliceRecord, name as slice_name,
};
