//! The provider's side: who lets another cluster in.
//!
//! ```text
//!                   no Tenant                                       Tenant
//!      ┌─────────────────────────────────────┐   ┌───────────────────────────────────────────┐
//!
//!      Uninvited ─invite─▶ NeedsNonce ──▶ AwaitsTenant ──▶ NeedsProof ──▶ NeedsApproval ──▶ NeedsCredential
//!        ▲                   ▲    ▲             │              │  │             │                  │
//!        │                   │    └── expired ──┘              │  └── Refused ◀─┴──────────────────┤
//!        │                 invite                              │                                  ▼
//!   forgotten                │                             Tolerated        Authenticated ◀── NeedsRights
//!        └─────────────────Ended ◀── Ending ◀── any            │           renewal │    ▲          ▲
//!                                   (Tenant deleted)           └──▶ Drained ◀──────┴────┴──────────┘
//! ```
//!
//! A credential is a certificate, or on EKS an AWS user
//! ([`ProviderBuilder::aws`]), which is never renewed.
//!
//! The phase is derived from the objects that are there, each time anew.
//! [`Provider::look`] tells it; [`Provider::reconcile`] makes the step that
//! leads on; [`Provider::receive`] takes a message of the peer.
//!
//! What a peer's identities can write is never believed: pin, proof and used
//! nonces lie in the provider's own namespace, sealed by its [`RecordKey`].

mod administration;
mod config;
mod configuration;
mod course;
mod credentials;
mod driving;
mod handshake;
mod interests;
mod look;
mod observed;
mod phase;
mod principals;
mod question;
mod record;
mod rights;
mod slice;

use std::sync::Arc;

pub use crate::crypto::RequestId;
pub use administration::{NewPeeringUser, PeeringUser};
pub use config::{ConsumerSettings, ProviderConfig};
pub use configuration::{Endpoint, ProviderBuilder};
pub use credentials::{
    AuthoritySigner, AwsIdentities, AwsIdentityRequest, CredentialRequest, CsrSigner, Issued,
    Renewal, RenewalChannel, SigningRequest,
};
pub use handshake::{ApprovalRequest, Approver, AwaitsTenant, WhyNonce};
pub use phase::{NeedsCredential, NeedsProof, Phase, Status};
#[cfg(feature = "legacy")]
pub(crate) use principals::is_well_known;
pub use principals::{Claimant, NameRegistry, NameTable, PrincipalKind, PrincipalName, Principals};
pub use question::Question;
pub use record::Grant;
pub use slice::{
    Ceiling, LiqoClasses, NeedsSliceCredential, ResourceSlicePolicy, SettledSlice, SliceDecision,
    SlicePhase, SliceRequest, SliceStatus,
};

use self::{configuration::Configuration, look::Look, observed::Observed};
use crate::{
    crypto::RecordKey,
    error::{ApiMisuse, Error},
    machine::{Env, Message, MessageBody, Step, View},
    model::{ClusterId, Timestamp},
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
/// let status = provider.look(&objects.view(&consumer), now)?;
/// assert!(matches!(status.phase, Phase::Uninvited));
///
/// let step = provider.invite(&objects.view(&consumer), Env { now, entropy: entropy() })?;
/// for effect in &step.effects {
///     objects.apply(effect)?;
/// }
/// let status = provider.look(&objects.view(&consumer), now)?;
/// assert!(matches!(status.phase, Phase::AwaitsTenant(_)));
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

    /// Where the peering stands by the objects that are there.
    ///
    /// # Errors
    /// What is wrong on this side:
    /// [`LocalFault`](crate::error::LocalFault), [`ApiMisuse`]. What is wrong
    /// with the peer, its name or what it sent, is [`Phase::Refused`].
    pub fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error> {
        let observed = self.observe(view)?;
        self.look_at(view, &observed, now).status()
    }

    /// The step that leads on from the phase that the objects are in: every
    /// choice is made by the configuration.
    ///
    /// # Errors
    /// As [`look`](Self::look); what the peer did wrong is in
    /// [`Step::refused`].
    pub fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        self.look_at(view, &observed, env.now).reconcile(&env)
    }

    /// Takes what the peer sent: its Tenant. It is verified as a whole before
    /// anything is stored.
    ///
    /// # Errors
    /// Why it is not taken; nothing is to be stored then.
    pub fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        message.check_delivery(self.cluster_id(), view.peer())?;
        let MessageBody::Tenant(tenant) = message.body else {
            let message = message.body.name();
            return Err(Error::new(
                ApiMisuse::UnexpectedMessage { message },
                None,
                "",
            ));
        };
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, env.now);
        let mut plan = look.plan();
        look.receive_tenant(&tenant, &mut plan)?;
        Ok(plan.finish())
    }

    fn observe<'o>(&self, view: &View<'o>) -> Result<Observed<'o>, Error> {
        self.0.check_other(view.peer())?;
        Observed::select(&self.0, view)
    }

    fn look_at<'a>(
        &'a self,
        view: &'a View<'a>,
        observed: &'a Observed<'a>,
        now: Timestamp,
    ) -> Look<'a> {
        Look {
            configuration: &self.0,
            view,
            observed,
            now,
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
