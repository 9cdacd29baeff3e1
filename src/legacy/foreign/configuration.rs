//! The configuration of a foreign cluster.

use core::time::Duration;
use std::sync::Arc;

use super::TokenStore;
use crate::{
    crypto::RecordKey,
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, NamespaceName, names},
    policy::Policy,
    provider::{CsrSigner, Endpoint, NotSet, Principals},
};

/// The settings of a foreign cluster.
#[derive(Clone, derive_more::Debug)]
#[debug("ForeignSettings {{ protocol: {protocol:?}, .. }}")]
pub struct ForeignSettings {
    /// Whether the protocol is on; [`TokenProtocol::Off`] by default.
    pub protocol: TokenProtocol,
    /// Whether the empty token admits any cluster. This disables authentication.
    /// Liqo's name for this setting is `allowEmptyToken`. A token that is not empty
    /// must still be right.
    pub allow_empty_token_from_anyone: bool,
    /// The namespace of the service accounts for `POST /identity` of Liqo 0.2.
    /// Without a namespace, that path does not exist.
    ///
    /// Liqo used the namespace `liqo`. The role of 0.2 lets every home cluster
    /// create Secrets in the namespace. With such a Secret and an annotation, a home
    /// cluster obtains the token of any service account there. So use a namespace
    /// that does not contain other objects. This cluster's own
    /// [`namespace`](Self::namespace) is refused. A home cluster may also read the
    /// Secret with the name of its cluster ID. So an ID that is the name of another
    /// owner's Secret is refused.
    pub service_accounts: Option<NamespaceName>,
    /// The cluster's display name, which `/ids` returns; its ID by default.
    pub name: Option<String>,
    /// The store of the cluster's own token, if that token is not in the Secret
    /// `auth-token`.
    pub token_store: Option<Arc<dyn TokenStore>>,
    /// The lifetime of tokens that this cluster makes; unlimited by default.
    pub token_lifetime: Option<Duration>,
    /// Whether the token in the Secret `auth-token` works for one home cluster only.
    /// A new token then replaces it.
    pub single_use_token: bool,
    /// The signer of certificate requests. Without a signer, requests for
    /// certificates get no answer.
    pub signer: Option<Arc<dyn CsrSigner>>,
    /// The look-up of names that are already users or groups. By default it is
    /// missing, and no home cluster gets an identity. An empty
    /// [`NameTable`](crate::provider::NameTable) means that only the well-known names
    /// are taken.
    pub principals: Arc<dyn Principals>,
    /// The policy for all peers; [`Policy::strict`] by default.
    pub policy: Policy,
    /// The namespace of tokens and records; `liqo` by default.
    pub namespace: String,
    /// The certificate lifetime that is requested from the signer; 365 days by
    /// default.
    pub certificate_lifetime: Duration,
}

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) endpoint: Endpoint,
    pub(super) record_key: RecordKey,
    pub(super) settings: ForeignSettings,
}

impl Configuration {
    /// The seal of one of this cluster's own Secrets.
    pub(super) fn seal<'a>(&'a self, name: String, peer: Option<&'a ClusterId>) -> FieldSeal<'a> {
        FieldSeal {
            key: &self.record_key,
            owner: &self.cluster_id,
            namespace: &self.settings.namespace,
            name,
            peer,
        }
    }
}

impl Default for ForeignSettings {
    fn default() -> Self {
        Self {
            protocol: TokenProtocol::Off,
            allow_empty_token_from_anyone: false,
            service_accounts: None,
            name: None,
            token_store: None,
            token_lifetime: None,
            single_use_token: false,
            signer: None,
            principals: Arc::new(NotSet),
            policy: Policy::strict(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            certificate_lifetime: Duration::from_secs(365 * 24 * 60 * 60),
        }
    }
}
