//! Giving the peer its rights, and saying so in the Tenant's status.

use std::collections::BTreeMap;

use crate::{
    audit::{Decision, Event},
    crypto::without_padding,
    error::{Error, LocalFault},
    machine::{Effect, Notice, Part, Step, Version},
    model::{
        AuthParams, ClusterId, ClusterRole, ClusterRoleBinding, Metadata, OwnerReference,
        RbacSubject, Resource, RoleBinding, RoleRef, Tenant, names,
    },
    provider::{
        Provider,
        credentials::{certificate, credential::Credential},
        handshake::proof::marked,
        observed::Observed,
    },
    verify::VerifiedTenant,
};

/// The certificate or the AWS user is there; what is missing are the peer's rights or the
/// Tenant's status.
#[derive(Clone)]
pub struct NeedsRights<'o> {
    pub(in crate::provider) provider: Provider,
    pub(in crate::provider) observed: Observed<'o>,
    pub(in crate::provider) tenant: &'o Tenant,
    pub(in crate::provider) verified: VerifiedTenant,
    pub(in crate::provider) credential: Credential,
}

impl<'o> NeedsRights<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
        credential: Credential,
    ) -> Self {
        Self {
            provider: provider.clone(),
            observed,
            tenant,
            verified,
            credential,
        }
    }

    /// Binds the rights, then fills the status.
    ///
    /// # Errors
    /// [`LocalFault::Conflict`] if a binding of that name grants something else.
    pub fn grant(&self) -> Result<Step, Error> {
        let mut step = Step::default();
        self.provider
            .tighten_condition(&self.observed, self.tenant, &mut step);
        let bindings = self.missing_bindings()?;
        if !bindings.is_empty() {
            let granted = Event::new(&self.observed.peer, Decision::RightsGranted);
            let key = self.verified.public_key().fingerprint();
            step.events
                .push(granted.about(self.tenant.id()).by_key(key));
        }
        step.effects.extend(bindings);
        step.effects.extend(self.missing_certificate());
        // One effect for each object: marks first, the status upon the next look.
        step.effects
            .extend(self.missing_marks().or_else(|| self.missing_status()));
        Ok(step)
    }

    pub(in crate::provider) fn is_granted(&self) -> Result<bool, Error> {
        Ok(self.missing_bindings()?.is_empty()
            && self.missing_certificate().is_none()
            && self.missing_status().is_none())
    }

    /// What the Tenant's status has to say.
    pub(in crate::provider) fn auth_params(&self) -> AuthParams {
        let address = self.provider.auth_params(self.verified.proxy_url());
        self.credential.added_to(address)
    }

    /// The marks of this side that someone took off the Tenant.
    pub(in crate::provider) fn missing_marks(&self) -> Option<Effect> {
        let (_, record) = self.observed.record.as_ref()?;
        let commitment = record
            .proof
            .as_ref()
            .and_then(|proof| proof.commitment.as_ref());
        let tenant = marked(
            self.tenant,
            commitment.map(|commitment| commitment.annotation()),
        );
        Effect::patch(self.tenant, tenant, Part::Main)
    }

    /// The certificate on record, where Liqo keeps it and the peer can write.
    fn missing_certificate(&self) -> Option<Effect> {
        self.observed.record.as_ref()?;
        certificate::keep(&self.observed, self.tenant, self.credential.chain()?)
    }

    fn missing_status(&self) -> Option<Effect> {
        let mut tenant = self.tenant.clone();
        let mut auth_params = self.auth_params();
        if let Some(present) = &tenant.status.auth_params
            && without_padding(present.ca.as_slice()) == without_padding(auth_params.ca.as_slice())
        {
            auth_params.ca = present.ca.clone();
        }
        tenant.status.tenant_namespace = self.observed.namespace_name();
        tenant.status.auth_params = Some(auth_params);
        Effect::patch(self.tenant, tenant, Part::Status)
    }

    fn missing_bindings(&self) -> Result<Vec<Effect>, Error> {
        let mut effects = Vec::new();
        for role in &self.observed.control_plane_roles {
            effects.extend(missing(
                self.role_binding(role),
                &self.observed.role_bindings,
                |binding| (&binding.role_ref, &binding.subjects),
            )?);
        }
        effects.extend(missing_cluster_wide(&self.observed)?);
        Ok(effects)
    }

    fn role_binding(&self, role: &ClusterRole) -> RoleBinding {
        let namespace = self.observed.namespace_name();
        // An owner in another namespace would be no owner.
        let owned =
            self.tenant.metadata.namespace == namespace && !self.tenant.metadata.uid.is_empty();
        RoleBinding {
            metadata: Metadata {
                name: names::role_binding(&role.metadata.name),
                namespace,
                labels: labels(&self.observed.peer),
                owner_references: owned
                    .then(|| OwnerReference::controller(self.tenant))
                    .into_iter()
                    .collect(),
                ..Metadata::default()
            },
            role_ref: RoleRef::cluster_role(&role.metadata.name),
            subjects: vec![RbacSubject::user(self.observed.peer.as_str())],
        }
    }
}

