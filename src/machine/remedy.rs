//! What a person can do about the state of a peering.

mod of_refusal;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{Awaited, Notice};
use crate::{
    crypto::{Fingerprint, RequestId},
    model::{ObjectRef, Quantity, TenantCondition},
};

/// What an administrator of this cluster can do.
///
/// Each has a stable [`code`](Self::code). A program shows its own command for each, so a new
/// variant is a breaking change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "code",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Remedy {
    /// Invite the peer: [`Provider::invite`](crate::Provider::invite).
    Invite,
    /// Make a nonce in place of one that does not count any more:
    /// [`Provider::replace_nonce`](crate::Provider::replace_nonce).
    ReplaceNonce,
    /// Carry the provider's present nonce to the consumer, which signs it.
    CarryNonce,
    /// Approve the peer's Tenant: [`Provider::approve`](crate::Provider::approve).
    Approve,
    /// Answer the signer's question for a credential.
    AnswerRequest {
        /// The request. In JSON, it is 64 hexadecimal digits.
        #[serde(serialize_with = "as_text")]
        id: RequestId,
    },
    /// Delete an access key at AWS, and record that:
    /// [`Provider::aws_key_revoked`](crate::Provider::aws_key_revoked).
    DeleteAccessKey {
        /// The ARN of the user that the key belongs to.
        user_arn: String,
        /// The public part of the key.
        access_key_id: String,
    },
    /// Decide on the resources of a slice.
    DecideResources {
        /// The slice.
        slice: ObjectRef,
    },
    /// Confirm what Liqo granted to a slice before the peering was taken over:
    /// [`Provider::confirm_slice`](crate::Provider::confirm_slice).
    ConfirmGrant {
        /// The slice.
        slice: ObjectRef,
        /// The whole amount of each resource.
        resources: BTreeMap<String, Quantity>,
    },
    /// Lift the cordon of a slice:
    /// [`Provider::uncordon_slice`](crate::Provider::uncordon_slice).
    UncordonSlice {
        /// The slice.
        slice: ObjectRef,
    },
    /// Lift the condition that the record holds:
    /// [`Provider::set_condition`](crate::Provider::set_condition).
    LiftCondition {
        /// The condition in force.
        condition: TenantCondition,
    },
    /// Make a ClusterRole for the peers.
    CreateClusterRole {
        /// The value of its label `app.kubernetes.io/name`.
        label_value: &'static str,
    },
    /// Carry the provider's Identity to the consumer, as in the first exchange.
    CarryIdentity,
    /// Carry what this consumer asks for to the provider again, and the provider's answer back.
    /// Between two clusters, a replicator carries both.
    CarryAnswer {
        /// The Renew or the slice that is answered.
        object: ObjectRef,
    },
    /// Carry what the consumer asks for to this provider again. Between two clusters, a
    /// replicator carries it.
    CarryRequest {
        /// The Renew or the slice.
        object: ObjectRef,
    },
    /// Authenticate with the provider again: it makes a nonce, and this side signs it.
    AuthenticateAgain,
    /// Have what is pinned for the peer forgotten, once its administrator has confirmed the
    /// change: [`Provider::release_key`](crate::Provider::release_key) and
    /// [`Consumer::release_pins`](crate::Consumer::release_pins).
    Release,
    /// Have the certificate of a Tenant or of a slice signed again:
    /// [`Provider::sign_again`](crate::Provider::sign_again).
    SignAgain {
        /// The Tenant or the slice.
        object: ObjectRef,
        /// Whether the certificate on record counts as in force, so that it is signed again all
        /// the same.
        force: bool,
    },
    /// Request a slice by its name: [`Consumer::request_slice`](crate::Consumer::request_slice).
    RequestSlice {
        /// The slice.
        slice: ObjectRef,
    },
    /// Delete a slice at the consumer.
    DeleteSlice {
        /// The slice.
        slice: ObjectRef,
    },
    /// Compare the fingerprint of the provider's key with its administrator.
    CompareFingerprint {
        /// The fingerprint.
        fingerprint: Fingerprint,
    },
    /// Name the digest of a kubeconfig in this cluster's settings, if an administrator has made
    /// it: [`PeerSettings::kubeconfig_digest`](crate::consumer::PeerSettings::kubeconfig_digest).
    NameKubeconfig {
        /// The SHA-256 of the kubeconfig.
        digest: Fingerprint,
    },
}

