//! The head of the log, kept beside it in `audit.head`: the hash of its last entry, sealed
//! with the home's record key. A log without this entry has lost its end.
//!
//! The head is replaced as a whole, after the entry is on the disk. Nobody waits until the
//! head is there, too. After a crash, the log has entries after its head, and nothing is
//! missing; or the file is empty, and counts as missing.

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    hmac::{self, HMAC_SHA256},
};
use liqo_auth::{
    audit::{Chain, EntryHash},
    crypto::RecordKey,
    model::ClusterId,
};
use zeroize::Zeroizing;

use super::{
    directory::Directory,
    write::{Change, Target},
};
use crate::failure::{Failure, Result};

pub(crate) const AUDIT_HEAD_FILE: &str = "audit.head";

/// The head of a log without entries.
pub(super) fn of_empty_log(cluster: &ClusterId) -> EntryHash {
    Chain::begin(cluster.clone(), None).head()
}

/// The file with this head.
pub(super) fn change(key: &RecordKey, head: EntryHash) -> Change {
    Change {
        target: Target::TopLevel(AUDIT_HEAD_FILE),
        content: Some(Zeroizing::new(sealed(key, &head.to_string()))),
    }
}

/// The kept head. None without the file, or if the file is empty.
pub(super) fn kept(root: &Directory, key: &RecordKey) -> Result<Option<EntryHash>> {
    let Some(text) = root.read(AUDIT_HEAD_FILE)? else {
        return Ok(None);
    };
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || {
        Failure::at_odds(format!(
            "{}/{AUDIT_HEAD_FILE}: this home's record key has not sealed it. Restore it from a copy, together with the log and with the record key. Otherwise move it away: the next decision notes in the log that it was missing.",
            root.path().display()
        ))
    };
    let head = std::str::from_utf8(&text).ok();
    let head = head
        .and_then(|text| text.lines().next())
        .ok_or_else(wrong)?;
    let expected = sealed(key, head);
    verify_slices_are_equal(expected.as_bytes(), &text).map_err(|_| wrong())?;
    head.parse().map(Some).map_err(|_| wrong())
}

/// The content of the file: the head, and its seal.
fn sealed(key: &RecordKey, head: &str) -> String {
    // The library's own seals begin with the length of their domain.
    let message = format!("liqo-auth-cli audit.head v1\n{head}\n");
    let key = hmac::Key::new(HMAC_SHA256, key.as_bytes());
    let seal = hmac::sign(&key, message.as_bytes());
    let digits = seal.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("{head}\n{}\n", digits.collect::<String>())
}
