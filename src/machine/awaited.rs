//! What a peering waits for, and from whom.

use serde::Serialize;

use super::json::{as_id, as_object};
use crate::{crypto::RequestId, model::ObjectRef};

/// Something that a peering waits for.
///
/// A caller that tells people of it has to tell them of each, so a new variant is a breaking
/// change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Awaited {
    /// An administrator's invitation of the peer:
    /// [`Provider::invite`](crate::Provider::invite).
    Invitation,
    /// The provider's nonce.
    Nonce,
    /// The consumer's Tenant.
    Tenant,
    /// The answer to the question whether the name of the peer, or of one of its
    /// slices, already belongs to a Kubernetes user or group.
    Names,
    /// The approval of the approver or of an administrator:
    /// [`Provider::approve`](crate::Provider::approve).
    Approval,
    /// The answer to this request for a credential: the signer's certificate,
    /// or an AWS user.
    Credential(#[serde(serialize_with = "as_id")] RequestId),
    /// The provider's Identity.
    Identity,
    /// The provider's decision on this resource slice.
    SliceDecision(#[serde(serialize_with = "as_object")] ObjectRef),
    /// A new certificate for this Identity.
    Renewal(#[serde(serialize_with = "as_object")] ObjectRef),
    /// The completed deletion of this object.
    End(#[serde(serialize_with = "as_object")] ObjectRef),
    /// This cluster's own key.
    OwnKey,
    /// The signature with this ID, by a key that answers later.
    Signature(#[serde(serialize_with = "as_id")] RequestId),
    /// The object's UID, which the store assigns.
    Uid(#[serde(serialize_with = "as_object")] ObjectRef),
    /// The consumer's request in this resource slice.
    SliceRequest(#[serde(serialize_with = "as_object")] ObjectRef),
    /// The decision on this slice's resources.
    Resources(#[serde(serialize_with = "as_object")] ObjectRef),
    /// The deletion at AWS of an access key that no peer needs any more:
    /// [`Provider::aws_key_revoked`](crate::Provider::aws_key_revoked). An access
    /// key does not expire.
    AwsRevocation {
        /// The ARN of the user that the key belongs to.
        user_arn: String,
        /// The public part of the key.
        access_key_id: String,
    },
    /// The token in this Secret: a service account token, which the cluster
    /// issues, or another cluster's token, which an administrator stores there.
    Token(#[serde(serialize_with = "as_object")] ObjectRef),
}

/// Who acts next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Party {
    /// The peer.
    Peer,
    /// An administrator of this cluster. [`Awaited::remedy`] says what to do.
    Administrator,
    /// A backend of the embedder, which has not answered yet.
    Backend,
    /// The store of the objects, and the programs whose finalizers keep an object.
    Store,
}

impl Awaited {
    /// Who has to act.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::machine::{Awaited, Party, Remedy};
    ///
    /// assert_eq!(Awaited::Tenant.party(), Party::Peer);
    /// assert_eq!(Awaited::Tenant.remedy(), None);
    /// assert_eq!(Awaited::Approval.party(), Party::Administrator);
    /// assert_eq!(Awaited::Approval.remedy(), Some(Remedy::Approve));
    /// ```
    pub fn party(&self) -> Party {
        match self {
            Self::Nonce
            | Self::Tenant
            | Self::Identity
            | Self::SliceDecision(_)
            | Self::Renewal(_)
            | Self::SliceRequest(_) => Party::Peer,
            Self::Invitation | Self::Approval | Self::Resources(_) | Self::AwsRevocation { .. } => {
                Party::Administrator
            }
            Self::Names | Self::Credential(_) | Self::OwnKey | Self::Signature(_) => Party::Backend,
            Self::End(_) | Self::Uid(_) | Self::Token(_) => Party::Store,
        }
    }
}
