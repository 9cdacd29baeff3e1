//! The provider's side of a peer's resource slices.

mod answers;
mod certificates;
mod conditions;
mod hostile;
mod lift_tokens;
mod policies;
mod records;
