//! Providers on EKS, which make AWS users for peers and slices.

pub(crate) mod control_plane;
mod slices;
