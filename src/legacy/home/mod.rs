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
//!                                      │         └─ another, or none: ask again            │
//!                                      └──────────── a token is put in ────────────────────┘
//! ```
//!
//! `authStatus` of the ForeignCluster is the memory: `Pending`, `Accepted`,
//! `Refused` (nothing more is sent until someone sets `Pending`),
//! `EmptyRefused` (a token is awaited).

mod configuration;
mod identity;
mod look;
mod observed;
mod receiving;
mod record;

use std::sync::Arc;

pub use configuration::HomeClusterSettings;
pub use identity::AcceptedIdentity;

use self::{configuration::Configuration, look::Look, observed::Observed};
use super::{
    AuthToken, HttpRequest, HttpResponse,
    objects::labelled_peer,
    record::{home_record_name, origin_token_name},
};
use crate::{
    crypto::{KeyStore, RecordKey},
    error::Error,
    machine::{Env, Interest, Step, View, plan::Plan},
    model::{
        ClusterId, ForeignCluster, Kind, Object, ObjectRef, ProtocolVersion, Timestamp, names,
    },
};

/// The home cluster's side, for all its peers: configuration only, cheap to
/// clone and to share.
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
#[derive(Clone)]
pub struct HomeCluster(Arc<Configuration>);

/// The phase that one foreign cluster's objects are in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Phase {
    /// Nobody wants to peer: the ForeignCluster is missing.
    NoForeignCluster,
    /// The form that the peer speaks is not known yet: the peer is asked for its
    /// ID.
    NeedsIds,
    /// This cluster's own key is missing.
    NeedsKey,
    /// The request is made and kept, before it is sent for the first time.
    NeedsRecord,
    /// An identity is to be asked for.
    NeedsIdentity {
        /// Whether a token is shown.
        with_token: bool,
    },
    /// The empty token was refused: a token is awaited.
    AwaitsToken,
    /// The token was refused. Nothing is sent until someone sets `Pending`.
    Refused,
    /// An answer with an identity is here, and this side's settings refuse it. It is
    /// kept, since the peer gives an identity once, and taken when the settings
    /// allow it. Nothing is sent meanwhile.
    AnswerKept,
    /// The identity is here.
    Accepted(AcceptedIdentity),
    /// The identity was here, and is not given again by itself.
    IdentityLost,
    /// The ForeignCluster is being deleted.
    Ending,
}

/// What to do next.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Next {
    /// What to do to local objects, and what to wait for.
    pub step: Step,
    /// What to send to the peer, once the effects have been applied; its
    /// answer goes to [`HomeCluster::receive`].
    pub request: Option<Request>,
}

/// A request to be sent. Where no answer comes, it is made anew later, less
/// and less often: nothing was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The whole URL; always `https`.
    pub url: String,
    /// How to connect. Redirections are not followed: they would carry the
    /// token away.
    pub tls: Tls,
    /// What to send there.
    pub http: HttpRequest,
    /// What is asked.
    pub asks: Asks,
}

/// Whether the peer's TLS certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// It is, with the authorities that the caller trusts for this peer.
    Verify,
    /// It is not: this cluster's administrator and the ForeignCluster say so.
    Skip,
}

/// What a request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Asks {
    /// For the peer's ID and name.
    Ids,
    /// For an identity.
    Identity {
        /// The form; `None` for one that 0.3 and later read alike.
        version: Option<ProtocolVersion>,
        /// Whether a token goes with it.
        with_token: bool,
    },
}

impl HomeCluster {
    /// A home cluster of that name. The record key is the one of the same
    /// cluster's [`Foreign`](super::Foreign), if it has one.
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

    /// This cluster's name.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// What to look up, to see all of one peer. A ForeignCluster that has no
    /// label yet is found by its `spec.clusterIdentity.clusterID`.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind| Interest::Labelled {
            kind,
            label: names::DISCOVERY_CLUSTER_ID_LABEL,
            value: peer.to_string(),
        };
        let own = |name: String| {
            let namespace = self.0.settings.namespace.as_str();
            Interest::Object(ObjectRef::new(Kind::Secret, namespace, name))
        };
        vec![
            labelled(Kind::ForeignCluster),
            labelled(Kind::Secret),
            own(names::AUTH_TOKEN_SECRET.to_owned()),
            own(names::remote_token_secret(peer)),
            own(home_record_name(peer)),
            own(origin_token_name(peer)),
        ]
    }

    /// The peer that a change of this object concerns, if there is one.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        if let Object::ForeignCluster(cluster) = object
            && let Ok(peer) = cluster.spec.cluster_identity.cluster_id.parse()
        {
            return Some(peer);
        }
        labelled_peer(object.metadata()?)
    }

    /// The request by which a foreign cluster is asked for its ID. Its answer
    /// goes to [`receive_ids`](Self::receive_ids).
    ///
    /// # Errors
    /// [`LocalFault::AuthUrl`](crate::error::LocalFault::AuthUrl) if its URL is none to connect to, and
    /// [`PolicyRefusal::TokenProtocolOff`](crate::error::PolicyRefusal::TokenProtocolOff).
    pub fn discover(&self, cluster: &ForeignCluster) -> Result<Request, Error> {
        self.0.check_protocol()?;
        self.0.discover(cluster)
    }

    /// The phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn look(&self, view: &View<'_>) -> Result<Phase, Error> {
        self.0.check_protocol()?;
        self.look_at(&self.observe(view)?).phase()
    }

    /// What leads on from the phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side, and what its policy refuses.
    pub fn reconcile(&self, view: &View<'_>, env: &Env) -> Result<Next, Error> {
        self.0.check_protocol()?;
        self.look_at(&self.observe(view)?).advance(env)
    }

    /// Puts in the peer's token, which its administrator handed over, and has
    /// the peer asked again.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn set_remote_token(
        &self,
        view: &View<'_>,
        token: &AuthToken,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(&observed);
        let mut plan = look.plan();
        look.store_remote_token(token, now, &mut plan);
        Ok(plan.finish())
    }

    /// Takes the answer to [`discover`](Self::discover): the ForeignCluster is
    /// given the ID and name that are still missing, and what the answer shows
    /// of the form that the peer speaks.
    ///
    /// # Errors
    /// Why the answer is not taken; nothing is to be stored then.
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

    /// Takes the answer to a request. The answer is verified as a whole before
    /// anything is stored.
    ///
    /// # Errors
    /// Why the answer is not taken; nothing is to be stored then. With
    /// [`Disposition::Retry`](crate::error::Disposition::Retry) the peer is
    /// asked again later.
    pub fn receive(
        &self,
        view: &View<'_>,
        request: &Request,
        response: &HttpResponse,
        env: &Env,
    ) -> Result<Step, Error> {
        self.0.check_protocol()?;
        let observed = self.observe(view)?;
        let look = self.look_at(&observed);
        let mut plan = look.plan();
        look.receive(request, response, env.now, &mut plan)?;
        Ok(plan.finish())
    }

    fn observe<'o>(&self, view: &View<'o>) -> Result<Observed<'o>, Error> {
        self.0.check_peer(view.peer())?;
        Observed::of(&self.0, view)
    }

    fn look_at<'a>(&'a self, observed: &'a Observed<'a>) -> Look<'a> {
        Look {
            configuration: &self.0,
            observed,
        }
    }
}

impl core::fmt::Debug for HomeCluster {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("HomeCluster")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}
