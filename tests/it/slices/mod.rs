//! The resource slices of a peer, at its provider.

mod answers;
mod certificates;
mod conditions;
mod hostile;
mod policies;
mod records;
