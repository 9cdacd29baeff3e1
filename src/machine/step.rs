//! The result of a call to a machine: effects on local objects, messages for the
//! peer, refusals, and when to call again.

use serde::Serialize;
use serde_json::Value;

use super::{Awaited, Message, Notice, json::awaited_with_remedies, merge_patch};
use crate::{
    audit::Event,
    crypto::Entropy,
    error::Error,
    model::{Metadata, Object, ObjectRef, Resource, Timestamp},
};

/// The result of one call. Nothing has happened yet: the caller carries the step
/// out.
///
/// # Guarantees
/// - Every effect concerns one local object, and no object has two effects.
/// - The caller applies the effects in their order. If one fails, the caller
///   stops, reads the objects again and calls again.
/// - A crash after any number of effects loses nothing: the next call continues
///   from the objects that exist.
/// - The caller may send the outbox only after all effects were applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The changes of local objects, in order.
    pub effects: Vec<Effect>,
    /// The messages that the peer should have received by now. Each call returns
    /// them again. It does no harm to send a message again.
    pub outbox: Vec<Message>,
    /// The refused objects and messages, with the reasons. No effect accepts any of
    /// them.
    pub refused: Vec<Refused>,
    /// Facts that a person may want to know.
    pub notices: Vec<Notice>,
    /// The decisions, for the audit log. They are valid only after the effects were
    /// applied.
    pub events: Vec<Event>,
    /// The object whose absence the effects follow from, although the record says that it was
    /// there. A caller whose objects come from several watches or lists asks the store whether
    /// the object is absent before it applies the effects, as a
    /// [`Run`](super::drive::Run) says.
    pub absent: Option<ObjectRef>,
    /// When to call again.
    pub wait: Wait,
}

/// A change of one local object.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub enum Effect {
    /// Create the object; fails if an object of that name exists.
    Create(Object),
    /// Replace the whole object at a version. Only this library writes the object.
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
        /// The part of the object that is changed.
        part: Part,
        /// The patch, from the object's root (`{"status": …}`).
        // The secrets in a patch are hidden.
        #[debug("{:?}", merge_patch::without_secrets(patch, id.kind))]
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

/// The part of an object that a patch changes. The API server has an endpoint for
/// each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Part {
    /// Metadata, spec and data.
    Main,
    /// The `status` subresource.
    Status,
    /// The `approval` subresource of a CertificateSigningRequest.
    Approval,
}

/// The version of an object on which an effect is based. If the object has another
/// version by then, the effect fails. An empty field is unknown and is not
/// compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// `metadata.uid`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// `metadata.resourceVersion`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// A refusal and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// The refused object, if it is an object on this side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The reason.
    pub error: Error,
}

/// When to call again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The latest time of the next call, if the step sets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// The call is due earlier if one of these arrives.
    #[serde(serialize_with = "awaited_with_remedies")]
    pub awaiting: Vec<Awaited>,
}

/// Time and randomness as arguments: the library has neither a clock nor a random source.
#[derive(Debug)]
pub struct Env {
    /// The present time.
    pub now: Timestamp,
    /// Randomness for this call only.
    pub entropy: Entropy,
}

impl Step {
    /// Whether the step has no effects.
    pub fn is_settled(&self) -> bool {
        self.effects.is_empty()
    }

    /// These notices, and those of the step that are not among them.
    pub(crate) fn notices_after(&self, mut notices: Vec<Notice>) -> Vec<Notice> {
        for notice in &self.notices {
            if !notices.contains(notice) {
                notices.push(notice.clone());
            }
        }
        notices
    }

    /// The step without what it does to other objects than this record, and to the peer.
    pub(crate) fn of_record(mut self, record: &ObjectRef) -> Self {
        self.effects.retain(|effect| effect.id() == *record);
        self.outbox.clear();
        self
    }
}

impl Wait {
    /// Adds a time at which to call again. The earliest time counts. `None` changes
    /// nothing.
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

    /// Whether this object is the one that is changed.
    pub(crate) fn is_on(&self, id: &ObjectRef) -> bool {
        match self {
            Self::Create(object) | Self::Replace { object, .. } => {
                object.key() == (id.kind, &id.namespace, &id.name)
            }
            Self::Patch { id: own, .. } | Self::Delete { id: own, .. } => own == id,
        }
    }

    /// The part of the object that is changed.
    pub(crate) fn part(&self) -> Part {
        match self {
            Self::Patch { part, .. } => *part,
            _ => Part::Main,
        }
    }

    /// The patch that turns the stored object into the wanted one, if they differ.
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

impl Version {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
        }
    }
}
