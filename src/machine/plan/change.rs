//! One change of a plan, and the effect that carries it out.

use serde_json::Value;

use crate::{
    machine::{Effect, Part, Version, merge_patch},
    model::{Object, ObjectRef},
};

/// A change of one object.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) version: Version,
    pub(super) wanted: Wanted,
    pub(super) rank: Rank,
    /// The number of the change in the order of the rules. Changes of one rank keep
    /// this order.
    pub(super) order: usize,
}

/// The kind of a change, with the wanted object.
#[derive(Clone)]
pub(super) enum Wanted {
    New(Box<Object>),
    Replaced(Box<Object>),
    /// Some fields are changed. The fields of other writers are kept.
    Edited {
        before: Box<Object>,
        after: Box<Object>,
        /// The new status withdraws something from the peer, so it precedes the
        /// main part.
        status_first: bool,
    },
    /// The metadata is changed by this patch, of an object whose content is not read.
    Patched(Value),
    Deleted,
    /// An immutable Secret is deleted. The next call creates it again and adds the
    /// event.
    Recreated,
}

/// The purpose of an effect, which determines its position in the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Withdrawal,
    Namespace,
    Record,
    Rule,
    Release,
    Forgetting,
}

impl Change {
    /// The effect that carries out the change; `None` if nothing differs.
    pub(super) fn into_effect(self, id: ObjectRef) -> Option<(Rank, Effect)> {
        let (version, mut rank) = (self.version, self.rank);
        let effect = match self.wanted {
            Wanted::New(object) => Effect::Create(*object),
            Wanted::Replaced(object) => Effect::Replace {
                object: *object,
                version,
            },
            Wanted::Deleted | Wanted::Recreated => Effect::Delete { id, version },
            Wanted::Patched(patch) => Effect::Patch {
                id,
                version,
                part: Part::Main,
                patch,
            },
            Wanted::Edited {
                before,
                after,
                status_first,
            } => {
                let (part, patch) = merge_patch::of_one_part(&before, &after, status_first)?;
                if part == Part::Main && releases_finalizer(&before, &after) {
                    rank = Rank::Release;
                }
                Effect::Patch {
                    id,
                    version,
                    part,
                    patch,
                }
            }
        };
        Some((rank, effect))
    }
}

fn releases_finalizer(before: &Object, after: &Object) -> bool {
    let finalizers = |object: &Object| object.metadata().finalizers.len();
    finalizers(after) < finalizers(before)
}
