//! Values that are kept once and named by a number, so that a state is small.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock},
};

/// The values that were met so far, by their keys.
pub struct Interned<K, T>(RwLock<Numbered<K, T>>);

struct Numbered<K, T> {
    numbers: HashMap<K, u32>,
    /// The value of each number.
    values: Vec<Arc<T>>,
}

impl<K: Hash + Eq, T> Interned<K, T> {
    /// The number of a value.
    pub fn number(&self, key: K, value: impl FnOnce() -> T) -> u32 {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = read.numbers.get(&key) {
            return *number;
        }
        drop(read);
        let mut write = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Numbered { numbers, values } = &mut *write;
        *numbers.entry(key).or_insert_with(|| {
            values.push(Arc::new(value()));
            u32::try_from(values.len() - 1).expect("there are fewer values")
        })
    }

    /// The value of a number.
    pub fn get(&self, number: u32) -> Arc<T> {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&read.values[number as usize])
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        read.values.len()
    }
}

impl<K, T> Default for Interned<K, T> {
    fn default() -> Self {
        Self(RwLock::new(Numbered {
            numbers: HashMap::new(),
            values: Vec::new(),
        }))
    }
}

/// Results that are computed once.
pub struct Memo<K, T>(RwLock<HashMap<K, T>>);

impl<K: Hash + Eq, T: Clone> Memo<K, T> {
    pub fn get(&self, key: &K) -> Option<T> {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        read.get(key).cloned()
    }

    pub fn put(&self, key: K, result: T) -> T {
        let mut write = self.0.write().unwrap_or_else(PoisonError::into_inner);
        write.insert(key, result.clone());
        result
    }

    pub fn of(&self, key: K, compute: impl FnOnce() -> T) -> T {
        match self.get(&key) {
            Some(result) => result,
            None => {
                let result = compute();
                self.put(key, result)
            }
        }
    }
}

impl<K, T> Default for Memo<K, T> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}
