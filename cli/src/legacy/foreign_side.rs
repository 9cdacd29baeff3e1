//! A home as the foreign cluster: it gives identities to the holders of its token.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use liqo_auth::{
    crypto::{Answer, Authority, BoxError, CertificateChain, RecordKey},
    error::Error,
    legacy::{Claimed, Foreign, ForeignSettings, IdentityRequest, Reply, TokenProtocol},
    machine::{Effect, Interest, Step, View, drive::Run},
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestSpec, ClusterId, ClusterRole,
        Kind, Metadata, NamespaceName, Object, ObjectRef, PolicyRule, Resource, Secret, Tenant,
        names,
    },
    policy::Policy,
    provider::{CsrSigner, Endpoint, NameTable, SigningRequest},
};

use crate::{
    environment::Clock,
    failure::Result,
    home::Home,
    peering::{
        driver::{failure, go_on},
        provider_side::endpoint,
        signer::{issued, sign},
    },
};

/// The choices of a foreign cluster's administrator.
#[derive(Debug, Clone, Default)]
pub(crate) struct ForeignChoices {
    /// The cluster's display name; by default, its ID.
    pub(crate) name: Option<String>,
    pub(crate) allows_empty_token: bool,
    /// The namespace of the service accounts for home clusters of Liqo 0.2.
    pub(crate) accounts: Option<NamespaceName>,
    pub(crate) token_lifetime: Option<Duration>,
    pub(crate) is_single_use: bool,
}

/// The foreign cluster's side. It does not change while a server runs.
pub(crate) struct ForeignSide {
    cluster_id: ClusterId,
    endpoint: Endpoint,
    record_key: RecordKey,
    authority: Authority,
    choices: ForeignChoices,
    policy: Policy,
    clock: Clock,
    /// Reads requests, and answers the requests that have no effects.
    plain: Foreign,
}

/// The state of a home cluster, or the error in its record.
pub(crate) type Stand = Result<Option<Claimed>, Error>;

/// What a request needs next.
pub(crate) enum Look {
    /// Send this reply: no effects are left. The home may still have to be saved
    /// before.
    Reply(Box<Reply>),
    /// Carry out these effects in order, and look again.
    Effects(Vec<Effect>),
    /// Save the home: the claim must be on the disk before its certificate is
    /// signed.
    Save,
    /// The request waits for something that this server cannot provide.
    Waits,
}

impl ForeignSide {
    pub(crate) fn new(
        home: &Home,
        choices: ForeignChoices,
        policy: &Policy,
        clock: Clock,
    ) -> Result<Self> {
        let authority = home.authority()?;
        let (endpoint, record_key) = (endpoint(home)?, home.record_key()?);
        let plain = Foreign::new(
            home.cluster_id().clone(),
            endpoint.clone(),
            record_key.clone(),
            settings(&choices, policy),
        );
        Ok(Self {
            plain,
            cluster_id: home.cluster_id().clone(),
            endpoint,
            record_key,
            authority,
            choices,
            policy: policy.clone(),
            clock,
        })
    }

