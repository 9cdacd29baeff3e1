//! Providers on EKS, whose peers and slices get AWS users.

mod control_plane;
mod slices;
