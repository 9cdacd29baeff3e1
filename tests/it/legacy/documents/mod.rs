//! The statements of Liqo's documentation about tokens, `authStatus`, objects
//! and unique identities, checked on both sides.

mod auth_status;
mod foreign_objects;
mod home_objects;
mod tokens;
mod unique_identities;
mod versions;

const REMOTE: &str = "remote-cl-home";
