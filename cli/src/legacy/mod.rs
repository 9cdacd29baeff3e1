//! The shared-token protocol of Liqo 0.2 to 0.10, over homes and HTTPS.

pub(crate) mod foreign_side;
pub(crate) mod home_side;
pub(crate) mod https_client;
pub(crate) mod server;
pub(crate) mod tls_certificate;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// The cryptographic provider for TLS, on both sides.
pub(crate) fn cryptography() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
