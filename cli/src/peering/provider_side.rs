//! A home as the provider.

mod beside;
mod peering_user;

use std::{sync::Arc, time::Duration};

use liqo_auth::{
    Machine,
    crypto::Nonce,
    error::Error,
    machine::{Awaited, Follower, Holder, Message, Notice, Step, View, Watch},
    model::{
        AwsConfig, CertificateSigningRequest, ClusterId, Identity, Kind, Metadata, NamespaceName,
        Object, Resource, Secret, Tenant, TenantCondition, Timestamp, names,
    },
    policy::Policy,
    provider::{Endpoint, NameRegistry, Phase, Provider, ProviderBuilder, Status},
};

pub(crate) use self::peering_user::watches_for_peering_users;
use crate::{
    environment::{Clock, entropy},
    failure::{Code, Failure, Result, unreadable, with_code},
    home::{Home, Settings, Signer, awaits_signature},
    output::program,
    peering::{aws_users::AwsUsers, driver::Driver},
    remedies::{self, Role, way_out},
    values::policy_name::PolicyName,
};

/// The provider's side of one peering, over a home.
pub(crate) type ProviderSide<'h> = Driver<'h, Provider>;

/// The state of the provider's side when no step is left.
pub(crate) enum ProviderStand {
    /// The nonce is ready. The provider waits for the Tenant that signs it.
    AwaitsTenant,
    /// The Identity is ready for the consumer.
    Authenticated,
    /// The request waits for the approval of this side's administrator.
    AwaitsApproval,
    /// The request waits for the signer of the cluster that the home represents, or for an
    /// AWS user.
    AwaitsCertificate,
    /// The peer is let in without a handshake.
    Tolerated,
    /// The administrator drained the peer.
    Drained,
    /// A stored object was refused.
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
        check_other(home, peer)?;
        Ok(Self {
            machine: provider(home, policy)?,
            home,
            peer: peer.clone(),
            clock,
        })
    }

    /// Like [`new`](Self::new). Gives an AWS user to the holder that waits for one.
    pub(crate) fn giving(
        home: &'h mut Home,
        peer: &ClusterId,
        policy: &Policy,
        clock: Clock,
        (holder, user): (&Holder, AwsConfig),
    ) -> Result<Self> {
        check_other(home, peer)?;
        let users = AwsUsers(Some((holder.clone(), user)));
        let principals = Arc::new(principals(home)?);
        let builder = builder_with(home, &home.settings, policy, principals)?;
        Ok(Self {
            machine: builder.aws(Arc::new(users)).build(),
            home,
            peer: peer.clone(),
            clock,
        })
    }

    /// Checks whether this home would accept a Tenant. Returns the error if it
    /// would not. Nothing changes.
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

    /// Runs the provider as far as possible without the peer, and saves the home.
    pub(crate) fn settle(&mut self) -> Result<ProviderStand> {
        let rest = self.advance()?;
        self.stand(rest.step)
    }

    /// Like [`settle`](Self::settle), but first invites a peer that was never
    /// invited, or whose peering has ended.
    pub(crate) fn invite(&mut self) -> Result<ProviderStand> {
        let rest = self.advance_by(|provider, view, env| {
            let phase = provider.look(view, env.now)?.phase;
            if matches!(phase, Phase::Uninvited | Phase::Ended { .. }) {
                provider.invite(view, env)
            } else {
                provider.reconcile(view, env)
            }
        })?;
        self.stand(rest.step)
    }

    /// The state of the side after a step without effects.
    fn stand(&self, step: Step) -> Result<ProviderStand> {
        Ok(match self.status()?.phase {
            Phase::Refused(error) => ProviderStand::Refused(error),
            Phase::Uninvited | Phase::Ended { .. } | Phase::Ending => ProviderStand::Ended,
            Phase::AwaitsTenant(_) => ProviderStand::AwaitsTenant,
            Phase::NeedsApproval(_) => ProviderStand::AwaitsApproval,
            Phase::Tolerated => ProviderStand::Tolerated,
            Phase::Drained => ProviderStand::Drained,
            Phase::Authenticated(_) => ProviderStand::Authenticated,
            Phase::NeedsCredential(_)
                if step.refused.is_empty()
                    && (self.home.is_signed_elsewhere()
                        || self.home.is_trial()
                        || self.home.settings.signer == Signer::Aws) =>
            {
                ProviderStand::AwaitsCertificate
            }
            _ => match step.refused.into_iter().next() {
                Some(refused) => ProviderStand::Refused(refused.error),
                None => {
                    return Err(Failure::at_odds(format!(
                        "{}: the peering with {} does not make progress",
                        self.home.site(),
                        self.peer
                    )));
                }
            },
        })
    }

    /// The phases of the control plane and of the slices.
    pub(crate) fn status(&self) -> Result<Status> {
        let status = self.machine.look(&self.view(), self.clock.now()?);
        status.map_err(|error| self.failure(&error))
    }

    /// Receives a Tenant in memory.
    pub(crate) fn receive_tenant(&mut self, tenant: &Tenant, subject: &str) -> Result<()> {
        self.receive(tenant.clone(), subject)?;
        Ok(())
    }

    /// The condition that is in force.
    pub(crate) fn condition(&self) -> Result<TenantCondition> {
        let condition = condition_of(&self.machine, &self.view(), self.clock.now()?);
        condition.map_err(|error| self.failure(&error))
    }

    /// Replaces the nonce with a new one, and saves the home.
    pub(crate) fn replace_nonce(&mut self) -> Result<Vec<Notice>> {
        let subject = self.home.site().to_string();
        let step = self.administer(&subject, |provider, view, env| {
            provider.replace_nonce(view, env)
        })?;
        self.home.save()?;
        Ok(step.notices)
    }

    /// The Identity for the peer. None unless the peer is authenticated.
    pub(crate) fn identity(&self, namespace: Option<&NamespaceName>) -> Result<Option<Identity>> {
        Ok(match self.status()?.phase {
            Phase::Authenticated(issued) => Some(issued.identity(namespace)),
            _ => None,
        })
    }

    /// Whether the provider waits for a Tenant that signs its nonce. A running peering waits for
    /// one after its nonce was replaced.
    pub(crate) fn awaits_tenant(&self) -> Result<bool> {
        let status = Machine::look(&self.machine, &self.view(), self.clock.now()?);
        let status = status.map_err(|error| self.failure(&error))?;
        Ok(status.awaits.contains(&Awaited::Tenant))
    }

    /// The stored nonce: fresh, used or expired.
    pub(crate) fn nonce(&self) -> Option<Nonce> {
        let secret = nonce_secret(self.home, &self.peer)?;
        Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()
    }
}

