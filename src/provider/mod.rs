//! The provider's side: the cluster that gives a consumer access.
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
//! Each call derives the phase from the present objects. [`Provider::look`]
//! returns the phase. [`reconcile`](crate::Machine::reconcile) returns the step to the
//! next phase, and [`receive`](crate::Machine::receive) processes a message of the peer.
//!
//! The provider does not trust objects that a peer's identities can write. It keeps
//! the pinned key, the proof and the used nonces in its own namespace, sealed with
//! its [`RecordKey`].

mod administration;
mod caps;
mod configuration;
mod course;
mod credentials;
mod driving;
mod guard;
mod handshake;
mod lift_token;
mod look;
mod observed;
mod own_tenant;
mod phase;
mod principals;
mod record;
mod records;
mod rights;
mod slice;
mod status;

use std::sync::Arc;

pub use crate::crypto::RequestId;
pub use administration::{NewPeeringUser, PeeringUser};
pub use configuration::{ConsumerSettings, Endpoint, ProviderBuilder, ProviderConfig};
pub use credentials::{
    AuthoritySigner, AwsIdentities, AwsIdentityRequest, Credential, CredentialRequest, CsrSigner,
    Issued, Renewal, RenewalChannel, SigningRequest,
};
pub use handshake::{ApprovalRequest, Approver, WhyNonce};
pub use phase::{NeedsCredential, Phase, Status};
pub use principals::{Claimant, NameRegistry, NameRequest, NameTable, PrincipalName, Principals};
#[cfg(feature = "legacy")]
pub(crate) use principals::{NotSet, are_free_for, is_well_known};
pub use record::Grant;
pub use slice::{
    LiqoClasses, NeedsSliceCredential, RecordedSlice, ResourceSlicePolicy, SettledSlice,
    SliceDecision, SlicePhase, SliceRequest, SliceStatus,
};

use self::{configuration::Configuration, look::Look, observed::Observed, records::Plan};
use crate::{
    crypto::RecordKey,
    error::Error,
    machine::{Step, View},
    model::{ClusterId, Timestamp},
};

/// The provider's side, for all its peers. A `Provider` holds configuration only, so
/// it is cheap to clone and to share.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use liqo_auth::{
///     crypto::{Authority, Entropy, RecordKey},
///     machine::{Env, Objects},
///     model::ApiServerUrl,
///     provider::{AuthoritySigner, Endpoint, Phase, Provider, NameTable},
/// };
/// # use core::time::Duration;
/// # let now = "2026-11-20T13:00:00Z".parse()?;
/// # let entropy = || Entropy::from_bytes([7; 32]);
/// let authority = Authority::new("cl-provider-ca", now, Duration::from_secs(3600), &entropy())?;
/// let endpoint = Endpoint::new("https://172.19.0.3:6443".parse()?, Some(authority.ca_bundle()));
/// let provider = Provider::builder("cl-provider".parse()?, endpoint, RecordKey::new([1; 32])?)
///     .principals(Arc::new(NameTable::default()))
///     .signer(Arc::new(AuthoritySigner::new(authority, entropy())))
///     .build();
///
/// let consumer = "cl-consumer".parse()?;
/// let mut objects = Objects::new(&entropy());
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
#[derive(Debug, Clone)]
pub struct Provider(Arc<Configuration>);

impl Provider {
    /// Builds the provider with the name `cluster_id`. Its peers reach its API
    /// server at `endpoint`.
    pub fn builder(
        cluster_id: ClusterId,
        endpoint: Endpoint,
        record_key: RecordKey,
    ) -> ProviderBuilder {
        ProviderConfig::new(cluster_id, endpoint).builder(record_key)
    }

    /// The status of the peering, derived from the present objects.
    ///
    /// # Errors
    /// A fault on this side: [`LocalFault`](crate::error::LocalFault) or
    /// [`ApiMisuse`](crate::error::ApiMisuse). A fault in the peer's name or in an
    /// object from the peer is no error. The phase is then [`Phase::Refused`].
    pub fn look(&self, view: &View<'_>, now: Timestamp) -> Result<Status, Error> {
        let observed = self.observe(view)?;
        self.look_at(view, &observed, now).status()
    }

    /// The step of one call. `act` plans its changes.
    fn plan_with(
        &self,
        view: &View<'_>,
        now: Timestamp,
        act: impl FnOnce(&Look<'_>, &mut Plan<'_>) -> Result<(), Error>,
    ) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        let look = self.look_at(view, &observed, now);
        let mut plan = look.plan();
        act(&look, &mut plan)?;
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
