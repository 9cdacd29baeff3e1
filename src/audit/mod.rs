//! What was decided: every decision of a machine, as a value, and a log of
//! them that nobody changes unnoticed.
//!
//! A [`Step`](crate::machine::Step) carries the decisions that it makes. They
//! count once its effects were applied; then a [`Chain`] makes an [`Entry`] of
//! each, and [`verify`] reads the log again.
//!
//! # The log, byte for byte
//!
//! One entry a line, in UTF-8, with a line feed after it. A line is one JSON
//! object without white space between its members, which stand in this order:
//!
//! | member | what |
//! |---|---|
//! | `sequence` | the number of the entry, from 1 |
//! | `time` | when it was made, in RFC 3339 in UTC, whole seconds |
//! | `cluster` | who decided: the cluster ID of the log's owner |
//! | `peer` | whom it concerns: the other cluster |
//! | `decision` | what was decided: [`Decision::name`] |
//! | `rule` | the rule of DESIGN.md that was kept or, of a refusal, broken; left out where there is none |
//! | `object` | the object that it is about, such as `Tenant ns/name`; left out where there is none |
//! | `key` | the fingerprint of the key that it rests on; left out where there is none |
//! | `details` | what else the decision says: an object of strings, its members in the order of their names; left out where there is nothing |
//! | `previous` | the hash of the entry before it; 64 zeros in the first one |
//! | `hash` | SHA-256 over the bytes of the line before `,"hash":` |
//! | `mac` | HMAC-SHA-256 under the record key; left out in a log without a key |
//!
//! Hashes and MACs are 64 lower-case hexadecimal digits. In strings `"` and `\`
//! have a backslash before them, control characters are `\b`, `\f`, `\n`, `\r`,
//! `\t` or `\u` with four lower-case digits, and everything else stands for
//! itself. What the MAC is over are two parts, each with its length in front as
//! 8 bytes, big-endian: the text `liqo-auth audit log v1`, and the 32 bytes of
//! the hash.
//!
//! Without this library, the hash of the first line of a log is
//!
//! ```sh
//! head -n 1 audit.log | sed 's/,"hash":.*//' | tr -d '\n' | openssl dgst -sha256
//! ```
//!
//! # What it shows
//!
//! - An entry that was changed, left out, moved or put in breaks the chain.
//! - Who can write the log and has no record key cannot write it anew, where
//!   it is verified with the key.
//! - That the end is missing shows only to who knows a hash from there: keep
//!   the head elsewhere from time to time, and have it looked for.

mod chain;
mod details;
mod entry;
mod event;
mod verification;

pub use chain::Chain;
pub use entry::{Entry, EntryHash};
pub use event::{Decision, Event};
pub use verification::{LogError, LogFault, Summary, Verifier, verify};

/// The longest line of a log that is written or read, in bytes, without its
/// line feed.
pub const LONGEST_LINE: usize = 16 * 1024;
