//! How YAML is read: as plain data, with bounds.

use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, Options};

/// For a text of so many bytes. Every key reaches the visitor, which notes those that stand twice. Aliases
/// are followed, but not far; merge keys, which readers treat differently, are
/// refused.
pub(in crate::model) fn options(length: usize) -> Options {
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
        budget.max_total_scalar_bytes = length.saturating_mul(2).max(SCALARS);
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
