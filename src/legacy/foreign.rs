//! The foreign cluster's side: who gives identities to those with its token.
//!
//! ```text
//!   request ──read──▶ Reading ─┬─ Answer: /ids, no such path, malformed
//!                              └─ Identity ──handle──▶ Answer
//!                                                        │ response? no: apply the effects, look again, handle again
//!                                                        ▼ yes
//!                                               send ──▶ delivered
//! ```
//!
//! | the objects say | `handle` |
//! |---|---|
//! | the token is wrong | refuses: 401 (0.2: 403) |
//! | no claim to this ID | records the claim |
//! | a claim, no identity | makes it: has the CSR signed, or a service account |
//! | a claim, an identity | answers with it: 202 (0.2: 201) |
//! | the identity has been delivered | refuses: 403 |

mod account;
mod builder;
mod certificate;
mod claim;
mod own_token;
mod seen;
mod withdrawal;

use std::sync::Arc;

pub use builder::ForeignBuilder;
pub(super) use certificate::{legacy_namespace, remote_token};
pub use claim::Claimed;
pub use own_token::TokenStore;
pub(super) use seen::{foreign_cluster, is_of};

use self::{builder::Configuration, own_token::Admission, seen::Seen};
use super::{
    AuthToken, Event, HttpRequest, HttpResponse, IdentityRequest, TokenProtocol,
    http::{CERTIFICATE_PATH, IDENTITY_PATH, IDS_PATH},
    message::{ClusterInfo, write},
    record::{foreign_record_name, origin_token_name},
};
use crate::{
    crypto::RecordKey,
    error::{ApiMisuse, Backend, Error, Fault, LocalFault, PolicyRefusal, shortened},
    machine::{Env, Interest, Step, View},
    model::{ClusterId, Kind, Object, ObjectRef, ProtocolVersion, Secret, Timestamp, names},
    provider::{Claimant, Endpoint, PrincipalName, is_well_known},
    verify,
};

/// The foreign cluster's side, for all its peers: configuration only, cheap to
/// clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Authority, Entropy, RecordKey},
///     legacy::{Foreign, HttpRequest, Reading, TokenProtocol},
///     machine::{Env, Objects},
///     provider::{AuthoritySigner, Endpoint},
/// };
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let authority = Authority::new("ca", now, Duration::from_secs(3600), &entropy())?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let foreign = Foreign::builder("cl-foreign".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .enable_token_protocol(TokenProtocol::TrustWhoeverHoldsTheToken)
///     .signer(Arc::new(AuthoritySigner::new(authority, entropy())))
///     .build();
///
/// // Its token, to be handed to the administrators of home clusters.
/// let mut objects = Objects::new();
/// let step = foreign.token_step(objects.iter(), &Env { now, entropy: entropy() })?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// let token = foreign.token(objects.iter(), now)?.ok_or("no token")?;
/// assert_eq!(token.expose().len(), 128);
///
/// // Who asks without it is refused.
/// let body = br#"{"cluster": {"clusterID": "cl-home"}, "destinationClusterToken": "x"}"#;
/// let request = HttpRequest::new("POST", "/identity/certificate", body.as_slice());
/// let Reading::Identity(request) = foreign.read(&request) else { panic!("unreadable") };
/// let view = objects.view(request.peer());
/// let answer = foreign.handle(&view, &request, Env { now, entropy: entropy() })?;
/// assert_eq!(answer.response.ok_or("no response")?.status, 401);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Foreign(Arc<Configuration>);

/// What a request turned out to be.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "it lives for one call")]
pub enum Reading {
    /// It is answered as it is: no object is needed.
    Answer(Answer),
    /// It asks for an identity: look up the peer's objects, and call
    /// [`Foreign::handle`].
    Identity(Box<IdentityRequest>),
}

/// What to do about a request.
///
/// # Guarantees
/// - The response comes without effects: what it says is stored already.
/// - Without a response there are effects to apply, or something to wait for;
///   then one looks again and calls again. Where an effect fails, too.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Answer {
    /// What to do to local objects, and what to wait for.
    pub step: Step,
    /// What to send, once there is something.
    pub response: Option<HttpResponse>,
    /// What to log, once there is a response.
    pub event: Option<Event>,
}

impl Foreign {
    /// A foreign cluster of that name, whose API server peers reach at
    /// `endpoint`.
    pub fn builder(
        cluster_id: ClusterId,
        endpoint: Endpoint,
        record_key: RecordKey,
    ) -> ForeignBuilder {
        ForeignBuilder::new(cluster_id, endpoint, record_key)
    }

