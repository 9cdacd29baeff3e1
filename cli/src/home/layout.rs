//! The place of each object in a home.
//!
//! ```text
//! HOME/
//!   home.yaml                                    cluster ID, API server, settings for peers
//!   audit.log                                    decisions, one entry in each line
//!   audit.head                                   the hash of the last decision, sealed
//!   lock                                         locked while a command runs
//!   manifests/<namespace>/<kind>.<name>.yaml     public objects
//!   manifests/_cluster/<kind>.<name>.yaml        public objects without a namespace
//!   private/<namespace>/secret.<name>.yaml       Secrets: keys, nonces, kubeconfigs
//!   records/secret.<name>.yaml                   the library's own records
//! ```
//!
//! Each namespace has its own folder, so that one peering is one folder, and one step
//! changes few folders.

use liqo_auth::model::{Kind, ObjectRef, names};

use super::directory::Access;

/// The place of an object's manifest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManifestFile {
    pub(crate) area: Area,
    /// The folder in the area. None if the file is in the area's own folder.
    pub(crate) folder: Option<String>,
    /// The name of the file.
    pub(crate) file: String,
}

/// The parts of a home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    Private,
    Records,
    Manifests,
}

/// The Secret with the certificate of the token protocol's server, and its key.
pub(crate) const LEGACY_TLS_SECRET: &str = "liqo-auth-legacy-tls";
pub(crate) const SETTINGS_FILE: &str = "home.yaml";
pub(crate) const LOCK_FILE: &str = "lock";

impl Area {
    /// All areas, in the order in which they are read.
    pub(crate) const ALL: [Self; 3] = [Self::Private, Self::Records, Self::Manifests];

    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Records => "records",
            Self::Manifests => "manifests",
        }
    }

    pub(crate) const fn access(self) -> Access {
        match self {
            Self::Private | Self::Records => Access::Owner,
            Self::Manifests => Access::World,
        }
    }

    /// Whether the area has a folder for each namespace.
    pub(crate) const fn has_folders(self) -> bool {
        match self {
            Self::Private | Self::Manifests => true,
            Self::Records => false,
        }
    }
}

impl ManifestFile {
    /// The place of an object. None if its name cannot be part of a file name.
    pub(crate) fn of(id: &ObjectRef) -> Option<Self> {
        let namespaced = id.kind.is_namespaced();
        if id.kind == Kind::Other || !is_name(&id.name) || namespaced == id.namespace.is_empty() {
            return None;
        }
        if namespaced && (!is_name(&id.namespace) || id.namespace.starts_with('_')) {
            return None;
        }
        let area = match id.kind {
            Kind::Secret if is_record(id) => Area::Records,
            Kind::Secret => Area::Private,
            _ => Area::Manifests,
        };
        let folder = match area {
            Area::Records => None,
            _ if namespaced => Some(id.namespace.clone()),
            _ => Some(CLUSTER_FOLDER.to_owned()),
        };
        let file = format!("{}.{}{SUFFIX}", id.kind.as_str().to_lowercase(), id.name);
        (file.len() <= LONGEST_FILE).then_some(Self { area, folder, file })
    }

    /// The object of this file. None if this is not the place of an object.
    pub(crate) fn object(&self) -> Option<ObjectRef> {
        let (kind, name) = self.file.strip_suffix(SUFFIX)?.split_once('.')?;
        let kind = KINDS
            .into_iter()
            .find(|known| known.as_str().to_lowercase() == kind)?;
        let namespace = match (&self.folder, self.area) {
            (_, Area::Records) => names::LIQO_NAMESPACE,
            (Some(folder), _) if folder != CLUSTER_FOLDER => folder,
            _ => "",
        };
        let id = ObjectRef::new(kind, namespace, name);
        (Self::of(&id)? == *self).then_some(id)
    }

