//! What a machine answers: effects on local objects, messages for the peer,
//! refusals, and what it waits for.

use core::fmt;

use serde_json::Value;

use super::{Message, merge_patch};
use crate::{
    audit::Event,
    crypto::{Entropy, Fingerprint, RequestId, SignatureId},
    error::Error,
    model::{Kind, Metadata, Object, ObjectRef, Resource, TenantCondition, Timestamp},
};

/// The outcome of one call: nothing has happened yet, and the caller carries
/// it out.
///
/// # Guarantees
/// - Every effect concerns one local object, and no object has two effects.
/// - Effects are in the order in which they are to be applied, up to the first
///   that fails; then the caller looks again and calls again.
/// - A crash after any number of them loses nothing: the next call goes on
///   from the objects that are there.
/// - The outbox may be sent once every effect was applied, and not before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// What to do to local objects, in order.
    pub effects: Vec<Effect>,
    /// What the peer should have by now. A level, not an event: it is the same
    /// each time, and sending it again does no harm.
    pub outbox: Vec<Message>,
    /// What was refused, and why. Nothing of it is in the effects.
    pub refused: Vec<Refused>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
    /// What was decided, for the audit; it counts once the effects were applied.
    pub events: Vec<Event>,
    /// When or upon what to look again.
    pub wait: Wait,
}

/// A change of one local object.
#[derive(Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make the object; fails if one of that name is there.
    Create(Object),
    /// Replace the whole object, which is wholly ours, at a version.
    Replace {
        /// The new object.
        object: Object,
        /// The version that was seen.
        version: Version,
    },
    /// Change some fields by a JSON merge patch (RFC 7396), at a version.
    Patch {
        /// The object.
        id: ObjectRef,
        /// The version that was seen.
        version: Version,
        /// Which part of the object.
        part: Part,
        /// The patch, from the object's root (`{"status": …}`).
        patch: Value,
    },
    /// Delete the object at a version.
    Delete {
        /// The object.
        id: ObjectRef,
        /// The version that was seen.
        version: Version,
    },
}

/// The part of an object that a patch goes to: Kubernetes serves each by an
/// endpoint of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Metadata, spec and data.
    Main,
    /// The `status` subresource.
    Status,
    /// The `approval` subresource of a CertificateSigningRequest.
    Approval,
}

/// The version of an object that was seen; the effect fails if it is another
/// by now. An empty field was not known, and is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
}

/// Something that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What was refused, where it is an object of this side.
    pub object: Option<ObjectRef>,
    /// Why.
    pub error: Error,
}

/// A fact that a person may want to know. None of them is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The nonce was replaced: an unmodified consumer's Secret
    /// `liqo-signed-nonce` has to be deleted before it signs the new one.
    SignedNonceIsStale,
    /// Somebody asked for a nonce, as Liqo does, for a peer whose peering has
    /// ended. Only [`Provider::invite`](crate::Provider::invite) lets such a peer
    /// in again.
    NonceAskedAfterEnd,
    /// No ClusterRole was seen that the peer could be bound to: it has a
    /// certificate, and no rights.
    NoClusterRole {
        /// The value of the label `app.kubernetes.io/name` that was looked for.
        label_value: &'static str,
    },
    /// A stricter condition holds than the Tenant names: it was recorded, and
    /// only this side's administrator lifts it
    /// ([`Provider::set_condition`](crate::Provider::set_condition)).
    ConditionHeld {
        /// The condition that holds.
        condition: TenantCondition,
    },
    /// The provider gave no proof of its own key.
    ProviderUnproven,
    /// The provider proved a key that nobody has vouched for: it is taken for
    /// the provider's from now on. Compare it, by another way, now.
    ProviderKeyFirstSeen {
        /// The key.
        fingerprint: Fingerprint,
    },
    /// The client certificate was not issued by a CA of the bundle. Legal:
    /// serving and signing CA may differ.
    IssuedByAnotherCa,
    /// The certificate was renewed, and nothing carries it to the consumer: it
    /// keeps no Renew object. Hand the Identity over again.
    RenewalNotCarried,
    /// The certificate of an Identity is due, and a person is to bring the next.
    CertificateDue {
        /// The Identity.
        identity: ObjectRef,
        /// When its certificate ends.
        until: Timestamp,
    },
    /// The certificate of an Identity will not be renewed.
    CannotRenew {
        /// The Identity.
        identity: ObjectRef,
        /// When its certificate ends.
        until: Timestamp,
        /// Why.
        error: Error,
    },
    /// The peer has had many requests of its slices signed of late: the next
    /// waits.
    SignaturesWait {
        /// When the next is taken.
        until: Timestamp,
    },
    /// The provider knows this cluster by an earlier key; with its next nonce
    /// the new one follows.
    NewKeyAwaitsNonce,
}

