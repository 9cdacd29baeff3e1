//! The answers of a foreign cluster.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    Asks, Request,
    configuration::Configuration,
    look::{Look, Plan},
    record::KeptAnswer,
};
use crate::{
    assurance::peer_version::TokenForm,
    crypto::{CaBundle, PublicKey},
    error::{
        Error, Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition,
        shortened,
    },
    legacy::{
        HttpResponse,
        message::{CertificateResponse, ClusterInfo, LONGEST_NAME},
        objects,
    },
    machine::{Notice, plan},
    model::{
        ApiServerUrl, AuthParams, AuthStatus, Bytes, ClusterId, ForeignCluster, Identity,
        IdentitySpec, IdentityType, Kubeconfig, KubeconfigError, MapOnly, Metadata,
        ProtocolVersion, ProxyUrl, UserCredential, names, read_json,
    },
    policy::{Forms, Policy},
    verify::{self, IdentityExpectation, VerifiedIdentity},
};

impl Configuration {
    pub(super) fn receive_ids<R: plan::Records>(
        &self,
        cluster: &ForeignCluster,
        response: &HttpResponse,
        plan: &mut plan::Plan<R>,
    ) -> Result<(), Error> {
        if response.status != 200 {
            return Err(unsuccessful(response.status));
        }
        let info: ClusterInfo = read_json(
            response.body.expose(),
            self.settings.policy.limits.legacy_answer,
        )
        .map_err(|error| wrong(PeerMisbehaved::AnswerForm(error), ""))?;
        let peer: ClusterId = info
            .cluster_id
            .parse()
            .map_err(|error| wrong(PeerMisbehaved::ClusterId(error), "clusterId"))?;
        self.check_peer(&peer)?;
        let known = &cluster.spec.cluster_identity;
        if !known.cluster_id.is_empty() && known.cluster_id != peer.as_str() {
            let fault = PeerIncompatible::NameMismatch {
                expected: known.cluster_id.clone(),
                found: peer.to_string(),
            };
            return Err(wrong(fault, "clusterId"));
        }
        let form = match info.guest_namespace.as_deref() {
            // An empty text counts as an absent field.
            None | Some("") => TokenForm::Certificates,
            Some(_) => TokenForm::Accounts,
        };
        plan.edit(cluster, |cluster| {
            let identity = &mut cluster.spec.cluster_identity;
            identity.cluster_id = peer.to_string();
            if identity.cluster_name.is_empty() {
                identity.cluster_name = info.cluster_name.chars().take(LONGEST_NAME).collect();
            }
            form.note(cluster);
            let label = names::DISCOVERY_CLUSTER_ID_LABEL.to_owned();
            cluster.metadata.labels.insert(label, peer.to_string());
        });
        Ok(())
    }
}

