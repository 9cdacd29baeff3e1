//! A home as the provider.

mod beside;

use std::sync::Arc;

use liqo_auth::{
    crypto::{Authority, CaBundle, Nonce},
    error::Error,
    machine::{Message, Notice, Step},
    model::{ClusterId, Identity, NamespaceName, Secret, Tenant, TenantCondition, names},
    policy::Policy,
    provider::{Endpoint, NameRegistry, Phase, Provider, Status},
};

use crate::{
    driver::Driver,
    environment::{Clock, entropy},
    failure::{Failure, Result, paragraph},
    home::Home,
};

/// The provider's side of one peering, over a home.
pub(crate) type ProviderSide<'h> = Driver<'h, Provider>;

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
        Ok(Self {
            machine: provider(home, policy)?,
            home,
            peer: peer.clone(),
            clock,
        })
    }

    /// Why this home would not take a Tenant. Nothing is changed.
    pub(crate) fn judge_tenant(
        home: &Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
        tenant: &Tenant,
    ) -> Result<Result<(), Error>> {
        let provider = provider(home, policy)?;
        let message = Message::new(peer, provider.cluster_id(), tenant.clone());
        Self::judge(home, peer, &provider, clock, message)
    }

    /// Goes on as far as possible without the peer, and saves the outcome.
    pub(crate) fn settle(&mut self) -> Result<ProviderStand> {
        let rest = self.go_on()?;
        self.stand(rest.step)
    }

    /// The same for a peer that is wanted. The peer is invited if it has not been
    /// invited before, or not since its Tenant went.
    pub(crate) fn invite(&mut self) -> Result<ProviderStand> {
        let rest = self.go_on_by(|provider, view, env| {
            let phase = provider.look(view, env.now)?.phase;
            if matches!(phase, Phase::Uninvited | Phase::Ended { .. }) {
                provider.invite(view, env)
            } else {
                provider.reconcile(view, env)
            }
        })?;
        self.stand(rest.step)
    }

    /// Where the side stands after a step that has nothing left to do.
    fn stand(&self, step: Step) -> Result<ProviderStand> {
        Ok(match self.status()?.phase {
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

    /// The phases that the objects are in.
    pub(crate) fn status(&self) -> Result<Status> {
        let status = self.machine.look(&self.view(), self.clock.now()?);
        status.map_err(|error| self.failure(&error))
    }

    /// Takes a Tenant in memory.
    pub(crate) fn receive_tenant(&mut self, tenant: &Tenant, subject: &str) -> Result<()> {
        self.receive(tenant.clone(), subject)?;
        Ok(())
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
        Ok(match self.status()?.phase {
            Phase::Authenticated(issued) => Some(issued.identity(namespace)),
            _ => None,
        })
    }

    /// The nonce that is there, in whatever state.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        let secret = nonce_secret(self.home, &self.peer)?;
        Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()
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

fn provider(home: &Home, policy: &Policy) -> Result<Provider> {
    let endpoint = endpoint(home, &home.authority()?)?;
    let mut builder = Provider::builder(home.cluster_id().clone(), endpoint, home.record_key()?)
        .key(Arc::new(home.key()?))
        .kubernetes_signer()
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
