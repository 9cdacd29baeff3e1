//! The foreign cluster's side: it gives identities to clusters that show its token.
//!
//! ```text
//!   request ──read──▶ Reading ─┬─ Reply: /ids, no such path, malformed
//!                              └─ Identity ──handle──▶ Reply
//!                                                        │ response? no: apply the effects, look again, handle again
//!                                                        ▼ yes
//!                                               send ──▶ delivered
//! ```
//!
//! | the objects say | `handle` |
//! |---|---|
//! | the token is wrong | refuses: 401 (0.2: 403) |
//! | the token works only once | replaces the token with the next one |
//! | no claim to this ID | records the claim |
//! | a claim, no identity | makes the identity: a certificate or a service account |
//! | a claim, an identity | answers with the identity: 202 (0.2: 201) |
//! | the identity has been delivered | refuses: 403 |

mod account;
mod certificate;
mod claim;
mod configuration;
mod course;
mod look;
mod observed;
mod own_token;
mod reply;
mod withdrawal;

use std::sync::Arc;

pub use claim::Claimed;
pub use configuration::ForeignSettings;
pub use own_token::TokenStore;
pub use reply::{Reading, Reply};

use self::{
    configuration::Configuration,
    look::Look,
    observed::{Observed, account_token},
};
use super::{
    AuthToken, HttpRequest, HttpResponse, IdentityRequest, Outcome, TokenProtocol,
    http::{CERTIFICATE_PATH, IDENTITY_PATH, IDS_PATH},
    message::{ClusterInfo, write},
    record::{foreign_record_name, origin_token_name},
};
use crate::{
    crypto::RecordKey,
    error::{ApiMisuse, Error},
    machine::{Env, Interest, Step, View, plan::Plan},
    model::{ClusterId, Kind, Object, ObjectRef, Secret, Timestamp, names},
    provider::Endpoint,
};

