//! The context of a command.

use std::path::PathBuf;

use liqo_auth::policy::Policy;

use crate::{
    arguments::{Format, Global},
    consumer_side,
    environment::Clock,
    failure::{Failure, Result},
    home::{Connection, Home, Report, SecretValue, Site, Use},
    output::Printer,
    provider_side,
};

/// What every command has: the global options, the policy, the clock and the
/// printer.
pub(crate) struct Context {
    global: Global,
    pub(crate) policy: Policy,
    pub(crate) clock: Clock,
    pub(crate) printer: Printer,
    /// What the clusters of changed homes have to be told.
    pub(crate) report: Report,
}

impl Context {
    pub(crate) fn new(global: Global) -> Self {
        Self {
            policy: global.policy.policy(),
            clock: Clock::new(global.now),
            printer: Printer::new(global.color),
            report: Report::default(),
            global,
        }
    }

    /// The cluster of the command.
    pub(crate) fn site(&self) -> Result<Site> {
        self.optional_site().ok_or_else(|| {
            Failure::usage(
                "name this cluster: its home with --home DIR or in LIQO_AUTH_HOME, or its API server with --kubeconfig FILE or --context NAME",
            )
        })
    }

    pub(crate) fn optional_site(&self) -> Option<Site> {
        self.global.local.named()
    }

    /// The cluster of a command that also reaches the `remote` one. Beside a cluster of
    /// a kubeconfig, it is the current context's, as for liqoctl.
    pub(crate) fn site_beside(&self, remote: &Site) -> Result<Site> {
        match (self.optional_site(), remote) {
            (None, Site::Cluster(_)) => Ok(Site::Cluster(Connection::current()?)),
            _ => self.site(),
        }
    }

    /// The home of a command that works on a folder only.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        match self.site()? {
            Site::Folder(path) => Ok(path),
            site @ Site::Cluster(_) => Err(Failure::usage(format!(
                "{site}: this command works on a home only. Name one with --home DIR"
            ))),
        }
    }

    /// Opens the cluster of the command, with all its objects.
    pub(crate) fn open(&self, purpose: Use) -> Result<Home> {
        let mut home = Home::open(&self.site()?, purpose)?;
        load(&mut home)?;
        home.report_to(&self.report);
        Ok(home)
    }

    /// Prints the commands that carry the changes of homes to the clusters that they
    /// represent.
    pub(crate) fn tell_clusters(&self) {
        for (home, commands) in self.report.take() {
            self.printer.message(&format!(
                "Carry the change to the cluster of {home}:\n  {}",
                commands.join("\n  ")
            ));
        }
    }

    /// Opens the home of a command that works on a folder only.
    pub(crate) fn open_folder(&self, purpose: Use) -> Result<Home> {
        Home::open_folder(&self.folder()?, purpose)
    }

    /// Prints a manifest.
    pub(crate) fn manifest(&self, value: &SecretValue, format: Format) -> Result<()> {
        match format {
            Format::Yaml => self.printer.result(&value.to_yaml()?),
            Format::Json => self.printer.result(&value.to_json()),
        }
    }
}

/// Reads what either side of a cluster watches.
pub(crate) fn load(home: &mut Home) -> Result<()> {
    let mut watches = provider_side::watches(home)?;
    watches.extend(consumer_side::watches(home)?);
    home.load(watches)
}
