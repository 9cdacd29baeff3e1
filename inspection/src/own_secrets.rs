//! The Secrets that a home of the tool keeps for itself.

/// The name of the Secret with the key that seals the home's records.
pub const RECORD_KEY: &str = "liqo-auth-record-key";
/// The name of the Secret with the authority that signs for the home's peers.
pub const AUTHORITY: &str = "liqo-auth-authority";
/// The field of that Secret with the authority's certificate.
pub const AUTHORITY_CERTIFICATE: &str = "tls.crt";
