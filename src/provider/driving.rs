//! The provider as a [`Machine`].

use super::{
    Credential, Provider, Renewal, SliceStatus, observed::Observed, phase::Phase,
    record::IssuedCertificate,
};
use crate::{
    error::Error,
    machine::{
        self, Concerns, Env, Holder, HolderStatus, Interest, Machine, Message, MessageBody, Mirror,
        Requirement, Side, Step, View, Watch,
    },
    model::{ClusterId, Kind, Object, Timestamp, names},
};

impl Machine for Provider {
    fn cluster_id(&self) -> &ClusterId {
        self.0.cluster_id()
    }

    fn watches(&self) -> Vec<Watch> {
        let roles = vec![names::CONTROL_PLANE_ROLE, names::CLUSTER_WIDE_ROLE];
        let mut watches = Watch::of_both_sides(self.0.namespace()).to_vec();
        watches.extend([
            Watch::all(Kind::Tenant),
            Watch::all(Kind::ResourceSlice),
            Watch::all(Kind::Renew),
            // Each binding may be for a peer, and a peer may change its NamespaceMaps.
            Watch::all(Kind::RoleBinding),
            Watch::all(Kind::ClusterRoleBinding),
            Watch::all(Kind::NamespaceMap),
            Watch::all(Kind::ClusterRole).with(Requirement::In(names::APP_NAME_LABEL, roles)),
            Watch::of_peers(Kind::CertificateSigningRequest).with(Requirement::Equals(
                names::MANAGED_BY_LABEL,
                names::MANAGED_BY_LIQO_AUTH,
            )),
        ]);
        watches
    }

    fn interests(&self, peer: &ClusterId) -> Vec<Interest> {
        let labelled = Interest::labelled;
        let of_peer = |kind| labelled(kind, names::REMOTE_CLUSTER_ID_LABEL, peer.as_str());
        let replica = |kind| labelled(kind, names::REPLICATION_ORIGIN_LABEL, peer.as_str());
        let role = |name| labelled(Kind::ClusterRole, names::APP_NAME_LABEL, name);
        let named = |kind, name| Interest::Named { kind, name };
        let user = names::peering_user(peer);
        let of_user = |kind| labelled(kind, names::PEERING_USER_LABEL, &user);
        let component = |kind| {
            let label = names::APP_COMPONENT_LABEL;
            labelled(kind, label, names::PEERING_USER_COMPONENT)
        };
        let mut interests = Interest::of_both_sides(peer, self.0.record_id(peer)).to_vec();
        interests.extend([
            of_peer(Kind::ResourceSlice),
            replica(Kind::ResourceSlice),
            labelled(Kind::Secret, names::RECORD_PEER_LABEL, peer.as_str()),
            of_peer(Kind::RoleBinding),
            of_peer(Kind::ClusterRoleBinding),
            // Whoever binds the peer need not label the binding.
            Interest::all(Kind::RoleBinding),
            Interest::all(Kind::ClusterRoleBinding),
            // The peer writes the labels of its NamespaceMaps, in a namespace of any name.
            Interest::all(Kind::NamespaceMap),
            replica(Kind::NamespaceMap),
            Interest::InNamespace {
                kind: Kind::NamespaceMap,
                namespace: names::tenant_namespace(peer),
            },
            named(Kind::Tenant, peer.to_string()),
            of_peer(Kind::Tenant),
            // The peer writes the label of its Tenant, and may remove it.
            Interest::InNamespace {
                kind: Kind::Tenant,
                namespace: names::tenant_namespace(peer),
            },
            replica(Kind::Renew),
            of_peer(Kind::CertificateSigningRequest),
            role(names::CONTROL_PLANE_ROLE),
            role(names::CLUSTER_WIDE_ROLE),
            of_user(Kind::RoleBinding),
            of_user(Kind::CertificateSigningRequest),
            named(Kind::RoleBinding, names::peering_user_reader(peer)),
            named(Kind::RoleBinding, names::peering_user_writer(peer)),
            named(Kind::CertificateSigningRequest, user.clone()),
            component(Kind::Role),
            component(Kind::ClusterRole),
        ]);
        interests
    }

