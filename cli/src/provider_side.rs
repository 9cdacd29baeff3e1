//! A home as the provider.

mod beside;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use liqo_auth::{
    crypto::{Authority, CaBundle, CertificateChain, Entropy, Nonce},
    error::Error,
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition,
        CertificateSigningRequestSpec, CertificateSigningRequestStatus, ClusterId,
        ClusterRoleBinding, Identity, Metadata, NamespaceName, RbacSubject, Resource, RoleBinding,
        Secret, Tenant, Timestamp, names,
    },
    policy::Policy,
    provider::{Endpoint, NameTable, Phase, Provider, SigningRequest},
    step::{Effect, Message, Notice, Step},
};

use crate::{
    environment::Clock,
    failure::{Failure, Result, paragraph},
    home::Home,
};

/// The provider's side of one peering, over a home.
pub(crate) struct ProviderSide<'h> {
    pub(crate) home: &'h mut Home,
    pub(crate) peer: ClusterId,
    inviting: bool,
    provider: Provider,
    authority: Authority,
    policy: Policy,
    clock: Clock,
}

/// Where the provider's side came to, when nothing was left to do.
pub(crate) enum ProviderStand {
    /// The nonce waits for its Tenant.
    AwaitsTenant,
    /// The Identity can be handed out.
    Authenticated,
    /// What is stored was refused.
    Refused(Error),
    /// The Tenant was deleted.
    Ended,
}

/// What is to be done next.
enum Next {
    /// In memory.
    Apply(Box<Step>),
    /// What is in memory, before something is signed that rests on it.
    Save,
    Rest(ProviderStand),
}

impl<'h> ProviderSide<'h> {
    pub(crate) fn new(
        home: &'h mut Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        let authority = home.authority()?;
        let provider = provider(home, &authority, peer, policy)?;
        Ok(Self {
            home,
            peer: peer.clone(),
            inviting: false,
            provider,
            authority,
            policy: policy.clone(),
            clock,
        })
    }

    /// The same, for a peer that is wanted: it is invited where it has not been,
    /// or not since its Tenant went.
    pub(crate) fn inviting(self) -> Self {
        Self {
            inviting: true,
            ..self
        }
    }

    /// What this home would make of a Tenant. Nothing is changed.
    pub(crate) fn judge(
        home: &Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
        tenant: &Tenant,
    ) -> Result<Result<(), Error>> {
        let provider = provider(home, &home.authority()?, peer, policy)?;
        let message = Message::Tenant(Box::new(tenant.clone()));
        Ok(provider
            .receive(&home.view(peer), message, clock.env()?)
            .map(|_| ()))
    }

    /// Goes on as far as it goes without the peer, and saves that. The pin and
    /// the proof are on the disk before anything is signed; what is signed is
    /// on it before this returns, so before anybody gets it.
    pub(crate) fn settle(&mut self) -> Result<ProviderStand> {
        // More steps than any exchange has: a machine that runs in circles is
        // stopped.
        for _ in 0..MOST_STEPS {
            let now = self.clock.now()?;
            match self.next(now)? {
                Next::Apply(step) => self.home.carry_out(&step, now)?,
                Next::Save => self.home.save()?,
                Next::Rest(stand) => {
                    self.home.save()?;
                    if let ProviderStand::Refused(error) = &stand {
                        self.home.log_refusal(&self.peer, error, now)?;
                    }
                    return Ok(stand);
                }
            }
        }
        Err(Failure::at_odds(format!(
            "{}: the peering with {} does not come to rest",
            self.home.path().display(),
            self.peer
        )))
    }

