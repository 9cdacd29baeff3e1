//! The provider's side: who lets another cluster in.
//!
//! ```text
//!                   no Tenant                                       Tenant
//!      ┌─────────────────────────────────────┐   ┌───────────────────────────────────────────┐
//!
//!      Uninvited ─invite─▶ NeedsNonce ──▶ AwaitsTenant ──▶ NeedsProof ──▶ NeedsApproval ──▶ NeedsCertificate
//!        ▲                   ▲    ▲             │              │  │             │                  │
//!        │                   │    └── expired ──┘              │  └── Refused ◀─┴──────────────────┤
//!        │                 invite                              │                                  ▼
//!   forgotten                │                             Tolerated        Authenticated ◀── NeedsRights
//!        └─────────────────Ended ◀── Ending ◀── any            │           renewal │    ▲          ▲
//!                                   (Tenant deleted)           └──▶ Drained ◀──────┴────┴──────────┘
//! ```
//!
//! On EKS (`ProviderBuilder::aws`) `NeedsAwsIdentity` stands in place of
//! `NeedsCertificate`, and nothing is renewed.
//!
//! The phase is derived from the objects that are there, each time anew.
//! [`Provider::resume`] says which one it is; [`Provider::reconcile`] makes the
//! step that leads on; [`Provider::receive`] takes a message of the peer.
//!
//! What a peer's identities can write is never believed: pin, proof and used
//! nonces lie in the provider's own namespace, sealed by its [`RecordKey`].

mod administration;
mod configuration;
mod credentials;
mod handshake;
mod interests;
mod observed;
mod phase;
mod principals;
mod record;
mod rights;
mod slice;

use std::sync::Arc;

pub use crate::crypto::RequestId;
pub use administration::end::Ended;
pub use administration::peering_user::{NewPeeringUser, PeeringUser};
pub use configuration::{Endpoint, ProviderBuilder};
pub use credentials::aws::{AwsAnswer, AwsIdentities, AwsIdentityRequest, NeedsAwsIdentity};
pub use credentials::certificate::{
    AuthoritySigner, CsrSigner, NeedsCertificate, Signing, SigningRequest,
};
pub use credentials::issued::Issued;
pub use credentials::renew_objects::RenewalScheme;
pub use credentials::renewal::Renewal;
pub use handshake::approval::{Approval, ApprovalRequest, Approver, NeedsApproval};
pub use handshake::nonce::{AwaitsTenant, NeedsNonce, WhyNonce};
pub use handshake::proof::NeedsProof;
pub use phase::{Peering, Phase};
pub(crate) use principals::is_well_known;
pub use principals::{Claimant, NameRegistry, NameTable, PrincipalKind, PrincipalName, Principals};
pub use rights::bindings::NeedsRights;
pub use rights::tolerated::Tolerated;
pub use rights::withdrawal::{Drained, Ending};
pub use slice::{
    Ceiling, DrainedSlice, Grant, LeftBehind, LiqoClasses, NeedsDecision, NeedsSliceAwsIdentity,
    NeedsSliceCertificate, NeedsSliceRecord, NeedsSliceStatus, ResourceSlicePolicy, SettledSlice,
    SliceDecision, SlicePeering, SlicePhase, SliceRenewal, SliceRequest,
};

use self::{
    configuration::Configuration, credentials::credential::Credential, observed::Observed,
    record::peer::Record,
};
use crate::{
    crypto::{CertificateChain, Nonce, RecordKey},
    error::{ApiMisuse, Backend, Error, Fault, PolicyRefusal},
    machine::{Awaited, Effect, Env, Message, Step, Version, View},
    model::{ClusterId, Kind, ObjectRef, Resource, Secret, Tenant, Timestamp},
    policy::Policy,
    verify::{self, VerifiedTenant},
};