    /// The path relative to the home.
    pub(crate) fn path(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{}/{folder}/{}", self.area.folder(), self.file),
            None => format!("{}/{}", self.area.folder(), self.file),
        }
    }
}

const CLUSTER_FOLDER: &str = "_cluster";
const SUFFIX: &str = ".yaml";
/// The longest name of a file, in bytes.
const LONGEST_FILE: usize = 255;
const KINDS: [Kind; 15] = [
    Kind::Namespace,
    Kind::Secret,
    Kind::ConfigMap,
    Kind::Tenant,
    Kind::Identity,
    Kind::ResourceSlice,
    Kind::Renew,
    Kind::Role,
    Kind::RoleBinding,
    Kind::ClusterRoleBinding,
    Kind::ClusterRole,
    Kind::CertificateSigningRequest,
    Kind::ServiceAccount,
    Kind::ForeignCluster,
    Kind::NamespaceMap,
];

/// Whether an object is one of the library's own records.
fn is_record(id: &ObjectRef) -> bool {
    id.namespace == names::LIQO_NAMESPACE
        && id.name.starts_with("liqo-auth-")
        && !KEYS.contains(&id.name.as_str())
}

pub(crate) use liqo_auth_inspection::own_secrets::{
    AUTHORITY as AUTHORITY_SECRET, RECORD_KEY as RECORD_KEY_SECRET,
};
/// The Secrets with the tool's own keys. They are not records.
const KEYS: [&str; 3] = [RECORD_KEY_SECRET, AUTHORITY_SECRET, LEGACY_TLS_SECRET];

/// Whether a text has only characters of Kubernetes names. Such a text is one file
/// name, and not a path.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:_".contains(&byte)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_objects_are_one_to_one() {
        for (kind, namespace, name, path) in [
            (
                Kind::Namespace,
                "",
                "liqo-tenant-x",
                "manifests/_cluster/namespace.liqo-tenant-x.yaml",
            ),
            (
                Kind::Tenant,
                "liqo-tenant-x",
                "x",
                "manifests/liqo-tenant-x/tenant.x.yaml",
            ),
            (
                Kind::Secret,
                "liqo-tenant-x",
                "liqo-nonce",
                "private/liqo-tenant-x/secret.liqo-nonce.yaml",
            ),
            (
                Kind::Secret,
                "liqo",
                "liqo-auth-authority",
                "private/liqo/secret.liqo-auth-authority.yaml",
            ),
            (
                Kind::Secret,
                "liqo",
                "liqo-auth-provider-x",
                "records/secret.liqo-auth-provider-x.yaml",
            ),
            (
                Kind::Secret,
                "liqo",
                "liqo-auth-legacy-foreign-x",
                "records/secret.liqo-auth-legacy-foreign-x.yaml",
            ),
            (
                Kind::ForeignCluster,
                "",
                "x",
                "manifests/_cluster/foreigncluster.x.yaml",
            ),
            (
                Kind::NamespaceMap,
                "liqo-tenant-x",
                "x",
                "manifests/liqo-tenant-x/namespacemap.x.yaml",
            ),
            (
                Kind::ClusterRole,
                "",
                "system:node",
                "manifests/_cluster/clusterrole.system:node.yaml",
            ),
        ] {
            let id = ObjectRef::new(kind, namespace, name);
            let place = ManifestFile::of(&id).unwrap();
            assert_eq!(place.path(), path);
            assert_eq!(place.object(), Some(id));
        }
    }

    #[test]
    fn no_name_leads_out_of_the_home() {
        for (namespace, name) in [
            ("..", "x"),
            ("a/b", "x"),
            ("a", "../x"),
            ("a", ""),
            ("", "x"),
            ("_cluster", "x"),
            ("a", "x\0"),
            ("a", ".."),
        ] {
            assert_eq!(
                ManifestFile::of(&ObjectRef::new(Kind::Tenant, namespace, name)),
                None,
                "{namespace} {name}"
            );
        }
    }
}