    /// The namespace of the peer's service account, if it has one.
    pub(crate) fn account_namespace(home: &Home, peer: &ClusterId) -> Option<NamespaceName> {
        let name = names::remote_account(peer);
        home.all::<liqo_auth::model::ServiceAccount>()
            .find(|account| account.metadata.name == name)
            .and_then(|account| account.metadata.namespace.parse().ok())
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Reads requests. It does not need a home for that.
    pub(crate) fn foreign(&self) -> &Foreign {
        &self.plain
    }

    /// Makes the cluster's own token in memory, unless it has a valid one.
    pub(crate) fn ensure_token(&self, home: &mut Home) -> Result<()> {
        let env = self.clock.env()?;
        let token = ObjectRef::new(
            Kind::Secret,
            names::LIQO_NAMESPACE,
            names::AUTH_TOKEN_SECRET,
        );
        let objects = home.interesting(&[Interest::Object(token)]);
        let step = self.plain.token_step(objects, &env);
        let step = step.map_err(|error| failure(home, &error))?;
        apply(home, &step.effects, self.clock)
    }

    /// Makes the role for home clusters in memory, unless it exists. Without this
    /// role, an identity has no rights.
    pub(crate) fn ensure_basic_role(&self, home: &mut Home) -> Result<()> {
        let is_basic = |role: &ClusterRole| {
            let label = role.metadata.labels.get(names::PEERING_PERMISSIONS_LABEL);
            label.map(String::as_str) == Some(names::BASIC_PERMISSIONS)
        };
        if home.all::<ClusterRole>().any(is_basic) {
            return Ok(());
        }
        apply(home, &[Effect::Create(basic_role().into())], self.clock)
    }

    /// Makes the namespace of service accounts in memory, unless it exists.
    pub(crate) fn ensure_account_namespace(&self, home: &mut Home) -> Result<()> {
        let Some(namespace) = &self.choices.accounts else {
            return Ok(());
        };
        if home
            .get::<liqo_auth::model::Namespace>("", namespace.as_str())
            .is_some()
        {
            return Ok(());
        }
        let namespace = liqo_auth::model::Namespace {
            metadata: Metadata {
                name: namespace.to_string(),
                ..Metadata::default()
            },
        };
        apply(home, &[Effect::Create(namespace.into())], self.clock)
    }

    /// The reply to a request that has no effects, such as a request with a wrong
    /// token. It costs less than [`look`](Self::look).
    pub(crate) fn glance(
        &self,
        home: &Home,
        request: &IdentityRequest,
    ) -> Result<Option<Box<Reply>>> {
        let view = self.view(home, &request.peer);
        let reply = self.plain.handle(&view, request, self.clock.env()?);
        let reply = reply.map_err(|error| failure(home, &error))?;
        Ok(reply.response.is_some().then(|| Box::new(reply)))
    }

    /// Determines what a request needs next. A certificate that it needs is signed.
    pub(crate) fn look(&self, home: &mut Home, request: &IdentityRequest) -> Result<Look> {
        let signer = Arc::new(Signer::of(home, &request.peer, &self.policy));
        let foreign = self.working(home, &request.peer, signer.clone());
        let view = self.view(home, &request.peer);
        let reply = foreign.handle(&view, request, self.clock.env()?);
        let reply = reply.map_err(|error| failure(home, &error))?;
        if reply.response.is_some() {
            return Ok(Look::Reply(Box::new(reply)));
        }
        if !reply.step.effects.is_empty() {
            return Ok(Look::Effects(reply.step.effects));
        }
        let Some(asked) = signer.asked() else {
            return Ok(Look::Waits);
        };
        // The claim is on the disk before anything is signed.
        if !home.is_saved_for(&self.plain.interests(&request.peer)) {
            return Ok(Look::Save);
        }
        let signed = signed_request(&self.authority, &asked)?;
        Ok(Look::Effects(vec![Effect::Create(signed.into())]))
    }

    /// Notes, in memory, that the peer has got its identity.
    pub(crate) fn delivered(&self, home: &mut Home, peer: &ClusterId) -> Result<()> {
        let step = self.plain.delivered(&self.view(home, peer));
        let step = step.map_err(|error| failure(home, &error))?;
        apply(home, &step.effects, self.clock)
    }

    /// Cleans up, in memory, after peers whose service account or ForeignCluster was
    /// deleted.
    pub(crate) fn collect_garbage(&self, home: &mut Home) -> Result<()> {
        for peer in claimants(home) {
            self.repeat(home, &peer, |foreign, view| foreign.reconcile(view))?;
        }
        Ok(())
    }

    /// Takes the peer's identity and rights back, in memory. Returns whether the
    /// peer had any.
    pub(crate) fn release(&self, home: &mut Home, peer: &ClusterId) -> Result<bool> {
        let released = self.repeat(home, peer, |foreign, view| foreign.release(view))?;
        let ended = self.repeat(home, peer, |foreign, view| foreign.reconcile(view))?;
        Ok(released || ended)
    }

    /// The state of each home cluster.
    pub(crate) fn claims(&self, home: &Home) -> Vec<(ClusterId, Stand)> {
        let stand = |peer: ClusterId| {
            let claimed = self.plain.claimed(&self.view(home, &peer));
            (peer, claimed)
        };
        claimants(home).into_iter().map(stand).collect()
    }

    fn repeat(
        &self,
        home: &mut Home,
        peer: &ClusterId,
        step: impl Fn(&Foreign, &View<'_>) -> Result<Step, Error>,
    ) -> Result<bool> {
        let mut has_changed = false;
        go_on(&mut Run::to_rest(), home, self.clock, |home| {
            let step = step(&self.plain, &self.view(home, peer));
            let step = step.map_err(|error| failure(home, &error))?;
            has_changed |= !step.is_settled();
            Ok(step)
        })?;
        Ok(has_changed)
    }

    fn view<'h>(&self, home: &'h Home, peer: &ClusterId) -> View<'h> {
        let interests = self.plain.interests(peer);
        View::of(peer, home.interesting(&interests))
    }

    /// A [`Foreign`] that can carry out one peer's requests: with a signer, and with
    /// the names that are taken.
    fn working(&self, home: &Home, peer: &ClusterId, signer: Arc<dyn CsrSigner>) -> Foreign {
        Foreign::new(
            self.cluster_id.clone(),
            self.endpoint.clone(),
            self.record_key.clone(),
            ForeignSettings {
                signer: Some(signer),
                principals: Arc::new(principals(home, peer)),
                ..settings(&self.choices, &self.policy)
            },
        )
    }
}

fn settings(choices: &ForeignChoices, policy: &Policy) -> ForeignSettings {
    ForeignSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: policy.clone(),
        name: choices.name.clone(),
        allow_empty_token_from_anyone: choices.allows_empty_token,
        service_accounts: choices.accounts.clone(),
        token_lifetime: choices.token_lifetime,
        single_use_token: choices.is_single_use,
        ..ForeignSettings::default()
    }
}

/// Carries effects out in memory.
pub(crate) fn apply(home: &mut Home, effects: &[Effect], clock: Clock) -> Result<()> {
    let now = clock.now()?;
    effects
        .iter()
        .try_for_each(|effect| home.apply(effect, now))
}

