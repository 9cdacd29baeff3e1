//! The backends that an embedder plugs in.

/// A backend that an embedder plugs in.
///
/// If a backend fails, the backend's error is the
/// [`source`](core::error::Error::source) of the [`Error`](super::Error).
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum Backend {
    /// [`KeyStore`](crate::crypto::KeyStore) or [`SigningKey`](crate::crypto::SigningKey).
    #[display("the key store")]
    Keys,
    /// The issuer of credentials: [`CsrSigner`](crate::provider::CsrSigner) or
    /// [`AwsIdentities`](crate::provider::AwsIdentities).
    #[display("the signer or the AWS backend")]
    Credentials,
    /// [`Principals`](crate::provider::Principals).
    #[display("the look-up of principals")]
    Principals,
    /// [`ResourceSlicePolicy`](crate::provider::ResourceSlicePolicy).
    #[display("the policy for resource slices")]
    ResourceSlicePolicy,
    /// `legacy::TokenStore`.
    #[display("the token store")]
    Tokens,
    /// [`Approver`](crate::provider::Approver).
    #[display("the approver")]
    Approver,
}
