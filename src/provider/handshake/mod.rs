//! The handshake: the nonce, the Tenant with the nonce's signature, and the recorded
//! proof.

mod adoption;
mod approval;
mod commitment;
mod key_succession;
mod nonce;
mod proof;
mod tenant;

pub(super) use adoption::takes_over;
pub(super) use approval::is_disapproved;
pub use approval::{ApprovalRequest, Approver};
pub use nonce::WhyNonce;
pub(super) use nonce::{hand_out, hand_out_again, keep_on_offer, make_nonce, phase_without_tenant};
pub(super) use proof::{end_proof, record_proof, set_finalizer_and_commitment};
pub(super) use tenant::Proven;