    /// A resource slice or a Renew that is not a replica does not concern a peer of the
    /// provider, since this cluster created the object as a consumer.
    fn concerns(&self, object: &Object, mirror: &Mirror) -> Concerns {
        let is_replica = object.metadata().label(names::REPLICATED_LABEL) == Some(names::TRUE);
        match object.key().0 {
            Kind::Identity => Concerns::Nobody,
            Kind::ResourceSlice | Kind::Renew
                if !is_replica && object.as_unreadable().is_none() =>
            {
                Concerns::Nobody
            }
            _ => mirror.concerns(object).without(self.cluster_id()),
        }
    }

    fn look(&self, view: &View<'_>, now: Timestamp) -> Result<machine::Status, Error> {
        let observed = self.observe(view)?;
        let (status, step) = self.look_at(view, &observed, now).status_and_step()?;
        Ok(machine::Status {
            side: Side::Provider,
            peer: view.peer().clone(),
            tenant: observed.tenant_id(),
            condition: status.condition,
            is_condition_held: status.is_condition_held,
            nonce_until: match &status.phase {
                Phase::AwaitsTenant(nonce) => nonce.expires(),
                _ => None,
            },
            control_plane: of_control_plane(&status.phase, &observed),
            slices: status.slices.into_iter().map(of_slice).collect(),
            notices: step.notices_after(status.notices),
            is_due: !step.is_settled(),
            awaits: step.wait.awaiting,
            refused: step.refused,
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

    fn guard(&self, view: &View<'_>, changed: &Object, env: Env) -> Result<Step, Error> {
        self.judge(view, changed, &env)
    }
}

fn of_control_plane(phase: &Phase, observed: &Observed<'_>) -> HolderStatus {
    // The certificate of a peering that is over is no concern of the next one.
    let record = observed.record().filter(|_| observed.tenant_id().is_some());
    let issued = record.and_then(|record| record.held.issued.as_ref());
    let status = HolderStatus {
        certificate: issued.and_then(IssuedCertificate::certificate),
        ..phase.of_holder(Holder::ControlPlane)
    };
    match phase {
        Phase::NeedsRights(issued) | Phase::Authenticated(issued) => {
            let not_trusted = issued.not_trusted.as_ref();
            with_credential(status, &issued.credential, &issued.renewal, not_trusted)
        }
        _ => status,
    }
}

fn of_slice(slice: SliceStatus) -> HolderStatus {
    let status = HolderStatus {
        certificate: slice.certificate,
        authentication: slice.authentication,
        resources: slice.resources,
        cordoned: Some(slice.cordoned),
        ..slice.phase.of_holder(Holder::Slice(slice.slice.name))
    };
    match slice.phase.settled() {
        Some(settled) => {
            let not_trusted = settled.not_trusted.as_ref();
            with_credential(status, &settled.credential, &settled.renewal, not_trusted)
        }
        None => status,
    }
}

fn with_credential(
    status: HolderStatus,
    credential: &Credential,
    renewal: &Renewal,
    not_trusted: Option<&Error>,
) -> HolderStatus {
    let (renewal_due_at, refused) = match renewal {
        Renewal::Never => (None, None),
        Renewal::Due(_) => (None, not_trusted.cloned()),
        Renewal::NotBefore(due) => (Some(*due), None),
        Renewal::Denied { error, again_at } => (Some(*again_at), Some(error.clone())),
    };
    let shown = &credential.shown;
    HolderStatus {
        certificate: shown.certificate().map(|chain| chain.leaf().clone()),
        valid_until: shown.valid_until(),
        renewal_due_at,
        refused,
        ..status
    }
}
