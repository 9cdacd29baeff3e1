//! A home as the provider.

mod beside;

use std::sync::Arc;

use liqo_auth::{
    crypto::{Authority, CaBundle, CertificateChain, Nonce, Subject},
    error::Error,
    machine::{Effect, Env, Message, Notice, Refused, Step, View},
    model::{
        CertificateSigningRequest, ClusterId, Identity, NamespaceName, Resource, Secret, Tenant,
        TenantCondition, Timestamp, names,
    },
    policy::Policy,
    provider::{Endpoint, NameRegistry, Phase, Provider, SigningRequest, Status},
};

use crate::{
    environment::{Clock, entropy},
    failure::{Failure, Result, paragraph},
    home::Home,
    signer::{Desk, request_name, signed_request},
};

/// The provider's side of one peering, over a home.
pub(crate) struct ProviderSide<'h> {
    pub(crate) home: &'h mut Home,
    pub(crate) peer: ClusterId,
    inviting: bool,
    provider: Provider,
    authority: Authority,
    desk: Desk,
    policy: Policy,
    clock: Clock,
}

/// Where the provider's side came to, when nothing was left to do.
pub(crate) enum ProviderStand {
    /// The nonce waits for its Tenant.
    AwaitsTenant,
    /// The Identity can be handed out.
    Authenticated,
    /// The request waits for this side's administrator.
    AwaitsApproval,
    /// The peer is let in without a handshake.
    Tolerated,
    /// The administrator drained the peer.
    Drained,
    /// What is stored was refused.
    Refused(Error),
    /// The Tenant was deleted.
    Ended,
}

