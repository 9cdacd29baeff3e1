//! The home cluster's side: who asks for an identity with the foreign
//! cluster's token.
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

mod answer;
mod builder;
mod identity;
mod record;
mod seen;

use std::sync::Arc;

pub use builder::HomeBuilder;
pub use identity::Held;

use self::{
    builder::Configuration,
    seen::{Evidence, Seen},
};
use super::{
    AuthToken, HttpRequest, TokenProtocol,
    http::IDS_PATH,
    message::Outgoing,
    record::{home_record_name, origin_token_name},
};
use crate::{
    crypto::{KeyStore, RecordKey, SigningKey},
    error::{ApiMisuse, Backend, Error, LocalFault, PolicyRefusal},
    machine::{Awaited, Env, Interest, Step, View},
    model::{
        ApiServerUrl, AuthStatus, ClusterId, ForeignCluster, Kind, Object, ObjectRef,
        ProtocolVersion, Resource, Timestamp, names,
    },
    policy::{Forms, Policy},
};

/// The home cluster's side, for all its peers: configuration only, cheap to
/// clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Entropy, KeyPair, OneKey, RecordKey},
///     legacy::{Home, TokenProtocol},
///     model::ForeignCluster,
/// };
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let key = OneKey(Arc::new(KeyPair::from_entropy(&entropy())));
/// let home = Home::builder("cl-home".parse()?, Arc::new(key), RecordKey::new([1; 32])?)
///     .enable_token_protocol(TokenProtocol::TrustWhoeverHoldsTheToken)
///     .build();
///
/// let mut foreign = ForeignCluster::default();
/// foreign.metadata.name = "my-cluster".into();
/// foreign.spec.foreign_auth_url = "https://foreign.example".into();
/// let request = home.discover(&foreign)?;
/// assert_eq!(request.url, "https://foreign.example/ids");
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Home(Arc<Configuration>);

/// Where it stands with one foreign cluster. It is derived from the objects.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Phase<'o> {
    /// There is no ForeignCluster: nobody wants to peer.
    NoForeignCluster,
    /// It is not known yet which form the peer speaks: it is asked who it is.
    NeedsIds,
    /// This cluster's own key is missing.
    NeedsKey,
    /// The request is made and kept, before it is sent for the first time.
    NeedsRecord,
    /// An identity is to be asked for.
    NeedsIdentity {
        /// Whether there is a token to be shown.
        with_token: bool,
    },
    /// The empty token was refused: a token is awaited.
    AwaitsToken,
    /// The token was refused. Nothing is sent until someone sets `Pending`.
    Refused,
    /// The identity is here.
    Accepted(Held<'o>),
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
    /// answer goes to [`Home::receive`].
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
    /// Who the peer is.
    Ids,
    /// For an identity.
    Identity {
        /// The form; `None` for one that 0.3 and later read alike.
        version: Option<ProtocolVersion>,
        /// Whether a token goes with it.
        with_token: bool,
    },
}

impl Home {
    /// A home cluster of that name. The record key is the one of the same
    /// cluster's [`Foreign`](super::Foreign), if it has one.
    pub fn builder(
        cluster_id: ClusterId,
        keys: Arc<dyn KeyStore>,
        record_key: RecordKey,
    ) -> HomeBuilder {
        HomeBuilder::new(cluster_id, keys, record_key)
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
            let namespace = self.0.namespace.as_str();
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

    /// Whom a change of this object concerns, if anyone.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        if let Object::ForeignCluster(cluster) = object
            && let Ok(peer) = cluster.spec.cluster_identity.cluster_id.parse()
        {
            return Some(peer);
        }
        let labels = &object.metadata()?.labels;
        labels
            .get(names::DISCOVERY_CLUSTER_ID_LABEL)
            .or_else(|| labels.get(names::RECORD_PEER_LABEL))?
            .parse()
            .ok()
    }

    /// The request by which a foreign cluster is asked who it is. Its answer
    /// goes to [`receive_ids`](Self::receive_ids).
    ///
    /// # Errors
    /// [`LocalFault::AuthUrl`] if its URL is none to connect to, and
    /// [`PolicyRefusal::TokenProtocolOff`].
    pub fn discover(&self, cluster: &ForeignCluster) -> Result<Request, Error> {
        self.check_protocol()?;
        let request = HttpRequest::new("GET", IDS_PATH, Vec::new());
        let policy = match cluster.spec.cluster_identity.cluster_id.parse() {
            Ok(peer) => self.policy(&peer),
            Err(_) => &self.0.policy,
        };
        self.request(cluster, policy, request, Asks::Ids)
    }

