//! Stores in memory, whose UIDs are the same in each run.

use liqo_auth::{crypto::Entropy, machine::Objects, model::Object};

pub(crate) fn empty() -> Objects {
    Objects::new(&Entropy::from_bytes([0x5e; 32]))
}

pub(crate) fn holding(objects: impl IntoIterator<Item = Object>) -> Objects {
    let mut store = empty();
    store.extend(objects);
    store
}
