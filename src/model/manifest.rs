//! Manifests.

/// E
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManifestError {}
