//! How YAML is read: as plain data, with bounds.

use crate::policy::Limits;
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, Options};

/// How a text is read within these limits. Every key reaches the visitor, which notes those that stand twice. Aliases
/// are followed, but not far; merge keys, which readers treat differently, are
/// refused.
pub(in crate::model) fn options(text: &str, limits: &Limits) -> Options {
    let mut options = Options::default();
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.merge_keys = MergeKeyPolicy::Error;
    options.with_snippet = false;
    options.reject_unsupported_tags = true;
    if let Some(budget) = &mut options.budget {
        budget.max_depth = DEPTH;
        budget.max_aliases = ALIASES;
        budget.max_anchors = ALIASES;
        // Only aliases make more of a text than is there.
        budget.max_total_scalar_bytes = text.len().saturating_mul(2).max(SCALARS);
        // A map with a number for a key is kept back as a whole by the parser,
        // so that the values are counted too late. A list holds more objects.
        if !text.lines().any(|line| line.starts_with("items:")) {
            budget.max_nodes = limits.object_values.saturating_mul(2).saturating_add(ROOM);
        }
    }
    options
}

/// The library's own messages may show the text, which may hold secrets: what
/// is wrong is said by its kind.
pub(in crate::model) fn reason(error: &Error) -> &'static str {
    match error.without_snippet() {
        Error::Eof { .. } => "the text ends too early",
        Error::MultipleDocuments { .. } => "several documents that no line of --- parts",
        Error::MergeKeyNotAllowed { .. } => "a merge key",
        Error::UnknownAnchor { .. } => "an alias of nothing",
        Error::AliasError { error, .. } => reason(error),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => "too many aliases",
        Error::Budget { .. } => "more depth, anchors or aliases than an object needs",
        Error::NonFiniteFloat { .. } => "a number that is not finite",
        _ => "its form is wrong",
    }
}

/// Somewhat more than a value may have, so that its own limit is met first;
/// at a hundred the parser would run out of a thread's stack.
const DEPTH: usize = 40;
const ALIASES: usize = 256;
/// How many bytes of text a short document may always have.
const SCALARS: usize = 64 * 1024;
/// How many nodes an object may have besides its values and their keys, so that
/// the limit on values is met first.
const ROOM: usize = 16;
