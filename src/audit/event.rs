//! One decision, with its peer, its object and its key.

use core::fmt;
use std::collections::BTreeMap;

use crate::{
    crypto::{Fingerprint, RequestId},
    error::Error,
    model::{ClusterId, ObjectRef, Quantity, TenantCondition, Timestamp, named},
};

/// A decision, with the peer that it concerns and the key that it is based on.
///
/// If a step is carried out again after a crash, it contains its decisions again. So
/// each decision is reported at least once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The other cluster.
    pub peer: ClusterId,
    /// The object of the decision, if it has one.
    pub object: Option<ObjectRef>,
    /// The key that the decision is based on, if any: the peer's or this cluster's.
    pub key: Option<Fingerprint>,
    /// The decision.
    pub decision: Decision,
}

named! {
    /// A decision of one side about a peer.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Decision {
        /// The administrator invited the peer.
        Invited,
        /// A nonce was made. It may replace an earlier one.
        NonceMade,
        /// The handshake was verified, and the key pinned.
        HandshakeVerified,
        /// The pinned key was replaced by another key, which the pinned key signed.
        KeySucceeded {
            /// The key that was pinned until then.
            predecessor: Fingerprint,
        },
        /// The administrator approved the request.
        Approved,
        /// The administrator rejected the request.
        Disapproved {
            /// The administrator's reason.
            reason: String,
        },
        /// A certificate was issued.
        CertificateIssued {
            /// The request that it answers.
            request: RequestId,
            /// The certificate.
            certificate: Fingerprint,
            /// When the certificate expires.
            until: Timestamp,
            /// The certificate that it replaces.
            replaces: Option<Fingerprint>,
        },
        /// The peer received a credential that is not a certificate, such as an AWS
        /// user's access key.
        CredentialGiven {
            /// The request that it answers.
            request: RequestId,
            /// The name of the credential: the public part of the access key.
            credential: String,
        },
        /// The administrator confirmed that an access key was deleted.
        AwsKeyRevoked {
            /// The public part of the access key.
            access_key_id: String,
        },
        /// The peer received its rights.
        RightsGranted,
        /// The peer's rights were withdrawn.
        RightsWithdrawn,
        /// A stricter condition of the peer was recorded.
        ConditionRecorded {
            /// The condition.
            condition: TenantCondition,
        },
        /// The administrator lifted the peer's condition.
        ConditionLifted,
        /// The administrator released the peer's pinned key.
        KeyReleased,
        /// A resource slice's resources were granted.
        ResourcesGranted,
        /// What Liqo granted to a resource slice was recorded, when the peering was taken over
        /// from Liqo.
        ResourcesAdopted {
            /// The amounts that the slice keeps.
            resources: BTreeMap<String, Quantity>,
            /// The amounts beyond the caps, which count once a person has confirmed them.
            unconfirmed: BTreeMap<String, Quantity>,
        },
        /// The administrator confirmed what Liqo granted to a resource slice beyond the caps.
        ResourcesConfirmed,
        /// A resource slice's resources were denied.
        ResourcesDenied {
            /// The reason.
            reason: String,
        },
        /// The administrator asked for a new decision on a resource slice.
        ResourcesReconsidered,
        /// The administrator cordoned a resource slice.
        SliceCordoned,
        /// The administrator lifted a resource slice's cordon.
        SliceUncordoned,
        /// The peering was ended from this side.
        Ended,
        /// The records of an ended peering were deleted.
        Forgotten,
        /// A peering user was made.
        PeeringUserMade {
            /// The name of the user.
            user: String,
        },
        /// A peering user was deleted.
        PeeringUserDeleted {
            /// The name of the user.
            user: String,
        },
        /// The provider's nonce was signed.
        NonceSigned,
        /// The provider's Identity was accepted.
        IdentityTaken {
            /// The certificate. `None` for AWS keys.
            certificate: Option<Fingerprint>,
        },
        /// The administrator released the pinned API server, CA and key of a provider.
        PinsReleased,
        /// A resource slice was requested.
        SliceRequested,
        /// A renewal was requested.
        RenewalRequested,
        /// The end of the log was repaired: a crash had left an incomplete line, which
        /// was removed, or entries were missing.
        LogRepaired {
            /// The length of the removed line, or of the description of the missing
            /// entries, in bytes.
            bytes: u64,
            /// The beginning of the removed line, or the description of the missing
            /// entries.
            found: String,
        },
        /// A message, an object or a request was refused.
        Refused(Error),
    }
}

impl Event {
    /// The event of a refused message, object or request of the peer.
    pub fn refused(peer: &ClusterId, error: &Error) -> Self {
        Self {
            object: error.at().object.clone(),
            ..Self::new(peer, Decision::Refused(error.clone()))
        }
    }

    /// The event of a repair of this cluster's own log. `removed` is the incomplete
    /// line at the end of the log, or a description of the entries that were missing
    /// there.
    pub fn log_repaired(cluster: &ClusterId, removed: &[u8]) -> Self {
        let decision = Decision::LogRepaired {
            bytes: u64::try_from(removed.len()).unwrap_or(u64::MAX),
            found: String::from_utf8_lossy(removed).into_owned(),
        };
        Self::new(cluster, decision)
    }

    pub(crate) fn new(peer: &ClusterId, decision: Decision) -> Self {
        Self {
            peer: peer.clone(),
            object: None,
            key: None,
            decision,
        }
    }

    /// The same event, about an object.
    #[must_use]
    pub(crate) fn about(mut self, object: ObjectRef) -> Self {
        self.object = Some(object);
        self
    }

    /// The same event, with the key that the decision is based on.
    #[must_use]
    pub(crate) fn by_key(mut self, key: impl Into<Option<Fingerprint>>) -> Self {
        self.key = key.into();
        self
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.peer, self.decision.name())?;
        if let Some(object) = &self.object {
            write!(formatter, ", {object}")?;
        }
        if let Some(key) = &self.key {
            write!(formatter, ", key {key}")?;
        }
        Ok(())
    }
}
