//! Lines on standard output and standard error.

use std::io::{self, IsTerminal, Write};

use crate::{arguments::ColorChoice, failure::Result};

/// Prints results to standard output and messages to standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    color: ColorChoice,
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
        Self { color }
    }

    /// Prints a line of progress at once: ` INFO   (local) …`.
    pub(crate) fn info(self, side: Side, text: &str) -> Result<()> {
        let scope = match side {
            Side::Local => " (local) ",
            Side::Remote => " (remote) ",
            Side::Only => "",
        };
        let label = self.paint(INFORMATION, " INFO ", io::stdout().is_terminal());
        self.result(&format!("{label} {scope}{text}\n"))
    }

    /// Prints the result of the command to standard output.
    pub(crate) fn result(self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Prints a message to standard error.
    pub(crate) fn message(self, text: &str) {
        // A failed write to standard error cannot be reported anywhere.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    pub(crate) fn warning(self, text: &str) {
        let label = self.paint(WARNING, "Warning:", io::stderr().is_terminal());
        self.message(&format!("{label} {text}"));
    }

    pub(crate) fn error(self, text: &str) {
        let label = self.paint(ERROR, "Error:", io::stderr().is_terminal());
        self.message(&format!("{label} {text}"));
    }

    /// The text of a verdict in its colour, for standard output.
    pub(crate) fn verdict(self, good: bool, word: &str) -> String {
        self.paint(
            if good { GOOD } else { ERROR },
            word,
            io::stdout().is_terminal(),
        )
    }

    fn paint(self, style: &str, text: &str, terminal: bool) -> String {
        let colors = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let asked_not_to =
                    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                terminal
                    && !asked_not_to
                    && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
            }
        };
        if colors {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

const INFORMATION: &str = "36";
const GOOD: &str = "32";
const WARNING: &str = "33";
const ERROR: &str = "31";