/// When to look again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wait {
    /// At the latest at this time, if there is one.
    pub wake_at: Option<Timestamp>,
    /// As soon as one of these has come.
    pub awaiting: Vec<Awaited>,
}

/// What is missing to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// An administrator's word that the peer is wanted:
    /// [`Provider::invite`](crate::Provider::invite).
    Invitation,
    /// The provider's nonce.
    Nonce,
    /// The consumer's Tenant.
    Tenant,
    /// The look-up of names: whether the peer's name, or that of one of its
    /// slices, is a principal's.
    Names,
    /// The approver's word, or an administrator's:
    /// [`Provider::approve`](crate::Provider::approve).
    Approval,
    /// The answer to this request for a credential: the signer's certificate,
    /// or an AWS user.
    Credential(RequestId),
    /// The provider's Identity.
    Identity,
    /// The provider's decision on this resource slice.
    SliceDecision(ObjectRef),
    /// A new certificate for this Identity.
    Renewal(ObjectRef),
    /// The end of this object, which is being deleted.
    End(ObjectRef),
    /// This cluster's own key.
    OwnKey,
    /// The signature of this name, by a key that answers later.
    Signature(SignatureId),
    /// The object's UID, which the store assigns.
    Uid(ObjectRef),
    /// The consumer's request in this resource slice.
    SliceRequest(ObjectRef),
    /// The decision on this slice's resources.
    Resources(ObjectRef),
    /// That an access key which no peer needs any more is deleted at AWS:
    /// [`Provider::aws_key_revoked`](crate::Provider::aws_key_revoked). It does
    /// not end by itself.
    AwsRevocation {
        /// The ARN of the user that it belongs to.
        user_arn: String,
        /// The public part of the key.
        access_key_id: String,
    },
    /// The token in this Secret: of a service account, which the cluster
    /// issues, or of another cluster, which an administrator puts there.
    Token(ObjectRef),
}

/// Time and randomness, as values: the library has neither.
#[derive(Debug)]
pub struct Env {
    /// The present time.
    pub now: Timestamp,
    /// Used for one call only.
    pub entropy: Entropy,
}

impl Step {
    /// Whether there is nothing to carry out.
    pub fn is_settled(&self) -> bool {
        self.effects.is_empty()
    }
}

impl Wait {
    /// Wakes at this time, if not before.
    pub(crate) fn wake_by(&mut self, time: Option<Timestamp>) {
        self.wake_at = self.wake_at.into_iter().chain(time).min();
    }
}

impl Effect {
    /// The object that is changed.
    pub fn id(&self) -> ObjectRef {
        match self {
            Self::Create(object) | Self::Replace { object, .. } => object.id(),
            Self::Patch { id, .. } | Self::Delete { id, .. } => id.clone(),
        }
    }

    /// The part of the object that is changed.
    pub fn part(&self) -> Part {
        match self {
            Self::Patch { part, .. } => *part,
            _ => Part::Main,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.id().kind
    }

    /// The patch that leads from the stored object to the wanted one, if they
    /// differ.
    pub(crate) fn patch<K: Resource + Clone + PartialEq>(
        stored: &K,
        wanted: K,
        part: Part,
    ) -> Option<Self> {
        if *stored == wanted {
            return None;
        }
        let (from, to): (Object, Object) = (stored.clone().into(), wanted.into());
        Some(Self::Patch {
            id: stored.id(),
            version: Version::of(stored.metadata()),
            part,
            patch: merge_patch::between(&from.to_value(), &to.to_value())?,
        })
    }
}

/// As it is, but for secrets in a patch.
impl fmt::Debug for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(object) => formatter.debug_tuple("Create").field(object).finish(),
            Self::Replace { object, version } => formatter
                .debug_struct("Replace")
                .field("object", object)
                .field("version", version)
                .finish(),
            Self::Patch {
                id,
                version,
                part,
                patch,
            } => formatter
                .debug_struct("Patch")
                .field("id", id)
                .field("version", version)
                .field("part", part)
                .field("patch", &merge_patch::without_secrets(patch, id.kind))
                .finish(),
            Self::Delete { id, version } => formatter
                .debug_struct("Delete")
                .field("id", id)
                .field("version", version)
                .finish(),
        }
    }
}

impl Version {
    /// No version: the object is new.
    pub(crate) fn unknown() -> Self {
        Self {
            uid: String::new(),
            resource_version: String::new(),
        }
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
        }
    }
}
