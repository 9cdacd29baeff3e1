//! The consumer as a [`Machine`].

use super::{
    Consumer, Phase, SlicePhase, SliceStatus,
    administration::ending::is_ending,
    credentials::{renewal::Renewal, stored_identity::StoredIdentity},
};
use crate::{
    error::{Error, Precondition},
    machine::{
        self, Concerns, Env, Holder, HolderStatus, Interest, Machine, Message, MessageBody, Mirror,
        Side, Stage, Step, View, Watch,
    },
    model::{ClusterId, Object, Timestamp},
};

impl Machine for Consumer {
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
            side: Side::Consumer,
            peer: view.peer().clone(),
            control_plane: of_control_plane(status.phase),
            slices: status.slices.into_iter().map(of_slice).collect(),
            notices: status.notices,
        })
    }

    fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            let phase = look.phase()?;
            look.advance(&phase, plan)?;
            look.advance_slices(phase.accepted(), plan);
            Ok(())
        })
    }

    fn receive(&self, view: &View<'_>, message: Message, env: Env) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            message.check_delivery(self.cluster_id(), view.peer())?;
            if is_ending(look.observed) {
                return Err(Error::new(Precondition::StillEnding, None, ""));
            }
            match message.body {
                MessageBody::Nonce(nonce) => look.receive_nonce(&nonce, plan),
                MessageBody::Identity(identity) => look.receive_identity(&identity, plan),
                tenant @ MessageBody::Tenant(_) => Err(tenant.unexpected()),
            }
        })
    }
}

fn of_control_plane(phase: Phase) -> HolderStatus {
    let stage = match &phase {
        Phase::AwaitsNonce | Phase::AwaitsIdentity(_) => Stage::AtRest,
        Phase::NeedsKey
        | Phase::NeedsSignature(_)
        | Phase::NeedsIdentity(_)
        | Phase::NeedsKubeconfig(_) => Stage::InProgress,
        Phase::Authenticated(_) => Stage::Authenticated,
        Phase::Refused(_) => Stage::Refused,
        Phase::Ending => Stage::Ending,
    };
    let status = HolderStatus::new(Holder::ControlPlane, phase.name(), stage);
    match phase {
        Phase::Authenticated(stored) => with_identity(status, &stored),
        Phase::Refused(error) => status.refused(error),
        _ => status,
    }
}

fn of_slice(slice: SliceStatus) -> HolderStatus {
    let stage = match &slice.phase {
        SlicePhase::AwaitsDecision | SlicePhase::AwaitsControlPlane => Stage::AtRest,
        SlicePhase::NeedsKey
        | SlicePhase::NeedsRequest
        | SlicePhase::NeedsIdentity(_)
        | SlicePhase::NeedsKubeconfig(_) => Stage::InProgress,
        SlicePhase::Held(_) => Stage::Authenticated,
        SlicePhase::Denied { .. } | SlicePhase::Refused(_) => Stage::Refused,
        SlicePhase::Ending => Stage::Ending,
    };
    let status = HolderStatus::new(Holder::Slice(slice.slice.name), slice.phase.name(), stage);
    match slice.phase {
        SlicePhase::Held(stored) => with_identity(status, &stored),
        SlicePhase::Refused(error) => status.refused(error),
        _ => status,
    }
}

fn with_identity(status: HolderStatus, stored: &StoredIdentity) -> HolderStatus {
    let (renewed_at, refused) = match &stored.renewal {
        Renewal::NotBefore(due) => (Some(*due), None),
        Renewal::PeerCannot(error) => (None, Some(error.clone())),
        Renewal::Never | Renewal::Due | Renewal::Awaited { .. } | Renewal::Answered => (None, None),
    };
    HolderStatus {
        valid_until: stored.accepted.identity.credentials().valid_until(),
        renewed_at,
        refused,
        ..status
    }
}