impl Remedy {
    /// The stable code, as in the JSON form.
    ///
    /// # Examples
    /// ```
    /// use liqo_auth::machine::Remedy;
    ///
    /// assert_eq!(Remedy::CarryIdentity.code(), "carryIdentity");
    /// ```
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invite => "invite",
            Self::ReplaceNonce => "replaceNonce",
            Self::CarryNonce => "carryNonce",
            Self::Approve => "approve",
            Self::AnswerRequest { .. } => "answerRequest",
            Self::DeleteAccessKey { .. } => "deleteAccessKey",
            Self::DecideResources { .. } => "decideResources",
            Self::ConfirmGrant { .. } => "confirmGrant",
            Self::UncordonSlice { .. } => "uncordonSlice",
            Self::LiftCondition { .. } => "liftCondition",
            Self::CreateClusterRole { .. } => "createClusterRole",
            Self::CarryIdentity => "carryIdentity",
            Self::CarryAnswer { .. } => "carryAnswer",
            Self::CarryRequest { .. } => "carryRequest",
            Self::AuthenticateAgain => "authenticateAgain",
            Self::Release => "release",
            Self::SignAgain { .. } => "signAgain",
            Self::RequestSlice { .. } => "requestSlice",
            Self::DeleteSlice { .. } => "deleteSlice",
            Self::CompareFingerprint { .. } => "compareFingerprint",
            Self::NameKubeconfig { .. } => "nameKubeconfig",
        }
    }
}

impl Awaited {
    /// What an administrator of this cluster can do. `None` if somebody else has to act.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Invitation => Remedy::Invite,
            Self::Approval => Remedy::Approve,
            Self::Credential(id) => Remedy::AnswerRequest { id: *id },
            Self::AwsRevocation {
                user_arn,
                access_key_id,
            } => Remedy::DeleteAccessKey {
                user_arn: user_arn.clone(),
                access_key_id: access_key_id.clone(),
            },
            Self::Resources(slice) => Remedy::DecideResources {
                slice: slice.clone(),
            },
            Self::Nonce
            | Self::Tenant
            | Self::Names
            | Self::Identity
            | Self::SliceDecision(_)
            | Self::Renewal(_)
            | Self::End(_)
            | Self::OwnKey
            | Self::Signature(_)
            | Self::Uid(_)
            | Self::SliceRequest(_)
            | Self::Token(_) => return None,
        })
    }
}

impl Notice {
    /// What an administrator of this cluster can do. `None` if nothing has to be done here.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NonceAskedAfterEnd => Remedy::Invite,
            Self::NoClusterRole { label_value } => Remedy::CreateClusterRole { label_value },
            Self::ConditionHeld { condition } => Remedy::LiftCondition {
                condition: *condition,
            },
            Self::ProviderKeyFirstSeen { fingerprint } => Remedy::CompareFingerprint {
                fingerprint: *fingerprint,
            },
            Self::KubeconfigNotNamed { digest, .. } => Remedy::NameKubeconfig { digest: *digest },
            Self::RenewalNotCarried => Remedy::CarryIdentity,
            Self::CertificateDue { identity, .. } => match of_refusal::carried(identity) {
                Some(object) => Remedy::CarryAnswer { object },
                None => Remedy::CarryIdentity,
            },
            Self::SliceCordonHeld { slice } => Remedy::UncordonSlice {
                slice: slice.clone(),
            },
            Self::GrantUnconfirmed { slice, resources } => Remedy::ConfirmGrant {
                slice: slice.clone(),
                resources: resources.clone(),
            },
            Self::CannotRenew { error, .. } => return error.remedy(),
            Self::SignedNonceIsStale
            | Self::ProviderUnproven
            | Self::IssuedByAnotherCa
            | Self::SignaturesWait { .. }
            | Self::NewKeyAwaitsNonce => return None,
        })
    }
}

fn as_text<S: Serializer>(id: &RequestId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
