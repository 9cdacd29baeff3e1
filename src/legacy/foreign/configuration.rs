//! How a foreign cluster is configured.

use core::{fmt, time::Duration};
use std::sync::Arc;

use super::{Foreign, TokenStore};
use crate::{
    crypto::RecordKey,
    legacy::{TokenProtocol, record::FieldSeal},
    model::{ClusterId, NamespaceName, names},
    policy::Policy,
    provider::{CsrSigner, Endpoint, NameTable, Principals},
};

/// Configures a [`Foreign`]; made by [`Foreign::builder`].
pub struct ForeignBuilder(Configuration);

pub(super) struct Configuration {
    pub(super) cluster_id: ClusterId,
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) record_key: RecordKey,
    pub(super) protocol: TokenProtocol,
    pub(super) allows_empty_token: bool,
    pub(super) accounts: Option<NamespaceName>,
    pub(super) token_store: Option<Arc<dyn TokenStore>>,
    pub(super) token_lifetime: Option<Duration>,
    pub(super) is_single_use: bool,
    pub(super) signer: Option<Arc<dyn CsrSigner>>,
    pub(super) principals: Arc<dyn Principals>,
    pub(super) policy: Policy,
    pub(super) namespace: String,
    pub(super) certificate_lifetime: Duration,
}

impl Configuration {
    /// The seal of a Secret of this cluster's own.
    pub(super) fn seal<'a>(&'a self, name: String, peer: Option<&'a ClusterId>) -> FieldSeal<'a> {
        FieldSeal {
            key: &self.record_key,
            owner: &self.cluster_id,
            namespace: &self.namespace,
            name,
            peer,
        }
    }
}

impl ForeignBuilder {
    pub(super) fn new(cluster_id: ClusterId, endpoint: Endpoint, record_key: RecordKey) -> Self {
        Self(Configuration {
            name: cluster_id.to_string(),
            cluster_id,
            endpoint,
            record_key,
            protocol: TokenProtocol::Off,
            allows_empty_token: false,
            accounts: None,
            token_store: None,
            token_lifetime: None,
            is_single_use: false,
            signer: None,
            principals: Arc::new(NameTable::default()),
            policy: Policy::strict(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            certificate_lifetime: Duration::from_secs(365 * 24 * 60 * 60),
        })
    }

    /// Whether the protocol is spoken; [`TokenProtocol::Off`] unless set.
    #[must_use]
    pub fn enable_token_protocol(mut self, protocol: TokenProtocol) -> Self {
        self.0.protocol = protocol;
        self
    }

    /// Lets everybody in with the empty token: authentication is switched off. What Liqo calls `allowEmptyToken`. A token that is not empty still
    /// has to be the right one.
    #[must_use]
    pub fn allow_empty_token_from_anyone(mut self) -> Self {
        self.0.allows_empty_token = true;
        self
    }

    /// Answers `POST /identity` of Liqo 0.2 with service accounts in this
    /// namespace; without it that path is not there.
    ///
    /// Liqo used `liqo`, and its role lets every home cluster create Secrets
    /// in the namespace: by one with an annotation a home obtains the token of
    /// any service account there. Use a namespace with no other accounts.
    #[must_use]
    pub fn hand_out_service_accounts(mut self, namespace: NamespaceName) -> Self {
        self.0.accounts = Some(namespace);
        self
    }

    /// The cluster's name for people, which `/ids` tells; its ID unless set.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Where the cluster's own token is, if not in the Secret `auth-token`.
    #[must_use]
    pub fn token_store(mut self, store: Arc<dyn TokenStore>) -> Self {
        self.0.token_store = Some(store);
        self
    }

    /// How long a token that is made here lives; for ever unless set.
    #[must_use]
    pub fn token_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.token_lifetime = Some(lifetime);
        self
    }

    /// Lets the token in the Secret `auth-token` serve one home cluster, and
    /// puts a new one in its place.
    #[must_use]
    pub fn single_use_token(mut self) -> Self {
        self.0.is_single_use = true;
        self
    }

    /// The signer of certificate requests. Without one, no request for a
    /// certificate is answered.
    #[must_use]
    pub fn signer(mut self, signer: Arc<dyn CsrSigner>) -> Self {
        self.0.signer = Some(signer);
        self
    }

    /// Which names are users or groups already. Without a look-up, only the
    /// well-known ones are.
    #[must_use]
    pub fn principals(mut self, principals: Arc<dyn Principals>) -> Self {
        self.0.principals = principals;
        self
    }

    /// The policy for all peers; [`Policy::strict`] unless set.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.0.policy = policy;
        self
    }

    /// The namespace of tokens and records; `liqo` unless set.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.0.namespace = namespace.into();
        self
    }

    /// The certificate lifetime that is asked of the signer; 365 days unless
    /// set.
    #[must_use]
    pub fn certificate_lifetime(mut self, lifetime: Duration) -> Self {
        self.0.certificate_lifetime = lifetime;
        self
    }

    /// The foreign cluster.
    pub fn build(self) -> Foreign {
        Foreign(Arc::new(self.0))
    }
}

impl fmt::Debug for ForeignBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ForeignBuilder")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}
