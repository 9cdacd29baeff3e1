//! The log of a home's decisions: `audit.log`, one entry in each line. Lines are
//! only appended.
//!
//! The changes of a decision are written first, and its entry is written after them.
//! A crash between the two loses the entry. The step is not repeated. The head of the log
//! is written last.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
};

use anyhow::Context;
use liqo_auth::{
    audit::{
        Chain, Entry, EntryContent, EntryHash, Event, LONGEST_LINE, LogError, LogFault, Summary,
        Verifier,
    },
    error::Error,
    machine::Step,
    model::{ClusterId, Timestamp},
};

use super::{
    Home,
    audit_head::{self, AUDIT_HEAD_FILE},
    directory::Directory,
    write::write_without_wait,
};
use crate::{
    failure::{Failure, Result},
    output::program,
};

pub(crate) const AUDIT_LOG_FILE: &str = "audit.log";
const HEAD_WAS_MISSING: &str = "audit.head was missing";
const HEAD_NAMED: &str = "audit.head named the entry ";
const WHICH_WAS_MISSING: &str = ", which was missing";

/// The log, open at its end.
struct EndOfLog {
    file: File,
    last: Option<Entry>,
    /// What has to be repaired: an incomplete line after the last entry, as a crash leaves
    /// it, and what is missing before it. Empty if nothing has to be.
    found: Vec<Vec<u8>>,
    /// The length without an incomplete line.
    whole: u64,
}

impl Home {
    /// Notes the decisions of a step. [`save`](Self::save) writes them into the log,
    /// after the changed objects.
    pub(crate) fn note(&mut self, step: &Step, now: Timestamp) {
        for event in &step.events {
            tracing::info!(site = %self.site(), "{event}");
        }
        let events = step.events.iter().cloned();
        self.decisions.extend(events.map(|event| (now, event)));
    }

    /// Writes a refusal into the log at once. A refusal does not change an object that
    /// would have to be written first. Decisions that are noted and not saved are dropped.
    pub(crate) fn log_refusal(
        &mut self,
        peer: &ClusterId,
        error: &Error,
        now: Timestamp,
    ) -> Result<()> {
        if self.is_live() || self.is_trial() {
            return Ok(());
        }
        self.decisions = vec![(now, Event::refused(peer, error))];
        let end = self.end_of_log()?;
        self.log_decisions(end)
    }

    /// Writes the refusals of a step into the log. While the home is open, each
    /// refusal is written once: the next step contains the same refusals again.
    pub(crate) fn log_refusals(
        &mut self,
        peer: &ClusterId,
        step: &Step,
        now: Timestamp,
    ) -> Result<()> {
        for refused in &step.refused {
            let refusal = (peer.clone(), refused.error.clone());
            if !self.logged.contains(&refusal) {
                self.log_refusal(peer, &refused.error, now)?;
                self.logged.push(refusal);
            }
        }
        Ok(())
    }

    /// Writes the changes, and then the decisions. Both are on the disk when this
    /// returns.
    pub(crate) fn save(&mut self) -> Result<()> {
        if self.is_live() || self.is_trial() {
            // The API server's own audit log has what was written. A trial decides
            // nothing.
            self.decisions.clear();
            return self.save_objects();
        }
        // If the log cannot be opened, nothing is written.
        let end = match self.decisions.is_empty() {
            true => None,
            false => Some(self.end_of_log()?),
        };
        self.save_objects()?;
        self.report();
        end.map_or(Ok(()), |end| self.log_decisions(end))
    }

