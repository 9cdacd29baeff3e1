//! The phase of one foreign cluster's objects, and the step that follows the phase.

use super::{
    Asks, Next, Phase, Request, Tls,
    configuration::Configuration,
    identity::AcceptedIdentity,
    look::{Look, Plan},
    receiving::proxy_url,
};
use crate::{
    crypto::ClientKey,
    error::{Error, LocalFault},
    legacy::{AuthToken, HttpRequest, http::IDS_PATH, message::Outgoing},
    machine::{Awaited, Env},
    model::{
        ApiServerUrl, AuthStatus, ForeignCluster, Kind, ObjectRef, ProtocolVersion, Resource, names,
    },
    policy::Forms,
};

impl Look<'_> {
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
            return Ok(Phase::Accepted(AcceptedIdentity {
                kubeconfig_secret: secret.id(),
                kubeconfig: secret.get(names::KUBECONFIG).unwrap_or_default().into(),
            }));
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
        if observed.kept_answer().is_some() {
            return Ok(Phase::AnswerKept);
        }
        if version != Some(ProtocolVersion::V0_2) {
            let Some(key) = self.find_key()? else {
                return Ok(Phase::NeedsKey);
            };
            if self.lacks_origin_token() || self.recorded(&*key).is_none() {
                return Ok(Phase::NeedsRecord);
            }
        }
        Ok(Phase::NeedsIdentity { with_token })
    }

    /// Makes the step that follows the phase.
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
            Phase::NeedsIdentity { .. } => request = self.ask(&mut plan)?,
            Phase::AwaitsToken | Phase::Refused => {
                let name = names::remote_token_secret(self.peer());
                let namespace = self.configuration.namespace();
                let id = ObjectRef::new(Kind::Secret, namespace, name);
                plan.await_for(Awaited::Token(id));
            }
            Phase::AnswerKept => self.take_kept(&mut plan)?,
            Phase::Accepted(_) => self.set_status(AuthStatus::Accepted, &mut plan),
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

    /// The request for an identity. If the key store no longer gives the recorded key,
    /// the plan waits for it.
    fn ask(&self, plan: &mut Plan<'_>) -> Result<Option<Request>, Error> {
        let (Some(cluster), Some(version)) = (self.observed.foreign_cluster, self.version()?)
        else {
            return Ok(None);
        };
        let token = self.remote_token()?;
        // The peer gives the identity only once. So faults that would prevent its
        // storage are reported before the request.
        proxy_url(cluster)?;
        let mut csr = None;
        if version != Some(ProtocolVersion::V0_2) {
            let key = self.find_key()?;
            if key.as_ref().map(|key| key.client_key()) == Some(ClientKey::NotExportable) {
                return Err(Error::new(LocalFault::KeyNotExportable, None, ""));
            }
            csr = key.and_then(|key| self.recorded(&*key));
            if csr.is_none() {
                plan.await_for(Awaited::OwnKey);
                return Ok(None);
            }
        }
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
        let request = self.configuration.request(cluster, http, asks)?;
        Ok(Some(request))
    }
}

impl Configuration {
    /// The request for a foreign cluster's ID.
    pub(super) fn discover(&self, cluster: &ForeignCluster) -> Result<Request, Error> {
        let request = HttpRequest::new("GET", IDS_PATH, Vec::new());
        self.request(cluster, request, Asks::Ids)
    }

    fn request(
        &self,
        cluster: &ForeignCluster,
        http: HttpRequest,
        asks: Asks,
    ) -> Result<Request, Error> {
        let url: ApiServerUrl = cluster.spec.auth_url().parse().map_err(|error| {
            Error::found_in(cluster, "spec.foreignAuthUrl", LocalFault::AuthUrl(error))
        })?;
        let settings = &self.settings;
        let skips = settings.skip_tls_verification_where_the_foreign_cluster_says_so
            && settings.policy.forms == Forms::Compatible
            && cluster.spec.insecure_skip_tls_verify == Some(true);
        Ok(Request {
            url: format!("{}{}", url.as_str().trim_end_matches('/'), http.path),
            tls: if skips { Tls::Skip } else { Tls::Verify },
            http,
            asks,
        })
    }
}
