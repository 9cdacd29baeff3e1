//! Keys, signatures, nonces, certificate requests and certificates.
