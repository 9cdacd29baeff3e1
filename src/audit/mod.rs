//! The decisions of a machine as values, and a log that shows whether an
//! entry was changed.
//!
//! A [`Step`](crate::machine::Step) contains its decisions. A decision is made when
//! all effects of the step are applied. A [`Chain`] then turns each decision into
//! an [`Entry`]. A [`Verifier`] checks the log.
//!
//! # The log, byte for byte
//!
//! Each entry is one line in UTF-8 that ends in a line feed. A line is one JSON
//! object without white space between its members. The order of the members is:
//!
//! | member | content |
//! |---|---|
//! | `sequence` | the number of the entry, from 1 |
//! | `time` | the time of the decision, in RFC 3339 in UTC, whole seconds |
//! | `cluster` | the ID of the cluster that decided: the log's owner |
//! | `peer` | the ID of the other cluster |
//! | `decision` | the name of the decision: [`Decision::name`] |
//! | `rule` | the number of the rule of DESIGN.md that the decision kept, or that the refused content broke; optional |
//! | `object` | the object of the decision, such as `Tenant ns/name`; optional |
//! | `key` | the fingerprint of the key that the decision is based on; optional |
//! | `details` | further facts: an object of strings, sorted by member name; optional |
//! | `previous` | the hash of the entry before this one; 64 zeros in the first entry |
//! | `hash` | SHA-256 over the bytes of the line before `,"hash":` |
//! | `mac` | HMAC-SHA-256 under the record key; missing in a log without a key |
//!
//! Hashes and MACs are 64 lower-case hexadecimal digits. In strings, `"` and `\`
//! have a backslash before them. Control characters are `\b`, `\f`, `\n`, `\r`, `\t`
//! or `\u` with four lower-case digits. All other characters are written as they
//! are. The MAC covers two parts: the text `liqo-auth audit log v1`, and the 32
//! bytes of the hash. Before each part, its length is written as 8 bytes,
//! big-endian.
//!
//! Without this library, a shell computes the hash of the first line of a log:
//!
//! ```sh
//! head -n 1 audit.log | sed 's/,"hash":.*//' | tr -d '\n' | openssl dgst -sha256
//! ```
//!
//! # What the log shows
//!
//! - An entry that was changed, removed, moved or inserted breaks the chain.
//! - If the log is verified with the record key, a writer without that key
//!   cannot forge it.
//! - A missing end does not break the chain. Regularly store the head of the log
//!   elsewhere, and give the stored head to the [`Verifier`].

mod chain;
mod details;
mod entry;
mod event;
mod verification;

pub use chain::Chain;
pub use entry::{Entry, EntryContent, EntryHash};
pub use event::{Decision, Event};
pub use verification::{LogError, LogFault, Summary, Verifier};

/// The maximum length of a log's line, in bytes, without its line feed.
pub const LONGEST_LINE: usize = 16 * 1024;
