//! The provider as a [`Machine`].

use super::{Credential, Provider, Renewal, SlicePhase, SliceStatus, phase::Phase};
use crate::{
    error::Error,
    machine::{
        self, Concerns, Env, Holder, HolderStatus, Interest, Machine, Message, MessageBody, Mirror,
        Side, Stage, Step, View, Watch,
    },
    model::{ClusterId, Object, Timestamp},
};

impl Machine for Provider {
    fn cluster_id(&self) -> &ClusterId {
        self.0.cluster_id()
    }

    fn watches(&self) -> Vec<Watch> {
        self.0.watches()
    }

    fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        self.0.interests(peer)
    }

    fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        self.0.concerns(object, mirror)
    }

    fn look(&self, view: &View<'_>, now: Timestamp) -> Result<machine::Status, Error> {
        let status = self.look(view, now)?;
        Ok(machine::Status {
            side: Side::Provider,
            peer: view.peer().clone(),
            control_plane: of_control_plane(status.phase),
            slices: status.slices.into_iter().map(of_slice).collect(),
            notices: status.notices,
        })
    }

    fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        let observed = self.observe(view)?;
        self.look_at(view, &observed, env.now).reconcile(&env)
    }

    fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        message.check_delivery(self.cluster_id(), view.peer())?;
        let MessageBody::Tenant(tenant) = message.body else {
            return Err(message.body.unexpected());
        };
        self.plan_with(view, env.now, |look, plan| {
            look.receive_tenant(&tenant, plan)
        })
    }
}

fn of_control_plane(phase: Phase) -> HolderStatus {
    let stage = match &phase {
        Phase::Uninvited
        | Phase::AwaitsTenant(_)
        | Phase::NeedsApproval(_)
        | Phase::Tolerated
        | Phase::Drained => Stage::AtRest,
        Phase::NeedsUid(_)
        | Phase::NeedsNonce(_)
        | Phase::AwaitsNames
        | Phase::NeedsProof(..)
        | Phase::NeedsCredential(_)
        | Phase::NeedsRights(_) => Stage::InProgress,
        Phase::Authenticated(_) => Stage::Authenticated,
        Phase::Refused(_) => Stage::Refused,
        Phase::Ended { .. } | Phase::Ending => Stage::Ending,
    };
    let status = HolderStatus::new(Holder::ControlPlane, phase.name(), stage);
    match phase {
        Phase::NeedsRights(issued) | Phase::Authenticated(issued) => {
            with_credential(status, &issued.credential, &issued.renewal)
        }
        Phase::Refused(error) => status.refused(error),
        _ => status,
    }
}

fn of_slice(slice: SliceStatus) -> HolderStatus {
    let stage = match &slice.phase {
        SlicePhase::AwaitsPeer | SlicePhase::AwaitsRequest => Stage::AtRest,
        SlicePhase::NeedsUid
        | SlicePhase::AwaitsNames
        | SlicePhase::NeedsRecord(_)
        | SlicePhase::NeedsCredential(_)
        | SlicePhase::NeedsDecision(_)
        | SlicePhase::NeedsStatus(_) => Stage::InProgress,
        // A denial of resources leaves the identity as it is.
        SlicePhase::Accepted(_) | SlicePhase::Denied(_) => Stage::Authenticated,
        SlicePhase::Refused(_) => Stage::Refused,
        SlicePhase::Drained | SlicePhase::Ending | SlicePhase::LeftBehind => Stage::Ending,
    };
    let status = HolderStatus::new(Holder::Slice(slice.slice.name), slice.phase.name(), stage);
    if let Some(settled) = slice.phase.settled() {
        return with_credential(status, &settled.credential, &settled.renewal);
    }
    match slice.phase {
        SlicePhase::Refused(error) => status.refused(error),
        _ => status,
    }
}

fn with_credential(
    status: HolderStatus,
    credential: &Credential,
    renewal: &Renewal,
) -> HolderStatus {
    let (renewed_at, refused) = match renewal {
        Renewal::Never | Renewal::Due(_) => (None, None),
        Renewal::NotBefore(due) => (Some(*due), None),
        Renewal::Denied { error, again_at } => (Some(*again_at), Some(error.clone())),
    };
    HolderStatus {
        valid_until: credential.shown.valid_until(),
        renewed_at,
        refused,
        ..status
    }
}
