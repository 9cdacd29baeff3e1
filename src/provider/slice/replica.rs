//! One slice: its phase, and the step to the next one.

use super::{NeedsSliceCredential, SettledSlice, SlicePhase, SliceTerms, policy, status};
use crate::{
    error::{Error, Fault, PolicyRefusal},
    machine::{Awaited, Holder, Notice},
    model::{Resource, ResourceSlice, TenantCondition, names},
    provider::{
        credentials::{CertificateSecret, CredentialState, HolderContext, RequestBasis},
        look::Look,
        principals::{Claimant, PrincipalName, are_free, is_well_known},
        record::{Decided, Outcome, RequestDigest, SliceRecord},
        records::Plan,
    },
    verify::{self, ResourceSliceExpectation, VerifiedSlice},
};

/// One slice, and all that is known about it.
#[derive(Clone)]
pub(super) struct SliceLook<'a> {
    pub(super) look: Look<'a>,
    pub(super) object: &'a ResourceSlice,
    pub(super) record: Option<&'a SliceRecord>,
    /// The error, if the record exists and cannot be read.
    broken: Option<Error>,
    pub(super) terms: Option<&'a SliceTerms>,
    /// What Liqo granted, if this look takes the peering over from Liqo.
    pub(super) decided_by_liqo: Option<Decided>,
    certificate: CertificateSecret<'a>,
    is_surplus: bool,
}

impl<'a> SliceLook<'a> {
    pub(super) fn of(
        look: Look<'a>,
        object: &'a ResourceSlice,
        terms: Option<&'a SliceTerms>,
        is_surplus: bool,
    ) -> Self {
        let name = &object.metadata.name;
        let namespace = look.observed.namespace_name();
        let secret = names::issued_certificate_secret_of_slice(name);
        let (stored, unreadable) = match look.view.find(&namespace, &secret) {
            Ok(stored) => (stored, None),
            Err(error) => (None, Some(error)),
        };
        let (record, broken) = match record_of(&look, name) {
            None => (None, None),
            Some(Ok(record)) => (Some(record), None),
            Some(Err(error)) => (None, Some(error)),
        };
        Self {
            look,
            object,
            record,
            broken,
            terms,
            decided_by_liqo: None,
            certificate: CertificateSecret {
                namespace,
                name: secret,
                peer: look.peer(),
                stored,
                unreadable,
            },
            is_surplus,
        }
    }

    /// The slice as the holder of a credential, with its verified request.
    pub(super) fn context<'s>(&'s self, verified: &'s VerifiedSlice) -> HolderContext<'s> {
        let tenant = self.terms.map(|terms| terms.tenant_uid.as_str());
        HolderContext {
            look: self.look,
            holder: Holder::Slice(self.object.metadata.name.clone()),
            about: self.object.id(),
            uid: &self.object.metadata.uid,
            text: self.object.spec.csr.as_slice(),
            csr: &verified.csr,
            key: &verified.public_key,
            subject: verified.subject(),
            basis: RequestBasis::Tenant(tenant.unwrap_or_default()),
            held: self.record.map(|record| &record.held),
            key_held: self.record.map(|record| &record.aws),
            kept_in: self.certificate.clone(),
            client_cas: self
                .look
                .configuration
                .client_cas
                .as_ref()
                .filter(|_| !self.is_denied()),
        }
    }

    /// Whether the decision on record denies the slice its resources.
    fn is_denied(&self) -> bool {
        let decided = self.record.and_then(|record| record.decided.as_ref());
        decided.is_some_and(|decided| matches!(decided.outcome, Outcome::Denied { .. }))
    }

    fn is_drained(&self) -> bool {
        self.look.observed.is_drained()
            && self.object.metadata.namespace == self.certificate.namespace
    }

    /// Whether the Tenant exists and is not being deleted.
    fn has_tenant(&self) -> bool {
        let tenant = self.look.observed.tenant_metadata();
        tenant.is_some_and(|tenant| tenant.deletion_timestamp.is_none())
    }

