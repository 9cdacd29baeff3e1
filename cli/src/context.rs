//! The context of a command.

use std::path::Path;

use liqo_auth::policy::Policy;

use crate::{
    arguments::{Format, Global},
    environment::Clock,
    failure::{Failure, Result},
    home::SecretValue,
    output::Printer,
};

/// What every command has: the global options, the policy, the clock and the
/// printer.
pub(crate) struct Context {
    global: Global,
    pub(crate) policy: Policy,
    pub(crate) clock: Clock,
    pub(crate) printer: Printer,
}

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        Self {
            policy: global.policy.policy(),
            clock: Clock::new(global.now),
            printer: Printer::new(global.color),
            global,
        }
    }

    /// The path of the command's home.
    pub(crate) fn home(&self) -> Result<&Path> {
        self.optional_home().ok_or_else(|| {
            Failure::usage("name this cluster's home with --home DIR, or in LIQO_AUTH_HOME")
        })
    }

    pub(crate) fn optional_home(&self) -> Option<&Path> {
        self.global.home.as_deref()
    }

    /// Prints a manifest.
    pub(crate) fn manifest(&self, value: &SecretValue, format: Format) -> Result<()> {
        match format {
            Format::Yaml => self.printer.result(&value.to_yaml()?),
            Format::Json => self.printer.result(&value.to_json()),
        }
    }
}
