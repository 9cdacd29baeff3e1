//! Both sides of Liqo's inter-cluster authentication, as a state machine without I/O.

pub mod crypto;
pub mod model;
pub mod policy;