/// The bindings of the group that the peer's slices are in.
pub(in crate::provider) fn missing_cluster_wide(
    observed: &Observed<'_>,
) -> Result<Vec<Effect>, Error> {
    let mut effects = Vec::new();
    for role in &observed.cluster_wide_roles {
        let wanted = cluster_role_binding(observed, role);
        effects.extend(missing(
            wanted,
            &observed.cluster_role_bindings,
            |binding| (&binding.role_ref, &binding.subjects),
        )?);
    }
    Ok(effects)
}

fn cluster_role_binding(observed: &Observed<'_>, role: &ClusterRole) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: Metadata {
            name: names::cluster_role_binding(&role.metadata.name, &observed.peer),
            labels: labels(&observed.peer),
            ..Metadata::default()
        },
        role_ref: RoleRef::cluster_role(&role.metadata.name),
        subjects: vec![RbacSubject::group(observed.peer.as_str())],
    }
}

fn labels(peer: &ClusterId) -> BTreeMap<String, String> {
    BTreeMap::from([
        (
            names::MANAGED_BY_LABEL.to_owned(),
            names::MANAGED_BY_LIQO.to_owned(),
        ),
        (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.to_string()),
    ])
}

/// What a person should know of the ClusterRoles that were seen.
pub(in crate::provider) fn notices(observed: &Observed<'_>) -> Vec<Notice> {
    [
        (
            names::CONTROL_PLANE_ROLE,
            observed.control_plane_roles.is_empty(),
        ),
        (
            names::CLUSTER_WIDE_ROLE,
            observed.cluster_wide_roles.is_empty(),
        ),
    ]
    .into_iter()
    .filter(|(_, missing)| *missing)
    .map(|(label_value, _)| Notice::NoClusterRole { label_value })
    .collect()
}

/// Makes the binding unless it is there. One of that name is taken only if it
/// grants exactly what it should.
fn missing<B: Resource>(
    wanted: B,
    present: &[&B],
    grant: impl Fn(&B) -> (&RoleRef, &Vec<RbacSubject>),
) -> Result<Option<Effect>, Error> {
    match present.iter().find(|present| present.id() == wanted.id()) {
        None => Ok(Some(Effect::Create(wanted.into()))),
        Some(present) if grant(present) == grant(&wanted) => Ok(None),
        Some(present) => Err(Error::new(
            LocalFault::Conflict,
            Some(present.id()),
            "subjects",
        )),
    }
}

/// Deletes the bindings that were made for the peer.
pub(in crate::provider) fn withdraw(observed: &Observed<'_>) -> Vec<Effect> {
    let ours = |metadata: &Metadata| {
        let label = |name: &str| metadata.labels.get(name).map(String::as_str);
        label(names::REMOTE_CLUSTER_ID_LABEL) == Some(observed.peer.as_str())
            && label(names::MANAGED_BY_LABEL) == Some(names::MANAGED_BY_LIQO)
            && metadata.name.starts_with(names::BINDING_PREFIX)
    };
    let in_namespace = observed
        .role_bindings
        .iter()
        .map(|binding| (binding.id(), &binding.metadata));
    let cluster_wide = observed
        .cluster_role_bindings
        .iter()
        .map(|binding| (binding.id(), &binding.metadata));
    in_namespace
        .chain(cluster_wide)
        .filter(|(_, metadata)| ours(metadata))
        .map(|(id, metadata)| Effect::Delete {
            id,
            version: Version::of(metadata),
        })
        .collect()
}
