//! What is kept of a home cluster's claim to its ID.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Foreign;
use crate::{
    error::{Error, LocalFault},
    legacy::record::{Sealed, foreign_record_name},
    machine::{Effect, Version, View},
    model::{Bytes, ClusterId, ProtocolVersion, Resource, Secret},
};

/// That a home cluster came with a right token, in which form, and whether it
/// has got its identity. It lies in the foreign cluster's own namespace, under
/// a seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Claim {
    version: String,
    /// SHA-256 of the request's DER; empty in 0.2.
    #[serde(default)]
    pub(super) csr: Bytes,
    /// A MAC of the token that was shown: the same home may come again with it,
    /// also when it has been replaced meanwhile.
    pub(super) token: Bytes,
    /// The service account's UID, in 0.2.
    #[serde(default)]
    pub(super) account: String,
    /// The UID of the ForeignCluster, where there was one.
    #[serde(default)]
    pub(super) foreign_cluster: String,
    /// Whether the identity has left this cluster.
    #[serde(default)]
    pub(super) is_delivered: bool,
}

/// How far a home cluster has come: [`Foreign::claimed`] says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claimed {
    /// The form in which it asked.
    pub version: ProtocolVersion,
    /// Whether its identity has left this cluster.
    pub is_delivered: bool,
}

impl Foreign {
    /// How far the peer has come, if it came with a right token.
    ///
    /// # Errors
    /// [`LocalFault::BrokenSeal`] or [`LocalFault::Unreadable`] if what is kept
    /// of it is not what was written.
    pub fn claimed(&self, view: &View<'_>) -> Result<Option<Claimed>, Error> {
        let peer = view.peer();
        let name = foreign_record_name(peer);
        let Some(secret) = view.find::<Secret>(&self.0.namespace, &name)? else {
            return Ok(None);
        };
        let claim = Claim::open(self, peer, secret)?;
        let version = claim.version.parse().map_err(|_| {
            let reason = "the claim is of another version of this library".to_owned();
            let id = Some(secret.id());
            Error::new(LocalFault::Unreadable { reason }, id, "data.claim")
        })?;
        Ok(Some(Claimed {
            version,
            is_delivered: claim.is_delivered,
        }))
    }
}

impl Claim {
    pub(super) fn new(version: ProtocolVersion, csr: &[u8], token: &[u8]) -> Self {
        Self {
            version: version.to_string(),
            csr: csr.into(),
            token: token.into(),
            account: String::new(),
            foreign_cluster: String::new(),
            is_delivered: false,
        }
    }

    pub(super) fn is_of_accounts(&self) -> bool {
        self.version == ProtocolVersion::V0_2.as_str()
    }

    pub(super) fn open(
        foreign: &Foreign,
        peer: &ClusterId,
        secret: &Secret,
    ) -> Result<Self, Error> {
        sealed(foreign, &foreign_record_name(peer)).check(secret)?;
        serde_json::from_slice(secret.get(CLAIM).unwrap_or_default()).map_err(|_| {
            let reason = "the claim is of another version of this library".to_owned();
            let id = Some(secret.id());
            Error::new(LocalFault::Unreadable { reason }, id, "data.claim")
        })
    }

    /// The effect that writes it, over what is there.
    pub(super) fn write(
        &self,
        foreign: &Foreign,
        peer: &ClusterId,
        present: Option<&Secret>,
    ) -> Effect {
        // Strings and a boolean: it cannot fail.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let data = BTreeMap::from([(CLAIM.to_owned(), text.into())]);
        let object = sealed(foreign, &foreign_record_name(peer)).write(Some(peer), data);
        match present {
            None => Effect::Create(object.into()),
            Some(present) => Effect::Replace {
                object: object.into(),
                version: Version::of(&present.metadata),
            },
        }
    }
}

pub(super) fn sealed<'a>(foreign: &'a Foreign, name: &'a str) -> Sealed<'a> {
    Sealed {
        key: &foreign.0.record_key,
        cluster: &foreign.0.cluster_id,
        namespace: &foreign.0.namespace,
        name,
    }
}

const CLAIM: &str = "claim";