/// The provider's side, for all its peers: configuration only, cheap to clone
/// and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Authority, Entropy, RecordKey},
///     machine::{Env, Objects},
///     model::ApiServerUrl,
///     provider::{AuthoritySigner, Endpoint, Phase, Provider},
/// };
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let authority = Authority::new("cl-provider-ca", now, Duration::from_secs(3600), &entropy())?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .signer(Arc::new(AuthoritySigner::new(authority, entropy())))
///     .build();
///
/// let consumer = "cl-consumer".parse()?;
/// let mut objects = Objects::new();
/// let peering = provider.resume(&objects.view(&consumer), now)?;
/// assert!(matches!(peering.phase, Phase::Uninvited));
///
/// let step = provider.invite(&objects.view(&consumer), Env { now, entropy: entropy() })?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// let peering = provider.resume(&objects.view(&consumer), now)?;
/// assert!(matches!(peering.phase, Phase::AwaitsTenant(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Provider(Arc<Configuration>);

impl Provider {
    /// A provider of that name, whose API server peers reach at `endpoint`.
    pub fn builder(
        cluster_id: ClusterId,
        endpoint: Endpoint,
        record_key: RecordKey,
    ) -> ProviderBuilder {
        ProviderBuilder::new(cluster_id, endpoint, record_key)
    }

    /// This cluster's name.
    pub fn cluster_id(&self) -> &ClusterId {
        &self.0.cluster_id
    }

