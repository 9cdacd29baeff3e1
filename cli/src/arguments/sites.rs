//! The options that name a cluster: a home, or access to an API server. The names of the
//! latter are kubectl's and liqoctl's.

use std::path::PathBuf;

use clap::{Arg, Args};
use liqo_auth::model::NamespaceName;

use super::Command;
use crate::{
    failure::{Failure, Result},
    home::{Connection, Site},
};

/// This cluster.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct LocalSite {
    /// The home: the folder that represents this cluster; by default, the one in the
    /// environment variable LIQO_AUTH_HOME
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help_heading = "Global options"
    )]
    home: Option<PathBuf>,
    /// Work on the cluster of this kubeconfig, and not on a home
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Global options"
    )]
    kubeconfig: Option<PathBuf>,
    /// Work on the cluster of this context of the kubeconfig
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Global options"
    )]
    context: Option<String>,
    /// The kubeconfig's cluster to use
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Global options"
    )]
    cluster: Option<String>,
    /// The kubeconfig's user to use
    #[arg(
        long,
        global = true,
        value_name = "NAME",
        help_heading = "Global options"
    )]
    user: Option<String>,
    /// Work on the cluster in which this program runs, as its service account
    #[arg(
        long,
        global = true,
        conflicts_with_all = ["kubeconfig", "context", "cluster", "user"],
        help_heading = "Global options"
    )]
    in_cluster: bool,
    /// The namespace of Liqo in this cluster, if it is not `liqo`
    #[arg(
        long,
        global = true,
        value_name = "NAMESPACE",
        help_heading = "Global options"
    )]
    liqo_namespace: Option<NamespaceName>,
}

/// The other cluster, if this command can reach it.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub(crate) struct RemoteSite {
    /// The home of the remote cluster; by default, the one in the environment variable
    /// LIQO_AUTH_REMOTE_HOME
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["remote_kubeconfig", "remote_context", "remote_cluster", "remote_user"]
    )]
    remote_home: Option<PathBuf>,
    /// The remote cluster, by its kubeconfig
    #[arg(long, value_name = "FILE")]
    remote_kubeconfig: Option<PathBuf>,
    /// The remote cluster, by a context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    remote_context: Option<String>,
    /// The kubeconfig's cluster to use for the remote cluster
    #[arg(long, value_name = "NAME")]
    remote_cluster: Option<String>,
    /// The kubeconfig's user to use for the remote cluster
    #[arg(long, value_name = "NAME")]
    remote_user: Option<String>,
    /// The namespace of Liqo in the remote cluster, if it is not `liqo`
    #[arg(long, value_name = "NAMESPACE")]
    remote_liqo_namespace: Option<NamespaceName>,
}

/// Liqo's namespace by the name that liqoctl has for it where it works on two clusters.
#[derive(Debug, Default, Args)]
#[group(skip)]
pub(crate) struct LiqoNamespace {
    /// The same as --liqo-namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<NamespaceName>,
}

impl LocalSite {
    /// The site that the options name. An API server counts before a home, which the
    /// environment may name.
    pub(crate) fn named(&self) -> Option<Site> {
        let connection = Connection {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            in_cluster: self.in_cluster,
            liqo_namespace: self.liqo_namespace.clone(),
        };
        site(connection, self.home.as_ref(), "LIQO_AUTH_HOME")
    }

    /// Refuses options that contradict each other. clap does not, since they may stand
    /// before and after the command.
    pub(crate) fn check(&self) -> Result<()> {
        let named = [
            (self.kubeconfig.is_some(), "--kubeconfig"),
            (self.context.is_some(), "--context"),
            (self.cluster.is_some(), "--cluster"),
            (self.user.is_some(), "--user"),
            (self.in_cluster, "--in-cluster"),
            (self.liqo_namespace.is_some(), "--liqo-namespace"),
        ];
        let other = named.into_iter().find(|(is_given, _)| *is_given);
        match (&self.home, other) {
            (Some(_), Some((_, option))) => Err(Failure::usage(format!(
                "--home names a folder, and {option} is for a cluster: give one of them"
            ))),
            _ => Ok(()),
        }
    }

    /// Takes Liqo's namespace by its other name.
    pub(crate) fn take(&mut self, other: &LiqoNamespace) -> Result<()> {
        let Some(namespace) = &other.namespace else {
            return Ok(());
        };
        if self.home.is_some() {
            return Err(Failure::usage(
                "--home names a folder, and --namespace is for a cluster: give one of them",
            ));
        }
        let named = self.liqo_namespace.get_or_insert_with(|| namespace.clone());
        if named != namespace {
            return Err(Failure::usage(format!(
                "--namespace names Liqo's namespace, as --liqo-namespace does, and they differ: {namespace} and {named}"
            )));
        }
        Ok(())
    }

    /// Liqo's namespace in the cluster, if it is named.
    pub(crate) fn liqo_namespace(&self) -> Option<NamespaceName> {
        self.liqo_namespace.clone()
    }
}

impl Command {
    /// Liqo's namespace by its other name, of a command that has it.
    pub(crate) const fn liqo_namespace(&self) -> Option<&LiqoNamespace> {
        match self {
            Self::Authenticate(arguments) => Some(&arguments.liqo),
            Self::Unauthenticate(arguments) => Some(&arguments.liqo),
            _ => None,
        }
    }
}

/// The option that has another name in liqoctl where it works on two clusters.
pub(super) const REMOTE_NAMESPACE: &str = "remote_liqo_namespace";

/// Gives [`REMOTE_NAMESPACE`] that name.
pub(super) fn also_without_liqo(option: Arg) -> Arg {
    option.visible_alias("remote-namespace")
}

impl RemoteSite {
    /// The names of the options of which one is enough.
    pub(super) const NAMES: [&str; 5] = [
        "remote_home",
        "remote_kubeconfig",
        "remote_context",
        "remote_cluster",
        "remote_user",
    ];

    /// Like [`LocalSite::named`].
    pub(crate) fn named(&self) -> Option<Site> {
        let connection = Connection {
            kubeconfig: self.remote_kubeconfig.clone(),
            context: self.remote_context.clone(),
            cluster: self.remote_cluster.clone(),
            user: self.remote_user.clone(),
            in_cluster: false,
            liqo_namespace: self.remote_liqo_namespace.clone(),
        };
        site(
            connection,
            self.remote_home.as_ref(),
            "LIQO_AUTH_REMOTE_HOME",
        )
    }

    /// The site, for a command that needs one.
    pub(crate) fn required(&self) -> Result<Site> {
        self.named().ok_or_else(|| {
            Failure::usage(
                "name the remote cluster with --remote-home DIR, --remote-kubeconfig FILE or --remote-context NAME",
            )
        })
    }
}

fn site(connection: Connection, home: Option<&PathBuf>, variable: &str) -> Option<Site> {
    if connection.is_unnamed() {
        let named = || std::env::var_os(variable).filter(|path| !path.is_empty());
        let home = home.cloned().or_else(|| named().map(PathBuf::from));
        return home.map(Site::Folder);
    }
    Some(Site::Cluster(connection))
}
