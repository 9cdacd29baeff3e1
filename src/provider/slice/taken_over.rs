//! What Liqo granted to a slice before the provider took the peering over.

use std::collections::BTreeMap;

use super::{SlicePhase, policy::is_liqos_class, replica::SliceLook};
use crate::{
    audit::{Decision, Event},
    machine::Notice,
    model::{
        Kind, ObjectRef, Quantity, Resource, ResourceSliceConditionStatus,
        ResourceSliceConditionType, ResourceSliceSpec, ResourceSliceStatus,
    },
    policy::Limits,
    provider::{
        look::Look,
        record::{Decided, Grant, SliceRecord, slice_name},
        records::Plan,
    },
};

impl SliceLook<'_> {
    /// Reads what Liqo granted. The caller calls this only in a look that takes the peering
    /// over: the peer may write the status, so nobody reads it when the peer is on record. A
    /// replica that is on record was read before a crash.
    pub(super) fn read_liqos_grant(&mut self, phase: &SlicePhase) {
        let is_acceptable = matches!(
            phase,
            SlicePhase::AwaitsPeer | SlicePhase::AwaitsNames | SlicePhase::NeedsRecord(_)
        );
        let is_new = !self.record.is_some_and(SliceRecord::has_replica);
        if is_acceptable && is_new && is_liqos_class(&self.object.spec.class) {
            self.decided_by_liqo = self.liqos_decision();
        }
    }

    fn liqos_decision(&self) -> Option<Decided> {
        let (spec, status) = (&self.object.spec, &self.object.status);
        let caps = &self.look.configuration.settings.adopt_up_to;
        if caps.is_empty() || !is_accepted(status) || !fits(status, &self.look.policy().limits) {
            return None;
        }
        let (resources, unconfirmed) = up_to(caps, &status.resources)?;
        let grant = Grant {
            resources,
            storage_classes: status.storage_classes.clone(),
            ingress_classes: status.ingress_classes.clone(),
            load_balancer_classes: status.load_balancer_classes.clone(),
            node_labels: status.node_labels.clone(),
            node_selector: status.node_selector.clone(),
        };
        let asked = has_what_it_asks_for(spec, status).then_some(spec);
        Some(Decided::by_liqo(asked, grant, unconfirmed, self.look.now))
    }

    /// Records what was read. From then on, the record decides.
    pub(super) fn record_liqos_grant(&self, plan: &mut Plan<'_>) {
        let Some(decided) = &self.decided_by_liqo else {
            return;
        };
        let (look, name) = (&self.look, &self.object.metadata.name);
        plan.records.slice(name).change_or_make(
            || SliceRecord::of(name),
            |record| record.take_over(self.object, decided),
        );
        let grant = decided.grant();
        let adopted = Decision::ResourcesAdopted {
            resources: grant.map(|it| it.resources.clone()).unwrap_or_default(),
            unconfirmed: decided.unconfirmed.clone(),
        };
        let record = slice_name(look.peer(), name);
        let record = ObjectRef::new(Kind::Secret, look.configuration.namespace(), record);
        let event = Event::new(look.peer(), adopted).about(self.object.id());
        plan.tell_upon(record, event);
    }
}

/// What Liqo granted to the peer's slices beyond the caps, and nobody has confirmed.
pub(crate) fn unconfirmed_grants(look: &Look<'_>) -> impl Iterator<Item = Notice> {
    let namespace = look.observed.namespace_name();
    let opened = look.observed.slice_records.values();
    let records = opened.filter_map(|(_, opened)| Some(&opened.as_ref().ok()?.record));
    records
        .filter(|record| !record.drained)
        .filter_map(move |record| {
            let resources = &record.decided.as_ref()?.unconfirmed;
            (!resources.is_empty()).then(|| Notice::GrantUnconfirmed {
                slice: ObjectRef::new(Kind::ResourceSlice, &namespace, &record.slice),
                resources: resources.clone(),
            })
        })
}

/// Whether Liqo has signed the slice's request and granted its resources.
fn is_accepted(status: &ResourceSliceStatus) -> bool {
    let parts = [
        ResourceSliceConditionType::Authentication,
        ResourceSliceConditionType::Resources,
    ];
    !status.resources.is_empty()
        && parts.into_iter().all(|part| {
            let condition = status.condition(part);
            condition.is_some_and(|it| it.status == ResourceSliceConditionStatus::Accepted)
        })
}

/// Whether a record can hold what the status grants. Liqo grants a few resources and
/// classes, whose names are those of Kubernetes. Anything else is the peer's.
fn fits(status: &ResourceSliceStatus, limits: &Limits) -> bool {
    let mut names: Vec<&String> = status.resources.keys().collect();
    let storage = status.storage_classes.iter();
    names.extend(storage.map(|class| &class.storage_class_name));
    let ingress = status.ingress_classes.iter();
    names.extend(ingress.map(|class| &class.ingress_class_name));
    let load_balancer = status.load_balancer_classes.iter();
    names.extend(load_balancer.map(|class| &class.load_balancer_class_name));
    let labels = status.node_labels.iter().chain(&status.node_selector);
    names.extend(labels.flat_map(|(label, value)| [label, value]));
    let is_name = |name: &String| {
        name.len() <= limits.resource_name && name.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let mut amounts = status.resources.values();
    names.len() <= limits.slice_resources
        && names.into_iter().all(is_name)
        && amounts.all(|amount| amount.as_str().len() <= limits.quantity)
}

/// Splits what Liqo granted: the resources up to the caps, and those that go beyond, with
/// their whole amounts. `None` if one is no amount that Liqo grants.
fn up_to(caps: &Resources, granted: &Resources) -> Option<(Resources, Resources)> {
    let (mut within, mut beyond) = (Resources::new(), Resources::new());
    for (resource, amount) in granted {
        let found = amount.billionths().filter(|_| amount.is_countable())?;
        let cap = caps.get(resource);
        let most = cap.and_then(Quantity::billionths);
        if found > most.unwrap_or_default() {
            beyond.insert(resource.clone(), amount.clone());
        }
        // Without the resource, a Quota allows none of it.
        if let (Some(cap), Some(most)) = (cap, most) {
            let kept = if found > most { cap } else { amount };
            within.insert(resource.clone(), kept.clone());
        }
    }
    Some((within, beyond))
}

/// Whether Liqo has granted what the slice asks for now.
fn has_what_it_asks_for(spec: &ResourceSliceSpec, status: &ResourceSliceStatus) -> bool {
    spec.resources.iter().all(|(resource, asked)| {
        let granted = status.resources.get(resource);
        let granted = granted.and_then(Quantity::billionths);
        granted.is_some() && granted == asked.billionths()
    })
}

type Resources = BTreeMap<String, Quantity>;