    /// The phase that the objects are in.
    ///
    /// # Errors
    /// What is wrong on this side:
    /// [`LocalFault`](crate::error::LocalFault), [`ApiMisuse`]. What is wrong
    /// with the peer, its name or what it sent, is [`Phase::Refused`].
    pub fn resume<'o>(&self, view: &View<'o>, now: Timestamp) -> Result<Peering<'o>, Error> {
        Ok(self.look(view, now)?.1)
    }

    fn look<'o>(
        &self,
        view: &View<'o>,
        now: Timestamp,
    ) -> Result<(Observed<'o>, Peering<'o>), Error> {
        self.check_other(view.peer())?;
        let observed = Observed::select(self, view)?;
        let notices = rights::bindings::notices(&observed);
        let renewal_scheme = RenewalScheme::of(self, &observed);
        let phase = match self.phase(observed.clone(), view, now) {
            Err(error) if matches!(error.fault(), Fault::Local(_) | Fault::ApiMisuse(_)) => {
                return Err(error);
            }
            Err(error) => Phase::Refused(error),
            Ok(phase) => phase,
        };
        let slices = self.slices(&observed, &phase, view, now);
        let peering = Peering {
            phase,
            slices,
            renewal_scheme,
            notices,
        };
        Ok((observed, peering))
    }

    /// The step that leads on from the phase that the objects are in: every
    /// choice is made by the configuration.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); what the peer did wrong is in
    /// [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let now = env.now;
        let (
            observed,
            Peering {
                phase,
                slices,
                notices,
                ..
            },
        ) = self.look(view, now)?;
        let (mut step, failed) = match self.step_of(phase, &slices, env) {
            Ok(step) => (step, None),
            Err(error) => (Step::default(), Some(error)),
        };
        // Also in a phase that does nothing else for the peer.
        if let Some(tenant) = observed.tenant {
            self.tighten_condition(&observed, tenant, &mut step);
        }
        self.apply_lift(&observed, &mut step);
        self.await_revocations(&observed, view, &mut step);
        self.add_slices(&observed, slices, now, &mut step);
        step.notices.extend(notices);
        match failed {
            // A signer that fails holds up neither a condition nor the slices.
            Some(error) if step.is_settled() => return Err(error),
            Some(error) => step.append(Step::refuse(error)),
            None => {}
        }
        Ok(step)
    }

    fn step_of(
        &self,
        phase: Phase<'_>,
        slices: &[SlicePeering<'_>],
        env: Env,
    ) -> Result<Step, Error> {
        Ok(match phase {
            Phase::NeedsUid(tenant) => Step::awaiting(Awaited::Uid(tenant)),
            Phase::Uninvited => Step::awaiting(Awaited::Invitation),
            Phase::Ended(phase) => phase.clean_up(),
            Phase::NeedsNonce(phase) => phase.make_nonce(env)?,
            Phase::AwaitsTenant(phase) => phase.wait(),
            Phase::NeedsProof(phase) => phase.record()?,
            Phase::NeedsApproval(phase) => self.ask_approver(&phase)?,
            Phase::NeedsCertificate(phase) => self.ask_signer(&phase)?,
            Phase::NeedsAwsIdentity(phase) => phase.ask()?,
            Phase::NeedsRights(phase) => phase.grant()?,
            Phase::Authenticated(issued) => {
                let mut step = issued.maintain()?;
                step.append(issued.answer_renews(slices));
                self.renew(&issued, &mut step);
                step
            }
            Phase::Tolerated(phase) => phase.grant()?,
            Phase::Drained(phase) => phase.withdraw(),
            Phase::Ending(phase) => phase.withdraw(),
            Phase::Refused(error) => Step::refuse(error),
        })
    }

    /// Takes what the peer sent: its Tenant. It is verified as a whole before
    /// anything is stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        match message {
            Message::Tenant(tenant) => self.receive_tenant(view, &tenant, env.now),
            other => Err(Error::new(
                ApiMisuse::UnexpectedMessage {
                    message: other.name(),
                },
                None,
                "",
            )),
        }
    }

    fn phase<'o>(
        &self,
        observed: Observed<'o>,
        view: &View<'o>,
        now: Timestamp,
    ) -> Result<Phase<'o>, Error> {
        // Rights are taken back whatever else is wrong.
        if let Some(ending) = Ending::of(&observed) {
            return Ok(Phase::Ending(ending));
        }
        if let Some(drained) = Drained::of(self, &observed) {
            return Ok(Phase::Drained(drained));
        }
        if let Some(error) = observed.unreadable {
            return Err(error);
        }
        if let Some(error) = observed.spoilt {
            return Ok(Phase::Refused(error));
        }
        self.check_peer(&observed.peer)?;
        let Some(tenant) = observed.tenant else {
            return self.phase_without_tenant(observed, view, now);
        };
        if !self.handshake_required(&observed.peer, tenant) {
            return Ok(Phase::Tolerated(self.tolerate(observed, tenant, now)?));
        }
        let verified = self.verify_claim(&observed, view, tenant, now)?;
        if tenant.metadata.uid.is_empty() {
            return Ok(Phase::NeedsUid(tenant.id()));
        }
        if let Some(proof) = observed.proof(&verified, &tenant.metadata.uid) {
            let nonce = proof.nonce.clone();
            let newer =
                handshake::nonce::signed_since(self, &observed, view, tenant, &verified, now)?;
            let phase =
                self.phase_with_proof(observed.clone(), tenant, verified.clone(), &nonce, now)?;
            return Ok(match (phase, newer) {
                (Phase::Authenticated(_), Some(nonce)) => Phase::NeedsProof(NeedsProof::new(
                    self, observed, tenant, verified, nonce, now,
                )),
                (phase, _) => phase,
            });
        }
        let nonce = self.verify_handshake(&observed, view, tenant, &verified, now)?;
        let proof = NeedsProof::new(
            self,
            observed.clone(),
            tenant,
            verified.clone(),
            nonce.clone(),
            now,
        );
        if observed.record.is_none() {
            // Left complete by Liqo: only the record is missing.
            let phase = self.phase_with_proof(observed, tenant, verified, &nonce, now)?;
            if let Phase::Authenticated(issued) = phase {
                return Ok(Phase::Authenticated(issued.adopted_by(proof)));
            }
        }
        Ok(Phase::NeedsProof(proof))
    }

    fn phase_with_proof<'o>(
        &self,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
        nonce: &Nonce,
        now: Timestamp,
    ) -> Result<Phase<'o>, Error> {
        if let Some(phase) = self.approval(&observed, tenant, &verified, now)? {
            return Ok(Phase::NeedsApproval(phase));
        }
        let credential = if self.0.aws.is_some() {
            let Some(credential) = credentials::aws::in_force(&observed, tenant, &verified) else {
                let needs = NeedsAwsIdentity::new(self, observed, tenant, verified);
                return Ok(Phase::NeedsAwsIdentity(needs));
            };
            credential
        } else {
            let policy = self.policy(&observed.peer);
            let Some(chain) =
                credentials::certificate::in_force(&observed, tenant, &verified, now, policy)
            else {
                let needs = NeedsCertificate::new(self, observed, tenant, verified, nonce, now);
                return Ok(Phase::NeedsCertificate(needs));
            };
            Credential::certificate(chain)
        };
        let rights = NeedsRights::new(self, observed, tenant, verified, credential);
        Ok(if rights.is_granted()? {
            Phase::Authenticated(Issued::new(rights, nonce.clone(), now))
        } else {
            Phase::NeedsRights(rights)
        })
    }

    fn ask_signer(&self, phase: &NeedsCertificate<'_>) -> Result<Step, Error> {
        self.ask(
            phase.request(),
            |chain| phase.continue_with(chain),
            |reason| phase.deny(reason),
        )
    }

    /// Asks the signer, if there is one, and goes on with its answer.
    fn ask(
        &self,
        request: &SigningRequest,
        continue_with: impl FnOnce(&CertificateChain) -> Result<Step, Error>,
        deny: impl FnOnce(&str) -> Step,
    ) -> Result<Step, Error> {
        let Some(signer) = &self.0.signer else {
            return Ok(Step::awaiting(Awaited::Certificate(request.id)));
        };
        match signer
            .sign(request)
            .map_err(|error| Error::backend(Backend::CsrSigner, &*error))?
        {
            Signing::Issued(chain) => continue_with(&chain),
            Signing::Pending => Ok(Step::awaiting(Awaited::Certificate(request.id))),
            Signing::Denied(reason) => Ok(deny(&reason)),
        }
    }

    fn check_other(&self, peer: &ClusterId) -> Result<(), Error> {
        if *peer == self.0.cluster_id {
            return Err(Error::new(ApiMisuse::OwnCluster, None, ""));
        }
        Ok(())
    }

    fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        self.check_other(peer)?;
        verify::name_length(peer, self.policy(peer))?;
        if is_well_known(peer.as_str()) {
            return Err(name_taken(peer, None));
        }
        Ok(())
    }

    /// The policy for a peer: this side's configuration, never the peer's word.
    fn policy(&self, peer: &ClusterId) -> &Policy {
        self.0.peer_policies.get(peer).unwrap_or(&self.0.policy)
    }

    fn record_id(&self, peer: &ClusterId) -> ObjectRef {
        self.record_id_of(&record::peer::name(peer))
    }

    fn record_id_of(&self, name: &str) -> ObjectRef {
        ObjectRef::new(Kind::Secret, self.0.namespace.as_str(), name)
    }

    fn write_record(&self, observed: &Observed<'_>, record: &Record) -> Effect {
        let stored = observed.record.as_ref().map(|(secret, _)| *secret);
        self.write_record_over(stored, &observed.peer, record)
    }

    fn write_record_over(
        &self,
        stored: Option<&Secret>,
        peer: &ClusterId,
        record: &Record,
    ) -> Effect {
        let mut object = record.seal(
            &self.0.record_key,
            &self.0.cluster_id,
            peer,
            &self.0.namespace,
        );
        self.offer_lift(record, peer, &mut object);
        match stored {
            None => Effect::Create(object.into()),
            Some(secret) => Effect::Replace {
                object: object.into(),
                version: Version::of(&secret.metadata),
            },
        }
    }
}

impl core::fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter
            .debug_struct("Provider")
            .field("cluster_id", &self.0.cluster_id)
            .finish_non_exhaustive()
    }
}

fn name_taken(peer: &ClusterId, object: Option<ObjectRef>) -> Error {
    Error::new(
        PolicyRefusal::NameTaken {
            name: peer.to_string(),
        },
        object,
        "spec.clusterID",
    )
}
