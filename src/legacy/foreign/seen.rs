//! What counts of a view, for a foreign cluster.

use super::{Foreign, claim::Claim};
use crate::{
    error::{Error, LocalFault},
    legacy::record::{foreign_record_name, origin_token_name},
    machine::View,
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, ForeignCluster, Metadata, Namespace, Resource,
        Role, RoleBinding, Secret, ServiceAccount, names,
    },
};

/// One home cluster's objects by the parts that they play.
#[derive(Clone)]
pub(super) struct Seen<'o> {
    pub(super) own_token: Option<&'o Secret>,
    pub(super) origin_token: Option<&'o Secret>,
    pub(super) remote_token: Option<&'o Secret>,
    pub(super) claim: Option<(&'o Secret, Claim)>,
    pub(super) foreign_cluster: Option<&'o ForeignCluster>,
    pub(super) certificate: CertificateObjects<'o>,
    pub(super) account: AccountObjects<'o>,
}

/// Those of the forms of 0.3 to 0.10.
#[derive(Clone)]
pub(super) struct CertificateObjects<'o> {
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) issued: Option<&'o Secret>,
    pub(super) bindings: Vec<&'o RoleBinding>,
    /// The ClusterRoles that a home gets, in the order of their names.
    pub(super) basic_roles: Vec<&'o ClusterRole>,
}

/// Those of the form of 0.2.
#[derive(Clone)]
pub(super) struct AccountObjects<'o> {
    pub(super) account: Option<&'o ServiceAccount>,
    pub(super) token: Option<&'o Secret>,
    pub(super) role: Option<&'o Role>,
    pub(super) role_binding: Option<&'o RoleBinding>,
    pub(super) cluster_role: Option<&'o ClusterRole>,
    pub(super) cluster_role_binding: Option<&'o ClusterRoleBinding>,
}

impl<'o> Seen<'o> {
    pub(super) fn select(foreign: &Foreign, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let own = foreign.0.namespace.as_str();
        let claim = view
            .find::<Secret>(own, &foreign_record_name(peer))?
            .map(|secret| Ok((secret, Claim::open(foreign, peer, secret)?)))
            .transpose()?;
        Ok(Self {
            own_token: view.find(own, names::AUTH_TOKEN_SECRET)?,
            origin_token: view.find(own, &origin_token_name(peer))?,
            remote_token: view.find(own, &names::remote_token_secret(peer))?,
            claim,
            foreign_cluster: foreign_cluster(view)?,
            certificate: CertificateObjects::select(view)?,
            account: AccountObjects::select(foreign, view)?,
        })
    }
}

/// The peer's ForeignCluster; two of them are an error.
pub(in crate::legacy) fn foreign_cluster<'o>(
    view: &View<'o>,
) -> Result<Option<&'o ForeignCluster>, Error> {
    let peer = view.peer().as_str();
    only(view.every::<ForeignCluster>()?.filter(|cluster| {
        cluster.spec.cluster_identity.cluster_id == peer
            || (cluster.spec.cluster_identity.cluster_id.is_empty()
                && is_of(&cluster.metadata, view.peer()))
    }))
}

/// Whether Liqo's label says that an object is about the peer.
pub(in crate::legacy) fn is_of(metadata: &Metadata, peer: &ClusterId) -> bool {
    let label = metadata.labels.get(names::DISCOVERY_CLUSTER_ID_LABEL);
    label.map(String::as_str) == Some(peer.as_str())
}

impl<'o> CertificateObjects<'o> {
    fn select(view: &View<'o>) -> Result<Self, Error> {
        let label = names::DISCOVERY_TENANT_NAMESPACE_LABEL;
        let namespace = only(view.every::<Namespace>()?.filter(|namespace| {
            is_of(&namespace.metadata, view.peer()) && namespace.metadata.labels.contains_key(label)
        }))?;
        let name = namespace.map(|namespace| namespace.metadata.name.as_str());
        let mut basic_roles: Vec<&ClusterRole> = view
            .every::<ClusterRole>()?
            .filter(|role| {
                let label = role.metadata.labels.get(names::PEERING_PERMISSIONS_LABEL);
                label.map(String::as_str) == Some(names::BASIC_PERMISSIONS)
            })
            .collect();
        basic_roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Ok(Self {
            namespace,
            issued: match name {
                None => None,
                Some(name) => view.find(name, names::ISSUED_CERTIFICATE_SECRET)?,
            },
            bindings: view
                .every::<RoleBinding>()?
                .filter(|binding| Some(binding.metadata.namespace.as_str()) == name)
                .collect(),
            basic_roles,
        })
    }
}

impl<'o> AccountObjects<'o> {
    fn select(foreign: &Foreign, view: &View<'o>) -> Result<Self, Error> {
        let name = names::remote_account(view.peer());
        let Some(namespace) = &foreign.0.accounts else {
            return Ok(Self {
                account: None,
                token: None,
                role: None,
                role_binding: None,
                cluster_role: None,
                cluster_role_binding: None,
            });
        };
        let namespace = namespace.as_str();
        Ok(Self {
            account: view.find(namespace, &name)?,
            token: view.find(namespace, &account_token(view.peer()))?,
            role: view.find(namespace, &name)?,
            role_binding: view.find(namespace, &name)?,
            cluster_role: view.find("", &name)?,
            cluster_role_binding: view.find("", &name)?,
        })
    }
}

/// The Secret with the service account's token.
pub(super) fn account_token(peer: &ClusterId) -> String {
    format!("{}-token", names::remote_account(peer))
}

fn only<'o, K: Resource>(mut found: impl Iterator<Item = &'o K>) -> Result<Option<&'o K>, Error> {
    let Some(first) = found.next() else {
        return Ok(None);
    };
    match found.find(|other| other.id() != first.id()) {
        None => Ok(Some(first)),
        Some(other) => {
            let other = other.id().to_string();
            Err(Error::new(
                LocalFault::Ambiguous { other },
                Some(first.id()),
                "",
            ))
        }
    }
}