    /// Verifies the whole log with the home's record key, and with the head that is kept
    /// beside it. Calls `each` for each entry.
    pub(crate) fn verify_log(
        &self,
        wanted: Option<EntryHash>,
        mut each: impl FnMut(&Entry),
    ) -> Result<Summary> {
        let kept = self.kept_head()?;
        let mut is_there = kept == Some(audit_head::of_empty_log(self.cluster_id()));
        let (summary, torn) = self.verify_entries(wanted, |entry| {
            is_there |= kept == Some(entry.hash());
            each(entry);
        })?;
        match (is_there, kept) {
            (true, _) => match torn {
                None => Ok(summary),
                Some(number) => Err(Failure::at_odds(format!(
                    "{}, line {number}: the line is incomplete, as a crash leaves it. Compare the log with a copy. The next decision removes the line, and notes that in the log.",
                    self.log_path()
                ))),
            },
            (false, Some(kept)) => Err(Failure::at_odds(format!(
                "{}: its end is missing, since it does not have the entry {kept}, which {AUDIT_HEAD_FILE} names.{} Restore the log from a copy. Otherwise the next decision notes in the log what is missing.",
                self.log_path(),
                torn.map_or_else(String::new, |number| format!(
                    " Line {number} is incomplete."
                )),
            ))),
            (false, None) => Err(Failure::at_odds(format!(
                "{}: its end may be missing, since {AUDIT_HEAD_FILE} beside it is missing. Restore both files from a copy. Otherwise the next decision notes in the log what is missing.",
                self.log_path()
            ))),
        }
    }

    /// Verifies each entry. Also returns the number of an incomplete last line.
    fn verify_entries(
        &self,
        wanted: Option<EntryHash>,
        mut each: impl FnMut(&Entry),
    ) -> Result<(Summary, Option<u64>)> {
        let key = self.record_key()?;
        let mut verifier = Verifier::new(Some(&key), wanted);
        let mut torn = None;
        if let Some(file) = self.open_log(false)? {
            let mut lines = BufReader::new(file);
            let mut number = 0_u64;
            let mut line = Vec::new();
            let room = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
            loop {
                line.clear();
                // The line feed, and one more byte, so that a longer line is
                // noticed.
                lines
                    .by_ref()
                    .take(room.saturating_add(2))
                    .read_until(b'\n', &mut line)
                    .with_context(|| self.log_path())?;
                if line.is_empty() {
                    break;
                }
                number = number.saturating_add(1);
                let Some(content) = line.strip_suffix(b"\n") else {
                    if line.len() <= LONGEST_LINE {
                        torn = Some(number);
                        break;
                    }
                    let (line, limit) = (number, LONGEST_LINE);
                    let fault = LogFault::TooLong { limit };
                    return Err(self.broken(&LogError { line, fault }));
                };
                each(
                    &verifier
                        .line(content)
                        .map_err(|error| self.broken(&error))?,
                );
            }
        }
        let summary = verifier.finish().map_err(|error| self.broken(&error))?;
        Ok((summary, torn))
    }

    /// Writes the noted decisions at the end of the log.
    fn log_decisions(&mut self, end: EndOfLog) -> Result<()> {
        let decisions = std::mem::take(&mut self.decisions);
        let Some((now, _)) = decisions.first() else {
            return Ok(());
        };
        let EndOfLog {
            mut file,
            last,
            found,
            whole,
        } = end;
        let is_new = whole == 0;
        let key = self.record_key()?;
        let mut chain = match last {
            None => Chain::begin(self.cluster_id().clone(), Some(key.clone())),
            Some(last) => Chain::resume(&last, Some(key.clone())),
        };
        let mut text = String::new();
        if !found.is_empty() {
            file.set_len(whole).with_context(|| self.log_path())?;
        }
        for found in &found {
            let repair = Event::log_repaired(self.cluster_id(), found);
            text.push_str(chain.append(*now, &repair).line());
            text.push('\n');
        }
        for (time, event) in &decisions {
            text.push_str(chain.append(*time, event).line());
            text.push('\n');
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .with_context(|| self.log_path())?;
        let folder = self.log_folder()?;
        if is_new {
            // Wait until the name of the new file is on the disk, too.
            folder.sync()?;
        }
        let head = audit_head::change(&key, chain.head());
        Ok(write_without_wait(folder, &[head])?)
    }

    /// The log and its end. Nothing is changed.
    fn end_of_log(&self) -> Result<EndOfLog> {
        let file = self.open_log(true)?;
        let mut file = file.with_context(|| self.log_path())?;
        let length = file.metadata().with_context(|| self.log_path())?.len();
        // Enough for two lines of any length: the last entry and an incomplete line.
        let room = u64::try_from(2 * (LONGEST_LINE + 1)).unwrap_or(u64::MAX);
        let start = length.saturating_sub(room);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(start))
            .and_then(|_| (&file).take(room).read_to_end(&mut tail))
            .with_context(|| self.log_path())?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let torn = tail.split_off(whole);
        let whole = length.saturating_sub(u64::try_from(torn.len()).unwrap_or_default());
        let end = |last, lines: &[u8]| {
            let found = [torn, self.missing(lines)?.into_bytes()];
            Ok(EndOfLog {
                file,
                last,
                found: found
                    .into_iter()
                    .filter(|found| !found.is_empty())
                    .collect(),
                whole,
            })
        };
        let Some(lines) = tail.strip_suffix(b"\n") else {
            return match start {
                0 => end(None, &[]),
                _ => Err(Failure::at_odds(format!(
                    "{}: its end is no entry of this log. Move the file away, so that a new log begins.",
                    self.log_path()
                ))),
            };
        };
        let last = lines.rsplit(|byte| *byte == b'\n').next();
        let last = Entry::parse(last.unwrap_or_default()).map_err(|fault| {
            Failure::at_odds(format!(
                "{}, last line: {fault}. Examine the log with: {} audit verify {}; then move the file away, so that a new log begins.",
                self.log_path(),
                program(),
                self.site().options()
            ))
        })?;
        end(Some(last), lines)
    }

