//! The log of a home's decisions: `audit.log`, one entry a line, to which lines
//! are only added.
//!
//! A decision counts once what it decided is on the disk, so its entry comes
//! after that. A crash in between loses the entry; the step is not made again.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
};

use anyhow::Context;
use liqo_auth::{
    audit::{Chain, Entry, EntryHash, Event, LONGEST_LINE, LogError, LogFault, Summary, Verifier},
    error::Error,
    machine::Step,
    model::{ClusterId, Timestamp},
};

use super::Home;
use crate::failure::{Failure, Result};

pub(crate) const AUDIT_LOG_FILE: &str = "audit.log";

impl Home {
    /// Notes what a step decides: [`save`](Self::save) writes it into the log,
    /// after what was decided.
    pub(super) fn note(&mut self, step: &Step, now: Timestamp) {
        let events = step.events.iter().cloned();
        self.decisions.extend(events.map(|event| (now, event)));
    }

    /// Writes what was refused into the log, at once: nothing was changed that
    /// would have to come first. What was noted and not saved does not count.
    pub(crate) fn log_refusal(
        &mut self,
        peer: &ClusterId,
        error: &Error,
        now: Timestamp,
    ) -> Result<()> {
        self.decisions = vec![(now, Event::refused(peer, error))];
        self.log_decisions()
    }

    /// Writes what a step refused into the log, each once for as long as the home
    /// is open: a step that is looked at again refuses the same again.
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

    /// Writes what has changed, and then what was decided. When this returns,
    /// it is on the disk.
    pub(crate) fn save(&mut self) -> Result<()> {
        if !self.decisions.is_empty() {
            // What could not be logged is not done.
            self.end_of_log()?;
        }
        self.save_objects()?;
        self.log_decisions()
    }

    /// Reads the whole log, with the home's record key.
    pub(crate) fn verify_log(
        &self,
        wanted: Option<EntryHash>,
        mut each: impl FnMut(&Entry),
    ) -> Result<Summary> {
        let key = self.record_key()?;
        let mut verifier = Verifier::new(Some(&key), wanted);
        if let Some(file) = self.root.open_log(AUDIT_LOG_FILE, false)? {
            let mut lines = BufReader::new(file);
            let mut number = 0_u64;
            let mut line = Vec::new();
            let room = u64::try_from(LONGEST_LINE).unwrap_or(u64::MAX);
            loop {
                line.clear();
                // A line feed, and one byte more, by which a longer one shows.
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
                    let fault = if line.len() > LONGEST_LINE {
                        LogFault::TooLong {
                            limit: LONGEST_LINE,
                        }
                    } else {
                        LogFault::Form
                    };
                    let line = number;
                    return Err(self.broken(&LogError { line, fault }));
                };
                each(
                    &verifier
                        .line(content)
                        .map_err(|error| self.broken(&error))?,
                );
            }
        }
        verifier.finish().map_err(|error| self.broken(&error))
    }

    fn log_decisions(&mut self) -> Result<()> {
        let decisions = std::mem::take(&mut self.decisions);
        if decisions.is_empty() {
            return Ok(());
        }
        let (mut file, end) = self.end_of_log()?;
        let is_new = end.is_none();
        let key = Some(self.record_key()?);
        let mut chain = match end {
            None => Chain::begin(self.cluster_id().clone(), key),
            Some(last) => Chain::resume(&last, key),
        };
        let mut text = String::new();
        for (time, event) in &decisions {
            text.push_str(chain.append(*time, event).line());
            text.push('\n');
        }
        file.write_all(text.as_bytes())
            .and_then(|()| file.sync_data())
            .with_context(|| self.log_path())?;
        if is_new {
            // Its name is on the disk too.
            self.root.sync()?;
        }
        Ok(())
    }

    /// The log and its last entry. A line that a crash tore is taken away: it
    /// never was an entry.
    fn end_of_log(&self) -> Result<(File, Option<Entry>)> {
        let file = self.root.open_log(AUDIT_LOG_FILE, true)?;
        let mut file = file.with_context(|| self.log_path())?;
        let length = file.metadata().with_context(|| self.log_path())?.len();
        // Two lines, whatever their length: the last, and what was torn.
        let room = u64::try_from(2 * (LONGEST_LINE + 1)).unwrap_or(u64::MAX);
        let start = length.saturating_sub(room);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(start))
            .and_then(|_| (&file).take(room).read_to_end(&mut tail))
            .with_context(|| self.log_path())?;
        let whole = tail.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let torn = u64::try_from(tail.len() - whole).unwrap_or_default();
        if torn > 0 {
            file.set_len(length.saturating_sub(torn))
                .with_context(|| self.log_path())?;
        }
        tail.truncate(whole);
        let Some(lines) = tail.strip_suffix(b"\n") else {
            return Ok((file, None));
        };
        let last = lines.rsplit(|byte| *byte == b'\n').next();
        let last = Entry::parse(last.unwrap_or_default()).map_err(|fault| {
            Failure::at_odds(format!(
                "{}: its last line: {fault}. Look into it with: liqo-auth audit verify --home {}; then move the file away, so that a new log begins.",
                self.log_path(),
                self.path().display()
            ))
        })?;
        Ok((file, Some(last)))
    }

    fn broken(&self, error: &LogError) -> Failure {
        Failure::at_odds(format!(
            "{}, {error}. Somebody changed it, or it is of another home; what comes before that line holds.",
            self.log_path()
        ))
    }

    fn log_path(&self) -> String {
        self.path().join(AUDIT_LOG_FILE).display().to_string()
    }
}
