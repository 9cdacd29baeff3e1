//! Every decision of a machine as a value, and a log of decisions that shows
//! every change to it.
//!
//! A [`Step`](crate::machine::Step) carries the decisions that it makes. They
//! count once its effects were applied. Then a [`Chain`] makes an [`Entry`] of
//! each. A [`Verifier`] reads the log again.
//!
//! # The log, byte for byte
//!
//! Each entry is one line in UTF-8 that ends in a line feed. A line is one JSON
//! object without white space between its members. The order of the members is:
//!
//! | member | what |
//! |---|---|
//! | `sequence` | the number of the entry, from 1 |
//! | `time` | the time of the decision, in RFC 3339 in UTC, whole seconds |
//! | `cluster` | the ID of the cluster that decided: the log's owner |
//! | `peer` | the ID of the other cluster |
//! | `decision` | the name of the decision: [`Decision::name`] |
//! | `rule` | the number of the rule of DESIGN.md that was kept, or broken by what was refused; optional |
//! | `object` | the object of the decision, such as `Tenant ns/name`; optional |
//! | `key` | the fingerprint of the key that the decision rests on; optional |
//! | `details` | further facts: an object of strings, its members in the order of their names; optional |
//! | `previous` | the hash of the entry before this one; 64 zeros in the first entry |
//! | `hash` | SHA-256 over the bytes of the line before `,"hash":` |
//! | `mac` | HMAC-SHA-256 under the record key; missing in a log without a key |
//!
//! Hashes and MACs are 64 lower-case hexadecimal digits. In strings `"` and `\`
//! have a backslash before them, control characters are `\b`, `\f`, `\n`, `\r`,
//! `\t` or `\u` with four lower-case digits, and everything else stands for
//! itself. The MAC is over two parts: the text `liqo-auth audit log v1`, and the
//! 32 bytes of the hash. Each part has its length in front, as 8 bytes,
//! big-endian.
//!
//! Without this library, a shell computes the hash of the first line of a log:
//!
//! ```sh
//! head -n 1 audit.log | sed 's/,"hash":.*//' | tr -d '\n' | openssl dgst -sha256
//! ```
//!
//! # What it shows
//!
//! - An entry that was changed, removed, moved or inserted breaks the chain.
//! - If the log is verified with the record key, a writer without that key
//!   cannot forge it.
//! - A missing end does not break the chain. Keep the head of the log elsewhere
//!   from time to time, and give it to the [`Verifier`].

mod chain;
mod details;
mod entry;
mod event;
mod verification;

pub use chain::Chain;
pub use entry::{Entry, EntryContent, EntryHash};
pub use event::{Decision, Event};
pub use verification::{LogError, LogFault, Summary, Verifier};

/// The longest line of a log that is written or read, in bytes, without its
/// line feed.
pub const LONGEST_LINE: usize = 16 * 1024;
