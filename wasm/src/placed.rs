//! The objects of one peer, each at its place.
//!
//! Whose an object is depends on its namespace, its labels and its name, which a peer may write
//! in part. The library's [`Mirror`] knows these rules. A [session](crate::session) and a call
//! with a whole View place their objects here, so that both ignore and refuse the same ones.

use liqo_auth::{
    View,
    machine::{Mirror, Watch},
    model::{ClusterId, Object, ObjectError, ObjectRef},
};

use crate::failure::Failure;

/// A mirror of the watches of one side, and the peer whose objects it shows.
pub(crate) struct Placed {
    peer: ClusterId,
    watches: Vec<Watch>,
    mirror: Mirror,
}

impl Placed {
    /// No objects. The caller shows those of this peer alone, and all of them before a view.
    pub(crate) fn new(peer: ClusterId, watches: Vec<Watch>) -> Result<Self, Failure> {
        let mut mirror = Mirror::new(watches.clone());
        for watch in &watches {
            let listed = mirror.relist(watch, []);
            listed.map_err(|error| Failure::of_part("watches", error))?;
        }
        Ok(Self {
            peer,
            watches,
            mirror,
        })
    }

    /// Takes an object that is new or has changed: by the watch that covers it, or as one that
    /// was fetched.
    pub(crate) fn show(&mut self, object: Object) -> Result<(), Failure> {
        let watch = self.watches.iter().find(|watch| watch.covers(&object));
        let shown = match watch {
            Some(watch) => self.mirror.observe(watch, object),
            None => self.mirror.fetched(&self.peer, object),
        };
        shown.map_err(|error| Failure::of_part("seen", error))?;
        Ok(())
    }

    /// Takes the removal of an object.
    pub(crate) fn gone(&mut self, id: &ObjectRef) {
        self.mirror.gone(id);
    }

    /// The objects that have lost their content to the budget of the mirror, and for which there
    /// is room again. The caller still has them.
    pub(crate) fn lost(&self) -> Vec<ObjectRef> {
        let is_lost = |id: &ObjectRef| {
            let found = self.mirror.get(id);
            found.is_none_or(|found| {
                let unreadable = found.as_unreadable();
                unreadable.is_some_and(|it| matches!(it.reason, ObjectError::OverBudget { .. }))
            })
        };
        self.mirror.unwatched(&self.peer).filter(is_lost).collect()
    }

    /// The objects that concern the peer.
    pub(crate) fn view(&self) -> Result<View<'_>, Failure> {
        let view = self.mirror.view(&self.peer);
        view.map_err(|error| Failure::of_part("watches", error))
    }
}

#[cfg(test)]
mod tests;
