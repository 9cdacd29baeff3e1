//! Giving a certificate: the forms of 0.3 to 0.10.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::{
    Answer, Foreign,
    claim::Claim,
    seen::{CertificateObjects, Seen},
};
use crate::{
    crypto::{CertificateChain, ClientCertificateExpectation, Csr, PublicKey, Subject},
    error::{ApiMisuse, Backend, Error, LocalFault, PeerMisbehaved, PolicyRefusal, shortened},
    legacy::{
        AuthToken, HttpResponse, IdentityRequest,
        message::{CertificateAnswer, write},
    },
    machine::{Awaited, Effect, Step, Version},
    model::{
        ClusterId, ClusterRole, Metadata, Namespace, NamespaceName, RbacSubject, Resource,
        RoleBinding, RoleRef, Secret, Timestamp, names,
    },
    policy::Forms,
    provider::{RequestId, SigningRequest},
};

/// The request in the request, verified.
struct Verified {
    csr: Csr,
    key: PublicKey,
    subject: Subject,
}

impl Foreign {
    /// The next thing to do for a peer whose token is right.
    pub(super) fn give_certificate(
        &self,
        seen: &Seen<'_>,
        request: &IdentityRequest,
        now: Timestamp,
    ) -> Result<Answer, Error> {
        let verified = self.verify(request)?;
        let origin_token = self.origin_token(request)?;
        let objects = &seen.certificate;
        let Some((secret, claim)) = &seen.claim else {
            // Left by Liqo: its home has an identity.
            return if objects.issued.is_some() {
                Ok(Answer::second_identity(request))
            } else {
                self.claim(seen, request, &verified)
            };
        };
        let is_same = claim.csr.as_slice() == verified.csr.digest();
        if claim.is_delivered || (!is_same && objects.issued.is_some()) || claim.is_of_accounts() {
            // Liqo's way to have one issued again. A peer's identities may
            // delete Secrets in its namespace, so only the compatible policy
            // goes by it.
            let is_deleted = objects.issued.is_none()
                && !claim.is_of_accounts()
                && self.0.policy.forms() == Forms::Compatible;
            return if is_deleted {
                self.claim(seen, request, &verified)
            } else {
                Ok(Answer::second_identity(request))
            };
        }
        if !is_same || objects.namespace.is_none() {
            return self.claim(seen, request, &verified);
        }
        let Some(chain) = self.issued(objects, request, &verified, now) else {
            return self.issue(seen, request, &verified, secret, now);
        };
        let mut step = Step::default();
        step.effects
            .extend(self.missing_bindings(&request.peer, objects)?);
        step.effects
            .extend(self.missing_token(seen, &request.peer, origin_token.as_ref()));
        if !step.effects.is_empty() {
            return Ok(Answer::step(step));
        }
        Ok(Answer::issued(request, self.response(objects, &chain)))
    }

    fn verify(&self, request: &IdentityRequest) -> Result<Verified, Error> {
        let wrong = |error| {
            Error::new(
                PeerMisbehaved::Csr(error),
                None,
                "certificateSigningRequest",
            )
        };
        let policy = &self.0.policy;
        let key = Csr::claimed_key(&request.csr, policy).map_err(wrong)?;
        let subject = Subject::control_plane(&request.peer);
        let csr = Csr::verify(&request.csr, &subject, &key, policy).map_err(wrong)?;
        Ok(Verified { csr, key, subject })
    }

    fn origin_token(&self, request: &IdentityRequest) -> Result<Option<AuthToken>, Error> {
        let given = request.origin_token.expose().as_bytes();
        if given.is_empty() {
            return Ok(None);
        }
        AuthToken::parse(given, &self.0.policy)
            .map(Some)
            .map_err(|error| Error::new(PeerMisbehaved::Token(error), None, "originClusterToken"))
    }

    fn claim(
        &self,
        seen: &Seen<'_>,
        request: &IdentityRequest,
        verified: &Verified,
    ) -> Result<Answer, Error> {
        self.check_principals(&request.peer)?;
        let mut step = Step::default();
        if seen.certificate.namespace.is_none() {
            let namespace = self.tenant_namespace(request);
            step.effects.push(Effect::Create(namespace.into()));
        }
        let token = self.token_mac(request.token.expose().as_bytes());
        let mut claim = Claim::new(request.version, &verified.csr.digest(), &token);
        if let Some(cluster) = seen.foreign_cluster {
            claim.foreign_cluster.clone_from(&cluster.metadata.uid);
        }
        let present = seen.claim.as_ref().map(|(secret, _)| *secret);
        step.effects.push(claim.write(self, &request.peer, present));
        Ok(Answer::step(step))
    }

