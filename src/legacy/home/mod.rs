//! The home cluster's side: it asks for an identity with the foreign cluster's
//! token.
//!
//! ```text
//!   NeedsIds ──▶ NeedsRecord ──▶ NeedsIdentity ──┬─ 202, 201 ──▶ Accepted
//!      ▲ GET /ids   CSR is kept     POST, with   │                  │ Secret deleted
//!      │                            the token    │                  ▼
//!   no evidence yet                 or empty     │              IdentityLost
//!                                      ▲         ├─ 401, 403, empty token ──▶ AwaitsToken ─┐
//!                                      │         ├─ 401, 403, a token ──────▶ Refused      │
//!                                      │         └─ other status or no answer: ask again   │
//!                                      └──────────── a token is stored ────────────────────┘
//! ```
//!
//! The state is `authStatus` of the ForeignCluster: `Pending`, `Accepted`, `Refused`
//! (no request is sent until an administrator sets `Pending`), or `EmptyRefused` (a
//! token is missing).

mod auth_status;
mod configuration;
mod course;
mod identity;
mod look;
mod observed;
mod receiving;
mod record;
mod tokens;

use std::sync::Arc;

pub use configuration::HomeClusterSettings;
pub use identity::AcceptedIdentity;

use self::{configuration::Configuration, look::Look, observed::Observed};
use super::{
    AuthToken, HttpRequest, HttpResponse,
    record::{home_record_name, origin_token_name},
};
use crate::{
    crypto::{KeyStore, RecordKey},
    error::Error,
    machine::{Env, Interest, Step, View, plan::Plan},
    model::{ClusterId, ForeignCluster, Kind, ObjectRef, ProtocolVersion, Timestamp, names},
};

/// The home cluster's side, for all its peers. A `HomeCluster` holds configuration
/// only, so it is cheap to clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Entropy, KeyPair, OneKey, RecordKey},
///     legacy::{HomeCluster, HomeClusterSettings, TokenProtocol},
///     model::ForeignCluster,
/// };
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let key = OneKey(Arc::new(KeyPair::from_entropy(&entropy())));
/// let settings = HomeClusterSettings {
///     protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
///     ..HomeClusterSettings::default()
/// };
/// let id = "cl-home".parse()?;
/// let home = HomeCluster::new(id, Arc::new(key), RecordKey::new([1; 32])?, settings);
///
/// let mut foreign = ForeignCluster::default();
/// foreign.metadata.name = "my-cluster".into();
/// foreign.spec.foreign_auth_url = "https://foreign.example".into();
/// let request = home.discover(&foreign)?;
/// assert_eq!(request.url, "https://foreign.example/ids");
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("HomeCluster {{ cluster_id: {:?}, .. }}", _0.cluster_id)]
pub struct HomeCluster(Arc<Configuration>);

/// The phase of one foreign cluster, derived from its objects.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Phase {
    /// The peer has no ForeignCluster, so no peering is wanted.
    NoForeignCluster,
    /// The protocol form of the peer is not known yet. The next request asks for the
    /// peer's ID.
    NeedsIds,
    /// This cluster's own key is missing.
    NeedsKey,
    /// The CSR and the origin token must be made and stored before the first
    /// request.
    NeedsRecord,
    /// The next request asks for an identity.
    NeedsIdentity {
        /// Whether the request contains a token.
        with_token: bool,
    },
    /// The empty token was refused. A token is needed.
    AwaitsToken,
    /// The token was refused. No request is sent until an administrator sets
    /// `Pending`.
    Refused,
    /// The peer gave an identity, but this side's settings refuse it. The answer is
    /// kept, because the peer gives an identity only once. The answer is accepted as
    /// soon as the settings allow the identity. Until then, no request is sent.
    AnswerKept,
    /// The identity is stored.
    Accepted(AcceptedIdentity),
    /// The identity was stored, but its Secret no longer exists. The peer does not
    /// give the identity again by itself.
    IdentityLost,
    /// The ForeignCluster is being deleted.
    Ending,
}

/// The next step, and the next request to the peer.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Next {
    /// The effects on local objects, and what to wait for.
    pub step: Step,
    /// The request to send to the peer, after the effects are applied. Its answer
    /// goes to [`HomeCluster::receive`].
    pub request: Option<Request>,
}

/// A request to send. If no answer arrives, send the request again with backoff. A
/// repeated request does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The whole URL, which always begins with `https`.
    pub url: String,
    /// Whether to verify the peer's TLS certificate. Do not follow redirects: a
    /// redirect would send the token to another server.
    pub tls: Tls,
    /// The HTTP request.
    pub http: HttpRequest,
    /// The question of the request.
    pub asks: Asks,
}

/// Whether the peer's TLS certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// The certificate is verified with the authorities that the caller trusts for
    /// this peer.
    Verify,
    /// The certificate is not verified, as this cluster's settings and the
    /// ForeignCluster demand.
    Skip,
}

