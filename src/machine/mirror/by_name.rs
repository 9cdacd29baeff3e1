//! Objects in the order of their names.

use core::{borrow::Borrow, cmp::Ordering};
use std::sync::Arc;

use crate::model::{Kind, Object, ObjectRef};

/// An object as the key of an index: ordered by kind, namespace and name, and found by
/// an [`ObjectRef`]. So an index does not hold a copy of the name.
#[derive(Debug, Clone)]
pub(super) struct ByName(pub(super) Arc<Object>);

impl ByName {
    pub(super) fn as_object(&self) -> &Object {
        &self.0
    }
}

/// A kind, a namespace and a name.
pub(super) trait Named {
    fn key(&self) -> (Kind, &str, &str);
}

impl Named for ByName {
    fn key(&self) -> (Kind, &str, &str) {
        self.0.key()
    }
}

impl Named for ObjectRef {
    fn key(&self) -> (Kind, &str, &str) {
        (self.kind, &self.namespace, &self.name)
    }
}

impl<'a> Borrow<dyn Named + 'a> for ByName {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

/// Orders and compares a type by its keys.
macro_rules! by_key {
    ($($Type:ty),+) => {$(
        impl PartialEq for $Type {
            fn eq(&self, other: &Self) -> bool {
                self.key() == other.key()
            }
        }

        impl Eq for $Type {}

        impl PartialOrd for $Type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $Type {
            fn cmp(&self, other: &Self) -> Ordering {
                self.key().cmp(&other.key())
            }
        }
    )+};
}

by_key!(dyn Named + '_, ByName);
