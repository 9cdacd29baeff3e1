//! Asking for a resource slice.

use std::{collections::BTreeMap, sync::Arc};

use super::{OWN_NAME, check_name, is_asked_of};
use crate::{
    audit::{Decision, Event},
    consumer::{Consumer, observed::Observed, replication_labels},
    crypto::{Csr, SigningKey, Subject},
    error::{Error, LocalFault, Precondition},
    machine::{Awaited, Effect, Env, Part, Step, View},
    model::{
        Bytes, Kind, Metadata, ObjectRef, Quantity, Resource, ResourceSlice, ResourceSliceSpec,
        names,
    },
};

/// What is asked of a provider.
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
    /// The slice's name, of at most 51 characters; unique among all slices that
    /// this cluster asks for.
    pub name: String,
    /// Who decides on it; `default` for Liqo itself.
    pub class: String,
    /// How much of which resource.
    pub resources: BTreeMap<String, Quantity>,
    /// Whether Liqo is to make a virtual node of it.
    pub create_virtual_node: bool,
    /// Further annotations.
    pub annotations: BTreeMap<String, String>,
    /// Further labels.
    pub labels: BTreeMap<String, String>,
}

/// A slice that a person or `liqoctl` made: the clusters' IDs or the request of
/// a certificate are still missing in it.
#[derive(Clone)]
pub struct NeedsRequest<'o> {
    consumer: Consumer,
    observed: Observed<'o>,
    slice: &'o ResourceSlice,
    key: Arc<dyn SigningKey>,
}

impl SliceOptions {
    /// What `liqoctl create resourceslice` asks for by default: nothing in
    /// particular, with a virtual node.
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
    /// Asks the provider for a resource slice, or changes what is asked for. The
    /// certificate request of a slice that is there stays as it is.
    ///
    /// # Errors
    /// [`LocalFault::SliceName`], [`Precondition::NotAuthenticated`];
    /// [`LocalFault::Conflict`] if something else stands there; otherwise as
    /// [`resume`](Self::resume).
    pub fn request_slice(
        &self,
        view: &View<'_>,
        options: &SliceOptions,
        env: Env,
    ) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        let namespace = observed.namespace_name();
        let id = ObjectRef::new(Kind::ResourceSlice, &namespace, &options.name);
        check_name(&options.name, OWN_NAME, id.clone())?;
        let Some(keys) = self.find_keys(view.peer())? else {
            return Ok(Step::awaiting(Awaited::OwnKey));
        };
        let control_plane = observed
            .identity
            .and_then(|identity| self.accept(&observed, &keys, identity, env.now).ok());
        if control_plane.is_none() && observed.endpoint.is_none() {
            return Err(Error::new(Precondition::NotAuthenticated, Some(id), ""));
        }
        let stored: Option<&ResourceSlice> = view.find(&namespace, &options.name)?;
        if stored.is_some_and(|slice| {
            !is_asked_of(slice, view.peer().as_str()) || slice.metadata.deletion_timestamp.is_some()
        }) {
            return Err(Error::new(LocalFault::Conflict, Some(id), ""));
        }
        let mut wanted = stored.cloned().unwrap_or_else(|| ResourceSlice {
            metadata: Metadata {
                name: options.name.clone(),
                namespace,
                ..Metadata::default()
            },
            ..ResourceSlice::default()
        });
        wanted.metadata.labels.extend(options.labels.clone());
        wanted
            .metadata
            .labels
            .extend(replication_labels(view.peer()));
        wanted
            .metadata
            .annotations
            .extend(options.annotations.clone());
        let virtual_node = names::CREATE_VIRTUAL_NODE_ANNOTATION.to_owned();
        if options.create_virtual_node {
            wanted
                .metadata
                .annotations
                .insert(virtual_node, names::TRUE.to_owned());
        }
        let key = control_plane.map_or_else(|| keys.current.clone(), |accepted| accepted.key);
        let request = Request {
            consumer: self,
            observed: &observed,
            key: &*key,
        };
        wanted.spec = ResourceSliceSpec {
            resources: options.resources.clone(),
            class: options.class.clone(),
            ..wanted.spec
        };
        request.complete(&mut wanted)?;
        let effect = match stored {
            None => Some(Effect::Create(wanted.into())),
            Some(stored) => Effect::patch(stored, wanted, Part::Main),
        };
        Ok(request.step(id, effect))
    }

    /// Deletes a resource slice. What was made for it goes when it is gone,
    /// which waits for the provider where slices are replicated.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); [`LocalFault::Conflict`] if what stands there
    /// is not asked of this provider.
    pub fn delete_slice(&self, view: &View<'_>, name: &str) -> Result<Step, Error> {
        self.check_peer(view.peer())?;
        let observed = Observed::select(self, view)?;
        let slice: Option<&ResourceSlice> = view.find(&observed.namespace_name(), name)?;
        let Some(slice) = slice else {
            return Ok(Step::default());
        };
        if !is_asked_of(slice, view.peer().as_str()) {
            return Err(Error::new(LocalFault::Conflict, Some(slice.id()), ""));
        }
        let mut step = Step::awaiting(Awaited::End(slice.id()));
        if slice.metadata.deletion_timestamp.is_none() {
            step.effects.push(Effect::delete(slice));
        }
        Ok(step)
    }
}

