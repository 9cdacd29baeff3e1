//! What a foreign cluster answered.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    Asks, Home, Request,
    record::{bytes, patch, status},
    seen::{EVIDENCE_ANNOTATION, Evidence, Seen},
};
use crate::{
    crypto::{CaBundle, PublicKey},
    error::{
        Error, Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition,
        shortened,
    },
    legacy::{
        HttpResponse,
        foreign::legacy_namespace,
        message::{CertificateAnswer, ClusterInfo},
    },
    machine::{Effect, Env, Notice, Part, Refused, Step, View},
    model::{
        ApiServerUrl, AuthParams, AuthStatus, Bytes, ClusterId, ForeignCluster, Identity,
        IdentitySpec, IdentityType, Kubeconfig, KubeconfigError, ManifestError, Metadata,
        ProtocolVersion, ProxyUrl, Resource, SecretBytes, ServiceAccountKubeconfig, Timestamp,
        names, read_strict_json,
    },
    policy::{Forms, Policy},
    verify::{self, IdentityExpectation, VerifiedIdentity},
};

impl Home {
    /// Takes the answer to [`discover`](Self::discover): the ForeignCluster is
    /// given the ID and name that are still missing, and what the answer shows
    /// of the form that the peer speaks.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive_ids(
        &self,
        cluster: &ForeignCluster,
        response: &HttpResponse,
    ) -> Result<Step, Error> {
        self.check_protocol()?;
        if response.status != 200 {
            return Err(no_answer(response.status));
        }
        let info: ClusterInfo =
            read_strict_json(response.body.expose(), self.0.policy.limits().legacy_answer)
                .map_err(|error| wrong(PeerMisbehaved::AnswerForm(error), ""))?;
        let peer: ClusterId = info
            .cluster_id
            .parse()
            .map_err(|error| wrong(PeerMisbehaved::ClusterId(error), "clusterId"))?;
        self.check_peer(&peer)?;
        let known = &cluster.spec.cluster_identity;
        if !known.cluster_id.is_empty() && known.cluster_id != peer.as_str() {
            let fault = PeerMisbehaved::NameMismatch {
                expected: known.cluster_id.clone(),
                found: peer.to_string(),
            };
            return Err(wrong(fault, "clusterId"));
        }
        let mut wanted = cluster.clone();
        wanted.spec.cluster_identity.cluster_id = peer.to_string();
        if known.cluster_name.is_empty() {
            wanted.spec.cluster_identity.cluster_name =
                info.cluster_name.chars().take(LONGEST_NAME).collect();
        }
        let evidence = match info.guest_namespace {
            Some(_) => Evidence::Accounts,
            None => Evidence::Certificates,
        };
        show(&mut wanted, evidence);
        wanted.metadata.labels.insert(
            names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
            peer.to_string(),
        );
        Ok(Step {
            effects: patch(cluster, wanted, Part::Main).into_iter().collect(),
            ..Step::default()
        })
    }

    /// Takes the answer to a request. It is verified as a whole before anything
    /// is stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then. With
    /// [`Disposition::Retry`](crate::error::Disposition::Retry) the peer is
    /// asked again later.
    pub fn receive(
        &self,
        view: &View<'_>,
        request: &Request,
        response: &HttpResponse,
        env: &Env,
    ) -> Result<Step, Error> {
        self.check_protocol()?;
        self.check_peer(view.peer())?;
        let seen = Seen::select(self, view)?;
        let peer = view.peer();
        let Some(cluster) = seen.foreign_cluster else {
            return Err(Error::new(Precondition::NoForeignCluster, None, ""));
        };
        let Asks::Identity {
            version,
            with_token,
        } = request.asks
        else {
            return self.receive_ids(cluster, response);
        };
        if seen.identity.is_some() {
            // It came by another request meanwhile.
            return Ok(Step::default());
        }
        let is_of_accounts = version == Some(ProtocolVersion::V0_2);
        match response.status {
            200..=299 if is_of_accounts => self.receive_account(&seen, peer, response, env.now),
            200..=299 => self.receive_certificate(&seen, peer, response, env.now),
            401 | 403 => {
                let outcome = match with_token {
                    true => AuthStatus::Refused,
                    false => AuthStatus::EmptyRefused,
                };
                let mut step = Step::default();
                step.effects.extend(status(cluster, outcome, env.now));
                if response.status == 403 && with_token && !is_of_accounts {
                    let id = Some(cluster.id());
                    let error = Error::new(PeerIncompatible::SecondIdentity, id.clone(), "");
                    step.refused.push(Refused { object: id, error });
                }
                Ok(step)
            }
            404 if version.is_none() => self.downgrade(cluster, peer),
            404 => Err(wrong(PeerIncompatible::NoTokenProtocol, "")),
            found => Err(no_answer(found)),
        }
    }

    /// The peer does not know where certificates are asked for: it is of 0.2.
    fn downgrade(&self, cluster: &ForeignCluster, peer: &ClusterId) -> Result<Step, Error> {
        if self.policy(peer).forms() == Forms::Canonical {
            let found = ProtocolVersion::V0_2;
            return Err(wrong(PolicyRefusal::TokenProtocolVersion { found }, ""));
        }
        let mut wanted = cluster.clone();
        show(&mut wanted, Evidence::Accounts);
        Ok(Step {
            effects: patch(cluster, wanted, Part::Main).into_iter().collect(),
            ..Step::default()
        })
    }

    fn receive_certificate(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        response: &HttpResponse,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let policy = self.policy(peer);
        let answer: CertificateAnswer =
            read_strict_json(response.body.expose(), policy.limits().legacy_answer)
                .map_err(|error| wrong(PeerMisbehaved::AnswerForm(error), ""))?;
        if !answer.aws.0.is_empty() {
            let fault: Fault = match answer.certificate.is_empty() {
                true => PeerIncompatible::NoCertificate.into(),
                false => PeerMisbehaved::MixedCredentials.into(),
            };
            return Err(Error::new(fault, None, "aws"));
        }
        let auth_params = AuthParams {
            ca: decode(&answer.api_server_ca, "apiServerCA")?,
            signed_crt: decode(&answer.certificate, "certificate")?,
            api_server: answer.api_server_url,
            proxy_url: None,
            aws_config: None,
        };
        let Some(key) = self.find_key(peer)? else {
            return Err(Error::new(Precondition::KeyAwaited, None, ""));
        };
        let namespace = answer.namespace.as_str();
        let verified = self.verify(seen, peer, namespace, &auth_params, key.public_key(), now)?;
        let proxy_url = seen.foreign_cluster.map(proxy_url).transpose()?.flatten();
        let kubeconfig = Kubeconfig {
            cluster: peer.to_string(),
            server: auth_params.api_server,
            certificate_authority: auth_params.ca,
            proxy_url,
            user: names::remote_account(&self.0.cluster_id),
            credential: key
                .client_key()
                .into_user(auth_params.signed_crt)
                .ok_or_else(|| Error::new(LocalFault::KeyNotExportable, None, ""))?,
            namespace: verified.namespace().map(ToString::to_string),
        };
        let mut step = Step::default();
        step.effects.extend(self.pin(seen, peer, &verified));
        let namespace = verified.namespace().map(ToString::to_string);
        let stored = self.stored(seen, peer, kubeconfig.to_yaml(), namespace, now);
        step.effects.extend(stored);
        if !verified.issued_by_bundle() {
            step.notices.push(Notice::IssuedByAnotherCa);
        }
        Ok(step)
    }

    /// The same checks as of an Identity of today.
    fn verify(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        namespace: &str,
        auth_params: &AuthParams,
        key: &PublicKey,
        now: Timestamp,
    ) -> Result<VerifiedIdentity, Error> {
        let label = (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.to_string());
        let identity = Identity {
            metadata: Metadata {
                name: names::identity_name(peer),
                labels: [label].into(),
                ..Metadata::default()
            },
            spec: IdentitySpec {
                cluster_id: peer.to_string(),
                identity_type: IdentityType::ControlPlane,
                auth_params: auth_params.clone(),
                namespace: Some(namespace.to_owned()),
            },
            ..Identity::default()
        };
        let pins = self.pins(seen);
        // As this library names it, or as Liqo does by name and ID.
        let own = &self.0.cluster_id;
        let liqos = [self.0.name.as_str(), own.as_str()]
            .map(|name| legacy_namespace(name, own))
            .into_iter()
            .find(|name| name == namespace)
            .and_then(|name| name.parse().ok());
        let expectation = IdentityExpectation {
            consumer: own,
            provider: peer,
            key,
            now,
            proxy_url: None,
            namespace: liqos.as_ref(),
            publicly_trusted: self.0.is_publicly_trusted,
            pins: pins.as_ref(),
            aws: false,
        };
        verify::identity(&identity, &expectation, self.policy(peer)).map_err(|error| {
            let field = match error.at().field {
                "spec.authParams.signedCRT" => "certificate",
                "spec.authParams.ca" => "apiServerCA",
                "spec.authParams.apiServer" => "apiServerUrl",
                "spec.namespace" => "namespace",
                other => other,
            };
            error.moved_to(None, field)
        })
    }

    fn receive_account(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        response: &HttpResponse,
        now: Timestamp,
    ) -> Result<Step, Error> {
        let policy = self.policy(peer);
        let kubeconfig = read_kubeconfig(response.body.expose(), policy)?;
        let expected = names::remote_account(&self.0.cluster_id);
        if kubeconfig.user != expected {
            let found = shortened(&kubeconfig.user);
            let fault = PeerMisbehaved::NameMismatch { expected, found };
            return Err(wrong(fault, "users[0].name"));
        }
        let _: ApiServerUrl = kubeconfig
            .server
            .parse()
            .map_err(|error| wrong(PeerMisbehaved::Url(error), "server"))?;
        let field = "certificate-authority-data";
        let authority = &kubeconfig.certificate_authority;
        if !authority.is_empty() {
            CaBundle::from_pem(authority.as_slice(), policy)
                .map_err(|error| wrong(PeerMisbehaved::CaBundle(error), field))?;
        } else if !self.0.is_publicly_trusted {
            return Err(wrong(PolicyRefusal::NoCaBundle, field));
        }
        // What was read is written, and nothing else of what came.
        let effects = self.stored(seen, peer, kubeconfig.to_yaml(), None, now);
        Ok(Step {
            effects,
            ..Step::default()
        })
    }

    fn stored(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        kubeconfig: SecretBytes,
        namespace: Option<String>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let secret = self.identity_secret(peer, kubeconfig, namespace);
        let accepted = seen
            .foreign_cluster
            .and_then(|cluster| status(cluster, AuthStatus::Accepted, now));
        core::iter::once(Effect::Create(secret.into()))
            .chain(accepted)
            .collect()
    }
}

