//! The handshake, from the nonce to the stored Identity.

mod approval;
mod commitments;
mod key_succession;
mod kubernetes_signer;
mod labels;
mod limits;
mod no_handshake;
mod nonces;
mod offers;
mod records;
mod serving_ca;
mod stored_commitments;
mod tenants;
mod two_instances;
mod unanswered_requests;
