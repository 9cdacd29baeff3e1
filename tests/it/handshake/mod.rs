//! The handshake, from the nonce to the stored Identity.

mod approval;
mod commitments;
mod key_succession;
mod kubernetes_signer;
mod no_handshake;
mod nonces;
mod records;
