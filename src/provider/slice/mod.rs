//! Resource slices, as the provider sees them: beside the phase of the control
//! plane, each for itself.
//!
//! ```text
//!     AwaitsPeer ──▶ AwaitsRequest ──▶ NeedsRecord ──▶ NeedsCertificate ──▶ NeedsDecision ──▶ NeedsStatus ──▶ Accepted │ Denied
//!                                           │                 ▲                                                  │
//!                                        Refused              └────────────────── expired ───────────────────────┘
//!     any ──▶ Drained ──▶ Ending ──▶ LeftBehind
//! ```
//!
//! On EKS `NeedsAwsIdentity` stands in place of `NeedsCertificate`.
//!
//! A slice counts only if it is a replica of the peer's own, in the peer's
//! tenant namespace. Its status is what the record says, whatever stands there.

mod administration;
mod aws;
mod ceiling;
mod certificate;
mod decision;
mod leaving;
mod look;
mod phase;
mod policy;
mod settled;
mod status;

use std::collections::BTreeSet;

use super::{
    Provider,
    credentials::issuance::CertificateSecret,
    observed::Observed,
    record::{peer::Record, slice::SliceRecord},
};
use crate::{
    crypto::PublicKey,
    error::{Disposition, Error},
    machine::{Effect, Refused, Step, Version, Wait},
    model::{
        AuthParams, ClusterId, ObjectRef, ResourceSlice, Secret, TenantCondition, Timestamp, names,
    },
};
pub use aws::NeedsSliceAwsIdentity;
pub use ceiling::Ceiling;
pub use certificate::NeedsSliceCertificate;
pub use decision::NeedsDecision;
pub use leaving::{DrainedSlice, LeftBehind};
pub use phase::{NeedsSliceRecord, SlicePeering, SlicePhase};
pub use policy::{Grant, LiqoClasses, ResourceSlicePolicy, SliceDecision, SliceRequest};
pub use settled::{NeedsSliceStatus, SettledSlice, SliceRenewal};

/// What the control plane's authentication gives to the peer's slices.
#[derive(Clone)]
pub(super) struct SliceTerms {
    /// The key that they have to be of; none where no handshake is required.
    pub(super) key: Option<PublicKey>,
    /// The Tenant that the proof is for.
    pub(super) tenant_uid: String,
    /// What the peer needs to reach this cluster: all but its certificate.
    pub(super) auth_params: AuthParams,
}

/// One slice, and all that there is about it.
#[derive(Clone)]
struct Slice<'o> {
    provider: Provider,
    peer: ClusterId,
    object: &'o ResourceSlice,
    record: Option<(&'o Secret, SliceRecord)>,
    peers_record: Option<(&'o Secret, Record)>,
    certificate: CertificateSecret<'o>,
    /// Why the Secret that keeps the certificate cannot be read, if it cannot.
    unreadable: Option<Error>,
    condition: TenantCondition,
    now: Timestamp,
}

impl Slice<'_> {
    fn record(&self) -> Option<&SliceRecord> {
        self.record.as_ref().map(|(_, record)| record)
    }

    fn write_record(&self, record: &SliceRecord) -> Effect {
        let stored = self.record.as_ref().map(|(secret, _)| *secret);
        self.provider.write_slice_record(&self.peer, stored, record)
    }

    /// The peer's record with the end of a slice's certificate: until then its
    /// cluster ID belongs to its key.
    fn remembered_until(&self, until: Timestamp) -> Option<Effect> {
        self.remembered(|record| {
            record.certificates_until = record.certificates_until.max(Some(until.unix()));
        })
    }

    /// The peer's record with what concerns the peer as a whole.
    fn remembered(&self, change: impl FnOnce(&mut Record)) -> Option<Effect> {
        let (secret, record) = self.peers_record.as_ref()?;
        let mut changed = record.clone();
        change(&mut changed);
        (changed != *record).then(|| {
            self.provider
                .write_record_over(Some(secret), &self.peer, &changed)
        })
    }

    /// The annotations that this side keeps on the slice, and the label by which
    /// Liqo's quotas see it and read them.
    fn marks(&self) -> Option<Effect> {
        let mut marked = self.object.clone();
        if self.record().is_some_and(|it| it.is_about(self.object)) {
            let labels = &mut marked.metadata.labels;
            labels.insert(names::REPLICATED_LABEL.to_owned(), names::TRUE.to_owned());
        }
        let annotations = &mut marked.metadata.annotations;
        match self.condition {
            TenantCondition::Cordoned => {
                let yes = names::TRUE.to_owned();
                annotations.insert(names::CORDON_TENANT_ANNOTATION.to_owned(), yes);
            }
            TenantCondition::Active => {
                annotations.remove(names::CORDON_TENANT_ANNOTATION);
            }
            TenantCondition::Drained => {}
        }
        if self.record().is_some_and(|record| record.cordoned) {
            annotations.insert(names::CORDON_ANNOTATION.to_owned(), names::TRUE.to_owned());
        }
        Effect::patch(self.object, marked, crate::machine::Part::Main)
    }
}

