//! Authenticate Liqo clusters from files.

fn main() {}