/// The question of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asks {
    /// The peer's ID and name.
    Ids,
    /// An identity.
    Identity {
        /// The protocol form. `None` for a form that 0.3 and all later versions can
        /// read.
        version: Option<ProtocolVersion>,
        /// Whether the request contains a token.
        with_token: bool,
    },
}

impl HomeCluster {
    /// A home cluster with this ID. If the same cluster has a
    /// [`Foreign`](super::Foreign), both must use the same record key.
    pub fn new(
        cluster_id: ClusterId,
        keys: Arc<dyn KeyStore>,
        record_key: RecordKey,
        settings: HomeClusterSettings,
    ) -> Self {
        Self(Arc::new(Configuration {
            cluster_id,
            keys,
            record_key,
            settings,
        }))
    }

    /// This cluster's ID.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// The look-ups that find all objects of one peer. A ForeignCluster without a label
    /// is found by its `spec.clusterIdentity.clusterID`.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let label = names::DISCOVERY_CLUSTER_ID_LABEL;
        let labelled = |kind| Interest::labelled(kind, label, peer.as_str());
        let own =
            |name: String| Interest::Object(ObjectRef::new(Kind::Secret, self.0.namespace(), name));
        vec![
            labelled(Kind::ForeignCluster),
            labelled(Kind::Secret),
            own(names::AUTH_TOKEN_SECRET.to_owned()),
            own(names::remote_token_secret(peer)),
            own(home_record_name(peer)),
            own(origin_token_name(peer)),
        ]
    }

    /// The request for a foreign cluster's ID. Its answer goes to
    /// [`receive_ids`](Self::receive_ids).
    ///
    /// # Errors
    /// [`LocalFault::AuthUrl`](crate::error::LocalFault::AuthUrl) if the
    /// ForeignCluster's URL is not safe to connect to, and
    /// [`PolicyRefusal::TokenProtocolOff`](crate::error::PolicyRefusal::TokenProtocolOff).
    pub fn discover(&self, cluster: &ForeignCluster) -> Result<Request, Error> {
        self.0.check_protocol()?;
        self.0.discover(cluster)
    }

    /// The phase, derived from the objects.
    ///
    /// # Errors
    /// A fault on this side.
    pub fn look(&self, view: &View<'_>) -> Result<Phase, Error> {
        self.0.check_protocol()?;
        let observed = self.observe(view)?;
        self.look_at(&observed, Timestamp::EPOCH).phase()
    }

    /// Makes the step that follows the phase.
    ///
    /// # Errors
    /// A fault on this side, or a refusal of this side's policy.
    pub fn reconcile(&self, view: &View<'_>, env: &Env) -> Result<Next, Error> {
        self.0.check_protocol()?;
        let observed = self.observe(view)?;
        self.look_at(&observed, env.now).advance(env)
    }

    /// Stores the token that the peer's administrator provided, and sets `Pending`, so
    /// that the request is sent again.
    ///
    /// # Errors
    /// A fault on this side.
    pub fn set_remote_token(
        &self,
        view: &View<'_>,
        token: &AuthToken,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(&observed, now);
        let mut plan = look.plan();
        look.store_remote_token(token, &mut plan);
        Ok(plan.finish())
    }

    /// Makes the step for the answer to [`discover`](Self::discover). The step
    /// completes the ID and name in the ForeignCluster, and records the peer's
    /// protocol form there.
    ///
    /// # Errors
    /// The reason why the answer is refused. The caller then stores nothing.
    pub fn receive_ids(
        &self,
        cluster: &ForeignCluster,
        response: &HttpResponse,
    ) -> Result<Step, Error> {
        self.0.check_protocol()?;
        let mut plan = Plan::new(());
        self.0.receive_ids(cluster, response, &mut plan)?;
        Ok(plan.finish())
    }

    /// Makes the step for the answer to a request. The whole answer is verified
    /// before anything is stored.
    ///
    /// # Errors
    /// The reason why the answer is refused. The caller then stores nothing. With
    /// [`Disposition::Retry`](crate::error::Disposition::Retry), the caller asks the
    /// peer again later.
    pub fn receive(
        &self,
        view: &View<'_>,
        request: &Request,
        response: &HttpResponse,
        env: &Env,
    ) -> Result<Step, Error> {
        self.0.check_protocol()?;
        let observed = self.observe(view)?;
        let look = self.look_at(&observed, env.now);
        let mut plan = look.plan();
        look.receive(request, response, &mut plan)?;
        Ok(plan.finish())
    }

    fn observe<'o>(&self, view: &View<'o>) -> Result<Observed<'o>, Error> {
        self.0.check_peer(view.peer())?;
        Observed::of(&self.0, view)
    }

    fn look_at<'a>(&'a self, observed: &'a Observed<'a>, now: Timestamp) -> Look<'a> {
        Look {
            configuration: &self.0,
            observed,
            now,
        }
    }
}
