//! Requesting a resource slice.

use std::collections::BTreeMap;

use super::name::check_name;
use crate::{
    audit::{Decision, Event},
    consumer::{
        Consumer, credentials::holder_context::HolderContext, look::Look, observed::Observed,
        record::Plan, replication_labels,
    },
    crypto::{Csr, SigningKey, Subject},
    error::{Error, LocalFault, Precondition},
    machine::{Awaited, Env, Step, View, replication},
    model::{Bytes, Kind, ObjectRef, Quantity, Resource, ResourceSlice, names},
    policy::COMMON_NAME_SLICE,
};

/// A request for a resource slice.
///
/// # Examples
/// ```
/// use liqo_auth::consumer::SliceOptions;
///
/// let options = SliceOptions {
///     resources: [("cpu".to_owned(), "2".into()), ("memory".to_owned(), "4Gi".into())].into(),
///     ..SliceOptions::named("mypool")
/// };
/// assert_eq!(options.class, "default");
/// assert!(options.create_virtual_node);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceOptions {
    /// The slice's name, of at most 51 characters. The name must be unique among all
    /// slices that this cluster requests.
    pub name: String,
    /// The slice's class, which selects the controller that decides. The class of
    /// Liqo's own controller is `default`.
    pub class: String,
    /// The requested quantity of each resource.
    pub resources: BTreeMap<String, Quantity>,
    /// Whether a VirtualNode is made for the slice. This side's record keeps the choice.
    pub create_virtual_node: bool,
    /// Further annotations.
    pub annotations: BTreeMap<String, String>,
    /// Further labels.
    pub labels: BTreeMap<String, String>,
}

impl SliceOptions {
    /// The defaults of `liqoctl create resourceslice`: no particular resources, and
    /// a virtual node.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            class: names::DEFAULT_RESOURCE_SLICE_CLASS.to_owned(),
            resources: BTreeMap::new(),
            create_virtual_node: true,
            annotations: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }
}

impl Consumer {
    /// Requests a resource slice from the provider, or changes the request of an
    /// existing slice. An existing slice keeps its certificate request if the right
    /// key signed it. If the key has not answered yet, the slice is stored without a
    /// certificate request.
    ///
    /// # Errors
    /// [`LocalFault::SliceName`], [`Precondition::NotAuthenticated`];
    /// [`LocalFault::Conflict`] if the existing slice is not this side's or is being
    /// deleted; otherwise as [`look`](Self::look).
    pub fn request_slice(
        &self,
        view: &View<'_>,
        options: &SliceOptions,
        env: Env,
    ) -> Result<Step, Error> {
        self.plan_with(view, env.now, |look, plan| {
            look.request_slice(options, plan)
        })
    }

    /// Deletes a resource slice. The objects that were made for it are removed once
    /// the slice is gone. A replicated slice is gone only when its replica on the
    /// provider is gone.
    ///
    /// # Errors
    /// As [`look`](Self::look); [`LocalFault::Conflict`] if the slice is not
    /// requested from this provider.
    pub fn delete_slice(&self, view: &View<'_>, name: &str) -> Result<Step, Error> {
        self.0.check_peer(view.peer())?;
        let observed = Observed::to_end(&self.0, view)?;
        let mut plan = observed.plan(&self.0);
        let id = ObjectRef::new(Kind::ResourceSlice, observed.namespace_name(), name);
        if let Some(slice) = view.objects().find(|object| object.id() == id) {
            let metadata = slice.metadata();
            let is_ours = match slice.as_unreadable() {
                None => replication::is_requested_from(metadata, view.peer()),
                // The labels may be what cannot be read.
                Some(_) => !replication::is_replica(metadata),
            };
            if !is_ours {
                return Err(Error::new(LocalFault::Conflict, Some(id), ""));
            }
            if metadata.deletion_timestamp.is_none() {
                plan.delete_present(slice);
            }
            plan.await_for(Awaited::End(id));
        }
        Ok(plan.finish())
    }
}

impl SliceOptions {
    /// Writes the options to a slice.
    fn fill(&self, slice: &mut ResourceSlice, look: &Look<'_>) {
        let metadata = &mut slice.metadata;
        metadata.labels.extend(self.labels.clone());
        metadata.set_labels(&replication_labels(look.peer()));
        metadata.annotations.extend(self.annotations.clone());
        if self.create_virtual_node {
            metadata.annotations.insert(
                names::CREATE_VIRTUAL_NODE_ANNOTATION.to_owned(),
                names::TRUE.to_owned(),
            );
        }
        slice.spec.resources.clone_from(&self.resources);
        slice.spec.class.clone_from(&self.class);
    }
}