impl<'o> NeedsRequest<'o> {
    pub(super) fn new(
        consumer: &Consumer,
        observed: &Observed<'o>,
        slice: &'o ResourceSlice,
        key: Arc<dyn SigningKey>,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            observed: observed.clone(),
            slice,
            key,
        }
    }

    /// Fills in the clusters' IDs and the certificate request, as Liqo's own
    /// controller does. A request that is for another key than this cluster's is
    /// replaced: nobody could use its certificate.
    ///
    /// # Errors
    /// [`LocalFault::Backend`] if the key fails.
    pub fn complete(&self) -> Result<Step, Error> {
        let request = Request {
            consumer: &self.consumer,
            observed: &self.observed,
            key: &*self.key,
        };
        let mut wanted = self.slice.clone();
        request.complete(&mut wanted)?;
        let effect = Effect::patch(self.slice, wanted, Part::Main);
        Ok(request.step(self.slice.id(), effect))
    }

    pub(super) fn is_complete(&self) -> bool {
        let spec = &self.slice.spec;
        let subject =
            Subject::resource_slice(&self.slice.metadata.name, self.consumer.cluster_id());
        let policy = self.consumer.policy(&self.observed.peer);
        spec.consumer_cluster_id.is_some()
            && spec.provider_cluster_id.is_some()
            && Csr::verify(spec.csr.as_slice(), &subject, self.key.public_key(), policy).is_ok()
    }
}

/// The request of one slice.
struct Request<'a, 'o> {
    consumer: &'a Consumer,
    observed: &'a Observed<'o>,
    key: &'a dyn SigningKey,
}

impl Request<'_, '_> {
    fn complete(&self, slice: &mut ResourceSlice) -> Result<(), Error> {
        let consumer = self.consumer.cluster_id();
        let subject = Subject::resource_slice(&slice.metadata.name, consumer);
        let kept = slice.spec.csr.as_slice();
        let csr = self
            .consumer
            .csr(&self.observed.peer, &subject, self.key, [kept])?;
        slice.spec.consumer_cluster_id = Some(consumer.to_string());
        slice.spec.provider_cluster_id = Some(self.observed.peer.to_string());
        slice.spec.csr = Bytes::from(csr.pem());
        Ok(())
    }

    fn step(&self, id: ObjectRef, effect: Option<Effect>) -> Step {
        let mut step = Step::awaiting(Awaited::SliceDecision(id.clone()));
        if let Some(effect) = effect {
            step.effects.push(effect);
            let key = self.key.public_key().fingerprint();
            step.events.push(
                Event::new(&self.observed.peer, Decision::SliceRequested)
                    .about(id)
                    .by_key(key),
            );
        }
        step
    }
}