impl<'h> ProviderSide<'h> {
    pub(crate) fn new(
        home: &'h mut Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        let authority = home.authority()?;
        let desk = Desk::default();
        let provider = provider(home, &authority, &desk, policy)?;
        Ok(Self {
            home,
            peer: peer.clone(),
            inviting: false,
            provider,
            authority,
            desk,
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
        let provider = provider(home, &home.authority()?, &Desk::default(), policy)?;
        let message = Message::new(peer, provider.cluster_id(), tenant.clone());
        Ok(provider
            .receive(&home.view(peer), message, clock.env()?)
            .map(|_| ()))
    }

    /// Goes on as far as it goes without the peer, and saves that. The pin and
    /// the proof are on the disk before anything is signed, and what was signed
    /// is on it before it is used.
    pub(crate) fn settle(&mut self) -> Result<ProviderStand> {
        // More steps than any exchange has: a machine that runs in circles is
        // stopped.
        for _ in 0..MOST_STEPS {
            let step = self.step()?;
            if !step.effects.is_empty() {
                self.carry_out(&step)?;
                continue;
            }
            let asked = self.desk.take_asked();
            if asked.is_empty() {
                self.home.save()?;
                let now = self.clock.now()?;
                self.home.log_refusals(&self.peer, &step, now)?;
                return self.stand(step);
            }
            for request in asked {
                self.answer(&request)?;
            }
        }
        Err(Failure::at_odds(format!(
            "{}: the peering with {} does not come to rest",
            self.home.path().display(),
            self.peer
        )))
    }

    fn step(&self) -> Result<Step> {
        let (view, env) = (self.home.view(&self.peer), self.clock.env()?);
        let uninvited = |phase| matches!(phase, Phase::Uninvited | Phase::Ended { .. });
        let invites = self.inviting && uninvited(self.phase(&view, env.now)?);
        let step = if invites {
            self.provider.invite(&view, env)
        } else {
            self.provider.reconcile(&view, env)
        };
        step.map_err(|error| self.failure(&error))
    }

    /// Where it stands after a step that has nothing left to do.
    fn stand(&self, step: Step) -> Result<ProviderStand> {
        let view = self.home.view(&self.peer);
        Ok(match self.phase(&view, self.clock.now()?)? {
            Phase::Refused(error) => ProviderStand::Refused(error),
            Phase::Uninvited | Phase::Ended { .. } | Phase::Ending => ProviderStand::Ended,
            Phase::AwaitsTenant(_) => ProviderStand::AwaitsTenant,
            Phase::NeedsApproval(_) => ProviderStand::AwaitsApproval,
            Phase::Tolerated => ProviderStand::Tolerated,
            Phase::Drained => ProviderStand::Drained,
            Phase::Authenticated(_) => ProviderStand::Authenticated,
            _ => match step.refused.into_iter().next() {
                Some(refused) => ProviderStand::Refused(refused.error),
                None => {
                    return Err(Failure::at_odds(format!(
                        "{}: the peering with {} does not go on",
                        self.home.path().display(),
                        self.peer
                    )));
                }
            },
        })
    }

    fn phase(&self, view: &View<'_>, now: Timestamp) -> Result<Phase> {
        Ok(self.status(view, now)?.phase)
    }

    /// The phases that the objects are in.
    pub(crate) fn status(&self, view: &View<'_>, now: Timestamp) -> Result<Status> {
        let status = self.provider.look(view, now);
        status.map_err(|error| self.failure(&error))
    }

    /// Answers a request to sign: by what was answered before, or by signing
    /// it. By the object that keeps the answer it is found again, and never
    /// signed twice.
    fn answer(&mut self, request: &SigningRequest) -> Result<()> {
        let name = request_name(request);
        if self
            .home
            .get::<CertificateSigningRequest>("", &name)
            .is_none()
        {
            self.home.save()?;
            let reason = if request.subject == Subject::control_plane(&self.peer) {
                "the Tenant's key signed this provider's nonce"
            } else {
                "the request is of the Tenant's key"
            };
            let signed = signed_request(&self.authority, name.clone(), request, reason)?;
            self.home
                .apply(&Effect::Create(signed.into()), self.clock.now()?)?;
            self.home.save()?;
        }
        let stored = self.home.get::<CertificateSigningRequest>("", &name);
        let stored = stored.ok_or_else(|| {
            Failure::at_odds(format!("{name}: the request was signed, and is not there"))
        })?;
        let chain = CertificateChain::from_pem(stored.status.certificate.as_slice(), &self.policy)
            .map_err(|error| {
                Failure::at_odds(format!("{}, status.certificate: {error}", stored.id()))
            })?;
        self.desk.answer(name, chain);
        Ok(())
    }

    /// Takes a Tenant in memory; nothing is saved yet. Says what it made of it.
    pub(crate) fn receive(&mut self, tenant: &Tenant, subject: &str) -> Result<()> {
        let message = Message::new(&self.peer, self.provider.cluster_id(), tenant.clone());
        let step = self
            .provider
            .receive(&self.home.view(&self.peer), message, self.clock.env()?);
        match step {
            Ok(step) => self.carry_out(&step),
            Err(error) => {
                self.home
                    .log_refusal(&self.peer, &error, self.clock.now()?)?;
                Err(Failure::of(subject, &error))
            }
        }
    }

    /// Does, in memory, what an administrator asks for.
    pub(crate) fn administer(
        &mut self,
        subject: &str,
        act: impl FnOnce(&Provider, &View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step> {
        let env = self.clock.env()?;
        let step = act(&self.provider, &self.home.view(&self.peer), env)
            .map_err(|error| Failure::of(subject, &error))?;
        self.carry_out(&step)?;
        Ok(step)
    }

    /// What would be refused of what is there now.
    pub(crate) fn refusals(&self) -> Result<Vec<Refused>> {
        Ok(self.look()?.refused)
    }

    /// The condition that is in force.
    pub(crate) fn condition(&self) -> Result<TenantCondition> {
        let held = self.look()?.notices.into_iter().find_map(|notice| {
            let Notice::ConditionHeld { condition } = notice else {
                return None;
            };
            Some(condition)
        });
        let name = self.peer.as_str();
        let mut tenants = self.home.all::<Tenant>();
        let tenant = tenants.find(|tenant| tenant.metadata.name == name);
        let said = tenant.and_then(|tenant| tenant.spec.tenant_condition);
        Ok(held.or(said).unwrap_or(TenantCondition::Active))
    }

    /// The next step, without taking it.
    pub(crate) fn look(&self) -> Result<Step> {
        let view = self.home.view(&self.peer);
        let step = self.provider.reconcile(&view, self.clock.env()?);
        // What it asked the desk for is asked again when it counts.
        self.desk.take_asked();
        step.map_err(|error| self.failure(&error))
    }

    /// A new nonce in place of the one that is there.
    pub(crate) fn replace_nonce(&mut self) -> Result<Vec<Notice>> {
        let subject = self.home.path().display().to_string();
        let step = self.administer(&subject, |provider, view, env| {
            provider.replace_nonce(view, env)
        })?;
        self.home.save()?;
        Ok(step.notices)
    }

    /// The Identity to hand out, once the peer is authenticated.
    pub(crate) fn identity(&self, namespace: Option<&NamespaceName>) -> Result<Option<Identity>> {
        let view = self.home.view(&self.peer);
        Ok(match self.phase(&view, self.clock.now()?)? {
            Phase::Authenticated(issued) => Some(issued.identity(namespace)),
            _ => None,
        })
    }

    /// The nonce that is there, in whatever state.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        let secret = nonce_secret(self.home, &self.peer)?;
        Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()
    }

    fn carry_out(&mut self, step: &Step) -> Result<()> {
        self.home.carry_out(step, self.clock.now()?)
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

fn provider(home: &Home, authority: &Authority, desk: &Desk, policy: &Policy) -> Result<Provider> {
    let endpoint = endpoint(home, authority)?;
    let mut builder = Provider::builder(home.cluster_id().clone(), endpoint, home.record_key()?)
        .key(Arc::new(home.key()?))
        .signer(Arc::new(desk.clone()))
        .principals(Arc::new(principals(home)?))
        .policy(policy.clone());
    if home.settings.require_approval {
        builder = builder.require_approval();
    }
    for (peer, settings) in &home.settings.peers {
        if settings.tolerate_no_handshake {
            builder = builder.tolerate_no_handshake(peer.clone());
        }
    }
    Ok(builder.build())
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

/// Who has which name in this home already.
fn principals(home: &Home) -> Result<NameRegistry> {
    let cluster_id = home.cluster_id().clone();
    let registry = NameRegistry::new(cluster_id, home.record_key()?, &entropy()?);
    for object in home.objects() {
        registry.observe(object);
    }
    registry.complete();
    Ok(registry)
}

/// Refusals that stand in the home, as a failure.
pub(crate) fn refused(home: &Home, error: &Error) -> Failure {
    Failure::new(
        crate::failure::Code::Refused,
        format!("{}: {}", home.path().display(), paragraph(error)),
    )
}