    pub(super) fn phase(&self) -> Result<SlicePhase, Error> {
        let (look, object) = (self.look, self.object);
        let policy = look.policy();
        // The peer can write the names. Wrong names must not prevent the deletion of
        // a drained peer's slice, so the names of such a slice are not checked. Neither are
        // those of a slice that the consumer has not completed yet.
        let is_incomplete = object.spec.csr.is_empty() && object.spec.consumer_cluster_id.is_none();
        let is_leaving = self.is_drained() && self.has_tenant();
        if !is_incomplete && !is_leaving {
            self.check_names()?;
        }
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(SlicePhase::Ending);
        }
        if !self.has_tenant() {
            return Ok(SlicePhase::AwaitsPeer);
        }
        if self.is_drained() {
            return Ok(SlicePhase::Drained);
        }
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if self.is_surplus {
            let limit = policy.limits.resource_slices;
            let error = PolicyRefusal::TooManySlices { limit };
            return Err(Error::found_in(object, "", error));
        }
        let limit = policy.limits.slice_records;
        if self.record.is_none() && self.look.observed.slice_records.len() >= limit {
            let error = PolicyRefusal::TooManySliceRecords { limit };
            return Err(Error::found_in(object, "", error));
        }
        if self.terms.is_none() {
            return Ok(SlicePhase::AwaitsPeer);
        }
        if object.spec.csr.is_empty() {
            return Ok(SlicePhase::AwaitsRequest);
        }
        if object.metadata.uid.is_empty() {
            return Ok(SlicePhase::NeedsUid);
        }
        // If the same request is recorded for the same key, its signature is not
        // verified again.
        let record = self.record;
        let expectation = self.expectation();
        let known = match expectation.tenant_key {
            Some(key) => record.and_then(|it| it.known_csr(key.fingerprint().as_bytes())),
            None => record.and_then(SliceRecord::any_known_csr),
        };
        let verified = verify::slice_request(object, &expectation, known.as_ref(), policy)?;
        self.verified_phase(verified)
    }

    fn verified_phase(&self, verified: VerifiedSlice) -> Result<SlicePhase, Error> {
        let on_record = self
            .record
            .filter(|record| record.is_of(self.object, &verified));
        let Some(record) = on_record else {
            return Ok(match self.name_is_free(&verified)? {
                true => SlicePhase::NeedsRecord(Box::new(verified)),
                false => SlicePhase::AwaitsNames,
            });
        };
        if self.look.observed.record.is_none() {
            // The peer's record must exist first, because it records the
            // credential.
            return Ok(SlicePhase::AwaitsPeer);
        }
        let context = self.context(&verified);
        let credential = match context.credential_state() {
            CredentialState::InForce(credential) => credential,
            CredentialState::Needs(request) => {
                let slice = verified;
                let needs = NeedsSliceCredential { slice, request };
                return Ok(SlicePhase::NeedsCredential(Box::new(needs)));
            }
        };
        let renewal = context.renewal(&credential);
        let not_trusted = context.due_for_trust(&credential, &renewal);
        let is_told = self.told(&credential) == self.object.status;
        let settled = Box::new(SettledSlice {
            slice: verified,
            credential,
            renewal,
            not_trusted,
        });
        let decided = record.decided.as_ref();
        let is_active = self.look.observed.condition() == TenantCondition::Active;
        let is_granted = decided.is_some() && !self.is_denied();
        Ok(
            if is_active && record.decision_on(&self.object.spec).is_none() {
                SlicePhase::NeedsDecision(settled)
            } else if !is_told {
                SlicePhase::NeedsStatus(settled)
            } else if is_granted {
                SlicePhase::Accepted(settled)
            } else {
                SlicePhase::Denied(settled)
            },
        )
    }

    pub(super) fn advance(&self, phase: &SlicePhase, plan: &mut Plan<'_>) -> Result<(), Error> {
        let id = || self.object.id();
        match phase {
            SlicePhase::AwaitsPeer | SlicePhase::Ending | SlicePhase::LeftBehind => {}
            SlicePhase::AwaitsRequest => plan.await_for(Awaited::SliceRequest(id())),
            SlicePhase::NeedsUid => plan.await_for(Awaited::Uid(id())),
            SlicePhase::AwaitsNames => plan.await_for(Awaited::Names),
            SlicePhase::NeedsRecord(verified) => self.take_request(verified, plan),
            SlicePhase::NeedsCredential(needs) => {
                needs.request.ask(&self.context(&needs.slice), plan)?;
            }
            SlicePhase::NeedsDecision(settled) => self.decide(settled, plan),
            SlicePhase::NeedsStatus(settled)
            | SlicePhase::Accepted(settled)
            | SlicePhase::Denied(settled) => {
                self.maintain_credential(settled, plan);
                self.write_status(settled, plan);
            }
            SlicePhase::Drained => self.withdraw(plan),
            SlicePhase::Refused(error) => return Err(error.clone()),
        }
        self.maintain_replica(phase, plan);
        Ok(())
    }

    /// Records the request, if the peer's rate limit allows it. Each recorded
    /// request is signed once, and again when its certificate is due for renewal.
    /// Several slices share the rate limit, so the planned record counts, not the
    /// observed one.
    fn take_request(&self, verified: &VerifiedSlice, plan: &mut Plan<'_>) {
        let (limits, now) = (&self.look.policy().limits, self.look.now);
        let (slice, name) = (self.object, &self.object.metadata.name);
        let stored = self.look.observed.slice_record(name).and_then(Result::ok);
        let request = RequestDigest::of(slice, verified, stored.map(|(secret, _)| secret));
        let mut taken = Ok(());
        plan.records
            .peer
            .change(|record| taken = record.signing_rate.take(&request, limits, now));
        if let Err(until) = taken {
            plan.wake_by(Some(until));
            return plan.notify(Notice::SignaturesWait { until });
        }
        plan.records.slice(name).change_or_make(
            || SliceRecord::of(name),
            |record| record.take_request(slice, verified),
        );
    }

    /// Maintains the slice in any phase: sets this side's annotations and label,
    /// and removes resources without a grant from the status. Liqo lets a slice use
    /// the resources in its status, whatever its phase.
    pub(super) fn maintain_replica(&self, phase: &SlicePhase, plan: &mut Plan<'_>) {
        if !self.has_tenant() || self.object.metadata.namespace != self.certificate.namespace {
            return;
        }
        self.follow_cordon(plan);
        let is_the_peers = matches!(phase, SlicePhase::Refused(error) if is_the_peers(error));
        let is_named_well = !matches!(phase, SlicePhase::Refused(_)) || self.check_names().is_ok();
        if is_named_well && !matches!(phase, SlicePhase::Ending | SlicePhase::Drained) {
            plan.edit(self.object, |slice| self.annotate(slice));
        }
        let now = self.look.now;
        let said = &self.object.status;
        if is_the_peers && is_named_well && self.terms.is_some() && !self.is_surplus {
            let refused = status::refused(said, now);
            return plan.withdraw_status(self.object, |slice| slice.status = refused);
        }
        let decided = match phase {
            SlicePhase::Refused(_) if is_the_peers => None,
            SlicePhase::Refused(_)
            | SlicePhase::AwaitsPeer
            | SlicePhase::AwaitsRequest
            | SlicePhase::NeedsUid
            | SlicePhase::AwaitsNames
            | SlicePhase::NeedsRecord(_)
            | SlicePhase::NeedsCredential(_)
            | SlicePhase::Ending => {
                if self.broken.is_some() {
                    return;
                }
                let recorded = self.record.and_then(|it| it.decided_of(self.object));
                let decided = recorded.or(self.decided_by_liqo.as_ref());
                if decided.is_none() && !policy::is_liqos_class(&self.object.spec.class) {
                    // Another controller may decide on this class.
                    return;
                }
                decided
            }
            _ => return,
        };
        let told = status::with_resources(said, decided, now);
        plan.withdraw_status(self.object, |slice| slice.status = told);
    }

    /// Sets this side's annotations on the slice, and the label by which Liqo's
    /// quotas find the slice with its annotations.
    fn annotate(&self, slice: &mut ResourceSlice) {
        let metadata = &mut slice.metadata;
        if self
            .record
            .is_some_and(|record| record.is_about(&self.object.metadata))
        {
            metadata
                .labels
                .insert(names::REPLICATED_LABEL.to_owned(), names::TRUE.to_owned());
        }
        let annotations = &mut metadata.annotations;
        match self.look.observed.condition() {
            TenantCondition::Cordoned => {
                let yes = names::TRUE.to_owned();
                annotations.insert(names::CORDON_TENANT_ANNOTATION.to_owned(), yes);
            }
            TenantCondition::Active => {
                annotations.remove(names::CORDON_TENANT_ANNOTATION);
            }
            TenantCondition::Drained => {}
        }
        if self.record.is_some_and(|record| record.cordoned) {
            annotations.insert(names::CORDON_ANNOTATION.to_owned(), names::TRUE.to_owned());
        }
    }

    /// Whether the slice has a record, or may get one that its peer causes.
    pub(super) fn may_have_record(&self) -> bool {
        let observed = self.look.observed;
        let is_below_limit =
            || observed.slice_records.len() < self.look.policy().limits.slice_records;
        self.record.is_some()
            || self.decided_by_liqo.is_some()
            || (observed.is_known()
                && self.broken.is_none()
                && !self.is_surplus
                && is_below_limit()
                && self.check_names().is_ok())
    }

    fn check_names(&self) -> Result<(), Error> {
        verify::slice_names(self.object, &self.expectation(), self.look.policy())?;
        // A replica has the label with its origin. `verify::slice_names` also accepts
        // a slice without the label.
        let origin = self.object.metadata.label(names::REPLICATION_ORIGIN_LABEL);
        let (found, peer) = (origin.unwrap_or_default(), self.look.peer().as_str());
        let field = "metadata.labels[liqo.io/originID]";
        verify::check_name(found, peer, self.object, field)
    }

    fn expectation(&self) -> ResourceSliceExpectation<'_> {
        ResourceSliceExpectation {
            consumer: self.look.peer(),
            provider: Some(self.look.configuration.cluster_id()),
            namespace: Some(&self.certificate.namespace),
            tenant_key: self.terms.and_then(|terms| terms.key.as_ref()),
        }
    }

    /// Checks that no other principal has the slice's user name. Returns false if
    /// the look-up of names has not answered yet.
    fn name_is_free(&self, verified: &VerifiedSlice) -> Result<bool, Error> {
        let subject = verified.subject();
        let name = subject.common_name();
        let claimant = Claimant::Slice {
            consumer: self.look.peer(),
            slice: &verified.name,
        };
        let principals = &self.look.configuration.principals;
        match are_free(principals, &[PrincipalName::User(name)], claimant)? {
            None => Ok(false),
            Some(true) if !is_well_known(name) => Ok(true),
            Some(_) => {
                let name = name.to_owned();
                let refusal = PolicyRefusal::NameTaken { name };
                Err(Error::found_in(self.object, "metadata.name", refusal))
            }
        }
    }
}

/// The record of a slice, or the error if it cannot be read.
pub(super) type Recorded<'a> = Option<Result<&'a SliceRecord, Error>>;

/// The record of the slice with this name.
pub(super) fn record_of<'a>(look: &Look<'a>, slice: &str) -> Recorded<'a> {
    let recorded = look.observed.slice_record(slice)?;
    Some(recorded.map(|(_, opened)| &opened.record))
}

pub(super) fn is_the_peers(error: &Error) -> bool {
    matches!(
        error.fault(),
        Fault::PeerMisbehaved(_) | Fault::PeerIncompatible(_) | Fault::Policy(_)
    )
}