    /// This cluster's name.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// What to look up, to see all of one peer.
    pub fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = |kind| Interest::Labelled {
            kind,
            label: names::DISCOVERY_CLUSTER_ID_LABEL,
            value: peer.to_string(),
        };
        let own = |name: String| {
            Interest::Object(ObjectRef::new(
                Kind::Secret,
                self.0.namespace.as_str(),
                name,
            ))
        };
        let named = |kind, name: String| Interest::Named { kind, name };
        vec![
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
            Interest::Labelled {
                kind: Kind::ClusterRole,
                label: names::PEERING_PERMISSIONS_LABEL,
                value: names::BASIC_PERMISSIONS.to_owned(),
            },
        ]
    }

    /// Whom a change of this object concerns, if anyone.
    pub fn peer_of(&self, object: &Object) -> Option<ClusterId> {
        let labels = &object.metadata()?.labels;
        labels
            .get(names::DISCOVERY_CLUSTER_ID_LABEL)
            .or_else(|| labels.get(names::RECORD_PEER_LABEL))?
            .parse()
            .ok()
    }

    /// Makes this cluster's own token unless there is one that is good; at the
    /// start, and whenever its Secret is gone or its time is over.
    ///
    /// # Errors
    /// [`LocalFault::Token`] if what is there is no token, and
    /// [`LocalFault::BrokenSeal`] if, with the strict policy, it was not made
    /// here: delete the Secret, and a new one is made.
    pub fn token_step<'o>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        env: &Env,
    ) -> Result<Step, Error> {
        let view = View::of(&self.0.cluster_id, objects);
        self.make_token(self.find_token(&view)?, env)
    }

    /// This cluster's own token, to be handed to the administrators of home
    /// clusters, if there is one.
    ///
    /// # Errors
    /// As [`token_step`](Self::token_step).
    pub fn token<'o>(
        &self,
        objects: impl IntoIterator<Item = &'o Object>,
        now: Timestamp,
    ) -> Result<Option<AuthToken>, Error> {
        let view = View::of(&self.0.cluster_id, objects);
        self.own_token(self.find_token(&view)?, now)
    }

    /// Reads a request. No object is needed, and nothing is believed yet.
    pub fn read(&self, request: &HttpRequest) -> Reading {
        if self.0.protocol == TokenProtocol::Off {
            return HttpResponse::error(404, NOT_FOUND).into();
        }
        let is_identity = match request.path.as_str() {
            IDS_PATH => false,
            CERTIFICATE_PATH => true,
            IDENTITY_PATH if self.0.accounts.is_some() => true,
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
        match IdentityRequest::read(request, self.0.policy.limits()) {
            Ok(request) => Reading::Identity(Box::new(request)),
            Err(error) => {
                let response = HttpResponse::error(400, &error.to_string());
                Reading::Answer(Answer::refusal(response, Event::Malformed(error)))
            }
        }
    }

    /// Goes on with a request for an identity, from what the objects say.
    ///
    /// One request of one peer is dealt with at a time, from the first look to
    /// [`delivered`](Self::delivered): a second one that came in between would
    /// be taken for the first one's repetition.
    ///
    /// # Errors
    /// What is wrong on this side: send
    /// [`HttpResponse::internal_error`], which the peer tries again after.
    pub fn handle(
        &self,
        view: &View<'_>,
        request: &IdentityRequest,
        env: Env,
    ) -> Result<Answer, Error> {
        if view.peer() != &request.peer {
            return Err(Error::new(ApiMisuse::OtherPeer, None, ""));
        }
        let seen = Seen::select(self, view)?;
        let given = request.token.expose().as_bytes();
        let admission = self.admission(&seen, &request.peer, given, env.now)?;
        if matches!(admission, Admission::No) {
            return Ok(wrong_token(request));
        }
        let answer = self
            .check_peer(&request.peer)
            .and_then(|()| match request.version {
                ProtocolVersion::V0_2 => self.give_account(&seen, request),
                ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => {
                    self.give_certificate(&seen, request, env.now)
                }
            });
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.refuse(request, error),
        };
        if self.0.is_single_use
            && matches!(admission, Admission::OwnToken)
            && !answer.step.effects.is_empty()
            && let Some(secret) = seen.own_token
        {
            // First: another home's claim by the same token must not pass.
            let effect = self.spend(secret, &request.peer, given, &env);
            answer.step.effects.insert(0, effect);
        }
        Ok(answer)
    }

    /// Notes that the identity has left this cluster: from now on a second one
    /// is refused. To be applied once the response was written to the
    /// connection; without it, the same request is answered with the same
    /// identity again.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn delivered(&self, view: &View<'_>) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        let mut step = Step::default();
        if let Some((secret, claim)) = &seen.claim
            && !claim.is_delivered
        {
            let mut claim = claim.clone();
            claim.is_delivered = true;
            step.effects
                .push(claim.write(self, view.peer(), Some(secret)));
        }
        Ok(step)
    }

    /// Takes the peer's identity and rights back, so that it can be given one
    /// again. A certificate that the peer holds stays valid until it expires,
    /// but without rights.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn release(&self, view: &View<'_>) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        Ok(self.withdraw(&seen, view.peer()))
    }

    /// Cleans up after the peer: its cluster-wide rights when its service
    /// account is deleted, everything when its ForeignCluster is.
    ///
    /// # Errors
    /// What is wrong on this side.
    pub fn reconcile(&self, view: &View<'_>) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        Ok(self.collect_garbage(&seen, view.peer()))
    }

    fn ids(&self) -> HttpResponse {
        let info = ClusterInfo {
            cluster_id: self.0.cluster_id.to_string(),
            cluster_name: self.0.name.clone(),
            guest_namespace: self.0.accounts.as_ref().map(ToString::to_string),
        };
        HttpResponse::text(200, write(&info))
    }

    fn find_token<'o>(&self, view: &View<'o>) -> Result<Option<&'o Secret>, Error> {
        view.find(&self.0.namespace, names::AUTH_TOKEN_SECRET)
    }

    fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        let taken = || {
            let name = peer.to_string();
            Error::new(PolicyRefusal::NameTaken { name }, None, "clusterID")
        };
        verify::name_length(peer, &self.0.policy)?;
        // A home of this cluster's own name would be granted what others are
        // told to trust this cluster with.
        if *peer == self.0.cluster_id || is_well_known(peer.as_str()) {
            return Err(taken());
        }
        Ok(())
    }

    /// That the name belongs to no principal, when a claim to it is new.
    fn check_principals(&self, peer: &ClusterId) -> Result<(), Error> {
        for principal in [
            PrincipalName::user(peer.as_str()),
            PrincipalName::group(peer.as_str()),
        ] {
            let taken = self
                .0
                .principals
                .is_taken(&principal, Claimant::ControlPlane(peer));
            let taken = taken.map_err(|error| {
                let (backend, message) = (Backend::Principals, shortened(&error.to_string()));
                Error::new(LocalFault::Backend { backend, message }, None, "")
            })?;
            if taken != crate::crypto::Answer::Ready(false) {
                let name = peer.to_string();
                return Err(Error::new(
                    PolicyRefusal::NameTaken { name },
                    None,
                    "clusterID",
                ));
            }
        }
        Ok(())
    }

    /// What the peer did wrong is answered; what is wrong here is not its
    /// business.
    fn refuse(&self, request: &IdentityRequest, error: Error) -> Result<Answer, Error> {
        let response = match error.fault() {
            Fault::Local(_) | Fault::ApiMisuse(_) => return Err(error),
            Fault::PeerMisbehaved(_) | Fault::PeerIncompatible(_) => {
                HttpResponse::error(400, &error.to_string())
            }
            Fault::Policy(_) => forbidden(request.version),
        };
        let peer = request.peer.clone();
        Ok(Answer::refusal(response, Event::Refused { peer, error }))
    }
}