    /// The certificate that was issued for exactly this request.
    fn issued(
        &self,
        objects: &CertificateObjects<'_>,
        request: &IdentityRequest,
        verified: &Verified,
        now: Timestamp,
    ) -> Option<CertificateChain> {
        let secret = objects.issued?;
        if secret.get(names::CSR)? != request.csr {
            return None;
        }
        let policy = &self.0.policy;
        let chain = CertificateChain::from_pem(secret.get(names::CERTIFICATE)?, policy).ok()?;
        let expectation = ClientCertificateExpectation {
            subject: &verified.subject,
            key: &verified.key,
            now,
        };
        chain
            .check_client(&expectation, policy)
            .is_ok()
            .then_some(chain)
    }

    fn issue(
        &self,
        seen: &Seen<'_>,
        request: &IdentityRequest,
        verified: &Verified,
        claim: &Secret,
        now: Timestamp,
    ) -> Result<Answer, Error> {
        let lifetime = self.0.certificate_lifetime;
        let id = RequestId::of_claim(&verified.csr, &claim.metadata, lifetime);
        let Some(signer) = &self.0.signer else {
            return Ok(Answer::step(Step::awaiting(Awaited::Certificate(id))));
        };
        let signing = signer.sign(&SigningRequest {
            id,
            peer: request.peer.clone(),
            holder: crate::machine::Holder::ControlPlane,
            csr: verified.csr.clone(),
            subject: verified.subject.clone(),
            public_key: verified.key.clone(),
            lifetime,
            now,
        });
        let signing = signing.map_err(|error| Error::backend(Backend::CsrSigner, error))?;
        let chain = match signing {
            crate::crypto::Answer::Ready(chain) => chain,
            crate::crypto::Answer::Pending => {
                return Ok(Answer::step(Step::awaiting(Awaited::Certificate(id))));
            }
            crate::crypto::Answer::Denied(reason) => {
                let reason = shortened(&reason);
                let field = "certificateSigningRequest";
                let error = Error::new(PolicyRefusal::SigningDenied { reason }, None, field);
                return Err(error);
            }
        };
        let expectation = ClientCertificateExpectation {
            subject: &verified.subject,
            key: &verified.key,
            now,
        };
        chain
            .check_client(&expectation, &self.0.policy)
            .map_err(|error| Error::new(ApiMisuse::SignerCertificate(error), None, ""))?;
        Ok(Answer::step(store(seen, request, &chain)))
    }

    /// A binding for each ClusterRole that a home gets.
    fn missing_bindings(
        &self,
        peer: &ClusterId,
        objects: &CertificateObjects<'_>,
    ) -> Result<Vec<Effect>, Error> {
        let mut effects = Vec::new();
        for role in &objects.basic_roles {
            let wanted = binding(role, peer, namespace_name(objects));
            let present = objects
                .bindings
                .iter()
                .find(|present| present.metadata.name == wanted.metadata.name);
            match present {
                None => effects.push(Effect::Create(wanted.into())),
                Some(present)
                    if present.role_ref == wanted.role_ref
                        && present.subjects == wanted.subjects => {}
                Some(present) => {
                    let id = Some(present.id());
                    return Err(Error::new(LocalFault::Conflict, id, "subjects"));
                }
            }
        }
        Ok(effects)
    }

    /// The token by which this cluster may ask the peer in turn. What an
    /// administrator put there stays, unless the policy does as Liqo does.
    fn missing_token(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        origin_token: Option<&AuthToken>,
    ) -> Option<Effect> {
        let token = origin_token?;
        let mut wanted = remote_token(&self.0.namespace, peer, token);
        let Some(present) = seen.remote_token else {
            return Some(Effect::Create(wanted.into()));
        };
        if self.0.policy.forms() == Forms::Canonical
            || token.matches(present.get(names::TOKEN).unwrap_or_default())
        {
            return None;
        }
        wanted
            .metadata
            .annotations
            .clone_from(&present.metadata.annotations);
        Some(Effect::Replace {
            object: wanted.into(),
            version: Version::of(&present.metadata),
        })
    }

