//! A map that can go back to how it was.

use std::collections::{BTreeMap, btree_map};

/// Values by their keys, and what each change has replaced.
///
/// To go back costs what was changed since, however much is in the map.
pub(crate) struct Journal<K, V> {
    values: BTreeMap<K, V>,
    /// The value that each change replaced, the latest change last.
    replaced: Vec<(K, Option<V>)>,
}

impl<K: Clone + Ord, V: Clone> Journal<K, V> {
    /// Where the map stands now.
    pub(crate) fn mark(&self) -> usize {
        self.replaced.len()
    }

    /// Makes the map what it was at that mark.
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

    /// The value, to change it.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let value = self.values.get_mut(key)?;
        self.replaced.push((key.clone(), Some(value.clone())));
        Some(value)
    }

    /// The value, to change it; a new one where none is.
    pub(crate) fn get_or_make(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let entry = self.values.entry(key.clone());
        let before = match &entry {
            btree_map::Entry::Occupied(entry) => Some(entry.get().clone()),
            btree_map::Entry::Vacant(_) => None,
        };
        self.replaced.push((key, before));
        entry.or_insert_with(make)
    }

    /// Puts a value in the place of what was there.
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

impl<K, V> IntoIterator for Journal<K, V> {
    type Item = (K, V);
    type IntoIter = btree_map::IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

#[cfg(test)]
mod tests;