/// The proxy that this cluster's own administrator named.
fn proxy_url(cluster: &ForeignCluster) -> Result<Option<String>, Error> {
    let text = cluster.spec.foreign_proxy_url.as_str();
    if text.is_empty() {
        return Ok(None);
    }
    let url: ProxyUrl = text.parse().map_err(|error| {
        let id = Some(cluster.id());
        Error::new(LocalFault::AuthUrl(error), id, "spec.foreignProxyUrl")
    })?;
    Ok(Some(url.as_str().to_owned()))
}

fn read_kubeconfig(body: &[u8], policy: &Policy) -> Result<ServiceAccountKubeconfig, Error> {
    let wrong_kubeconfig = |error| wrong(PeerMisbehaved::Kubeconfig(error), "");
    let limit = policy.limits().legacy_answer;
    if body.len() > limit {
        let found = body.len();
        let error = ManifestError::TooLarge { found, limit };
        return Err(wrong_kubeconfig(KubeconfigError::Text(error)));
    }
    let text = core::str::from_utf8(body).map_err(|error| {
        let at = error.valid_up_to();
        wrong_kubeconfig(KubeconfigError::Text(ManifestError::NotText { at }))
    })?;
    ServiceAccountKubeconfig::parse(text).map_err(wrong_kubeconfig)
}

fn decode(text: &str, field: &'static str) -> Result<Bytes, Error> {
    match STANDARD.decode(text) {
        Ok(decoded) => Ok(bytes(&decoded)),
        Err(_) => Err(wrong(PeerMisbehaved::AnswerBase64, field)),
    }
}

fn show(cluster: &mut ForeignCluster, evidence: Evidence) {
    cluster.metadata.annotations.insert(
        EVIDENCE_ANNOTATION.to_owned(),
        evidence.annotation().to_owned(),
    );
}

fn no_answer(found: u16) -> Error {
    wrong(PeerIncompatible::Status { found }, "")
}

fn wrong(fault: impl Into<Fault>, field: &'static str) -> Error {
    Error::new(fault, None, field)
}

/// As long as the name of a Kubernetes object may be.
const LONGEST_NAME: usize = 253;