    fn response(&self, objects: &CertificateObjects<'_>, chain: &CertificateChain) -> HttpResponse {
        let endpoint = &self.0.endpoint;
        let answer = CertificateAnswer {
            namespace: namespace_name(objects).to_owned(),
            certificate: STANDARD.encode(chain.pem()),
            api_server_url: endpoint.api_server().as_str().to_owned(),
            api_server_ca: STANDARD.encode(endpoint.ca().as_slice()),
            ..CertificateAnswer::default()
        };
        HttpResponse::text(202, write(&answer))
    }

    /// Strict: named by the ID, which nobody else can choose. Compatible: by
    /// name and ID as Liqo does, where that is a name for a namespace.
    fn tenant_namespace(&self, request: &IdentityRequest) -> Namespace {
        let liqos = legacy_namespace(&request.name, &request.peer);
        let name = match self.0.policy.forms() {
            Forms::Compatible if liqos.parse::<NamespaceName>().is_ok() => liqos,
            Forms::Canonical | Forms::Compatible => names::tenant_namespace(&request.peer),
        };
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Namespace {
            metadata: Metadata {
                name,
                labels: BTreeMap::from([
                    label(names::DISCOVERY_CLUSTER_ID_LABEL, request.peer.as_str()),
                    label(names::DISCOVERY_TENANT_NAMESPACE_LABEL, names::TRUE),
                ]),
                ..Metadata::default()
            },
        }
    }
}

/// The Secret with another cluster's token. Source: Liqo
/// `authenticationtoken.StoreInSecret`.
pub(in crate::legacy) fn remote_token(
    namespace: &str,
    peer: &ClusterId,
    token: &AuthToken,
) -> Secret {
    Secret {
        metadata: Metadata {
            name: names::remote_token_secret(peer),
            namespace: namespace.to_owned(),
            labels: BTreeMap::from([
                (
                    names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                    peer.to_string(),
                ),
                (names::AUTH_TOKEN_LABEL.to_owned(), String::new()),
            ]),
            ..Metadata::default()
        },
        data: BTreeMap::from([(names::TOKEN.to_owned(), token.expose().as_bytes().into())]),
        ..Secret::default()
    }
}

/// The tenant namespace as Liqo 0.4 to 0.10 names it: by the cluster's name
/// and the first three bytes of its ID's SHA-256. Source: Liqo
/// `foreignclusterutils.UniqueName`.
pub(in crate::legacy) fn legacy_namespace(name: &str, id: &ClusterId) -> String {
    let mut namespace = format!("liqo-tenant-{name}-");
    for byte in Sha256::digest(id.as_str()).iter().take(3) {
        namespace.push_str(&format!("{byte:02x}"));
    }
    namespace
}

fn store(seen: &Seen<'_>, request: &IdentityRequest, chain: &CertificateChain) -> Step {
    let secret = Secret {
        metadata: Metadata {
            name: names::ISSUED_CERTIFICATE_SECRET.to_owned(),
            namespace: namespace_name(&seen.certificate).to_owned(),
            labels: BTreeMap::from([(
                names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                request.peer.to_string(),
            )]),
            ..Metadata::default()
        },
        data: BTreeMap::from([
            (names::CSR.to_owned(), request.csr.clone().into()),
            (names::CERTIFICATE.to_owned(), chain.pem().to_vec().into()),
        ]),
        ..Secret::default()
    };
    Step {
        effects: vec![match seen.certificate.issued {
            None => Effect::Create(secret.into()),
            Some(present) => Effect::Replace {
                object: secret.into(),
                version: Version::of(&present.metadata),
            },
        }],
        ..Step::default()
    }
}

fn binding(role: &ClusterRole, peer: &ClusterId, namespace: &str) -> RoleBinding {
    RoleBinding {
        metadata: Metadata {
            name: names::role_binding(&role.metadata.name),
            namespace: namespace.to_owned(),
            labels: BTreeMap::from([(
                names::DISCOVERY_CLUSTER_ID_LABEL.to_owned(),
                peer.to_string(),
            )]),
            ..Metadata::default()
        },
        role_ref: RoleRef::cluster_role(&role.metadata.name),
        subjects: vec![RbacSubject::user(peer.as_str())],
    }
}

fn namespace_name<'o>(objects: &CertificateObjects<'o>) -> &'o str {
    objects
        .namespace
        .map(|namespace| namespace.metadata.name.as_str())
        .unwrap_or_default()
}
