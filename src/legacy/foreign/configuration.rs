//! How a foreign cluster is configured.

use core::{fmt, time::Duration};
use std::sync::Arc;

use super::TokenStore;
use crate::{
    crypto::RecordKey,
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, NamespaceName, names},
    policy::Policy,
    provider::{CsrSigner, Endpoint, NameTable, Principals},
};

/// What the administrator of a foreign cluster chooses.
#[derive(Clone)]
pub struct ForeignSettings {
    /// Whether the protocol is spoken; [`TokenProtocol::Off`] by default.
    pub protocol: TokenProtocol,
    /// Whether everybody is let in with the empty token: authentication is
    /// switched off. Liqo calls it `allowEmptyToken`. A token that is not empty
    /// still has to be the right one.
    pub allow_empty_token_from_anyone: bool,
    /// The namespace of the service accounts that answer `POST /identity` of
    /// Liqo 0.2. Without it that path does not exist.
    ///
    /// Liqo used `liqo`, and its role lets every home cluster create Secrets
    /// in the namespace: by one with an annotation a home obtains the token of
    /// any service account there. Use a namespace with nothing else in it; this
    /// cluster's own [`namespace`](Self::namespace) is refused. An ID that names a
    /// Secret of somebody else is refused, since a home may read the Secret that its
    /// ID names.
    pub service_accounts: Option<NamespaceName>,
    /// The cluster's name for people, which `/ids` tells; its ID by default.
    pub name: Option<String>,
    /// The place of the cluster's own token, if it is not the Secret
    /// `auth-token`.
    pub token_store: Option<Arc<dyn TokenStore>>,
    /// How long a token that is made here lives; for ever by default.
    pub token_lifetime: Option<Duration>,
    /// Whether the token in the Secret `auth-token` serves one home cluster
    /// only. A new token then takes its place.
    pub single_use_token: bool,
    /// The signer of certificate requests. Without one, no request for a
    /// certificate is answered.
    pub signer: Option<Arc<dyn CsrSigner>>,
    /// The look-up of names that are users or groups already. By default, only
    /// the well-known ones are.
    pub principals: Arc<dyn Principals>,
    /// The policy for all peers; [`Policy::strict`] by default.
    pub policy: Policy,
    /// The namespace of tokens and records; `liqo` by default.
    pub namespace: String,
    /// The certificate lifetime that the signer is asked for; 365 days by
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
    /// The seal of a Secret of this cluster's own.
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
            principals: Arc::new(NameTable::default()),
            policy: Policy::strict(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            certificate_lifetime: Duration::from_secs(365 * 24 * 60 * 60),
        }
    }
}

impl fmt::Debug for ForeignSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ForeignSettings")
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}