    fn next(&self, now: Timestamp) -> Result<Next> {
        let view = self.home.view(&self.peer);
        let peering = self
            .provider
            .resume(&view, now)
            .map_err(|error| self.failure(&error))?;
        let stand = match peering.phase {
            Phase::Refused(error) => return Ok(Next::Rest(ProviderStand::Refused(error))),
            Phase::NeedsCertificate(phase) => {
                let name = request_name(phase.request());
                let Some(stored) = self.home.get::<CertificateSigningRequest>("", &name) else {
                    if !self.home.is_saved() {
                        return Ok(Next::Save);
                    }
                    let request = self.signed_request(name, phase.request())?;
                    let mut step = Step::default();
                    step.effects.push(Effect::Create(request.into()));
                    return Ok(Next::Apply(Box::new(step)));
                };
                let chain =
                    CertificateChain::from_pem(stored.status.certificate.as_slice(), &self.policy)
                        .map_err(|error| {
                            Failure::at_odds(format!(
                                "{}, status.certificate: {error}",
                                stored.id()
                            ))
                        })?;
                let step = phase
                    .continue_with(&chain)
                    .map_err(|error| self.failure(&error))?;
                return Ok(Next::Apply(Box::new(step)));
            }
            Phase::Uninvited | Phase::Ended(_) if self.inviting => {
                let step = self
                    .provider
                    .invite(&view, self.clock.env()?)
                    .map_err(|error| self.failure(&error))?;
                return Ok(Next::Apply(Box::new(step)));
            }
            Phase::Uninvited | Phase::Ended(_) => ProviderStand::Ended,
            Phase::AwaitsTenant(_) => ProviderStand::AwaitsTenant,
            Phase::Ending(_) => ProviderStand::Ended,
            _ => ProviderStand::Authenticated,
        };
        let step = self
            .provider
            .reconcile(&view, self.clock.env()?)
            .map_err(|error| self.failure(&error))?;
        Ok(match step.refused.first() {
            Some(refused) => Next::Rest(ProviderStand::Refused(refused.error.clone())),
            None if step.effects.is_empty() => Next::Rest(stand),
            None => Next::Apply(Box::new(step)),
        })
    }

    /// Takes a Tenant in memory; nothing is saved yet. Says what it made of it.
    pub(crate) fn receive(&mut self, tenant: &Tenant, subject: &str) -> Result<()> {
        let env = self.clock.env()?;
        let now = env.now;
        let message = Message::Tenant(Box::new(tenant.clone()));
        let step = self
            .provider
            .receive(&self.home.view(&self.peer), message, env);
        let step = match step {
            Ok(step) => step,
            Err(error) => {
                self.home.log_refusal(&self.peer, &error, now)?;
                return Err(Failure::of(subject, &error));
            }
        };
        self.home.carry_out(&step, now)
    }

    /// A new nonce in place of the one that is there.
    pub(crate) fn replace_nonce(&mut self) -> Result<Vec<Notice>> {
        let env = self.clock.env()?;
        let now = env.now;
        let step = self
            .provider
            .replace_nonce(&self.home.view(&self.peer), env)
            .map_err(|error| self.failure(&error))?;
        self.home.carry_out(&step, now)?;
        self.home.save()?;
        Ok(step.notices)
    }

    /// The Identity to hand out, once the peer is authenticated.
    pub(crate) fn identity(&self, namespace: Option<&NamespaceName>) -> Result<Option<Identity>> {
        let now = self.clock.now()?;
        let view = self.home.view(&self.peer);
        let peering = self
            .provider
            .resume(&view, now)
            .map_err(|error| self.failure(&error))?;
        Ok(match peering.phase {
            Phase::Authenticated(issued) => Some(issued.identity(namespace)),
            _ => None,
        })
    }

    /// The nonce that is there, in whatever state.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        let secret = nonce_secret(self.home, &self.peer)?;
        Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()
    }

    /// Signs a request, and makes the object that keeps the answer: by that it
    /// is found again, and never signed twice.
    fn signed_request(
        &self,
        name: String,
        request: &SigningRequest,
    ) -> Result<CertificateSigningRequest> {
        let reason = "the Tenant's key signed this provider's nonce";
        signed_request(&self.authority, name, request, reason)
    }

    fn failure(&self, error: &Error) -> Failure {
        Failure::of(&self.home.path().display().to_string(), error)
    }
}

/// The nonce Secret of a peer.
pub(crate) fn nonce_secret<'h>(home: &'h Home, peer: &ClusterId) -> Option<&'h Secret> {
    home.all::<Secret>().find(|secret| {
        let label = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
        secret.metadata.name == names::NONCE_SECRET
            && label.map(String::as_str) == Some(peer.as_str())
    })
}

const MOST_STEPS: usize = 32;

