//! Questions to the person at the terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::{
    context::Context,
    failure::{Failure, Result},
};

impl Context {
    /// Asks whether to go on. Without a terminal, and with `--skip-confirm`, nobody is
    /// asked.
    pub(crate) fn confirm(&self, question: &str) -> Result<()> {
        match io::stdin().is_terminal() {
            true => self.confirm_by_a_person(question),
            false => Ok(()),
        }
    }

    /// The same for what no program should do by mistake: without a terminal, it requires
    /// `--skip-confirm`. It is not for what has to work in an emergency.
    pub(crate) fn confirm_by_a_person(&self, question: &str) -> Result<()> {
        if self.skips_confirmation() || self.trial().is_some() {
            return Ok(());
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::waiting(format!(
                "add --yes: without a terminal, nobody can be asked this question: {question}"
            )));
        }
        if !io::stderr().is_terminal() {
            return Err(Failure::waiting("add --yes: the question cannot be shown"));
        }
        let mut out = io::stderr().lock();
        write!(out, "{question} [y/N] ")?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::waiting("not confirmed, and nothing was changed")),
        }
    }
}
