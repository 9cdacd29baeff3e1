//! Kubernetes events in the tenant namespaces: decisions, refusals and failures.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use liqo_auth::{
    audit::{self, Decision},
    machine::View,
    model::{Kind, Namespace, Resource, names},
};
use serde_json::Value;

use crate::error::{succeeds_in_time, with_sources};

/// Publishes events. If an event cannot be published, the failure is only logged.
pub(super) struct Events(Recorder);

impl Events {
    pub(super) fn new(client: Client) -> Self {
        Self(Recorder::new(client, Reporter::from(NAME)))
    }

    /// Publishes a decision of the library in a peer's tenant namespace.
    pub(super) async fn decided(&self, namespace: &str, decided: &audit::Event) {
        let value = serde_json::to_value(decided).unwrap_or(Value::Null);
        let Some(decision) = value.get("decision").and_then(Value::as_str) else {
            return;
        };
        let mut note = match &decided.object {
            Some(object) => format!("{decision}: {object}"),
            None => decision.to_owned(),
        };
        if let Decision::ResourcesAdopted { .. } = decided.decision {
            let details = value.get("details").and_then(Value::as_object);
            for (name, amounts) in details.into_iter().flatten() {
                note.push_str(&format!(
                    "; {name}: {}",
                    amounts.as_str().unwrap_or_default()
                ));
            }
        }
        self.publish(namespace, EventType::Normal, decision, &note)
            .await;
    }

    /// Publishes a warning for the administrator in a peer's tenant namespace.
    pub(super) async fn warned(&self, namespace: &str, reason: &str, note: &str) {
        self.publish(namespace, EventType::Warning, reason, note)
            .await;
    }

    async fn publish(&self, namespace: &str, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Authenticate".to_owned(),
            secondary: None,
        };
        let regarding = ObjectReference {
            api_version: Some(Kind::Namespace.api_version().to_owned()),
            kind: Some(Kind::Namespace.to_string()),
            name: Some(namespace.to_owned()),
            // Otherwise the event would be in the namespace `default`.
            namespace: Some(namespace.to_owned()),
            ..ObjectReference::default()
        };
        let request = format!("publish an event in {namespace}");
        let published = succeeds_in_time(request, self.0.publish(&event, &regarding)).await;
        if let Err(error) = published {
            tracing::debug!(error = %with_sources(&error), "an event cannot be published");
        }
    }
}

/// The name of the peer's tenant namespace: the name of the Namespace with the two
/// labels, or the default name if no Namespace has them.
pub(super) fn tenant_namespace(view: &View<'_>) -> String {
    let labelled = view
        .objects()
        .filter_map(Namespace::from_object)
        .find(|namespace| namespace.tenant().as_ref() == Some(view.peer()));
    match labelled {
        Some(namespace) => namespace.metadata.name.clone(),
        None => names::tenant_namespace(view.peer()),
    }
}

const NAME: &str = "liqo-auth";
/// The maximum length of a note, in characters. Kubernetes allows 1,024 bytes, and a
/// character has at most four bytes.
const LONGEST_NOTE: usize = 256;