    /// The phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn resume<'o>(&self, view: &View<'o>, now: Timestamp) -> Result<Phase<'o>, Error> {
        self.check_protocol()?;
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        self.phase(&seen, view, now)
    }

    /// What leads on from the phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side, and what its policy refuses.
    pub fn reconcile(&self, view: &View<'_>, env: &Env) -> Result<Next, Error> {
        self.check_protocol()?;
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        let peer = view.peer();
        let token_id = || {
            let name = names::remote_token_secret(peer);
            ObjectRef::new(Kind::Secret, self.0.namespace.as_str(), name)
        };
        let step = match self.phase(&seen, view, env.now)? {
            Phase::NoForeignCluster | Phase::Ending => Step::default(),
            Phase::NeedsIds => {
                let request = seen.foreign_cluster.map(|cluster| self.discover(cluster));
                return Ok(Next {
                    request: request.transpose()?,
                    ..Next::default()
                });
            }
            Phase::NeedsKey => Step::awaiting(Awaited::OwnKey),
            Phase::NeedsRecord => self.make_record(&seen, peer, env)?,
            Phase::NeedsIdentity { .. } => return self.ask(&seen, view),
            Phase::AwaitsToken | Phase::Refused => Step::awaiting(Awaited::Token(token_id())),
            Phase::Accepted(held) => held.maintain(env.now),
            Phase::IdentityLost => {
                let id = seen.foreign_cluster.map(Resource::id);
                let error = Error::new(LocalFault::IdentityLost, id, "status.authStatus");
                Step::refuse(error)
            }
        };
        Ok(Next {
            step,
            request: None,
        })
    }

    /// Puts in the peer's token, which its administrator handed over, and has
    /// it asked again.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn set_remote_token(
        &self,
        view: &View<'_>,
        token: &AuthToken,
        now: Timestamp,
    ) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        Ok(self.store_remote_token(&seen, view.peer(), token, now))
    }

    fn phase<'o>(
        &self,
        seen: &Seen<'o>,
        view: &View<'o>,
        _now: Timestamp,
    ) -> Result<Phase<'o>, Error> {
        let peer = view.peer();
        let Some(cluster) = seen.foreign_cluster else {
            return Ok(Phase::NoForeignCluster);
        };
        if cluster.metadata.deletion_timestamp.is_some() {
            return Ok(Phase::Ending);
        }
        if let Some(secret) = seen.identity {
            return Ok(Phase::Accepted(Held::new(secret, cluster)));
        }
        let has_token = seen.remote_token.is_some();
        match cluster.status.auth_status() {
            AuthStatus::Accepted => return Ok(Phase::IdentityLost),
            AuthStatus::Refused => return Ok(Phase::Refused),
            AuthStatus::EmptyRefused if !has_token => return Ok(Phase::AwaitsToken),
            AuthStatus::EmptyRefused | AuthStatus::Pending => {}
        }
        let Some(version) = self.version(seen, peer)? else {
            return Ok(Phase::NeedsIds);
        };
        if version != Some(ProtocolVersion::V0_2) {
            let Some(key) = self.find_key(peer)? else {
                return Ok(Phase::NeedsKey);
            };
            if self.recorded(seen, peer, &*key).is_none() {
                return Ok(Phase::NeedsRecord);
            }
        }
        Ok(Phase::NeedsIdentity {
            with_token: has_token,
        })
    }

    /// The form to ask in, once it is known: configured, or shown by the peer.
    #[expect(clippy::option_option, reason = "unknown, and a form for several")]
    fn version(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
    ) -> Result<Option<Option<ProtocolVersion>>, Error> {
        let version = match (self.0.versions.get(peer), seen.evidence()) {
            (Some(version), _) => Some(*version),
            (None, Evidence::Nothing) => return Ok(None),
            (None, evidence) => evidence.version(),
        };
        if let Some(found @ ProtocolVersion::V0_2) = version
            && self.policy(peer).forms() == Forms::Canonical
        {
            let id = seen.foreign_cluster.map(Resource::id);
            return Err(Error::new(
                PolicyRefusal::TokenProtocolVersion { found },
                id,
                "",
            ));
        }
        Ok(Some(version))
    }

    fn ask(&self, seen: &Seen<'_>, view: &View<'_>) -> Result<Next, Error> {
        let peer = view.peer();
        let (Some(cluster), Some(version)) = (seen.foreign_cluster, self.version(seen, peer)?)
        else {
            return Ok(Next::default());
        };
        let token = seen.token(self, view)?;
        let key = self.find_key(peer)?;
        let csr = key.and_then(|key| self.recorded(seen, peer, &*key));
        let origin_token = self.origin_token(seen, peer)?;
        let http = Outgoing {
            version,
            home: &self.0.cluster_id,
            name: &self.0.name,
            token: token.as_ref().map(AuthToken::expose).unwrap_or_default(),
            origin_token: origin_token.as_ref().map(AuthToken::expose),
            csr: csr.as_ref().map(|csr| csr.pem()).unwrap_or_default(),
        }
        .request();
        let with_token = token.is_some();
        let asks = Asks::Identity {
            version,
            with_token,
        };
        let request = self.request(cluster, self.policy(peer), http, asks)?;
        Ok(Next {
            step: Step::default(),
            request: Some(request),
        })
    }

    fn request(
        &self,
        cluster: &ForeignCluster,
        policy: &Policy,
        http: HttpRequest,
        asks: Asks,
    ) -> Result<Request, Error> {
        let url: ApiServerUrl = cluster.spec.auth_url().parse().map_err(|error| {
            let id = Some(cluster.id());
            Error::new(LocalFault::AuthUrl(error), id, "spec.foreignAuthUrl")
        })?;
        let skips = self.0.skips_tls_verification
            && policy.forms() == Forms::Compatible
            && cluster.spec.insecure_skip_tls_verify == Some(true);
        Ok(Request {
            url: format!("{}{}", url.as_str().trim_end_matches('/'), http.path),
            tls: if skips { Tls::Skip } else { Tls::Verify },
            http,
            asks,
        })
    }

    fn find_key(&self, peer: &ClusterId) -> Result<Option<Arc<dyn SigningKey>>, Error> {
        self.0
            .keys
            .find(peer)
            .map_err(|error| Error::backend(Backend::Keys, error))
    }

    fn check_protocol(&self) -> Result<(), Error> {
        match self.0.protocol {
            TokenProtocol::Off => Err(Error::new(PolicyRefusal::TokenProtocolOff, None, "")),
            TokenProtocol::TrustWhoeverHoldsTheToken => Ok(()),
        }
    }

    fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.0.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }

    fn policy(&self, peer: &ClusterId) -> &Policy {
        self.0.peer_policies.get(peer).unwrap_or(&self.0.policy)
    }
}

impl core::fmt::Debug for Home {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Home")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}
