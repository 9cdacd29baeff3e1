//! Providers on EKS, which make AWS users for peers and slices.

mod control_plane;
mod slices;
