//! What this side has decided on a slice, and has issued for it, by its record. The peer may
//! write the slice with its status, and the Secret with the certificate.

use super::{SlicePhase, SliceStatus, cordon::is_cordoned_by_record, replica::is_the_peers};
use crate::{
    crypto::Certificate,
    model::{ObjectRef, ResourceSliceConditionStatus as Decision, TenantCondition},
    provider::{
        look::Look,
        record::{Outcome, SliceRecord},
    },
};

impl SliceStatus {
    /// The status of a slice in this phase. `record` is about this replica, and `cordoning` about
    /// any of its name.
    pub(super) fn of(
        look: &Look<'_>,
        slice: ObjectRef,
        phase: SlicePhase,
        record: Option<&SliceRecord>,
        cordoning: Option<&SliceRecord>,
    ) -> Self {
        Self {
            authentication: authentication(&phase, record),
            resources: resources(look, &phase, record),
            certificate: certificate(&phase, record),
            cordoned: is_cordoned_by_record(look, cordoning),
            slice,
            phase,
        }
    }
}

/// The decision on the request.
fn authentication(phase: &SlicePhase, record: Option<&SliceRecord>) -> Option<Decision> {
    match phase {
        SlicePhase::Refused(error) if is_the_peers(error) => Some(Decision::Denied),
        // The request on record was another one.
        SlicePhase::NeedsRecord(_) => None,
        phase => {
            let was_issued = record.is_some_and(|record| record.authenticated.is_some());
            (phase.settled().is_some() || was_issued).then_some(Decision::Accepted)
        }
    }
}

/// The decision on the resources. A refused slice has none.
fn resources(
    look: &Look<'_>,
    phase: &SlicePhase,
    record: Option<&SliceRecord>,
) -> Option<Decision> {
    let is_drained = record.is_some_and(|record| record.drained);
    match phase {
        SlicePhase::Refused(error) if is_the_peers(error) => return None,
        SlicePhase::Drained => return Some(Decision::Denied),
        _ if is_drained => return Some(Decision::Denied),
        _ => {}
    }
    match record.and_then(|record| record.decided.as_ref()) {
        Some(decided) => match decided.outcome {
            Outcome::Granted(_) => Some(Decision::Accepted),
            Outcome::Denied { .. } => Some(Decision::Denied),
            Outcome::NotMine => None,
        },
        // This denial is not recorded, since it ends with the condition.
        None => {
            let is_cordoned = look.observed.condition() == TenantCondition::Cordoned;
            (phase.settled().is_some() && is_cordoned).then_some(Decision::Denied)
        }
    }
}

fn certificate(phase: &SlicePhase, record: Option<&SliceRecord>) -> Option<Certificate> {
    match phase.settled() {
        Some(settled) => Some(settled.credential.shown.certificate()?.leaf().clone()),
        None => record?.held.issued.as_ref()?.certificate(),
    }
}
