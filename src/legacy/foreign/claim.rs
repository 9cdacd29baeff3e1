//! The record of a home cluster's claim to its ID.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Foreign, configuration::Configuration};
use crate::{
    error::Error,
    legacy::record::{FieldSeal, Fields, foreign_record_name},
    machine::View,
    model::{Bytes, ClusterId, ProtocolVersion, Secret, SecretBytes},
};

/// The record of a home cluster that showed a right token: the protocol form, and
/// whether the identity was delivered. It is a sealed Secret in the foreign
/// cluster's own namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    pub(super) version: ProtocolVersion,
    /// SHA-256 of the CSR's DER; empty in 0.2.
    #[serde(default)]
    pub(super) csr: Bytes,
    /// A MAC of the token that was shown. The same home cluster may ask again with
    /// this token, even if the token was replaced meanwhile.
    pub(super) token: Bytes,
    /// The service account's UID (0.2 only).
    #[serde(default)]
    pub(super) account: String,
    /// The UID of the ForeignCluster, if one existed.
    #[serde(default)]
    pub(super) foreign_cluster: String,
    /// Whether the identity was delivered.
    #[serde(default)]
    pub(super) is_delivered: bool,
}

/// The progress of a home cluster, as [`Foreign::claimed`] returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claimed {
    /// The protocol form of the request.
    pub version: ProtocolVersion,
    /// Whether the identity was delivered.
    pub is_delivered: bool,
}

impl Foreign {
    /// The progress of the peer, if it showed a right token.
    ///
    /// # Errors
    /// [`LocalFault::BrokenSeal`](crate::error::LocalFault::BrokenSeal) or
    /// [`LocalFault::Unreadable`](crate::error::LocalFault::Unreadable) if the
    /// record was changed or is of another version of this library.
    pub fn claimed(&self, view: &View<'_>) -> Result<Option<Claimed>, Error> {
        let found = self.0.claim_seal(view.peer()).find::<Claim>(view)?;
        Ok(found.map(|(_, claim)| Claimed {
            version: claim.version,
            is_delivered: claim.is_delivered,
        }))
    }
}

impl Configuration {
    pub(super) fn claim_seal<'a>(&'a self, peer: &'a ClusterId) -> FieldSeal<'a> {
        self.seal(foreign_record_name(peer), Some(peer))
    }
}

impl Claim {
    /// Whether the claim is for a service account.
    pub(super) fn is_of_accounts(&self) -> bool {
        self.version == ProtocolVersion::V0_2
    }
}

impl Fields for Claim {
    fn read(secret: &Secret) -> Option<Self> {
        serde_json::from_slice(secret.get(CLAIM)?).ok()
    }

    fn write(&self) -> BTreeMap<String, SecretBytes> {
        // Cannot fail: every map key is a string.
        let text = serde_json::to_vec(self).unwrap_or_default();
        BTreeMap::from([(CLAIM.to_owned(), text.into())])
    }
}

const CLAIM: &str = "claim";
