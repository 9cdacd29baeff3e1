//! A map with savepoints.

use std::collections::{BTreeMap, btree_map};

/// Values by their keys, and a log of the values that changes replaced.
///
/// The cost of a return to a savepoint grows with the number of changes since the
/// savepoint, and not with the size of the map.
#[derive(derive_more::IntoIterator)]
pub(crate) struct Journal<K, V> {
    #[into_iterator(owned)]
    values: BTreeMap<K, V>,
    /// The value that each change replaced, the latest change last.
    replaced: Vec<(K, Option<V>)>,
}

impl<K: Clone + Ord, V: Clone> Journal<K, V> {
    /// A savepoint of the present state.
    pub(crate) fn mark(&self) -> usize {
        self.replaced.len()
    }

    /// Restores the state at the savepoint.
    pub(crate) fn return_to(&mut self, mark: usize) {
        for (key, value) in self.replaced.drain(mark..).rev() {
            match value {
                Some(value) => self.values.insert(key, value),
                None => self.values.remove(&key),
            };
        }
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.values.contains_key(key)
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key)
    }

    /// The value, for a change. The log keeps the old value.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let value = self.values.get_mut(key)?;
        self.replaced.push((key.clone(), Some(value.clone())));
        Some(value)
    }

    /// The value, for a change. If the key has no value, it gets a new one.
    pub(crate) fn get_or_make(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let entry = self.values.entry(key.clone());
        let before = match &entry {
            btree_map::Entry::Occupied(entry) => Some(entry.get().clone()),
            btree_map::Entry::Vacant(_) => None,
        };
        self.replaced.push((key, before));
        entry.or_insert_with(make)
    }

    /// Sets the value of a key.
    pub(crate) fn set(&mut self, key: K, value: V) {
        let before = self.values.insert(key.clone(), value);
        self.replaced.push((key, before));
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some((key, before)) = self.values.remove_entry(key) {
            self.replaced.push((key, Some(before)));
        }
    }

    /// The values in the order of their keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.values()
    }
}

impl<K, V> Default for Journal<K, V> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            replaced: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
