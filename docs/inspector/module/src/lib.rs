//! What `liqo-auth inspect` says of files, as a function from bytes to bytes, for a page in a
//! browser.
//!
//! The page gives the present time and the files. The module has no other input: no disk, no
//! clock, no network, and no import from the page.
//!
//! A request is the length of its head as four bytes, the smallest first, then the head, then the
//! files one after the other. The head is JSON, see [`answer::Head`]. An answer is JSON, see
//! [`answer::Answer`].

pub mod answer;
pub mod border;
mod curves;
#[cfg(target_arch = "wasm32")]
mod memory;
mod private_key;
mod request;
mod rsa;

pub use request::answer;