/// The condition that is in force for a peer.
pub(crate) fn condition_of(
    provider: &Provider,
    view: &View<'_>,
    now: Timestamp,
) -> Result<TenantCondition, Error> {
    Ok(provider.look(view, now)?.condition.unwrap_or_default())
}

/// The Tenant of the view's peer: by its name, or by its label. A Tenant in the namespace of
/// another peer is not in the view.
pub(crate) fn tenant_in<'h>(view: &View<'h>) -> Option<&'h Tenant> {
    let tenants = || view.objects().filter_map(Tenant::from_object);
    let is_named = |tenant: &&Tenant| tenant.metadata.name == view.peer().as_str();
    let is_labelled = |tenant: &&Tenant| names_peer(&tenant.metadata, view.peer());
    tenants()
        .find(is_named)
        .or_else(|| tenants().find(is_labelled))
}

/// Whether the view has a Tenant of its peer, readable or not.
pub(crate) fn has_tenant(view: &View<'_>) -> bool {
    stored_tenant(view).is_some()
}

/// The Tenant of the view's peer as it is stored, readable or not.
pub(crate) fn stored_tenant<'h>(view: &View<'h>) -> Option<&'h Object> {
    let tenants = || view.objects().filter(|it| it.id().kind == Kind::Tenant);
    tenants()
        .find(|tenant| tenant.id().name == view.peer().as_str())
        .or_else(|| tenants().find(|tenant| names_peer(tenant.metadata(), view.peer())))
}

fn names_peer(metadata: &Metadata, peer: &ClusterId) -> bool {
    let label = metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    label.map(String::as_str) == Some(peer.as_str())
}

