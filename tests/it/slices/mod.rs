//! The provider's side of a peer's resource slices.

mod answers;
mod certificates;
mod conditions;
mod hostile;
mod policies;
mod records;
