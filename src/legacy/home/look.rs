//! One look at one foreign cluster: the phase that its objects are in, and what
//! leads on from there.

use std::sync::Arc;

use super::{
    Asks, Next, Phase, Request, Tls, configuration::Configuration, identity::AcceptedIdentity,
    observed::Observed, receiving::proxy_url, record::HomeRecord,
};
use crate::{
    assurance::peer_version::TokenForm,
    crypto::{Answer, ClientKey, SigningKey},
    error::{ApiMisuse, Backend, Error, LocalFault, PolicyRefusal},
    legacy::{
        AuthToken, HttpRequest, TokenProtocol, http::IDS_PATH, message::Outgoing, objects,
        record::Records,
    },
    machine::{self, Awaited, Env},
    model::{
        ApiServerUrl, AuthStatus, ClusterId, ForeignCluster, Kind, ObjectRef, ProtocolVersion,
        Resource, Timestamp, names,
    },
    policy::{Forms, Policy},
};

/// What a call at the home cluster changes.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a, HomeRecord>>;

/// The configuration, and what was observed of one foreign cluster.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) observed: &'a Observed<'a>,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        let seal = self.configuration.record_seal(self.peer());
        Plan::new(Records::of(seal, self.observed.record.as_ref()))
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    pub(super) fn policy(&self) -> &'a Policy {
        self.configuration.policy(self.peer())
    }

    /// The phase that the objects are in.
    pub(super) fn phase(&self) -> Result<Phase, Error> {
        let observed = self.observed;
        let Some(cluster) = observed.foreign_cluster else {
            return Ok(Phase::NoForeignCluster);
        };
        if cluster.metadata.deletion_timestamp.is_some() {
            return Ok(Phase::Ending);
        }
        if let Some(secret) = observed.identity {
            return Ok(Phase::Accepted(AcceptedIdentity::new(secret)));
        }
        let with_token = observed.remote_token.is_some();
        match cluster.status.auth_status() {
            AuthStatus::Accepted => return Ok(Phase::IdentityLost),
            AuthStatus::Refused => return Ok(Phase::Refused),
            AuthStatus::EmptyRefused if !with_token => return Ok(Phase::AwaitsToken),
            AuthStatus::EmptyRefused | AuthStatus::Pending => {}
        }
        let Some(version) = self.version()? else {
            return Ok(Phase::NeedsIds);
        };
        if observed
            .record()
            .is_some_and(|record| record.kept.is_some())
        {
            return Ok(Phase::AnswerKept);
        }
        if version != Some(ProtocolVersion::V0_2) {
            let Answer::Ready(key) = self.find_key()? else {
                return Ok(Phase::NeedsKey);
            };
            if self.lacks_origin_token() || self.recorded(&*key).is_none() {
                return Ok(Phase::NeedsRecord);
            }
        }
        Ok(Phase::NeedsIdentity { with_token })
    }

    /// What leads on from the phase.
    pub(super) fn advance(&self, env: &Env) -> Result<Next, Error> {
        let mut plan = self.plan();
        let mut request = None;
        let cluster = self.observed.foreign_cluster;
        match self.phase()? {
            Phase::NoForeignCluster | Phase::Ending => {}
            Phase::NeedsIds => {
                let discover = |cluster| self.configuration.discover(cluster);
                request = cluster.map(discover).transpose()?;
            }
            Phase::NeedsKey => plan.await_for(Awaited::OwnKey),
            Phase::NeedsRecord => self.make_record(env, &mut plan)?,
            Phase::NeedsIdentity { .. } => request = self.ask()?,
            Phase::AwaitsToken | Phase::Refused => {
                let name = names::remote_token_secret(self.peer());
                let namespace = self.configuration.settings.namespace.as_str();
                let id = ObjectRef::new(Kind::Secret, namespace, name);
                plan.await_for(Awaited::Token(id));
            }
            Phase::AnswerKept => self.take_kept(env.now, &mut plan)?,
            Phase::Accepted(_) => self.set_status(AuthStatus::Accepted, env.now, &mut plan),
            Phase::IdentityLost => {
                let id = cluster.map(Resource::id);
                let error = Error::new(LocalFault::IdentityLost, id, "status.authStatus");
                plan.refuse(error);
            }
        }
        Ok(Next {
            step: plan.finish(),
            request,
        })
    }

    /// Says the outcome on the ForeignCluster, if it is another one than what is
    /// there.
    pub(super) fn set_status(&self, outcome: AuthStatus, now: Timestamp, plan: &mut Plan<'_>) {
        if let Some(cluster) = self.observed.foreign_cluster {
            // A form that the policy refuses has no outcome to tell.
            let version = self.version().ok().flatten().flatten();
            let version = version.unwrap_or(ProtocolVersion::V0_4);
            plan.edit(cluster, |cluster| {
                if cluster.status.auth_status() != outcome {
                    cluster.status.set_auth_status(outcome, version, now);
                }
            });
        }
    }

    /// Puts in the peer's token, and has the peer asked again.
    pub(super) fn store_remote_token(
        &self,
        token: &AuthToken,
        now: Timestamp,
        plan: &mut Plan<'_>,
    ) {
        let mut wanted =
            objects::remote_token(&self.configuration.settings.namespace, self.peer(), token);
        let present = self.observed.remote_token;
        if let Some(present) = present {
            wanted.metadata.name.clone_from(&present.metadata.name);
        }
        if present.is_none_or(|present| present.get(names::TOKEN) != wanted.get(names::TOKEN)) {
            plan.put(present, wanted);
            // The peer is asked anew.
            plan.records.peer.change(|record| record.kept = None);
        }
        if self.observed.identity.is_none() {
            self.set_status(AuthStatus::Pending, now, plan);
        }
    }

    /// This cluster's own key, once there is one.
    pub(super) fn find_key(&self) -> Result<Answer<Arc<dyn SigningKey>>, Error> {
        let found = self.configuration.keys.find(self.peer());
        found.map_err(|error| Error::backend(Backend::Keys, error))
    }

    /// The form to ask in, once it is known: configured, or shown by the peer.
    #[expect(clippy::option_option, reason = "unknown, and a form for several")]
    fn version(&self) -> Result<Option<Option<ProtocolVersion>>, Error> {
        let configured = self.configuration.settings.peer_versions.get(self.peer());
        let shown = self.observed.foreign_cluster.and_then(TokenForm::shown_on);
        let version = match (configured, shown) {
            (Some(version), _) => Some(*version),
            (None, None) => return Ok(None),
            (None, Some(TokenForm::Accounts)) => Some(ProtocolVersion::V0_2),
            (None, Some(TokenForm::Certificates)) => None,
        };
        if let Some(found @ ProtocolVersion::V0_2) = version
            && self.policy().forms() == Forms::Canonical
        {
            let id = self.observed.foreign_cluster.map(Resource::id);
            let refusal = PolicyRefusal::TokenProtocolVersion { found };
            return Err(Error::new(refusal, id, ""));
        }
        Ok(Some(version))
    }

    /// The request for an identity.
    fn ask(&self) -> Result<Option<Request>, Error> {
        let (Some(cluster), Some(version)) = (self.observed.foreign_cluster, self.version()?)
        else {
            return Ok(None);
        };
        let token = self.remote_token()?;
        // What would keep the identity from being stored is told before the peer
        // gives it, since it gives it once.
        proxy_url(cluster)?;
        let csr = match self.find_key()? {
            Answer::Ready(key) if version != Some(ProtocolVersion::V0_2) => {
                if key.client_key() == ClientKey::NotExportable {
                    return Err(Error::new(LocalFault::KeyNotExportable, None, ""));
                }
                self.recorded(&*key)
            }
            Answer::Ready(_) => None,
            Answer::Pending | Answer::Denied(_) => None,
        };
        let origin_token = self.origin_token()?;
        let http = Outgoing {
            version,
            home: &self.configuration.cluster_id,
            name: self.configuration.name(),
            token: token.as_ref().map(AuthToken::expose).unwrap_or_default(),
            origin_token: origin_token.as_ref().map(AuthToken::expose),
            csr: csr.as_ref().map(|csr| csr.pem()).unwrap_or_default(),
        }
        .request();
        let asks = Asks::Identity {
            version,
            with_token: token.is_some(),
        };
        let request = self
            .configuration
            .request(cluster, self.policy(), http, asks)?;
        Ok(Some(request))
    }
}

impl Configuration {
    /// The request by which a foreign cluster is asked for its ID.
    pub(super) fn discover(&self, cluster: &ForeignCluster) -> Result<Request, Error> {
        let request = HttpRequest::new("GET", IDS_PATH, Vec::new());
        let policy = match cluster.spec.cluster_identity.cluster_id.parse() {
            Ok(peer) => self.policy(&peer),
            Err(_) => &self.settings.policy,
        };
        self.request(cluster, policy, request, Asks::Ids)
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
        let settings = &self.settings;
        let skips = settings.skip_tls_verification_where_the_foreign_cluster_says_so
            && policy.forms() == Forms::Compatible
            && cluster.spec.insecure_skip_tls_verify == Some(true);
        Ok(Request {
            url: format!("{}{}", url.as_str().trim_end_matches('/'), http.path),
            tls: if skips { Tls::Skip } else { Tls::Verify },
            http,
            asks,
        })
    }

    pub(super) fn check_protocol(&self) -> Result<(), Error> {
        match self.settings.protocol {
            TokenProtocol::Off => Err(Error::new(PolicyRefusal::TokenProtocolOff, None, "")),
            TokenProtocol::TrustWhoeverHoldsTheToken => Ok(()),
        }
    }

    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }
}