/// Checks that a command names another cluster than this one.
pub(crate) fn check_other(home: &Home, peer: &ClusterId) -> Result<()> {
    if peer == home.cluster_id() {
        return Err(Failure::usage(format!(
            "{peer} is the ID of this cluster ({}): name the other cluster",
            home.site()
        )));
    }
    Ok(())
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
    provider_with(home, &home.settings, policy, Arc::new(principals(home)?))
}

/// The provider of a home with these settings, and with a look-up of names.
pub(crate) fn provider_with(
    home: &Home,
    settings: &Settings,
    policy: &Policy,
    principals: Arc<NameRegistry>,
) -> Result<Provider> {
    let builder = builder_with(home, settings, policy, principals)?;
    Ok(match settings.signer {
        Signer::Aws => builder.aws(Arc::new(AwsUsers::default())).build(),
        Signer::Home | Signer::Kubernetes => builder.build(),
    })
}

/// The provider that judges in front of Liqo's own module, and issues nothing.
pub(crate) fn guard_with(
    home: &Home,
    settings: &Settings,
    policy: &Policy,
    principals: Arc<NameRegistry>,
    adopts: bool,
) -> Result<Provider> {
    if settings.require_approval {
        return Err(Failure::usage(format!(
            "the guard waits for nobody's approval: Liqo has none. Take requireApproval out of {}",
            home.settings_place()
        )));
    }
    let endpoint = Endpoint::new(settings.api_server.clone(), None);
    let builder = builder_at(endpoint, home, settings, policy, principals)?;
    let builder = builder.configure(|config| {
        config.kubernetes_signer = false;
        config.adopt_from_liqo = adopts;
        // Liqo's nonces do not expire, and serve again after each end.
        if config.peer_again == Some(Duration::ZERO) {
            config.peer_again = Some(DAY * 365);
        }
    });
    Ok(builder.build())
}

fn builder_with(
    home: &Home,
    settings: &Settings,
    policy: &Policy,
    principals: Arc<NameRegistry>,
) -> Result<ProviderBuilder> {
    let endpoint = endpoint_with(home, settings)?;
    builder_at(endpoint, home, settings, policy, principals)
}

fn builder_at(
    endpoint: Endpoint,
    home: &Home,
    settings: &Settings,
    policy: &Policy,
    principals: Arc<NameRegistry>,
) -> Result<ProviderBuilder> {
    let builder = Provider::builder(home.cluster_id().clone(), endpoint, home.record_key()?)
        .key(home.key()?)
        .principals(principals)
        .slices(Arc::new(settings.slice_policy()))
        .configure(|config| {
            config.kubernetes_signer = true;
            // In a home, a Tenant's status may come from anywhere.
            config.adopt_from_liqo = home.is_live();
            if let Some(caps) = &settings.slices.adopt_up_to {
                config.adopt_up_to.clone_from(caps);
            }
            // Nobody reads a nonce in a home: a person hands it out.
            config.invitations_lapse = !home.is_live();
            config.namespace = home.liqo_namespace();
            config.policy = policy.clone();
            config.client_cas.clone_from(&settings.client_cas);
            config.require_approval = settings.require_approval;
            config.peer_again = match settings.peer_again_days {
                Some(0) => None,
                Some(days) => Some(DAY * days.into()),
                None => home.is_live().then_some(Duration::ZERO),
            };
            settings.set_lifetimes(config);
            for (peer, settings) in &settings.peers {
                let peer = config.peers.entry(peer.clone()).or_default();
                peer.tolerate_no_handshake = settings.tolerate_no_handshake;
                // A declared peer is invited for its first peering only.
                peer.keep_record = settings.invite;
                peer.policy = settings.policy.map(PolicyName::policy);
            }
        });
    Ok(builder)
}

/// The URL and the CA of this home's API server, for peers.
pub(crate) fn endpoint(home: &Home) -> Result<Endpoint> {
    endpoint_with(home, &home.settings)
}

fn endpoint_with(home: &Home, settings: &Settings) -> Result<Endpoint> {
    if settings.is_internal {
        return Err(Failure::usage(format!(
            "peers cannot reach the API server at {}, where the cluster itself reaches it. Set apiServer, and apiServerCA if its certificate is not publicly trusted, in {}",
            settings.api_server,
            home.settings_place()
        )));
    }
    let api_server = settings.api_server.clone();
    Ok(Endpoint::new(
        api_server,
        home.ca_bundle(settings)?.as_ref(),
    ))
}

