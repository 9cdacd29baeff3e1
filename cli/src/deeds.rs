//! What a command has done, for programs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use liqo_auth::model::ObjectRef;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a command has done, shared by all clusters that it opens. Nothing is kept unless somebody
/// asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deeds(Option<Arc<Mutex<Done>>>);

/// What has been done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Lists of what the command tells, by their names.
    pub(crate) told: Map<String, Value>,
    /// The objects that were written, by the places of their clusters.
    written: BTreeMap<String, BTreeMap<ObjectRef, Action>>,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Created,
    Configured,
    Deleted,
}

impl Deeds {
    /// Somebody asks.
    pub(crate) fn asked() -> Self {
        Self(Some(Arc::default()))
    }

    pub(crate) const fn is_asked(&self) -> bool {
        self.0.is_some()
    }

    /// Adds to the list of that name.
    pub(crate) fn tell(&self, list: &str, value: Value) {
        if let Some(mut done) = self.done() {
            let list = done
                .told
                .entry(list)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(values) = list {
                values.push(value);
            }
        }
    }

    /// Notes what became of an object in the place of a cluster.
    pub(crate) fn wrote(&self, place: &str, id: &ObjectRef, action: Action) {
        let Some(mut done) = self.done() else {
            return;
        };
        let written = done.written.entry(place.to_owned()).or_default();
        match (written.get(id), action) {
            // Whoever looks before and after the command does not see such an object.
            (Some(Action::Created), Action::Deleted) => {
                written.remove(id);
            }
            (Some(Action::Created), _) => {}
            (Some(Action::Deleted), Action::Created) => {
                written.insert(id.clone(), Action::Configured);
            }
            _ => {
                written.insert(id.clone(), action);
            }
        }
    }

    pub(crate) fn take(&self) -> Done {
        self.done()
            .map_or_else(Done::default, |mut done| std::mem::take(&mut *done))
    }

    fn done(&self) -> Option<MutexGuard<'_, Done>> {
        let done = self.0.as_ref()?;
        Some(done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Done {
    /// The objects that were written in the place of a cluster.
    pub(crate) fn written(&self, place: &str) -> impl Iterator<Item = (&ObjectRef, Action)> {
        let written = self.written.get(place).into_iter().flatten();
        written.map(|(id, action)| (id, *action))
    }
}

#[cfg(test)]
mod tests {
    use liqo_auth::model::Kind;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_has_one_action_between_before_and_after() {
        use Action::{Configured, Created, Deleted};
        for (actions, seen) in [
            (vec![Created], Some(Created)),
            (vec![Created, Configured], Some(Created)),
            (vec![Created, Deleted], None),
            (vec![Configured, Configured], Some(Configured)),
            (vec![Configured, Deleted], Some(Deleted)),
            (vec![Deleted, Created], Some(Configured)),
        ] {
            let deeds = Deeds::asked();
            let id = ObjectRef::new(Kind::Secret, "n", "n");
            for action in &actions {
                deeds.wrote("home", &id, *action);
            }
            let done = deeds.take();
            let found = done.written("home").next();
            assert_eq!(found, seen.map(|seen| (&id, seen)), "{actions:?}");
            assert_eq!(done.written("other").next(), None);
        }
    }

    #[test]
    fn nothing_is_kept_for_nobody() {
        let (asked, nobody) = (Deeds::asked(), Deeds::default());
        assert!(asked.is_asked() && !nobody.is_asked());
        for deeds in [&asked, &nobody] {
            deeds.tell("steps", json!(1));
            deeds.tell("steps", json!(2));
        }
        assert_eq!(Value::Object(asked.take().told), json!({ "steps": [1, 2] }));
        assert!(nobody.take().told.is_empty());
    }
}
