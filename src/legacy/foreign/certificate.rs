//! Giving a certificate (the forms of 0.3 to 0.10).

use base64::{Engine, engine::general_purpose::STANDARD};

use super::look::{ClaimState, Form, Look, Plan};
use crate::{
    crypto::{
        Answer, CertificateChain, CertificateError, ClientCertificateExpectation, Csr, PublicKey,
        RequestId, Subject,
    },
    error::{ApiMisuse, Backend, Error, PeerMisbehaved, PolicyRefusal, shortened},
    legacy::{
        AuthToken, HttpResponse, IdentityRequest,
        message::{CertificateResponse, write},
        objects,
    },
    machine::{Awaited, Holder, missing::missing},
    model::{
        ClusterId, ClusterRole, Metadata, Namespace, NamespaceName, ProtocolVersion, RbacSubject,
        RoleBinding, RoleRef, Secret, Timestamp, names,
    },
    policy::{Forms, Policy},
    provider::SigningRequest,
};

/// A request whose CSR is verified.
pub(super) struct CertificateForm<'a> {
    look: Look<'a>,
    request: &'a IdentityRequest,
    now: Timestamp,
    csr: Csr,
    key: PublicKey,
    subject: Subject,
    /// The token with which this cluster may request an identity from the peer.
    origin_token: Option<AuthToken>,
}

impl<'a> CertificateForm<'a> {
    /// Verifies the CSR and the origin token of a request.
    pub(super) fn of(
        look: Look<'a>,
        request: &'a IdentityRequest,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let policy = &look.configuration.settings.policy;
        let wrong = |error| {
            let field = "certificateSigningRequest";
            Error::new(error, None, field)
        };
        let key = Csr::claimed_key(&request.csr, false, policy).map_err(wrong)?;
        let subject = Subject::control_plane(&request.peer);
        let csr = Csr::verify(&request.csr, &subject, &key, policy).map_err(wrong)?;
        Ok(Self {
            look,
            request,
            now,
            csr,
            key,
            subject,
            origin_token: origin_token(request, policy)?,
        })
    }

    fn policy(&self) -> &'a Policy {
        &self.look.configuration.settings.policy
    }

    /// The stored certificate, if it was issued for exactly this CSR.
    fn issued(&self) -> Option<CertificateChain> {
        let secret = self.look.observed.certificate.issued?;
        if secret.get(names::CSR)? != self.request.csr {
            return None;
        }
        let chain = secret.get(names::CERTIFICATE)?;
        let chain = CertificateChain::from_pem(chain, self.policy()).ok()?;
        self.check(&chain).is_ok().then_some(chain)
    }

    /// Asks the signer, and stores the certificate.
    fn ask_signer(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let settings = &self.look.configuration.settings;
        let Some((claim, _)) = &self.look.observed.claim else {
            return Ok(());
        };
        let lifetime = settings.certificate_lifetime;
        let id = RequestId::of_claim(&self.csr, &claim.metadata, lifetime);
        let answer = match &settings.signer {
            None => Answer::Pending,
            Some(signer) => signer
                .sign(&SigningRequest {
                    id,
                    peer: self.request.peer.clone(),
                    holder: Holder::ControlPlane,
                    csr: self.csr.clone(),
                    subject: self.subject.clone(),
                    public_key: self.key.clone(),
                    lifetime,
                    now: self.now,
                })
                .map_err(|error| Error::backend(Backend::Credentials, error))?,
        };
        match answer {
            Answer::Ready(chain) => {
                self.check(&chain)
                    .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))?;
                plan.put(self.look.observed.certificate.issued, self.secret(&chain));
            }
            Answer::Pending => plan.await_for(Awaited::Credential(id)),
            Answer::Denied(reason) => {
                let reason = shortened(&reason);
                let refusal = PolicyRefusal::CredentialDenied { reason };
                return Err(Error::new(refusal, None, "certificateSigningRequest"));
            }
        }
        Ok(())
    }

    fn check(&self, chain: &CertificateChain) -> Result<(), CertificateError> {
        let expectation = ClientCertificateExpectation {
            subject: &self.subject,
            key: &self.key,
            now: self.now,
        };
        chain.check_client(&expectation, self.policy())
    }

    /// The Secret in which Liqo stores the certificate.
    fn secret(&self, chain: &CertificateChain) -> Secret {
        let data = [
            (names::CSR, self.request.csr.as_slice().into()),
            (names::CERTIFICATE, chain.pem().into()),
        ];
        let namespace = self.look.observed.certificate.namespace_name();
        let labels = [of_peer(&self.request.peer)];
        Secret::labelled(names::ISSUED_CERTIFICATE_SECRET, namespace, labels, data)
    }

    /// Binds the home cluster to each ClusterRole that it gets.
    fn bind(&self, plan: &mut Plan<'_>) -> Result<(), Error> {
        let objects = &self.look.observed.certificate;
        for role in &objects.basic_roles {
            let wanted = binding(role, &self.request.peer, objects.namespace_name());
            if let Some(binding) = missing(wanted, objects.bindings.iter().copied())? {
                plan.create(binding);
            }
        }
        Ok(())
    }

    /// Stores the origin token. With the strict policy, a token that an
    /// administrator stored stays. With the compatible policy, the origin token
    /// replaces it, as in Liqo.
    fn keep_origin_token(&self, plan: &mut Plan<'_>) {
        let Some(token) = &self.origin_token else {
            return;
        };
        let namespace = &self.look.configuration.settings.namespace;
        let mut wanted = objects::remote_token(namespace, &self.request.peer, token);
        let present = self.look.observed.remote_token;
        if let Some(present) = present {
            if self.policy().forms == Forms::Canonical
                || token.matches(present.get(names::TOKEN).unwrap_or_default())
            {
                return;
            }
            let annotations = &mut wanted.metadata.annotations;
            annotations.clone_from(&present.metadata.annotations);
        }
        plan.put(present, wanted);
    }

    fn response(&self, chain: &CertificateChain) -> HttpResponse {
        let endpoint = &self.look.configuration.endpoint;
        let response = CertificateResponse {
            namespace: self.look.observed.certificate.namespace_name().to_owned(),
            certificate: STANDARD.encode(chain.pem()),
            api_server_url: endpoint.api_server().as_str().to_owned(),
            api_server_ca: STANDARD.encode(endpoint.ca().as_slice()),
            ..CertificateResponse::default()
        };
        HttpResponse::text(202, write(&response))
    }

    /// The tenant namespace. With the strict policy, its name depends on the cluster
    /// ID only, so that no two peers have the same one. With the compatible policy,
    /// it is named as in Liqo: by the ID for 0.3, and by name and ID for later
    /// versions, if the result is a valid namespace name.
    fn tenant_namespace(&self) -> Namespace {
        let peer = &self.request.peer;
        let liqos = objects::tenant_namespace(&self.request.name, peer);
        let is_liqos = self.policy().forms == Forms::Compatible
            && self.request.version != ProtocolVersion::V0_3
            && liqos.parse::<NamespaceName>().is_ok();
        let name = match is_liqos {
            true => liqos,
            false => names::tenant_namespace(peer),
        };
        let labels = [
            of_peer(peer),
            (names::DISCOVERY_TENANT_NAMESPACE_LABEL, names::TRUE),
        ];
        Namespace {
            metadata: Metadata::labelled(name, "", labels),
        }
    }
}

