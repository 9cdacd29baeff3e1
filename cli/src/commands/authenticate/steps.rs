//! The steps of an exchange as a person follows them at a terminal. Without a terminal,
//! they are liqoctl's lines.

use std::{io, io::IsTerminal, time::Instant};

use serde_json::json;

use crate::{
    context::Context,
    deeds::Deeds,
    failure::Result,
    output::{Printer, Side},
};

/// Prints each step when it is done, at a terminal with the time that it took.
pub(super) struct Steps {
    printer: Printer,
    deeds: Deeds,
    is_watched: bool,
    began: Instant,
    last: Instant,
}

impl Steps {
    pub(super) fn begin(context: &Context) -> Self {
        let now = Instant::now();
        Self {
            printer: context.printer,
            deeds: context.deeds.clone(),
            is_watched: io::stdout().is_terminal(),
            began: now,
            last: now,
        }
    }

    pub(super) fn done(&mut self, side: Side, text: &str) -> Result<()> {
        let cluster = if side == Side::Remote {
            "remote"
        } else {
            "local"
        };
        self.deeds
            .tell("steps", json!({ "cluster": cluster, "done": text }));
        if !self.is_watched {
            return self.printer.info(side, text);
        }
        let now = Instant::now();
        let took = now.duration_since(self.last).as_millis();
        self.last = now;
        // The times stand in one column, beside ` (local) ` and ` (remote) `.
        let width = if side == Side::Remote { 49 } else { 50 };
        self.printer
            .info(side, &format!("{text:<width$} {took:>6} ms"))
    }

    /// The whole time in milliseconds, if a person follows.
    pub(super) fn whole(&self) -> Option<u128> {
        self.is_watched.then(|| self.began.elapsed().as_millis())
    }
}
