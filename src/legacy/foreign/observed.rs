//! The objects of a view that a foreign cluster uses.

use super::{claim::Claim, configuration::Configuration};
use crate::{
    error::Error,
    legacy::{
        objects::{foreign_cluster, is_of},
        record::origin_token_name,
    },
    machine::{View, view::only},
    model::{
        ClusterId, ClusterRole, ClusterRoleBinding, ForeignCluster, Namespace, Role, RoleBinding,
        Secret, ServiceAccount, names,
    },
};

/// One home cluster's objects by their roles.
pub(super) struct Observed<'o> {
    pub(super) peer: ClusterId,
    pub(super) own_token: Option<&'o Secret>,
    pub(super) origin_token: Option<&'o Secret>,
    pub(super) remote_token: Option<&'o Secret>,
    pub(super) claim: Option<(&'o Secret, Claim)>,
    pub(super) foreign_cluster: Option<&'o ForeignCluster>,
    pub(super) certificate: CertificateObjects<'o>,
    pub(super) account: AccountObjects<'o>,
}

/// The objects of the forms of 0.3 to 0.10.
pub(super) struct CertificateObjects<'o> {
    pub(super) namespace: Option<&'o Namespace>,
    pub(super) issued: Option<&'o Secret>,
    pub(super) bindings: Vec<&'o RoleBinding>,
    /// The ClusterRoles that a home cluster gets, sorted by name.
    pub(super) basic_roles: Vec<&'o ClusterRole>,
}

/// The objects of the form of 0.2.
#[derive(Default)]
pub(super) struct AccountObjects<'o> {
    pub(super) account: Option<&'o ServiceAccount>,
    pub(super) token: Option<&'o Secret>,
    /// The Secret with the name of the home cluster's ID, which the home cluster may
    /// read.
    pub(super) namesake: Option<&'o Secret>,
    pub(super) role: Option<&'o Role>,
    pub(super) role_binding: Option<&'o RoleBinding>,
    pub(super) cluster_role: Option<&'o ClusterRole>,
    pub(super) cluster_role_binding: Option<&'o ClusterRoleBinding>,
}

impl<'o> Observed<'o> {
    pub(super) fn of(configuration: &Configuration, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let own = configuration.settings.namespace.as_str();
        Ok(Self {
            peer: peer.clone(),
            own_token: view.find(own, names::AUTH_TOKEN_SECRET)?,
            origin_token: view.find(own, &origin_token_name(peer))?,
            remote_token: view.find(own, &names::remote_token_secret(peer))?,
            claim: configuration.claim_seal(peer).find(view)?,
            foreign_cluster: foreign_cluster(view)?,
            certificate: CertificateObjects::of(view)?,
            account: AccountObjects::of(configuration, view)?,
        })
    }

    pub(super) fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref().map(|(_, claim)| claim)
    }
}

impl<'o> CertificateObjects<'o> {
    fn of(view: &View<'o>) -> Result<Self, Error> {
        let label = names::DISCOVERY_TENANT_NAMESPACE_LABEL;
        let namespace = only(view.every::<Namespace>()?.filter(|namespace| {
            is_of(&namespace.metadata, view.peer()) && namespace.metadata.labels.contains_key(label)
        }))?;
        let name = namespace.map(|namespace| namespace.metadata.name.as_str());
        let mut basic_roles: Vec<&ClusterRole> = view
            .every::<ClusterRole>()?
            .filter(|role| {
                let label = role.metadata.label(names::PEERING_PERMISSIONS_LABEL);
                label == Some(names::BASIC_PERMISSIONS)
            })
            .collect();
        basic_roles.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
        Ok(Self {
            namespace,
            issued: name.map_or(Ok(None), |name| {
                view.find(name, names::ISSUED_CERTIFICATE_SECRET)
            })?,
            bindings: view
                .every::<RoleBinding>()?
                .filter(|binding| Some(binding.metadata.namespace.as_str()) == name)
                .collect(),
            basic_roles,
        })
    }

    /// The name of the tenant namespace. Empty if the namespace does not exist.
    pub(super) fn namespace_name(&self) -> &'o str {
        self.namespace
            .map_or("", |namespace| namespace.metadata.name.as_str())
    }
}

impl<'o> AccountObjects<'o> {
    fn of(configuration: &Configuration, view: &View<'o>) -> Result<Self, Error> {
        let name = names::remote_account(view.peer());
        let Some(namespace) = &configuration.settings.service_accounts else {
            return Ok(Self::default());
        };
        let namespace = namespace.as_str();
        Ok(Self {
            account: view.find(namespace, &name)?,
            token: view.find(namespace, &account_token(view.peer()))?,
            namesake: view.find(namespace, view.peer().as_str())?,
            role: view.find(namespace, &name)?,
            role_binding: view.find(namespace, &name)?,
            cluster_role: view.find("", &name)?,
            cluster_role_binding: view.find("", &name)?,
        })
    }
}

/// The name of the Secret with the service account's token.
pub(super) fn account_token(peer: &ClusterId) -> String {
    format!("{}-token", names::remote_account(peer))
}
