//! A home as the home cluster: it asks foreign clusters for identities.

use std::{path::PathBuf, sync::Arc};

use liqo_auth::{
    crypto::OneKey,
    error::{Error, Fault, PolicyRefusal},
    legacy::{
        AuthToken, HomeCluster, HomeClusterSettings, HttpResponse, Next, Phase, Request,
        TokenProtocol,
    },
    machine::{Effect, Notice, Part, Step},
    model::{ClusterId, ForeignCluster, Metadata, ObjectRef, ProtocolVersion, Resource},
    policy::Policy,
};
use serde_json::json;

use super::foreign_side::apply;
use crate::{
    environment::Clock,
    failure::{Code, Failure, Result, paragraph},
    home::{Home, Use},
    peering::{driver::failure, signer::version_of},
};

/// The choices of a home cluster's administrator.
#[derive(Debug, Clone, Default)]
pub(crate) struct HomeChoices {
    /// The cluster's display name; by default, its ID.
    pub(crate) name: Option<String>,
    /// The peer's protocol version, if the administrator knows it.
    pub(crate) version: Option<ProtocolVersion>,
    /// The peer's API server has a publicly trusted certificate.
    pub(crate) is_publicly_trusted: bool,
    pub(crate) skips_tls_verification: bool,
}

/// The home cluster's side of one peering. The home is locked only during a step,
/// since a request may take long.
pub(crate) struct HomeSide {
    path: PathBuf,
    /// The name of the ForeignCluster.
    foreign: String,
    choices: HomeChoices,
    policy: Policy,
    clock: Clock,
}

/// The state of the home cluster's side when no request is left to send.
pub(crate) enum HomeStand {
    /// The identity is in this Secret.
    Accepted(ObjectRef),
    /// The empty token was refused.
    AwaitsToken,
    /// The token was refused.
    Refused,
}

/// The next action.
pub(crate) enum Turn {
    Send(Box<Request>),
    Rest(HomeStand),
}

impl HomeSide {
    pub(crate) fn new(
        path: impl Into<PathBuf>,
        foreign: impl Into<String>,
        choices: HomeChoices,
        policy: &Policy,
        clock: Clock,
    ) -> Self {
        Self {
            path: path.into(),
            foreign: foreign.into(),
            choices,
            policy: policy.clone(),
            clock,
        }
    }

    /// Creates the ForeignCluster, or sets its URL. Returns whether anything
    /// changed.
    pub(crate) fn ensure_foreign_cluster(&self, auth_url: Option<&str>) -> Result<bool> {
        let mut home = Home::open_folder(&self.path, Use::Write)?;
        let present = home.get::<ForeignCluster>("", &self.foreign);
        let effect = match (present, auth_url) {
            (None, None) => {
                return Err(Failure::usage(format!(
                    "there is no ForeignCluster {} in {}: give its URL with --auth-url",
                    self.foreign,
                    self.path.display()
                )));
            }
            (None, Some(url)) => Effect::Create(
                foreign_cluster(&self.foreign, url, self.choices.skips_tls_verification).into(),
            ),
            (Some(_), None) => return Ok(false),
            (Some(present), Some(url)) if present.spec.auth_url() == url => return Ok(false),
            (Some(present), Some(url)) => Effect::Patch {
                id: present.id(),
                version: version_of(&present.metadata),
                part: Part::Main,
                patch: json!({ "spec": { "foreignAuthUrl": url } }),
            },
        };
        apply(&mut home, &[effect], self.clock)?;
        home.save()?;
        Ok(true)
    }

    /// Carries out steps as far as possible without the peer, and saves the home. A
    /// request is on the disk before it is sent.
    pub(crate) fn turn(&self) -> Result<Turn> {
        let mut home = Home::open_folder(&self.path, Use::Write)?;
        let cluster = home_cluster(&home, &self.choices, &self.policy)?;
        // No exchange has so many steps: the limit only stops an endless loop.
        for _ in 0..MOST_STEPS {
            let Some(peer) = self.peer(&home)? else {
                let foreign = self.foreign_cluster(&home)?;
                let request = cluster
                    .discover(foreign)
                    .map_err(|error| self.failure(&error))?;
                return Ok(Turn::Send(Box::new(request)));
            };
            let next = cluster.reconcile(&home.view(&peer), &self.clock.env()?);
            let Next { step, request, .. } = next.map_err(|error| self.failure(&error))?;
            let is_idle = step.effects.is_empty();
            apply(&mut home, &step.effects, self.clock)?;
            if let Some(refused) = step.refused.first() {
                home.save()?;
                return Err(self.failure(&refused.error));
            }
            if let Some(request) = request {
                home.save()?;
                return Ok(Turn::Send(Box::new(request)));
            }
            if is_idle {
                home.save()?;
                let phase = cluster.look(&home.view(&peer));
                let phase = phase.map_err(|error| self.failure(&error))?;
                return self.stand(&phase).map(Turn::Rest);
            }
        }
        Err(Failure::at_odds(format!(
            "{}: the exchange with {} does not reach a stable state",
            self.path.display(),
            self.foreign
        )))
    }