impl Answer {
    /// Whether the response carries an identity, so that
    /// [`Foreign::delivered`] is to follow.
    pub fn was_issued(&self) -> bool {
        matches!(self.event, Some(Event::Issued { .. }))
    }

    fn refusal(response: HttpResponse, event: Event) -> Self {
        Self {
            step: Step::default(),
            response: Some(response),
            event: Some(event),
        }
    }

    fn step(step: Step) -> Self {
        Self {
            step,
            ..Self::default()
        }
    }

    fn second_identity(request: &IdentityRequest) -> Self {
        let peer = request.peer.clone();
        Self::refusal(forbidden(request.version), Event::SecondIdentity { peer })
    }

    fn issued(request: &IdentityRequest, response: HttpResponse) -> Self {
        let (peer, version) = (request.peer.clone(), request.version);
        Self::refusal(response, Event::Issued { peer, version })
    }
}

impl From<HttpResponse> for Reading {
    fn from(response: HttpResponse) -> Self {
        Self::Answer(Answer {
            response: Some(response),
            ..Answer::default()
        })
    }
}

impl core::fmt::Debug for Foreign {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Foreign")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}

/// Liqo shows the token that it refuses; that one may be right elsewhere.
fn wrong_token(request: &IdentityRequest) -> Answer {
    let response = match request.version {
        ProtocolVersion::V0_2 => forbidden(request.version),
        ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => HttpResponse::error(401, "invalid token"),
    };
    let event = Event::WrongToken {
        peer: request.peer.clone(),
        is_empty: request.token.is_empty(),
    };
    Answer::refusal(response, event)
}

/// 0.2 says a JSON text, later versions an empty line.
fn forbidden(version: ProtocolVersion) -> HttpResponse {
    HttpResponse::error(
        403,
        match version {
            ProtocolVersion::V0_2 => "\"forbidden\"",
            ProtocolVersion::V0_3 | ProtocolVersion::V0_4 => "",
        },
    )
}

const NOT_FOUND: &str = "404 page not found";
