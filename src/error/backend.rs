//! The backends that an embedder plugs in.

use core::fmt;

/// A backend that an embedder plugs in.
///
/// If a backend fails, the backend's error is the
/// [`source`](core::error::Error::source) of the [`Error`](super::Error).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backend {
    /// [`KeyStore`](crate::crypto::KeyStore) or [`SigningKey`](crate::crypto::SigningKey).
    Keys,
    /// The issuer of credentials: [`CsrSigner`](crate::provider::CsrSigner) or
    /// [`AwsIdentities`](crate::provider::AwsIdentities).
    Credentials,
    /// [`Principals`](crate::provider::Principals).
    Principals,
    /// [`ResourceSlicePolicy`](crate::provider::ResourceSlicePolicy).
    ResourceSlicePolicy,
    /// `legacy::TokenStore`.
    Tokens,
    /// [`Approver`](crate::provider::Approver).
    Approver,
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Keys => "the key store",
            Self::Credentials => "the signer or the AWS backend",
            Self::Principals => "the look-up of principals",
            Self::ResourceSlicePolicy => "the policy for resource slices",
            Self::Tokens => "the token store",
            Self::Approver => "the approver",
        })
    }
}
