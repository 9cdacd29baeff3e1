//! The CA of a cluster's API server, as peers get it.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use liqo_auth::{
    machine::Watch,
    model::{Kind, ObjectRef, Resource, Tenant},
};
use liqo_auth_kube::list;

use super::{Live, failure};
use crate::{
    failure::{Failure, Result},
    home::settings::OnCluster,
};

/// What is known of a cluster's own CA.
#[derive(Default)]
pub(super) struct OwnCa {
    /// The CA that the cluster gives to its pods. None if it was not read.
    pub(super) of_pods: Option<String>,
    /// The URLs that peers have without a CA.
    without_ca: BTreeSet<String>,
}

impl Live {
    /// The CA that peers get with these settings. None if a public CA signed the certificate.
    ///
    /// Without any setting for the CA, it is the cluster's own. A URL that peers have without a
    /// CA stays without one.
    pub(super) fn published_ca(
        &self,
        said: &OnCluster,
        id: &ObjectRef,
        of_pods: Option<&str>,
    ) -> Result<Option<String>> {
        let found = || self.found.ca.clone();
        let own = || of_pods.map(str::to_owned).or_else(found);
        match (&said.api_server_ca, said.publicly_trusted) {
            (Some(_), Some(true)) => Err(Failure::usage(format!(
                "{id}: found apiServerCA and publiclyTrusted, expected one of them"
            ))),
            (Some(ca), _) => Ok(Some(ca.clone())),
            (None, Some(true)) => Ok(None),
            (None, Some(false)) => Ok(own()),
            (None, None) => Ok(match &said.api_server {
                None => found(),
                Some(url) if self.own_ca.without_ca.contains(&url.to_string()) => None,
                Some(_) => own(),
            }),
        }
    }

    /// Reads what is known of the cluster's own CA, if the settings ask for it.
    pub(super) fn learn_own_ca(&mut self, config_maps: &[DynamicObject]) -> Result<()> {
        let said = self.settings.in_config_map()?;
        let (None, Some(_)) = (&said.api_server_ca, &said.api_server) else {
            return Ok(());
        };
        // In a pod, the kubeconfig has it.
        if !self.is_inside {
            self.own_ca.of_pods = config_maps.iter().find_map(root_ca);
        }
        if said.publicly_trusted.is_none() {
            let tenants = self
                .runtime
                .block_on(list(&self.client, [Watch::all(Kind::Tenant)]));
            let tenants = tenants.map_err(failure)?;
            let published = tenants.iter().filter_map(Tenant::from_object);
            let published = published.filter_map(|tenant| tenant.status.auth_params.as_ref());
            let without_ca = published.filter(|published| published.ca.is_empty());
            self.own_ca.without_ca = without_ca
                .map(|published| published.api_server.clone())
                .collect();
        }
        Ok(())
    }
}

/// The ConfigMap of each namespace with the CA that the cluster mounts into its pods.
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";

/// The CA that the cluster mounts into its pods.
pub(super) fn root_ca(config_map: &DynamicObject) -> Option<String> {
    let is_it = config_map.metadata.name.as_deref() == Some(ROOT_CA);
    let ca = config_map.data.pointer("/data/ca.crt")?.as_str()?;
    is_it.then(|| ca.to_owned())
}
