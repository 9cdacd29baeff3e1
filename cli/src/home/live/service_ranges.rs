//! The addresses of a cluster's Services, at which its consumer's side does not take a provider.

use std::net::IpAddr;

use axum::http::Uri;
use ipnet::IpNet;

use super::{Live, failure};
use crate::{
    failure::Result,
    home::{Ground, Home},
};

impl Home {
    /// Reads the addresses of a cluster's Services, at which its consumer's side takes no
    /// provider.
    pub(crate) fn learn_service_ranges(&mut self) -> Result<()> {
        if let Ground::Cluster(live) = &mut self.ground {
            let ranges = live.runtime.block_on(live.cluster.service_ranges());
            live.service_ranges = ranges.map_err(failure)?;
            self.settings.service_ranges = live.service_ranges();
            self.written_settings.service_ranges = live.service_ranges();
        }
        Ok(())
    }
}

impl Live {
    /// The addresses of the cluster's Services, as far as they are known. Inside of the
    /// cluster, its API server has one of them.
    pub(super) fn service_ranges(&self) -> Vec<IpNet> {
        let mut ranges = self.service_ranges.clone();
        if self.is_inside && ranges.is_empty() {
            let host = self.found.api_server.parse::<Uri>().ok();
            let host = host.as_ref().and_then(Uri::host).unwrap_or_default();
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            ranges.extend(address.ok().map(IpNet::from));
        }
        ranges
    }
}