    /// Receives an answer, and saves its effects.
    pub(crate) fn receive(&self, request: &Request, response: &HttpResponse) -> Result<Received> {
        let mut home = Home::open_folder(&self.path, Use::Write)?;
        let cluster = home_cluster(&home, &self.choices, &self.policy)?;
        let step = match self.peer(&home)? {
            None => cluster.receive_ids(self.foreign_cluster(&home)?, response),
            Some(peer) => {
                let env = self.clock.env()?;
                cluster.receive(&home.view(&peer), request, response, &env)
            }
        };
        match step {
            Ok(step) => {
                apply(&mut home, &step.effects, self.clock)?;
                home.save()?;
                Ok(Received::Taken(Box::new(step)))
            }
            Err(error) => Ok(Received::Refused(error)),
        }
    }

    /// The cluster ID of the foreign cluster, once it is known.
    pub(crate) fn peer(&self, home: &Home) -> Result<Option<ClusterId>> {
        let foreign = self.foreign_cluster(home)?;
        let id = foreign.spec.cluster_identity.cluster_id.as_str();
        if id.is_empty() {
            return Ok(None);
        }
        id.parse().map(Some).map_err(|error| {
            Failure::at_odds(format!(
                "{}, spec.clusterIdentity.clusterID: {error}",
                foreign.id()
            ))
        })
    }

    fn foreign_cluster<'h>(&self, home: &'h Home) -> Result<&'h ForeignCluster> {
        home.get("", &self.foreign).ok_or_else(|| {
            Failure::at_odds(format!(
                "{}: the ForeignCluster {} is gone or cannot be read",
                self.path.display(),
                self.foreign
            ))
        })
    }

    fn stand(&self, phase: &Phase) -> Result<HomeStand> {
        Ok(match phase {
            Phase::Accepted(identity) => HomeStand::Accepted(identity.kubeconfig_secret.clone()),
            Phase::AwaitsToken => HomeStand::AwaitsToken,
            Phase::Refused => HomeStand::Refused,
            Phase::Ending => {
                return Err(Failure::waiting(format!(
                    "the ForeignCluster {} is being deleted",
                    self.foreign
                )));
            }
            _ => {
                return Err(Failure::at_odds(format!(
                    "{}: {} cannot be asked for an identity",
                    self.path.display(),
                    self.foreign
                )));
            }
        })
    }

    fn failure(&self, error: &Error) -> Failure {
        if *error.fault() == Fault::Policy(PolicyRefusal::NoCaBundle) {
            return Failure::new(
                Code::Refused,
                format!(
                    "{} gave an identity without the CA of its API server. The answer is kept. If that API server's certificate is publicly trusted, accept the answer with: liqo-auth legacy peer --publicly-trusted",
                    self.foreign
                ),
            );
        }
        Failure::of(&self.path.display().to_string(), error)
    }
}

/// The result of an answer.
pub(crate) enum Received {
    Taken(Box<Step>),
    /// The answer was refused, and nothing was stored.
    Refused(Error),
}

impl Received {
    /// The notices and refusals of a step, as sentences.
    pub(crate) fn sentences(step: &Step) -> Vec<String> {
        let notices = step.notices.iter().filter_map(|notice| match notice {
            Notice::IssuedByAnotherCa => Some(notice.to_string()),
            _ => None,
        });
        let refused = step.refused.iter().map(|refused| paragraph(&refused.error));
        notices.chain(refused).collect()
    }
}

/// Sets the token of a peer, and saves the home.
pub(crate) fn set_remote_token(
    home: &mut Home,
    peer: &ClusterId,
    token: &[u8],
    policy: &Policy,
    clock: Clock,
) -> Result<()> {
    let token = AuthToken::parse(token, policy).map_err(|error| {
        let advice = "Give the token as `legacy get token` prints it.";
        Failure::new(Code::Usage, format!("the token: {error}. {advice}"))
    })?;
    let cluster = home_cluster(home, &HomeChoices::default(), policy)?;
    let step = cluster.set_remote_token(&home.view(peer), &token, clock.now()?);
    let step = step.map_err(|error| failure(home, &error))?;
    apply(home, &step.effects, clock)?;
    home.save()
}

/// The library's [`HomeCluster`] for a home.
pub(crate) fn home_cluster(
    home: &Home,
    choices: &HomeChoices,
    policy: &Policy,
) -> Result<HomeCluster> {
    let keys = Arc::new(OneKey(home.key()?));
    let peers = home
        .all::<ForeignCluster>()
        .filter_map(|peer| peer.spec.cluster_identity.cluster_id.parse().ok());
    let settings = HomeClusterSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: home.settings.with_addresses(policy),
        name: choices.name.clone(),
        publicly_trusted: choices.is_publicly_trusted,
        skip_tls_verification_where_the_foreign_cluster_says_so: choices.skips_tls_verification,
        peer_versions: choices
            .version
            .map(|version| peers.map(|peer| (peer, version)).collect())
            .unwrap_or_default(),
        ..HomeClusterSettings::default()
    };
    let (id, record_key) = (home.cluster_id().clone(), home.record_key()?);
    Ok(HomeCluster::new(id, keys, record_key, settings))
}

fn foreign_cluster(name: &str, auth_url: &str, skips_tls_verification: bool) -> ForeignCluster {
    let mut cluster = ForeignCluster {
        metadata: Metadata {
            name: name.to_owned(),
            ..Metadata::default()
        },
        ..ForeignCluster::default()
    };
    auth_url.clone_into(&mut cluster.spec.foreign_auth_url);
    cluster.spec.insecure_skip_tls_verify = skips_tls_verification.then_some(true);
    cluster
}

const MOST_STEPS: usize = 8;