impl Look<'_> {
    fn request_slice(&self, options: &SliceOptions, plan: &mut Plan<'_>) -> Result<(), Error> {
        let namespace = self.observed.namespace_name();
        let id = ObjectRef::new(Kind::ResourceSlice, &namespace, &options.name);
        check_name(&options.name, COMMON_NAME_SLICE, id.clone())?;
        let Some(keys) = self.keys else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        let context = HolderContext::of_control_plane(*self);
        let control_plane = context
            .identity
            .and_then(|identity| context.accept(keys, identity).ok());
        if control_plane.is_none()
            && context.endpoint.is_none()
            && self.kubeconfig_by_hand()?.is_none()
        {
            return Err(Error::new(Precondition::NotAuthenticated, Some(id), ""));
        }
        let stored: Option<&ResourceSlice> = self.view.find(&namespace, &options.name)?;
        if stored.is_some_and(|slice| {
            !replication::is_requested_from(&slice.metadata, self.peer())
                || slice.metadata.deletion_timestamp.is_some()
        }) {
            return Err(Error::new(LocalFault::Conflict, Some(id), ""));
        }
        let key = control_plane.map_or_else(|| keys.current.clone(), |accepted| accepted.key);
        let mut wanted = stored.cloned().unwrap_or_default();
        wanted.metadata.name.clone_from(&options.name);
        options.fill(&mut wanted, self);
        // In a step, the record is written before the slice with its request.
        plan.records.change(|record| {
            record.expect(&wanted, self.now);
            let name = &options.name;
            record.requested.insert(name.clone());
            let wanted = options.create_virtual_node;
            record.virtual_nodes.insert(name.clone(), wanted);
        });
        let request = self.slice_request(&options.name, stored, &*key, plan)?;
        plan.edit_or_create(stored, |slice| {
            slice.metadata.name.clone_from(&options.name);
            slice.metadata.namespace = namespace;
            options.fill(slice, self);
            self.complete(slice, request.as_ref());
        });
        self.tell_request(id, &*key, plan);
        Ok(())
    }

    /// Writes the cluster IDs and the certificate request, as Liqo's own controller
    /// does. A request by a key that this cluster does not use any more is replaced,
    /// because the cluster could not use the certificate.
    ///
    /// # Errors
    /// [`LocalFault::Backend`] if the key fails.
    pub(super) fn complete_slice(
        &self,
        slice: &ResourceSlice,
        key: &dyn SigningKey,
        plan: &mut Plan<'_>,
    ) -> Result<(), Error> {
        let request = self.slice_request(&slice.metadata.name, Some(slice), key, plan)?;
        plan.edit(slice, |slice| self.complete(slice, request.as_ref()));
        self.tell_request(slice.id(), key, plan);
        Ok(())
    }

    pub(super) fn is_complete(&self, slice: &ResourceSlice, key: &dyn SigningKey) -> bool {
        slice.spec.consumer_cluster_id.is_some()
            && slice.spec.provider_cluster_id.is_some()
            && self.has_request_by(slice, key)
    }

    /// Whether the slice has a valid request of this key for the slice's subject.
    pub(super) fn has_request_by(&self, slice: &ResourceSlice, key: &dyn SigningKey) -> bool {
        let own = self.configuration.cluster_id();
        let subject = Subject::resource_slice(&slice.metadata.name, own);
        let (pem, key) = (slice.spec.csr.as_slice(), key.public_key());
        Csr::verify(pem, &subject, key, self.policy()).is_ok()
    }

    /// The slice's certificate request, or a new one. `None` if the key has not
    /// answered yet.
    fn slice_request(
        &self,
        name: &str,
        stored: Option<&ResourceSlice>,
        key: &dyn SigningKey,
        plan: &mut Plan<'_>,
    ) -> Result<Option<Csr>, Error> {
        let subject = Subject::resource_slice(name, self.configuration.cluster_id());
        let kept = stored.map(|slice| slice.spec.csr.as_slice());
        self.csr(&subject, key, kept, plan)
    }

    fn complete(&self, slice: &mut ResourceSlice, request: Option<&Csr>) {
        let spec = &mut slice.spec;
        spec.consumer_cluster_id = Some(self.configuration.cluster_id().to_string());
        spec.provider_cluster_id = Some(self.peer().to_string());
        if let Some(request) = request {
            spec.csr = Bytes::from(request.pem());
        }
    }

    fn tell_request(&self, id: ObjectRef, key: &dyn SigningKey, plan: &mut Plan<'_>) {
        plan.await_for(Awaited::SliceDecision(id.clone()));
        let requested = Event::new(self.peer(), Decision::SliceRequested).about(id.clone());
        plan.tell_upon(id, requested.by_key(key.public_key().fingerprint()));
    }
}
