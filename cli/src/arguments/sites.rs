//! The options that name a cluster: a home, or access to an API server. The names of the
//! latter are kubectl's and liqoctl's.

use std::path::PathBuf;

use clap::Args;

use crate::{
    failure::{Failure, Result},
    home::{Connection, Site},
};

/// This cluster.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct LocalSite {
    /// The home: the folder that represents this cluster
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "LIQO_AUTH_HOME",
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
}

/// The other cluster, if this command can reach it.
#[derive(Debug, Clone, Args)]
#[group(skip)]
pub(crate) struct RemoteSite {
    /// The home of the remote cluster
    #[arg(long, value_name = "DIR", env = "LIQO_AUTH_REMOTE_HOME")]
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
        };
        site(connection, self.home.as_ref())
    }
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
        };
        site(connection, self.remote_home.as_ref())
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

fn site(connection: Connection, home: Option<&PathBuf>) -> Option<Site> {
    if connection.is_unnamed() {
        return home.cloned().map(Site::Folder);
    }
    Some(Site::Cluster(connection))
}
