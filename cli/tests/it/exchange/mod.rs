//! Exchanges between homes, from the first nonce to the end.

mod approvals;
mod authenticate;
mod aws;
mod conditions;
mod keys;
mod manual_flow;
mod renewals;
mod several;
mod signed_again;
mod signed_elsewhere;
mod signer;
mod slices;
mod unrenewed;
