//! What runs beside this tool's peerings on a cluster, and what Liqo shows of them.

use kube::api::{ApiResource, DynamicObject, ListParams};

use super::failure;
use crate::{
    failure::Result,
    home::{Ground, Home},
};

impl Home {
    /// The Deployments of Liqo's controller manager and of the controllers. A folder has none.
    pub(crate) fn deployments(&self) -> Result<Vec<DynamicObject>> {
        let selected = ListParams::default().labels(PROGRAMS);
        self.shown(("apps/v1", "Deployment", "deployments"), true, &selected)
    }

    /// Liqo's ForeignClusters. A folder has none.
    pub(crate) fn foreign_clusters(&self) -> Result<Vec<DynamicObject>> {
        let kind = ("core.liqo.io/v1beta1", "ForeignCluster", "foreignclusters");
        self.shown(kind, false, &ListParams::default())
    }

    fn shown(
        &self,
        (api_version, kind, plural): (&str, &str, &str),
        is_in_liqos_namespace: bool,
        selected: &ListParams,
    ) -> Result<Vec<DynamicObject>> {
        let Ground::Cluster(live) = &self.ground else {
            return Ok(Vec::new());
        };
        let (group, version) = api_version.split_once('/').unwrap_or_default();
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let namespace = is_in_liqos_namespace.then(|| self.liqo_namespace_name());
        let shown = live.cluster.shown(&resource, namespace, selected);
        live.runtime.block_on(shown).map_err(failure)
    }
}

/// The names in the labels of Liqo's chart, and in those of `deploy/`.
const PROGRAMS: &str = "app.kubernetes.io/name in (controller-manager,liqo-auth)";