impl Look<'_> {
    pub(super) fn receive(
        &self,
        request: &Request,
        response: &HttpResponse,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let Some(cluster) = self.observed.foreign_cluster else {
            return Err(Error::new(Precondition::NoForeignCluster, None, ""));
        };
        let Asks::Identity {
            version,
            with_token,
        } = request.asks
        else {
            return self.configuration.receive_ids(cluster, response, plan);
        };
        if self.observed.identity.is_some() {
            // Another request has brought the identity meanwhile.
            return Ok(());
        }
        let is_of_accounts = version == Some(ProtocolVersion::V0_2);
        match response.status {
            200..=299 => {
                let form = match is_of_accounts {
                    true => TokenForm::Accounts,
                    false => TokenForm::Certificates,
                };
                let body = response.body.clone();
                self.take_or_keep(cluster, KeptAnswer { form, body }, plan)
            }
            401 | 403 => {
                let outcome = match with_token {
                    true => AuthStatus::Refused,
                    false => AuthStatus::EmptyRefused,
                };
                self.set_status(outcome, plan);
                if response.status == 403 && with_token && !is_of_accounts {
                    let fault = PeerIncompatible::SecondIdentity;
                    plan.refuse(Error::found_in(cluster, "", fault));
                }
                Ok(())
            }
            404 if version.is_none() => self.downgrade(cluster, plan),
            404 => Err(wrong(PeerIncompatible::NoTokenProtocol, "")),
            found => Err(unsuccessful(found)),
        }
    }

    /// Records that the peer uses the form of 0.2, since it does not serve the path
    /// for certificates.
    fn downgrade(&self, cluster: &ForeignCluster, plan: &mut Plan<'_>) -> Result<(), Error> {
        if self.policy().forms == Forms::Canonical {
            let found = ProtocolVersion::V0_2;
            return Err(wrong(PolicyRefusal::TokenProtocolVersion { found }, ""));
        }
        plan.edit(cluster, |cluster| TokenForm::Accounts.note(cluster));
        Ok(())
    }

    /// Accepts the identity, or keeps the answer. The peer gives the identity only
    /// once. An answer without a CA is kept until this side's settings allow it.
    fn take_or_keep(
        &self,
        cluster: &ForeignCluster,
        answer: KeptAnswer,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        match self.take(cluster, &answer, plan) {
            Err(error) if is_about_ca(&error) && self.has_room(&answer) => {
                plan.refuse(error);
                plan.records.change(|record| record.kept = Some(answer));
                Ok(())
            }
            taken => taken,
        }
    }

    /// Accepts the kept answer, if the settings now allow it. If the answer is
    /// wrong, it is dropped, and the peer is asked again.
    pub(super) fn take_kept(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let observed = self.observed;
        let (Some(cluster), Some(kept)) = (observed.foreign_cluster, observed.kept_answer()) else {
            return Ok(());
        };
        if let Err(error) = self.take(cluster, kept, plan) {
            let error = error.of_the_peer()?;
            let stays = is_about_ca(&error);
            plan.refuse(error);
            if stays {
                return Ok(());
            }
        }
        plan.records.peer.change(|record| record.kept = None);
        Ok(())
    }

    /// Whether the record has room for the answer.
    fn has_room(&self, answer: &KeptAnswer) -> bool {
        answer.body.expose().len() <= self.policy().limits.certificates
    }

    fn take(
        &self,
        cluster: &ForeignCluster,
        answer: &KeptAnswer,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let body = answer.body.expose();
        match answer.form {
            TokenForm::Accounts => self.receive_account(body, plan),
            TokenForm::Certificates => self.receive_certificate(cluster, body, plan),
        }
    }

    fn receive_certificate(
        &self,
        cluster: &ForeignCluster,
        body: &[u8],
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let limit = self.policy().limits.legacy_answer;
        let answer: CertificateResponse =
            read_json(body, limit).map_err(|error| wrong(PeerMisbehaved::AnswerForm(error), ""))?;
        if answer.aws != MapOnly::default() {
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
            ..AuthParams::default()
        };
        let Some(key) = self.find_key()? else {
            return Err(Error::new(Precondition::KeyAwaited, None, ""));
        };
        let verified = self.verify(&answer.namespace, &auth_params, key.public_key())?;
        let namespace = verified.namespace.as_ref().map(ToString::to_string);
        let kubeconfig = Kubeconfig {
            cluster: self.peer().to_string(),
            server: auth_params.api_server,
            certificate_authority: auth_params.ca,
            proxy_url: proxy_url(cluster)?,
            user: names::remote_account(&self.configuration.cluster_id),
            credential: key
                .client_key()
                .into_user(auth_params.signed_crt)
                .ok_or_else(|| Error::new(LocalFault::KeyNotExportable, None, ""))?,
            namespace: namespace.clone(),
        };
        let record = &mut plan.records.peer;
        record.change(|record| record.pins = Some(verified.pins.clone()));
        self.store(kubeconfig.to_yaml(), namespace, plan);
        if !verified.issued_by_bundle() {
            plan.notify(Notice::IssuedByAnotherCa);
        }
        Ok(())
    }

    /// Verifies the answer like an Identity of the new protocol.
    fn verify(
        &self,
        namespace: &str,
        auth_params: &AuthParams,
        key: &PublicKey,
    ) -> Result<VerifiedIdentity, Error> {
        let peer = self.peer();
        let labels = [(names::REMOTE_CLUSTER_ID_LABEL, peer.as_str())];
        let identity = Identity {
            metadata: Metadata::labelled(names::identity_name(peer), "", labels),
            spec: IdentitySpec {
                cluster_id: peer.to_string(),
                identity_type: IdentityType::ControlPlane,
                auth_params: auth_params.clone(),
                namespace: Some(namespace.to_owned()),
            },
            ..Identity::default()
        };
        let pins = self
            .observed
            .record()
            .and_then(|record| record.pins.as_ref());
        // The peer names the namespace as this library does, or as Liqo does: from this
        // cluster's name and ID.
        let configuration = self.configuration;
        let own = &configuration.cluster_id;
        let liqos = [configuration.name(), own.as_str()]
            .map(|name| objects::tenant_namespace(name, own))
            .into_iter()
            .find(|name| name == namespace)
            .and_then(|name| name.parse().ok());
        let expectation = IdentityExpectation {
            namespace: liqos.as_ref(),
            publicly_trusted: configuration.settings.publicly_trusted,
            pins,
            ..IdentityExpectation::new(own, peer, key, self.now)
        };
        verify::identity(&identity, &expectation, self.policy()).map_err(|error| {
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

    fn receive_account(&self, body: &[u8], plan: &mut Plan<'_>) -> Result<(), Error> {
        let policy = self.policy();
        let kubeconfig = read_kubeconfig(body, policy)?;
        let expected = names::remote_account(&self.configuration.cluster_id);
        if kubeconfig.user != expected {
            let found = shortened(&kubeconfig.user);
            let fault = PeerIncompatible::NameMismatch { expected, found };
            return Err(wrong(fault, "users[0].name"));
        }
        let server = kubeconfig.server.parse();
        let server: ApiServerUrl =
            server.map_err(|error| wrong(PeerMisbehaved::Url(error), "server"))?;
        if let Some(address) = server.address()
            && !policy.addresses.allow(address)
        {
            return Err(wrong(PolicyRefusal::AddressRefused { address }, "server"));
        }
        let field = "certificate-authority-data";
        let authority = &kubeconfig.certificate_authority;
        if !authority.is_empty() {
            CaBundle::from_pem(authority.as_slice(), policy)
                .map_err(|error| wrong(PeerMisbehaved::CaBundle(error), field))?;
        } else if !self.configuration.settings.publicly_trusted {
            return Err(wrong(PolicyRefusal::NoCaBundle, field));
        }
        // The kubeconfig is generated again, so that only the known fields are stored.
        self.store(kubeconfig.to_yaml(), None, plan);
        Ok(())
    }
}

/// The proxy that this cluster's own administrator configured.
pub(super) fn proxy_url(cluster: &ForeignCluster) -> Result<Option<String>, Error> {
    let text = cluster.spec.foreign_proxy_url.as_str();
    if text.is_empty() {
        return Ok(None);
    }
    let url: ProxyUrl = text.parse().map_err(|error| {
        Error::found_in(cluster, "spec.foreignProxyUrl", LocalFault::AuthUrl(error))
    })?;
    Ok(Some(url.as_str().to_owned()))
}

/// Whether the refusal depends on the setting `publicly_trusted`.
fn is_about_ca(error: &Error) -> bool {
    *error.fault() == Fault::Policy(PolicyRefusal::NoCaBundle)
}

fn read_kubeconfig(body: &[u8], policy: &Policy) -> Result<Kubeconfig, Error> {
    let wrong_kubeconfig = |error| wrong(PeerMisbehaved::Kubeconfig(error), "");
    let limit = policy.limits.legacy_answer;
    let kubeconfig = Kubeconfig::read(body, limit).map_err(wrong_kubeconfig)?;
    // An exec plugin or a proxy that the peer chose is never accepted.
    if !matches!(kubeconfig.credential, UserCredential::Token(_)) {
        return Err(wrong_kubeconfig(KubeconfigError::Credential));
    }
    if kubeconfig.proxy_url.is_some() {
        return Err(wrong(PeerIncompatible::ProxyMismatch, "proxy-url"));
    }
    if let Some(found) = &kubeconfig.namespace {
        let (expected, found) = (String::new(), shortened(found));
        let fault = PolicyRefusal::UnexpectedNamespace { expected, found };
        return Err(wrong(fault, "namespace"));
    }
    Ok(kubeconfig)
}

fn decode(text: &str, field: &'static str) -> Result<Bytes, Error> {
    let decoded = STANDARD.decode(text).map(Bytes::from);
    decoded.map_err(|_| wrong(PeerMisbehaved::AnswerBase64, field))
}

fn unsuccessful(found: u16) -> Error {
    wrong(PeerIncompatible::Status { found }, "")
}

fn wrong(fault: impl Into<Fault>, field: &'static str) -> Error {
    Error::new(fault, None, field)
}
