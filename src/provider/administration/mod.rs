//! The calls that only an administrator makes.

mod end;
mod invitation;
mod peering_user;
mod release;
mod signature;
mod slices;
mod transcript;

pub(super) use end::clean_up;
pub use peering_user::{NewPeeringUser, PeeringUser};
