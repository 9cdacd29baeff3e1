//! Tells what is written in a home or on a cluster.

use std::collections::BTreeSet;

use liqo_auth::{
    machine::Effect,
    model::{Object, ObjectRef},
};

use super::Home;
use crate::deeds::{Action, Deeds};

/// Who is told, and the objects of the home when the command opened it.
#[derive(Default)]
pub(super) struct Told {
    deeds: Deeds,
    before: BTreeSet<ObjectRef>,
}

impl Home {
    /// Tells from now on what is written.
    pub(crate) fn tell_deeds(&mut self, deeds: &Deeds) {
        self.told = Told {
            deeds: deeds.clone(),
            before: match deeds.is_asked() {
                true => self.objects().map(Object::id).collect(),
                false => BTreeSet::new(),
            },
        };
    }

    /// Tells which changes are in the files now.
    pub(super) fn tell_saved(&self) {
        let place = self.site().to_string();
        for id in self.store.changed() {
            let was_there = self.told.before.contains(id);
            let action = match self.store.contains(id) {
                true if was_there => Action::Configured,
                true => Action::Created,
                false => Action::Deleted,
            };
            if was_there || action != Action::Deleted {
                self.told.deeds.wrote(&place, id, action);
            }
        }
    }

    /// Tells what an API server has done. `was_there` is whether the object was known before.
    pub(super) fn tell_effect(&self, effect: &Effect, was_there: bool) {
        let action = match effect {
            Effect::Delete { .. } => Action::Deleted,
            _ if was_there => Action::Configured,
            _ => Action::Created,
        };
        let place = self.site().to_string();
        self.told.deeds.wrote(&place, &effect.id(), action);
    }
}
