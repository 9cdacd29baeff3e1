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
        Side, Step, View, Watch,
    },
    model::{ClusterId, Kind, Object, ObjectRef, Timestamp, names},
};

impl Machine for Consumer {
    fn cluster_id(&self) -> &ClusterId {
        self.0.cluster_id()
    }

    fn watches(&self) -> Vec<Watch> {
        let mut watches = Watch::of_both_sides(self.0.namespace()).to_vec();
        // A Tenant shows that a provider is a consumer of this cluster as well.
        let kinds = [
            Kind::Identity,
            Kind::ResourceSlice,
            Kind::Renew,
            Kind::Tenant,
        ];
        watches.extend(kinds.map(Watch::all));
        watches
    }

    fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let replicated = |kind| {
            let label = names::REPLICATION_DESTINATION_LABEL;
            Interest::labelled(kind, label, peer.as_str())
        };
        let named = |kind| Interest::Named {
            kind,
            name: names::identity_name(peer),
        };
        let as_a_consumer = ObjectRef::new(
            Kind::Secret,
            self.0.namespace(),
            names::provider_record(peer),
        );
        let label = names::REMOTE_CLUSTER_ID_LABEL;
        let mut interests = Interest::of_both_sides(peer, self.0.record_id(peer)).to_vec();
        interests.extend([
            Interest::labelled(Kind::Identity, label, peer.as_str()),
            named(Kind::Identity),
            replicated(Kind::ResourceSlice),
            replicated(Kind::Renew),
            named(Kind::Renew),
            Interest::Object(as_a_consumer),
            Interest::Named {
                kind: Kind::Tenant,
                name: peer.to_string(),
            },
            Interest::labelled(Kind::Tenant, label, peer.as_str()),
        ]);
        interests
    }

    /// A replica of a resource slice or of a Renew belongs to another cluster. The
    /// replica concerns this cluster only as a provider.
    fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let labels = &object.metadata().labels;
        let is_ours = match object.key().0 {
            Kind::Namespace | Kind::Secret | Kind::Identity => true,
            Kind::ResourceSlice | Kind::Renew => !labels.contains_key(names::REPLICATED_LABEL),
            _ => false,
        };
        match is_ours {
            true => mirror.concerns(object).without(self.cluster_id()),
            false => Concerns::Nobody,
        }
    }

    fn look(&self, view: &View<'_>, now: Timestamp) -> Result<machine::Status, Error> {
        let (status, step) = self.with_look(view, now, |look| look.status_and_step())?;
        Ok(machine::Status {
            side: Side::Consumer,
            peer: view.peer().clone(),
            tenant: None,
            condition: None,
            is_condition_held: false,
            nonce_until: status.nonce_until,
            control_plane: HolderStatus {
                certificate: status.certificate,
                ..of_control_plane(&status.phase)
            },
            slices: status.slices.into_iter().map(of_slice).collect(),
            notices: step.notices_after(status.notices),
            is_due: !step.is_settled(),
            awaits: step.wait.awaiting,
            refused: step.refused,
        })
    }

    fn reconcile(&self, view: &View<'_>, env: Env) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            let phase = look.phase()?;
            let slices = look.slices(phase.accepted());
            look.plan_step(&phase, &slices, plan)
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

    fn guard(&self, view: &View<'_>, changed: &Object, env: Env) -> Result<Step, Error> {
        self.judge(view, changed, &env)
    }
}

fn of_control_plane(phase: &Phase) -> HolderStatus {
    let status = phase.of_holder(Holder::ControlPlane);
    match phase {
        Phase::Authenticated(stored) => with_identity(status, stored),
        Phase::KubeconfigByHand(by_hand) => HolderStatus {
            valid_until: by_hand.valid_until,
            ..status
        },
        _ => status,
    }
}

fn of_slice(slice: SliceStatus) -> HolderStatus {
    let status = HolderStatus {
        certificate: slice.certificate,
        authentication: slice.authentication,
        resources: slice.resources.in_short(),
        cordoned: Some(slice.cordoned),
        ..slice.phase.of_holder(Holder::Slice(slice.slice.name))
    };
    match &slice.phase {
        SlicePhase::Held(stored) => with_identity(status, stored),
        _ => status,
    }
}

fn with_identity(status: HolderStatus, stored: &StoredIdentity) -> HolderStatus {
    let (renewal_due_at, refused) = match &stored.renewal {
        Renewal::NotBefore(due) => (Some(*due), None),
        Renewal::PeerCannot(error) => (None, Some(error.clone())),
        Renewal::Never | Renewal::Due | Renewal::Awaited { .. } | Renewal::Answered => (None, None),
    };
    HolderStatus {
        valid_until: stored.accepted.identity.credentials.valid_until(),
        renewal_due_at,
        refused,
        ..status
    }
}