fn provider(
    home: &Home,
    authority: &Authority,
    peer: &ClusterId,
    policy: &Policy,
) -> Result<Provider> {
    let endpoint = endpoint(home, authority)?;
    Ok(
        Provider::builder(home.cluster_id().clone(), endpoint, home.record_key()?)
            .key(Arc::new(home.key()?))
            .principals(Arc::new(principals(home, peer)))
            .policy(policy.clone())
            .build(),
    )
}

/// Where peers reach this home's API server, and by which CA.
pub(crate) fn endpoint(home: &Home, authority: &Authority) -> Result<Endpoint> {
    let bundle = match &home.settings.api_server_ca {
        None => authority.ca_bundle().clone(),
        Some(ca) => CaBundle::from_pem(ca.as_bytes(), &Policy::compatible())
            .map_err(|error| Failure::at_odds(format!("home.yaml, apiServerCA: {error}")))?,
    };
    Ok(Endpoint::new(
        home.settings.api_server.clone(),
        Some(&bundle),
    ))
}

/// The names that rights of this home are bound to already, but for the peer's
/// own.
fn principals(home: &Home, peer: &ClusterId) -> NameTable {
    let others = |metadata: &Metadata| {
        let label = |key: &str| metadata.labels.get(key).map(String::as_str);
        label(names::REMOTE_CLUSTER_ID_LABEL) != Some(peer.as_str())
            || label(names::MANAGED_BY_LABEL) != Some(names::MANAGED_BY_LIQO)
    };
    let names = |subjects: &[RbacSubject]| -> Vec<String> {
        let people = subjects
            .iter()
            .filter(|subject| subject.kind != "ServiceAccount");
        people.map(|subject| subject.name.clone()).collect()
    };
    let bindings = home
        .all::<RoleBinding>()
        .filter(|binding| others(&binding.metadata));
    let cluster_bindings = home
        .all::<ClusterRoleBinding>()
        .filter(|binding| others(&binding.metadata));
    bindings
        .flat_map(|binding| names(&binding.subjects))
        .chain(cluster_bindings.flat_map(|binding| names(&binding.subjects)))
        .collect()
}

/// The same for the same request: it is found again, and never signed twice.
pub(crate) fn request_name(request: &SigningRequest) -> String {
    let id: String = request.id.to_string().chars().take(32).collect();
    format!("{}{id}", names::CSR_GENERATE_NAME)
}

/// Signs a request: as the Kubernetes API keeps it, approved for that reason
/// and issued.
pub(crate) fn signed_request(
    authority: &Authority,
    name: String,
    request: &SigningRequest,
    reason: &str,
) -> Result<CertificateSigningRequest> {
    // The request's ID is a hash over what makes the request this one: no two
    // have the same, and nobody can foresee it.
    let serial_number = Entropy::from_bytes(*request.id.as_bytes());
    let chain = authority.issue(
        &request.csr,
        &request.subject,
        &request.public_key,
        request.now,
        request.lifetime,
        &serial_number,
    );
    let chain = chain.map_err(|error| {
        Failure::at_odds(format!("the authority of this home cannot sign: {error}"))
    })?;
    Ok(CertificateSigningRequest {
        metadata: Metadata {
            name,
            labels: BTreeMap::from([
                (
                    names::REMOTE_TENANT_CSR_LABEL.to_owned(),
                    names::TRUE.to_owned(),
                ),
                (
                    names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                    request.peer.to_string(),
                ),
            ]),
            ..Metadata::default()
        },
        spec: CertificateSigningRequestSpec {
            request: Bytes::from(request.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: seconds(request.lifetime),
        },
        status: CertificateSigningRequestStatus {
            certificate: Bytes::from(chain.pem()),
            conditions: vec![CertificateSigningRequestCondition {
                condition_type: "Approved".to_owned(),
                status: "True".to_owned(),
                reason: names::APPROVAL_REASON.to_owned(),
                message: format!("Approved by liqo-auth: {reason}"),
            }],
        },
    })
}

fn seconds(lifetime: Duration) -> Option<i32> {
    i32::try_from(lifetime.as_secs()).ok()
}

/// Refusals that stand in the home, as a failure.
pub(crate) fn refused(home: &Home, error: &Error) -> Failure {
    Failure::new(
        crate::failure::Code::Refused,
        format!("{}: {}", home.path().display(), paragraph(error)),
    )
}