/// What the provider's side watches on a cluster.
pub(crate) fn watches(home: &Home) -> Result<Vec<Watch>> {
    let mut watches = provider(home, &Policy::default())?.watches();
    watches.extend(principals(home)?.watches());
    Ok(watches)
}

/// The names that principals in this home already have.
fn principals(home: &Home) -> Result<NameRegistry> {
    let cluster_id = home.cluster_id().clone();
    let mut registry = NameRegistry::new(cluster_id, home.record_key()?, &entropy()?);
    if let Some(namespace) = home.liqo_namespace() {
        registry = registry.in_namespace(namespace.as_str());
    }
    for object in home.objects() {
        registry.observe(object);
    }
    registry.complete();
    Ok(registry)
}

/// The failure while the cluster of a home has not signed a request.
pub(crate) fn unsigned(home: &Home, peer: &ClusterId) -> Failure {
    let needs = what_signer_needs(home, peer);
    if home.settings.signer == Signer::Aws {
        return Failure::waiting(format!("{peer} waits for its AWS user. {needs}"));
    }
    if !home.is_signed_elsewhere()
        && let Some(end) = end_of_trial(home, peer)
    {
        return Failure::waiting(end);
    }
    Failure::waiting(format!(
        "the request of {peer} waits for the cluster's signer: {needs}"
    ))
}

/// What a person does for the signer of a home that does not sign by itself.
pub(crate) fn what_signer_needs(home: &Home, peer: &ClusterId) -> String {
    let (program, options) = (program(), home.site().options());
    if home.settings.signer == Signer::Aws {
        let subject = Holder::ControlPlane.subject(peer);
        return format!(
            "Make an IAM user with an access key, and let EKS map it to the Kubernetes user {} with the group {}. Then enter it: {program} set aws-user {options} --remote-cluster-id {peer} --user-arn ARN --access-key-id KEY --secret-access-key-file FILE --region REGION --eks-cluster NAME",
            subject.common_name(),
            subject.organization(),
        );
    }
    let requests = unsigned_requests(home, peer);
    let names: Vec<&str> = requests.map(|it| it.metadata.name.as_str()).collect();
    let apply =
        |name: &&str| format!("kubectl get csr {name} -o yaml | {program} apply {options} -f -");
    let applied: Vec<String> = names.iter().map(apply).collect();
    format!(
        "{program} export {options} | kubectl apply -f -; kubectl certificate approve {}; {}",
        names.join(" "),
        applied.join("; ")
    )
}

/// Why a trial ends, if the peer has a request that is not signed: a cluster's signer sees
/// nothing of a trial.
pub(crate) fn end_of_trial(home: &Home, peer: &ClusterId) -> Option<String> {
    let ends = home.is_trial() && unsigned_requests(home, peer).next().is_some();
    ends.then(|| end_at_signer(home))
}

/// Says that a trial ends where the cluster's signer would have to answer.
pub(crate) fn end_at_signer(home: &Home) -> String {
    format!(
        "The trial ends here: {}'s signer would have to answer.",
        home.cluster_id()
    )
}

/// The requests of the peer that wait for their signer.
fn unsigned_requests<'h>(
    home: &'h Home,
    peer: &ClusterId,
) -> impl Iterator<Item = &'h CertificateSigningRequest> {
    let requests = home.all::<CertificateSigningRequest>();
    requests.filter(move |request| {
        let label = request.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
        label.map(String::as_str) == Some(peer.as_str()) && awaits_signature(request)
    })
}

/// The failure for a refused object of that peer which is stored in the home, with the commands
/// that follow.
pub(crate) fn refused(home: &Home, peer: &ClusterId, error: &Error) -> Failure {
    let unread = unreadable(error).and_then(|id| remedies::unread(home, id));
    let code = match unread {
        Some(_) => Code::AtOdds,
        None => Code::Refused,
    };
    let way_out = unread.unwrap_or_else(|| way_out(home, peer, Role::Consumer, error));
    Failure::new(
        code,
        format!("{}: {}. {way_out}", home.site(), with_code(error)),
    )
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
