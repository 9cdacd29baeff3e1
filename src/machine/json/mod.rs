//! The forms in JSON.
//!
//! A [`Message`](super::Message) has `type`, `from`, `to` and the body under the
//! name of the type: `nonce`, `tenant` or `identity`.

mod message;
mod wiped;

pub use message::MessageError;
pub(in crate::machine) use wiped::written;
