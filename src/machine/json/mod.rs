//! The forms in JSON.

mod wiped;

pub(in crate::machine) use wiped::written;
