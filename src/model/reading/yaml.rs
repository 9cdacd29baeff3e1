//! The options for reading YAML: plain data only, within limits.

use crate::policy::Limits;
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, Options};

/// The options for a text within these limits. Every key reaches the visitor,
/// which notes repeated keys. Aliases are followed up to a limit. Merge keys are
/// refused, because readers treat them differently.
pub(crate) fn options(text: &str, limits: &Limits) -> Options {
    let mut options = Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.merge_keys = MergeKeyPolicy::Error;
    options.with_snippet = false;
    options.reject_unsupported_tags = true;
    if let Some(budget) = &mut options.budget {
        budget.max_depth = DEPTH;
        budget.max_aliases = ALIASES;
        budget.max_anchors = ALIASES;
        // Only aliases make the value larger than the text.
        budget.max_total_scalar_bytes = text.len().saturating_mul(2).max(SCALARS);
        // The parser buffers a whole map that has a number as a key, so the visitor
        // counts its values too late. The limit is for one object. So the limit is not
        // set for a list, which holds several objects.
        if !text.lines().any(|line| line.starts_with("items:")) {
            budget.max_nodes = limits.object_values.saturating_mul(2).saturating_add(ROOM);
        }
    }
    options
}

/// The kind of the error. The YAML library's own messages may show parts of the
/// text, which may contain secrets.
pub(crate) fn reason(error: &Error) -> &'static str {
    match error.without_snippet() {
        Error::Eof { .. } => "the text ends too early",
        Error::MultipleDocuments { .. } => "several documents without a line of --- between them",
        Error::MergeKeyNotAllowed { .. } => "a merge key",
        Error::UnknownAnchor { .. } => "an alias without an anchor",
        Error::AliasError { error, .. } => reason(error),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => "too many aliases",
        Error::Budget { .. } => "more depth, anchors or aliases than an object needs",
        Error::NonFiniteFloat { .. } => "a number that is not finite",
        _ => "a syntax error",
    }
}

/// Slightly more than the depth limit of a value, so that a value reaches that
/// limit first. At a depth of a hundred, the parser would overflow the stack.
const DEPTH: usize = 40;
const ALIASES: usize = 256;
/// The bytes of scalars that even a short document may have.
const SCALARS: usize = 64 * 1024;
/// The additional nodes of an object beyond its values and their keys, so that an
/// object reaches the limit on values first.
const ROOM: usize = 16;