impl Form for CertificateForm<'_> {
    fn claim_state(&self) -> ClaimState {
        let objects = &self.look.observed.certificate;
        let Some(claim) = self.look.observed.claim() else {
            // The certificate was issued by Liqo, so the home cluster has an
            // identity.
            return match objects.issued {
                Some(_) => ClaimState::Taken,
                None => ClaimState::Unclaimed,
            };
        };
        if claim.is_of_accounts() {
            return ClaimState::Taken;
        }
        let is_same = claim.csr.as_slice() == self.csr.digest();
        if claim.is_delivered || (!is_same && objects.issued.is_some()) {
            // In Liqo, an administrator deletes the certificate to have it issued
            // again. A peer may have the right to delete Secrets in its namespace,
            // so only the compatible policy accepts this.
            return match (objects.issued, self.policy().forms) {
                (None, Forms::Compatible) => ClaimState::Unclaimed,
                _ => ClaimState::Taken,
            };
        }
        if is_same && objects.namespace.is_some() {
            ClaimState::Claimed
        } else {
            ClaimState::Unclaimed
        }
    }

    fn claim(&self, plan: &mut Plan<'_>) {
        if self.look.observed.certificate.namespace.is_none() {
            plan.create(self.tenant_namespace());
        }
        let digest = self.csr.digest();
        self.look.record_claim(self.request, &digest, plan);
    }

    fn give(&self, plan: &mut Plan<'_>) -> Result<Option<HttpResponse>, Error> {
        let Some(chain) = self.issued() else {
            self.ask_signer(plan)?;
            return Ok(None);
        };
        self.bind(plan)?;
        self.keep_origin_token(plan);
        Ok(Some(self.response(&chain)))
    }
}

fn origin_token(request: &IdentityRequest, policy: &Policy) -> Result<Option<AuthToken>, Error> {
    let given = request.origin_token.expose().as_bytes();
    if given.is_empty() {
        return Ok(None);
    }
    AuthToken::parse(given, policy)
        .map(Some)
        .map_err(|error| Error::new(PeerMisbehaved::Token(error), None, "originClusterToken"))
}

fn binding(role: &ClusterRole, peer: &ClusterId, namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: Metadata::labelled(
            names::role_binding(&role.metadata.name),
            namespace,
            [of_peer(peer)],
        ),
        role_ref: RoleRef::cluster_role(&role.metadata.name),
        subjects: vec![RbacSubject::user(peer.as_str())],
    }
}

fn of_peer(peer: &ClusterId) -> (&'static str, &str) {
    (names::DISCOVERY_CLUSTER_ID_LABEL, peer.as_str())
}
