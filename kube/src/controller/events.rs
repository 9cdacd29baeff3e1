//! Kubernetes events in the tenant namespaces: decisions, refusals and failures.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use liqo_auth::{
    audit,
    model::{ClusterId, Kind, names},
};
use serde_json::Value;

/// Publishes events. If an event cannot be published, the failure is logged only.
pub(super) struct Events(Recorder);

impl Events {
    pub(super) fn new(client: Client) -> Self {
        Self(Recorder::new(client, Reporter::from(NAME)))
    }

    /// Publishes a decision of the library.
    pub(super) async fn decided(&self, peer: &ClusterId, decided: &audit::Event) {
        let value = serde_json::to_value(decided).unwrap_or(Value::Null);
        let Some(decision) = value.get("decision").and_then(Value::as_str) else {
            return;
        };
        let note = match &decided.object {
            Some(object) => format!("{decision}: {object}"),
            None => decision.to_owned(),
        };
        self.publish(peer, EventType::Normal, decision, &note).await;
    }

    /// Publishes a warning for the administrator.
    pub(super) async fn warned(&self, peer: &ClusterId, reason: &str, note: &str) {
        self.publish(peer, EventType::Warning, reason, note).await;
    }

    async fn publish(&self, peer: &ClusterId, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Authenticate".to_owned(),
            secondary: None,
        };
        let namespace = names::tenant_namespace(peer);
        let regarding = ObjectReference {
            api_version: Some(Kind::Namespace.api_version().to_owned()),
            kind: Some(Kind::Namespace.to_string()),
            name: Some(namespace.clone()),
            // Otherwise the event would be in the namespace `default`.
            namespace: Some(namespace),
            ..ObjectReference::default()
        };
        if let Err(error) = self.0.publish(&event, &regarding).await {
            tracing::debug!(%peer, %error, "an event cannot be published");
        }
    }
}

const NAME: &str = "liqo-auth";
/// The maximum length of a note, in characters. Kubernetes allows 1,024 bytes, and a
/// character has at most four bytes.
const LONGEST_NOTE: usize = 256;