/// The foreign cluster's side, for all its peers. A `Foreign` holds configuration
/// only, so it is cheap to clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Authority, Entropy, RecordKey},
///     legacy::{Foreign, ForeignSettings, HttpRequest, Reading, TokenProtocol},
///     machine::{Env, Objects},
///     provider::{AuthoritySigner, Endpoint, NameTable},
/// };
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let authority = Authority::new("ca", now, Duration::from_secs(3600), &entropy())?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let settings = ForeignSettings {
///     protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
///     signer: Some(Arc::new(AuthoritySigner::new(authority, entropy()))),
///     principals: Arc::new(NameTable::default()),
///     ..ForeignSettings::default()
/// };
/// let id = "cl-foreign".parse()?;
/// let foreign = Foreign::new(id, endpoint, RecordKey::new([1; 32])?, settings);
///
/// // The token for the administrators of home clusters.
/// let mut objects = Objects::new(&entropy());
/// let step = foreign.token_step(objects.iter(), &Env { now, entropy: entropy() })?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// let token = foreign.token(objects.iter(), now)?.ok_or("no token")?;
/// assert_eq!(token.expose().len(), 128);
///
/// // A request without the token is refused.
/// let body = br#"{"cluster": {"clusterID": "cl-home"}, "destinationClusterToken": "x"}"#;
/// let request = HttpRequest::new("POST", "/identity/certificate", body.as_slice());
/// let Reading::Identity(request) = foreign.read(&request) else { panic!("unreadable") };
/// let view = objects.view(&request.peer);
/// let reply = foreign.handle(&view, &request, Env { now, entropy: entropy() })?;
/// assert_eq!(reply.response.ok_or("no response")?.status, 401);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, derive_more::Debug)]
#[debug("Foreign {{ cluster_id: {:?}, .. }}", _0.cluster_id)]
pub struct Foreign(Arc<Configuration>);

impl Foreign {
    /// A foreign cluster with this ID. Its peers reach its API server at `endpoint`.
    pub fn new(
        cluster_id: ClusterId,
        endpoint: Endpoint,
        record_key: RecordKey,
        settings: ForeignSettings,
    ) -> Self {
        Self(Arc::new(Configuration {
            cluster_id,
            endpoint,
            record_key,
            settings,
        }))
    }

    /// This cluster's ID.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// The look-ups that find all objects of one peer.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let label = names::DISCOVERY_CLUSTER_ID_LABEL;
        let labelled = |kind| Interest::labelled(kind, label, peer.as_str());
        let secret = |namespace: &str, name: String| {
            Interest::Object(ObjectRef::new(Kind::Secret, namespace, name))
        };
        let own = |name: String| secret(self.0.settings.namespace.as_str(), name);
        let named = |kind, name: String| Interest::Named { kind, name };
        let accounts = self.0.settings.service_accounts.iter();
        // These Secrets are found by name, since they may lack Liqo's labels.
        let named_secrets = accounts.flat_map(|namespace| {
            [peer.to_string(), account_token(peer)].map(|name| secret(namespace.as_str(), name))
        });
        let mut interests: Vec<Interest> = named_secrets.collect();
        interests.extend([
            labelled(Kind::Namespace),
            labelled(Kind::Secret),
            labelled(Kind::ForeignCluster),
            labelled(Kind::RoleBinding),
            own(names::AUTH_TOKEN_SECRET.to_owned()),
            own(foreign_record_name(peer)),
            own(origin_token_name(peer)),
            named(Kind::ServiceAccount, names::remote_account(peer)),
            named(Kind::Role, names::remote_account(peer)),
            named(Kind::RoleBinding, names::remote_account(peer)),
            named(Kind::ClusterRole, names::remote_account(peer)),
            named(Kind::ClusterRoleBinding, names::remote_account(peer)),
            Interest::labelled(
                Kind::ClusterRole,
                names::PEERING_PERMISSIONS_LABEL,
                names::BASIC_PERMISSIONS,
            ),
        ]);
        interests
    }

    /// Makes this cluster's own token, unless a valid one exists. Call this at the
    /// start, and whenever the token's Secret is gone or the token has expired.
    ///
    /// # Errors
    /// [`LocalFault::Token`](crate::error::LocalFault::Token) if the Secret does
    /// not contain a token, and
    /// [`LocalFault::BrokenSeal`](crate::error::LocalFault::BrokenSeal) if the
    /// policy is strict and this cluster did not seal the Secret. If the Secret is
    /// deleted, the next call makes a new one.
    pub fn token_step<'o>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        env: &Env,
    ) -> Result<Step, Error> {
        let view = View::of(&self.0.cluster_id, objects);
        let mut plan = Plan::new(());
        let secret = self.find_token(&view)?;
        self.0.make_token(secret, env, &mut plan)?;
        Ok(plan.finish())
    }

    /// This cluster's own token, if one exists. Its administrator gives it to the
    /// administrators of home clusters.
    ///
    /// # Errors
    /// As [`token_step`](Self::token_step).
    pub fn token<'o>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        now: Timestamp,
    ) -> Result<Option<AuthToken>, Error> {
        let view = View::of(&self.0.cluster_id, objects);
        self.0.own_token(self.find_token(&view)?, now)
    }

    /// Reads a request. This does not need objects, and verifies nothing yet.
    pub fn read(&self, request: &HttpRequest) -> Reading {
        if self.0.settings.protocol == TokenProtocol::Off {
            return HttpResponse::error(404, NOT_FOUND).into();
        }
        let is_identity = match request.path.as_str() {
            IDS_PATH => false,
            CERTIFICATE_PATH => true,
            IDENTITY_PATH if self.0.settings.service_accounts.is_some() => true,
            _ => return HttpResponse::error(404, NOT_FOUND).into(),
        };
        let (allowed, allow) = match is_identity {
            true => ("POST", "OPTIONS, POST"),
            false => ("GET", "GET, OPTIONS"),
        };
        if request.method == "OPTIONS" {
            let response = HttpResponse::text(200, Vec::new());
            return response.with_header("allow", allow).into();
        }
        if request.method != allowed {
            let response = HttpResponse::error(405, "Method Not Allowed");
            return response.with_header("allow", allow).into();
        }
        if !is_identity {
            return self.ids().into();
        }
        match IdentityRequest::read(request, &self.0.settings.policy.limits) {
            Ok(request) => Reading::Identity(Box::new(request)),
            Err(error) => {
                let response = HttpResponse::error(400, &error.to_string());
                Reading::Reply(Reply::of(response, Outcome::Malformed(error)))
            }
        }
    }

    /// Makes the next step for a request for an identity.
    ///
    /// Handle one request of a peer at a time, from the first look to
    /// [`delivered`](Self::delivered). A second request in between would count as a
    /// repetition of the first one.
    ///
    /// # Errors
    /// A fault on this side. Send [`HttpResponse::internal_error`]; the peer tries
    /// again later.
    pub fn handle(
        &self,
        view: &View<'_>,
        request: &IdentityRequest,
        env: Env,
    ) -> Result<Reply, Error> {
        if view.peer() != &request.peer {
            return Err(Error::new(ApiMisuse::OtherPeer, None, ""));
        }
        let observed = Observed::of(&self.0, view)?;
        self.look(&observed).reply(request, &env)
    }

    /// Records that the identity was delivered. From then on, a second identity is
    /// refused. Apply the step after the response was written to the connection.
    /// Until the step is applied, the same request gets the same identity again.
    ///
    /// # Errors
    /// A fault on this side.
    pub fn delivered(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, |_, plan| {
            plan.records.peer.change(|claim| claim.is_delivered = true);
        })
    }

    /// Withdraws the peer's identity and rights, so that the peer can get a new
    /// identity. A certificate that the peer holds stays valid until it expires, but
    /// has no rights.
    ///
    /// # Errors
    /// A fault on this side.
    pub fn release(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, |look, plan| look.withdraw(plan))
    }

    /// Cleans up after the peer: withdraws its identity and rights if its service
    /// account or its ForeignCluster is deleted.
    ///
    /// # Errors
    /// A fault on this side.
    pub fn reconcile(&self, view: &View<'_>) -> Result<Step, Error> {
        self.plan_with(view, |look, plan| {
            if look.is_ending() {
                look.withdraw(plan);
            }
        })
    }

    /// The step of one call, whose changes `act` plans.
    fn plan_with(
        &self,
        view: &View<'_>,
        act: impl FnOnce(&Look<'_>, &mut look::Plan<'_>),
    ) -> Result<Step, Error> {
        let observed = Observed::of(&self.0, view)?;
        let look = self.look(&observed);
        let mut plan = look.plan();
        act(&look, &mut plan);
        Ok(plan.finish())
    }

    fn look<'a>(&'a self, observed: &'a Observed<'a>) -> Look<'a> {
        Look {
            configuration: &self.0,
            observed,
        }
    }

    fn ids(&self) -> HttpResponse {
        let (id, settings) = (self.0.cluster_id.as_str(), &self.0.settings);
        let accounts = settings.service_accounts.as_ref();
        let info = ClusterInfo {
            cluster_id: id.to_owned(),
            cluster_name: settings.name.as_deref().unwrap_or(id).to_owned(),
            guest_namespace: accounts.map(ToString::to_string),
        };
        HttpResponse::text(200, write(&info))
    }

    fn find_token<'o>(&self, view: &View<'o>) -> Result<Option<&'o Secret>, Error> {
        view.find(&self.0.settings.namespace, names::AUTH_TOKEN_SECRET)
    }
}

const NOT_FOUND: &str = "404 page not found";
