//! What the provider remembers, under a seal, in its own namespace.

pub(super) mod aws_keys;
pub(super) mod issued_certificate;
pub(super) mod peer;
pub(super) mod slice;