impl Provider {
    /// Adds the steps of the slices to the step of the control plane. What one
    /// slice does wrong is a refusal, and holds none of the others up.
    pub(super) fn add_slices(
        &self,
        observed: &Observed<'_>,
        slices: Vec<SlicePeering<'_>>,
        now: Timestamp,
        step: &mut Step,
    ) {
        let mut taken = step.effects.iter().map(Effect::id).collect();
        for slice in slices {
            let id = slice.slice.clone();
            let mut of_slice = slice.step().unwrap_or_else(|error| Step {
                wait: Wait {
                    wake_at: (error.disposition() == Disposition::Retry).then(|| now + RETRY),
                    awaiting: Vec::new(),
                },
                refused: vec![Refused {
                    object: Some(id),
                    error,
                }],
                ..Step::default()
            });
            self.remember_together(observed, step, &mut of_slice);
            add_beside(&mut taken, step, of_slice);
        }
    }

    /// The certificates of several slices, and the control plane's, may come in
    /// one step, and the peer's record has one effect in it: the latest end of
    /// all goes into that, and every new access key. Without this, what was signed would be thrown away.
    fn remember_together(&self, observed: &Observed<'_>, step: &mut Step, of_slice: &mut Step) {
        let id = self.record_id(&observed.peer);
        let read = |effect: &Effect| match effect {
            Effect::Replace { object, .. } if object.id() == id => {
                let configuration = &self.0;
                Record::open(
                    object.as_secret()?,
                    &configuration.record_key,
                    &configuration.cluster_id,
                    &observed.peer,
                )
                .ok()
            }
            _ => None,
        };
        let Some(until) = of_slice.effects.iter().find_map(read) else {
            return;
        };
        let written = step
            .effects
            .iter_mut()
            .find_map(|effect| read(effect).map(|record| (effect, record)));
        let Some((effect, record)) = written else {
            return;
        };
        let certificates_until = record.certificates_until.max(until.certificates_until);
        let mut record = Record {
            certificates_until,
            ..record
        };
        if let Some((_, before)) = &observed.record {
            record.aws.take_new_of_slices(&before.aws, &until.aws);
        }
        *effect = self.write_record(observed, &record);
        of_slice.effects.retain(|effect| effect.id() != id);
    }

    pub(super) fn write_slice_record(
        &self,
        peer: &ClusterId,
        stored: Option<&Secret>,
        record: &SliceRecord,
    ) -> Effect {
        let configuration = &self.0;
        let object = record.seal(
            &configuration.record_key,
            &configuration.cluster_id,
            peer,
            &configuration.namespace,
        );
        match stored {
            None => Effect::Create(object.into()),
            Some(secret) => Effect::Replace {
                object: object.into(),
                version: Version::of(&secret.metadata),
            },
        }
    }

    pub(super) fn open_slice_record(
        &self,
        peer: &ClusterId,
        secret: &Secret,
    ) -> Result<SliceRecord, Error> {
        SliceRecord::open(secret, &self.0.record_key, &self.0.cluster_id, peer)
    }

    fn certificate_of_slice<'o>(
        &self,
        peer: &ClusterId,
        namespace: &str,
        slice: &str,
        stored: Option<&'o Secret>,
    ) -> CertificateSecret<'o> {
        CertificateSecret {
            namespace: namespace.to_owned(),
            name: names::issued_certificate_secret_of_slice(slice),
            peer: peer.clone(),
            stored,
        }
    }
}

/// Adds a step, up to the first object that has an effect already: what follows
/// waits for the next look.
fn add(step: &mut Step, other: Step) {
    let mut taken = step.effects.iter().map(Effect::id).collect();
    add_beside(&mut taken, step, other);
}

fn add_beside(taken: &mut BTreeSet<ObjectRef>, step: &mut Step, other: Step) {
    let wanted = other.effects.len();
    let effects: Vec<Effect> = other
        .effects
        .into_iter()
        .take_while(|effect| taken.insert(effect.id()))
        .collect();
    // What an event tells of is stored by the first of the effects: a record.
    if wanted == 0 || !effects.is_empty() {
        step.events.extend(other.events);
    }
    step.effects.extend(effects);
    step.refused.extend(other.refused);
    step.notices.extend(other.notices);
    step.wake_by(other.wait.wake_at);
    step.wait.awaiting.extend(other.wait.awaiting);
}

/// When to try again what failed on this side.
const RETRY: core::time::Duration = core::time::Duration::from_secs(60);
