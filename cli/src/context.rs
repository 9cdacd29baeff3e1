//! The context of a command.

use std::{path::PathBuf, time::Duration};

use liqo_auth::{model::ClusterId, policy::Policy};
use liqo_auth_jsonpath::Template;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::{
    arguments::{
        Format, Global,
        output_format::{DocumentFormat, Output},
    },
    deeds::Deeds,
    environment::Clock,
    failure::{Failure, Result},
    home::{Connection, Home, ProviderAccess, Report, SecretValue, Site, Trial, Use},
    output::Printer,
    peering::{consumer_side, provider_side},
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
    /// What the command has done, if a program asks.
    pub(crate) deeds: Deeds,
    trial: Option<Trial>,
}

impl Context {
    /// The context of a command. A trial keeps all changes in memory.
    pub(crate) fn new(global: Global, trial: Option<Trial>) -> Self {
        let printer = Printer::new(global.color);
        Self {
            policy: global.policy.policy(),
            clock: Clock::new(global.now),
            report: Report::default(),
            deeds: Deeds::default(),
            printer: match trial {
                Some(_) => printer.without_results(),
                None => printer,
            },
            trial,
            global,
        }
    }

    /// The same context for a command whose answer is a document: it does not print text, and
    /// keeps what it does.
    pub(crate) fn answering(self) -> Self {
        Self {
            printer: self.printer.without_results(),
            deeds: Deeds::asked(),
            ..self
        }
    }

    pub(crate) fn trial(&self) -> Option<&Trial> {
        self.trial.as_ref()
    }

    pub(crate) fn skips_confirmation(&self) -> bool {
        self.global.skip_confirm
    }

    /// How long to wait for the other side.
    pub(crate) fn timeout(&self) -> Duration {
        self.global.timeout
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
            (None, Site::Cluster(_)) => Ok(Site::Cluster(Connection {
                liqo_namespace: self.global.local.liqo_namespace(),
                ..Connection::current()?
            })),
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
        self.open_with(purpose, load)
    }

    /// Opens the cluster of the command, and reads its objects with `load`.
    pub(crate) fn open_with(
        &self,
        purpose: Use,
        load: impl FnOnce(&mut Home) -> Result<()>,
    ) -> Result<Home> {
        let mut home = self.open_unloaded(purpose)?;
        load(&mut home)?;
        self.try_out(&mut home)?;
        home.report_to(&self.report);
        home.tell_deeds(&self.deeds);
        Ok(home)
    }

    /// Opens the cluster of the command, and reads a folder's objects, and none of an API
    /// server's.
    pub(crate) fn open_unloaded(&self, purpose: Use) -> Result<Home> {
        let mut home = Home::open(&self.site()?, self.purpose(purpose))?;
        home.wait_at_most(self.timeout());
        Ok(home)
    }

    /// Opens two clusters for writing, and reads the objects of each with the closure, which
    /// gets the ID of the other. A peering user's cluster is only reached, and not read.
    pub(crate) fn open_with_provider(
        &self,
        local: &Site,
        remote: &Site,
        load_local: impl FnOnce(&mut Home, &ClusterId) -> Result<()>,
        load_remote: impl FnOnce(&mut Home, &ClusterId) -> Result<()>,
    ) -> Result<(Home, ProviderAccess)> {
        let purpose = self.purpose(Use::Write);
        let (mut local, mut remote) = Home::open_with_provider(local, remote, purpose)?;
        load_local(&mut local, remote.cluster_id())?;
        if let ProviderAccess::Administrator(remote) = &mut remote {
            load_remote(remote, local.cluster_id())?;
            self.make_ready(remote)?;
        }
        self.make_ready(&mut local)?;
        Ok((local, remote))
    }

    /// Gives a home that was read what the command's options say.
    fn make_ready(&self, home: &mut Home) -> Result<()> {
        home.wait_at_most(self.timeout());
        self.try_out(home)?;
        home.report_to(&self.report);
        home.tell_deeds(&self.deeds);
        Ok(())
    }

    /// What the command does with a home. A trial only reads.
    const fn purpose(&self, purpose: Use) -> Use {
        match (&self.trial, purpose) {
            (Some(_), Use::Write) => Use::Trial,
            (_, purpose) => purpose,
        }
    }

    /// Keeps the changes of a home in memory, if this is a trial.
    pub(crate) fn try_out(&self, home: &mut Home) -> Result<()> {
        match &self.trial {
            Some(trial) => home.try_out(trial.clone(), self.clock.now()?),
            None => Ok(()),
        }
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
        let mut home = Home::open_folder(&self.folder()?, self.purpose(purpose))?;
        self.try_out(&mut home)?;
        Ok(home)
    }

    /// Prints the output for programs of a command that has no manifest.
    pub(crate) fn document(&self, value: &Value, output: &Output<DocumentFormat>) -> Result<()> {
        self.printer.result(&self.rendered(value, output)?)
    }

    /// The text of a document.
    pub(crate) fn rendered(
        &self,
        value: &Value,
        output: &Output<DocumentFormat>,
    ) -> Result<Zeroizing<String>> {
        let value = SecretValue::new(value.clone());
        Ok(match output {
            Output::Format(DocumentFormat::Json) => value.to_json(),
            Output::Format(DocumentFormat::Yaml) => value.to_yaml()?,
            Output::JsonPath(template) => Zeroizing::new(picked(&value, template)?),
        })
    }

    /// Prints what a template picks.
    pub(crate) fn picked(&self, value: &SecretValue, template: &Template) -> Result<()> {
        self.printer.result(&picked(value, template)?)
    }

    /// Prints a manifest.
    pub(crate) fn manifest(&self, value: &SecretValue, format: Format) -> Result<()> {
        self.printer.result(&in_format(value, format)?)
    }

    /// Prints the manifest that a command makes for another cluster, also in a trial, unless the
    /// home has to record something first: what is signed is not given away before that.
    pub(crate) fn made(&self, home: &Home, value: &SecretValue, format: Format) -> Result<()> {
        if !home.is_trial() {
            return self.manifest(value, format);
        }
        if home.is_saved() {
            return self.printer.print(&in_format(value, format)?);
        }
        self.printer.message(
            "The object itself is not printed: what it signs is recorded before it is given away.",
        );
        Ok(())
    }
}

fn in_format(value: &SecretValue, format: Format) -> Result<Zeroizing<String>> {
    Ok(match format {
        Format::Yaml => value.to_yaml()?,
        Format::Json => value.to_json(),
    })
}

fn picked(value: &SecretValue, template: &Template) -> Result<String> {
    let text = template.evaluate(value);
    text.map_err(|error| Failure::usage(format!("the template of --output: {error}")))
}

/// Reads what either side of a cluster watches.
pub(crate) fn load(home: &mut Home) -> Result<()> {
    home.learn_service_ranges()?;
    let mut watches = provider_side::watches(home)?;
    watches.extend(consumer_side::watches(home)?);
    home.load(watches)?;
    home.learn_storage_classes()
}
