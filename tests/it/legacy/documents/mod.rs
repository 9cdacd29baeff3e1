//! Each statement of Liqo's documents on tokens, `authStatus`, objects and
//! unique identities, held against both sides.

mod auth_status;
mod foreign_objects;
mod home_objects;
mod tokens;
mod unique_identities;
mod versions;

const REMOTE: &str = "remote-cl-home";