    /// What is missing at the end of a log that ends with these lines, in words. Empty if
    /// nothing is missing.
    fn missing(&self, lines: &[u8]) -> Result<String> {
        let Some(kept) = self.kept_head()? else {
            return Ok(HEAD_WAS_MISSING.to_owned());
        };
        let is_kept = |line: &[u8]| Entry::parse(line).is_ok_and(|entry| entry.hash() == kept);
        let mut is_there = kept == audit_head::of_empty_log(self.cluster_id())
            || lines.rsplit(|byte| *byte == b'\n').any(is_kept);
        if !is_there {
            // A crash may have come after many entries. A line that is not valid ends the
            // search: what follows it proves nothing.
            let _ = self.verify_entries(None, |entry| is_there |= entry.hash() == kept);
        }
        Ok(match is_there {
            true => String::new(),
            false => format!("{HEAD_NAMED}{kept}{WHICH_WAS_MISSING}"),
        })
    }

    fn kept_head(&self) -> Result<Option<EntryHash>> {
        audit_head::kept(self.log_folder()?, &self.record_key()?)
    }

    fn broken(&self, error: &LogError) -> Failure {
        Failure::at_odds(format!(
            "{}, {error}. The log was changed, or it belongs to another home. The entries before that line are valid.",
            self.log_path()
        ))
    }

    /// Opens the log. If that fails, as when something else is in its place, `doctor` says what to do.
    fn open_log(&self, make: bool) -> Result<Option<File>> {
        let opened = self.log_folder()?.open_log(AUDIT_LOG_FILE, make);
        opened.map_err(|error| {
            let failure = Failure::from(error);
            let (program, options) = (program(), self.site().options());
            let text = format!("{failure}. What helps, this says: {program} doctor {options}");
            Failure::new(failure.code, text)
        })
    }

    fn log_folder(&self) -> Result<&Directory> {
        let folder = self.folder("needs a log of decisions, which only a home has")?;
        Ok(&folder.root)
    }

    fn log_path(&self) -> String {
        format!("{}/{AUDIT_LOG_FILE}", self.site())
    }
}

/// What a repair of the log found, in words. None if the entry does not note a repair.
pub(crate) fn repair(entry: &EntryContent) -> Option<String> {
    if entry.decision != "LogRepaired" {
        return None;
    }
    let detail = |name: &str| entry.details.get(name).map(String::as_str);
    let found = detail("found").unwrap_or_default();
    let entry = found.strip_prefix(HEAD_NAMED);
    let entry = entry.and_then(|found| found.strip_suffix(WHICH_WAS_MISSING));
    let names_entry = entry.is_some_and(|hash| hash.parse::<EntryHash>().is_ok());
    Some(match names_entry || found == HEAD_WAS_MISSING {
        true => found.to_owned(),
        false => format!(
            "an incomplete line of {} bytes was removed from the end of the log, as a crash leaves it",
            detail("bytes").unwrap_or_default()
        ),
    })
}
