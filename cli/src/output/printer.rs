//! Lines on standard output and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};

use liqo_auth_inspection::{Mark, text::printable};

use super::{
    program::program,
    tone::{ColorChoice, Paint, Tone},
    width::width,
    wrapped::wrapped,
};
use crate::failure::{Code, Failure, Result};

/// Prints results to standard output and messages to standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    color: ColorChoice,
    /// Whether results are printed. A trial prints none.
    has_results: bool,
}

/// The cluster that a line is about. liqoctl uses the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Local,
    Remote,
    /// The command works on one cluster only.
    Only,
}

impl Printer {
    pub(crate) const fn new(color: ColorChoice) -> Self {
        Self {
            color,
            has_results: true,
        }
    }

    /// The same printer for a trial, whose results would be of changes that are not made.
    pub(crate) const fn without_results(self) -> Self {
        Self {
            has_results: false,
            ..self
        }
    }

    /// Prints a line of progress at once: ` INFO   (local) …`.
    pub(crate) fn info(self, side: Side, text: &str) -> Result<()> {
        let scope = match side {
            Side::Local => " (local) ",
            Side::Remote => " (remote) ",
            Side::Only => "",
        };
        let out = io::stdout();
        let line = wrapped(
            &format!("{LABEL} {scope}{}", printable(text)),
            width(&out),
            LABEL.len() + 2,
        );
        let label = self.paint_on(&out).apply(Some(Tone::Progress), LABEL);
        self.result(&format!("{}\n", line.replacen(LABEL, &label, 1)))
    }

    /// Prints the result of the command to standard output.
    pub(crate) fn result(self, text: &str) -> Result<()> {
        if !self.has_results {
            return Ok(());
        }
        self.print(text)
    }

    /// Prints the result of the command in lines that fit the terminal. A command at the end
    /// of a line has a line of its own.
    pub(crate) fn lines(self, text: &str) -> Result<()> {
        let width = width(&io::stdout());
        let lines = printable(text);
        let lines = lines
            .lines()
            .map(|line| format!("{}\n", fitted(line, width)));
        self.result(&lines.collect::<String>())
    }

    /// Prints a text to standard output, also in a trial.
    pub(crate) fn print(self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        printed.map_err(unwritten)
    }

    /// Prints a message to standard error. On a terminal, lines break at words, and a
    /// command in the message has a line of its own.
    pub(crate) fn message(self, text: &str) {
        self.labelled(None, "", text);
    }

    pub(crate) fn warning(self, text: &str) {
        self.labelled(Some(Tone::Attention), "Warning:", text);
    }

    pub(crate) fn error(self, text: &str) {
        self.labelled(Some(Tone::Bad), "Error:", text);
    }

    fn labelled(self, tone: Option<Tone>, label: &str, text: &str) {
        let stream = io::stderr();
        let prefix = if label.is_empty() { "" } else { " " };
        let text = format!("{label}{prefix}{}", printable(text));
        let text = fitted(&text, width(&stream));
        let rest = text.strip_prefix(label).unwrap_or(&text);
        let label = match label {
            "" => String::new(),
            label => self.paint_on(&stream).apply(tone, label),
        };
        // A failed write to standard error cannot be reported anywhere.
        let _ = writeln!(stream.lock(), "{label}{rest}");
    }

    /// A sentence in lines that fit the terminal.
    pub(crate) fn prose(self, text: &str) -> String {
        format!("{}\n", wrapped(&printable(text), width(&io::stdout()), 0))
    }

    /// A fact with its name, on a line of its own.
    pub(crate) fn field(self, name: &str, value: &str) -> String {
        let line = format!("  {name:<16}{}", printable(value));
        format!("{}\n", wrapped(&line, width(&io::stdout()), INDENT))
    }

    /// A line that begins with a mark in its colour.
    pub(crate) fn marked(self, mark: Mark, text: &str) -> String {
        let tone = match mark {
            Mark::Verified => Tone::Good,
            Mark::Unverified => Tone::Attention,
            Mark::Wrong => Tone::Bad,
        };
        let word = mark.words();
        let line = self.field(word, text);
        line.replacen(word, &self.paint().apply(Some(tone), word), 1)
    }

    /// What paints the results.
    pub(crate) fn paint(self) -> Paint {
        self.paint_on(&io::stdout())
    }

    fn paint_on(self, stream: &impl IsTerminal) -> Paint {
        Paint::new(match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let asked_not_to =
                    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                stream.is_terminal()
                    && !asked_not_to
                    && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
            }
        })
    }
}

/// The failure if standard output takes nothing. If its reader has gone, nobody is told.
pub(crate) fn unwritten(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::unread(),
        _ => Failure::new(
            Code::Internal,
            format!("nothing can be written to standard output: {error}"),
        ),
    }
}

/// A message in lines of that width. A command after a colon begins a line, so that it can be
/// copied.
fn fitted(text: &str, width: Option<usize>) -> String {
    if width.is_none() {
        return text.to_owned();
    }
    let command = format!(": {} ", program());
    match text.split_once(&command) {
        None => {
            let start = text.len() - text.trim_start_matches(' ').len();
            wrapped(text, width, if start == 0 { 0 } else { start + 2 })
        }
        Some((before, after)) => {
            let before = wrapped(&format!("{before}:"), width, 0);
            let command = format!("  {} {after}", program());
            format!("{before}\n{}", wrapped(&command, width, 2))
        }
    }
}

/// Where the second column of facts begins.
const INDENT: usize = 18;
/// The label of a line of progress.
const LABEL: &str = " INFO ";
