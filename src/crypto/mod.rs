//! Keys, signatures, nonces, certificate requests and certificates.
//!
//! The types hold only valid values: a [`PublicKey`] has passed the rules for
//! keys, a [`Nonce`] has the form of a nonce, and a [`Csr`] contains only one
//! subject and one key, and is signed by that key. To verify a request, the
//! library builds the expected request and compares it byte for byte.
//!
//! | feature | what it adds |
//! |---|---|
//! | none | Ed25519, by `ed25519-dalek` |
//! | `rsa` | RSA keys of 2048 to 4096 bits, by AWS-LC |
//! | `ecdsa` | ECDSA keys on P-256, P-384 and P-521, by AWS-LC |
//! | `rustcrypto` | RSA signatures are verified in Rust if `rsa` is off, and ECDSA signatures if `ecdsa` is off; no RSA or ECDSA signatures are made in Rust |
//! | `aws-lc-rs` | Ed25519 signatures are made by AWS-LC |

mod algorithm;
mod answer;
mod auth_token;
mod authority;
#[cfg(any(feature = "rsa", feature = "ecdsa"))]
mod aws_lc;
#[cfg(any(feature = "rsa", feature = "ecdsa"))]
mod aws_lc_signing;
mod ca_bundle;
mod certificate;
mod certificate_chain;
mod certificate_frame;
mod client_cas;
mod client_key;
mod csr;
mod csr_diagnosis;
mod der;
#[cfg(not(any(liqo_auth_cheap_signatures, liqo_auth_ed25519_of_host)))]
mod ed25519;
#[cfg(liqo_auth_cheap_signatures)]
#[path = "../../model-check/cheap-signatures/ed25519.rs"]
mod ed25519;
#[cfg(liqo_auth_ed25519_of_host)]
#[path = "ed25519_of_host.rs"]
mod ed25519;
#[cfg(not(liqo_auth_cheap_signatures))]
mod ed25519_encoding;
mod entropy;
mod fingerprint;
mod issuance;
mod key_error;
mod key_pair;
mod key_store;
mod keys_by_provider;
mod name;
mod new_certificate;
mod nonce;
mod pem_block;
mod public_key;
mod question;
#[cfg(test)]
mod rcgen_key_for_tests;
mod record_key;
mod request_id;
#[cfg(not(liqo_auth_cheap_signatures))]
mod rsa_modulus;
#[cfg(liqo_auth_cheap_signatures)]
#[path = "../../model-check/cheap-signatures/rsa_modulus.rs"]
mod rsa_modulus;
#[cfg(feature = "rustcrypto")]
mod rustcrypto;
mod signature;
mod signing_key;
#[cfg(any(test, feature = "proptest"))]
pub mod strategy;
mod structured_nonce;
mod subject;
mod verification_key;

pub use algorithm::{Algorithm, SignatureScheme};
pub use answer::{Answer, NotAtOnce};
pub use auth_token::{AuthToken, TokenError};
pub use authority::{Authority, AuthorityError};
pub use ca_bundle::CaBundle;
pub(crate) use ca_bundle::without_padding;
pub use certificate::Certificate;
pub use certificate_chain::{CertificateChain, CertificateError, ClientCertificateExpectation};
pub(crate) use client_cas::ClientCas;
pub use client_key::ClientKey;
pub use csr::{Csr, CsrError};
pub use der::DerError;
#[cfg(liqo_auth_ed25519_of_host)]
pub use ed25519::{HostArithmetic, set_host_arithmetic};
pub use entropy::Entropy;
pub use fingerprint::Fingerprint;
pub(crate) use issuance::Issuance;
pub use key_error::KeyError;
pub use key_pair::{KeyPair, KeyPairError};
pub use key_store::{KeyStore, OneKey};
pub use keys_by_provider::KeysByProvider;
pub use nonce::{Nonce, NonceError};
pub use pem_block::PemError;
pub use public_key::PublicKey;
pub use question::{ExternalKey, KeyQuestion};
pub use record_key::RecordKey;
pub use request_id::RequestId;
#[cfg(all(test, any(feature = "rsa", feature = "rustcrypto")))]
pub(crate) use rsa_modulus::TESTED as TESTED_MODULI;
pub use signature::SignatureError;
pub use signing_key::{BoxError, Payload, Purpose, Signature, SigningKey};
pub use structured_nonce::StructuredNonce;
pub use subject::Subject;

pub(crate) use entropy::{keyed, keyed_hash, update_part};
pub(crate) use record_key::SealMaker;
pub(crate) use signing_key::sign_verified;