/// Answers with the certificates of the requests that the home has stored. Notes a
/// request that has no certificate yet.
struct Signer {
    signed: BTreeMap<String, CertificateChain>,
    asked: Mutex<Option<SigningRequest>>,
}

impl Signer {
    fn of(home: &Home, peer: &ClusterId, policy: &Policy) -> Self {
        let labelled = Interest::Labelled {
            kind: Kind::CertificateSigningRequest,
            label: names::REMOTE_CLUSTER_ID_LABEL,
            value: peer.to_string(),
        };
        let signed = home
            .interesting(&[labelled])
            .into_iter()
            .filter_map(|object| {
                let request = CertificateSigningRequest::from_object(object)?;
                let certificate = request.status.certificate.as_slice();
                // An unreadable certificate counts as missing. The request of the
                // same name cannot be created again, and that is an error.
                let chain = CertificateChain::from_pem(certificate, policy).ok()?;
                Some((request.metadata.name.clone(), chain))
            });
        Self {
            signed: signed.collect(),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Option<SigningRequest> {
        self.asked.lock().ok()?.take()
    }
}

impl CsrSigner for Signer {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        if let Some(chain) = self.signed.get(&request_name(request)) {
            return Ok(Answer::Ready(chain.clone()));
        }
        if let Ok(mut asked) = self.asked.lock() {
            *asked = Some(request.clone());
        }
        Ok(Answer::Pending)
    }
}

/// The name of the CertificateSigningRequest. The same request always has the same
/// name, so that it is found again, and never signed twice.
fn request_name(request: &SigningRequest) -> String {
    let id: String = request.id.to_string().chars().take(32).collect();
    format!("{}{id}", names::CSR_GENERATE_NAME)
}

/// Signs a request. Returns it in the form of the Kubernetes API: approved, and with
/// its certificate.
fn signed_request(
    authority: &Authority,
    request: &SigningRequest,
) -> Result<CertificateSigningRequest> {
    let chain = sign(authority, request)?;
    let labels = [
        (names::REMOTE_TENANT_CSR_LABEL, names::TRUE),
        (names::REMOTE_CLUSTER_ID_LABEL, request.peer.as_str()),
    ];
    Ok(CertificateSigningRequest {
        metadata: Metadata {
            name: request_name(request),
            labels: labels
                .map(|(label, value)| (label.to_owned(), value.to_owned()))
                .into(),
            ..Metadata::default()
        },
        spec: CertificateSigningRequestSpec {
            request: Bytes::from(request.csr.pem()),
            signer_name: names::CLIENT_SIGNER.to_owned(),
            usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
            expiration_seconds: i32::try_from(request.lifetime.as_secs()).ok(),
        },
        status: issued(&chain, "the home cluster showed this cluster's token"),
    })
}

/// Whether a home cluster has sent a right token.
pub(crate) fn has_claims(home: &Home) -> bool {
    !claimants(home).is_empty()
}

/// The home clusters that have sent a right token, according to the records.
fn claimants(home: &Home) -> Vec<ClusterId> {
    home.all::<Secret>()
        .filter(|secret| secret.metadata.namespace == names::LIQO_NAMESPACE)
        .filter_map(|secret| {
            secret
                .metadata
                .name
                .strip_prefix(CLAIM_PREFIX)?
                .parse()
                .ok()
        })
        .collect()
}

/// The names that are taken already: rights are bound to them, or they authenticate
/// with keys. A holder of the token must not get one of these names.
fn principals(home: &Home, peer: &ClusterId) -> NameTable {
    let is_peers_own = |object: &Object| {
        let labels = &object.metadata().labels;
        let label = labels.get(names::DISCOVERY_CLUSTER_ID_LABEL);
        label.map(String::as_str) == Some(peer.as_str())
    };
    let is_taken = !home.bindings_of(peer.as_str()).all(is_peers_own)
        || home
            .all::<Tenant>()
            .any(|tenant| tenant.metadata.name == peer.as_str())
        || home
            .get::<Secret>(
                names::LIQO_NAMESPACE,
                &format!("{}{peer}", names::PROVIDER_RECORD_PREFIX),
            )
            .is_some();
    is_taken.then(|| peer.to_string()).into_iter().collect()
}

/// The rights of a home cluster of Liqo 0.10 in its tenant namespace, before it
/// peers.
fn basic_role() -> ClusterRole {
    let verbs = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    let label = names::PEERING_PERMISSIONS_LABEL.to_owned();
    ClusterRole {
        metadata: Metadata {
            name: "liqo-remote-peering-basic".to_owned(),
            labels: [(label, names::BASIC_PERMISSIONS.to_owned())].into(),
            ..Metadata::default()
        },
        rules: ["resourcerequests", "resourcerequests/status"]
            .map(|resource| PolicyRule::on(names::DISCOVERY_API_GROUP, resource, &verbs))
            .into(),
    }
}

const CLAIM_PREFIX: &str = "liqo-auth-legacy-foreign-";
