//! Where a cluster is kept: in a folder, or on its API server.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use liqo_auth::model::{ClusterId, NamespaceName, names};

use crate::{
    failure::{Failure, Result},
    output,
};

/// Names a cluster on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Site {
    /// A home: a folder of manifests.
    Folder(PathBuf),
    /// A cluster, by its API server.
    Cluster(Connection),
}

/// The access to an API server, with the names that kubectl has for its options. What
/// is not said follows from the kubeconfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Connection {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) context: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) user: Option<String>,
    /// Whether the program runs in the cluster, as a service account.
    pub(crate) in_cluster: bool,
    /// Liqo's namespace; `liqo` if none is named. It does not name a cluster by itself.
    pub(crate) liqo_namespace: Option<NamespaceName>,
}

impl Site {
    /// The folder, if it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Cluster(_) => None,
        }
    }

    /// The options that name this cluster as the remote one of another command.
    pub(crate) fn remote_options(&self) -> String {
        self.options_with("--remote-")
    }

    /// The options that name this cluster in another command.
    pub(crate) fn options(&self) -> String {
        self.options_with("--")
    }

    fn options_with(&self, prefix: &str) -> String {
        match self {
            Self::Folder(path) => said(prefix, "home", &path.display().to_string()),
            Self::Cluster(connection) => connection.options(prefix),
        }
    }
}

impl Connection {
    /// Whether no option names a cluster.
    pub(crate) fn is_unnamed(&self) -> bool {
        let Self {
            kubeconfig,
            context,
            cluster,
            user,
            in_cluster,
            liqo_namespace: _,
        } = self;
        let names = [context, cluster, user];
        kubeconfig.is_none() && names.into_iter().all(Option::is_none) && !in_cluster
    }

    /// The name of Liqo's namespace.
    pub(super) fn liqo_namespace(&self) -> &str {
        let named = self.liqo_namespace.as_ref();
        named.map_or(names::LIQO_NAMESPACE, NamespaceName::as_str)
    }

    fn options(&self, prefix: &str) -> String {
        let kubeconfig = self.kubeconfig.as_deref();
        let kubeconfig = kubeconfig.map(|path| path.display().to_string());
        let namespace = self.liqo_namespace.as_ref().map(ToString::to_string);
        let named = [
            ("kubeconfig", &kubeconfig),
            ("context", &self.context),
            ("cluster", &self.cluster),
            ("user", &self.user),
            ("liqo-namespace", &namespace),
        ];
        let options = named.into_iter();
        let options = options.filter_map(|(name, value)| Some(said(prefix, name, value.as_ref()?)));
        let inside = self.in_cluster.then(|| format!("{prefix}in-cluster"));
        let options: Vec<String> = options.chain(inside).collect();
        options.join(" ")
    }
}

/// Refuses two sites of one cluster.
pub(super) fn check_distinct(one: (&Site, &ClusterId), other: (&Site, &ClusterId)) -> Result<()> {
    let ((site, id), (other_site, other_id)) = (one, other);
    if id == other_id {
        return Err(Failure::usage(format!(
            "{site} and {other_site} are both the cluster {id}: a cluster does not peer with itself"
        )));
    }
    Ok(())
}

/// An option as a shell reads it.
fn said(prefix: &str, name: &str, value: &str) -> String {
    format!("{prefix}{name} {}", output::quoted(Path::new(value)))
}

impl fmt::Display for Site {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => formatter.write_str(&output::path(path)),
            Self::Cluster(connection) if connection.is_unnamed() => {
                formatter.write_str("the cluster of the current context")
            }
            Self::Cluster(connection) => {
                write!(formatter, "the cluster of {}", connection.options("--"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_named_as_on_the_command_line() {
        let folder = Site::Folder("./rome".into());
        assert_eq!(folder.to_string(), "./rome");
        assert_eq!(folder.options(), "--home ./rome");
        assert_eq!(folder.remote_options(), "--remote-home ./rome");
        let spaced = Site::Folder("my rome--1".into());
        assert_eq!(spaced.remote_options(), "--remote-home 'my rome--1'");
        let unseen = Site::Folder("a'b \\\u{1b}é".into());
        assert_eq!(unseen.options(), "--home $'a\\'b \\\\\\033\\303\\251'");
        assert_eq!(unseen.to_string(), "a'b \\\\u{1b}é");
        let cluster = Site::Cluster(Connection {
            kubeconfig: Some("rome.yaml".into()),
            context: Some("admin".to_owned()),
            ..Connection::default()
        });
        assert_eq!(cluster.options(), "--kubeconfig rome.yaml --context admin");
        assert_eq!(
            cluster.to_string(),
            "the cluster of --kubeconfig rome.yaml --context admin"
        );
        let current = Site::Cluster(Connection::default());
        assert_eq!(current.to_string(), "the cluster of the current context");
        assert_eq!(current.options(), "");
    }
}
