//! The way to a provider's API server through Liqo's network.

use std::net::Ipv4Addr;

use liqo_auth::model::{ClusterId, NamespaceName, ProxyUrl};
use liqo_auth_kube::{InBandError, in_band_address, in_band_proxy};

use super::{PeeringUser, ProviderAccess, failure as failure_of};
use crate::{
    failure::{Code, Failure, Result},
    home::Home,
};

impl ProviderAccess {
    /// The address that the proxy of the provider's API server has in Liqo's network.
    pub(crate) fn in_band_address(&self) -> Result<Ipv4Addr> {
        match self {
            Self::Administrator(home) => home.in_band_address(),
            Self::PeeringUser(user) => user.in_band_address(),
        }
    }
}

impl Home {
    fn in_band_address(&self) -> Result<Ipv4Addr> {
        let (client, namespace) = (self.client()?, self.liqo_namespace_name());
        let address = self.on_cluster(|_| in_band_address(&client, namespace))?;
        address.map_err(|error| failure_of(error).about(&self.site().to_string()))
    }

    /// The proxy of a provider, which the provider sees at this address, as this cluster
    /// reaches it.
    pub(crate) fn in_band_proxy(
        &self,
        namespace: &NamespaceName,
        provider: &ClusterId,
        address: Ipv4Addr,
    ) -> Result<ProxyUrl> {
        let client = self.client()?;
        let namespace = namespace.as_str();
        let url = self.on_cluster(|_| in_band_proxy(&client, namespace, provider, address))?;
        url.map_err(|error| failure_of(error).about(&self.site().to_string()))
    }
}

impl PeeringUser {
    fn in_band_address(&self) -> Result<Ipv4Addr> {
        self.run(in_band_address(&self.client, &self.liqo_namespace))
    }
}

/// The failure of a command without a way through Liqo's network.
pub(super) fn failure(error: &InBandError) -> Failure {
    let code = match error {
        InBandError::OtherNetwork { .. } | InBandError::Unusable { .. } => Code::Refused,
        InBandError::Ambiguous { .. } | InBandError::Malformed { .. } => Code::AtOdds,
        _ => Code::Waiting,
    };
    Failure::new(
        code,
        format!("in band: {error}. --proxy-url names a proxy without Liqo's network"),
    )
}
