//! Kubernetes events in the tenant namespaces: decisions, refusals and failures.

mod budget;
mod regarding;
mod series;
#[cfg(test)]
mod tests;

use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use liqo_auth::{
    audit::{self, Decision},
    error::Error,
    machine::{Awaited, Notice, Party, Side, View},
    model::{ClusterId, Namespace, Resource, names},
};
use serde_json::Value;

pub(super) use self::regarding::{Regarding, object_awaited, object_of};
use self::{budget::Budget, series::AllSeries};
use crate::{
    error::{succeeds_in_time, with_sources},
    remedies::{command_of, sentence_of, with_purpose},
};

/// Publishes events. If an event cannot be published, the failure is only logged. A peer causes
/// so many of each reason. An event says how many were left out before it.
pub(super) struct Events {
    client: Client,
    reporter: Reporter,
    series: AllSeries,
    budget: Budget,
}

impl Events {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            reporter: Reporter::from(NAME),
            series: AllSeries::default(),
            budget: Budget::default(),
        }
    }

    /// How many events were left out.
    pub(super) fn left_out(&self) -> u64 {
        self.budget.left_out()
    }

    /// Publishes a decision of the library in a peer's tenant namespace.
    pub(super) async fn decided(&self, regarding: &Regarding, decided: &audit::Event) {
        let reason = decided.decision.name();
        self.publish(regarding, EventType::Normal, reason, &note_on(decided))
            .await;
    }

    /// Publishes a warning for the administrator in a peer's tenant namespace.
    pub(super) async fn warned(&self, regarding: &Regarding, reason: &str, note: &str) {
        self.publish(regarding, EventType::Warning, reason, note)
            .await;
    }

    async fn publish(&self, regarding: &Regarding, type_: EventType, reason: &str, note: &str) {
        let namespace = regarding.in_namespace();
        let Some(left_out) = self.budget.spend(namespace, reason) else {
            return;
        };
        let make = || Recorder::new(self.client.clone(), self.reporter.clone());
        let recorder = self.series.recorder(namespace, reason, note, make);
        publish_by(&recorder, regarding, type_, reason, note).await;
        if left_out > 0 {
            let note = format!(
                "{left_out} events with the reason {reason} were left out before, since there were too many; the log has them"
            );
            let namespace = Regarding::namespace(namespace);
            publish_by(&make(), &namespace, EventType::Warning, LEFT_OUT, &note).await;
        }
    }
}

async fn publish_by(
    recorder: &Recorder,
    regarding: &Regarding,
    type_: EventType,
    reason: &str,
    note: &str,
) {
    let event = Event {
        type_,
        reason: reason.to_owned(),
        note: Some(shortened(note)),
        action: "Authenticate".to_owned(),
        secondary: None,
    };
    let request = format!("publish an event in {}", regarding.in_namespace());
    let publishing = recorder.publish(&event, regarding.reference());
    let published = succeeds_in_time(request, publishing).await;
    if let Err(error) = published {
        tracing::debug!(error = %with_sources(&error), "an event cannot be published");
    }
}

/// The beginning of a note that is too long.
fn shortened(note: &str) -> String {
    let mut ends = note
        .char_indices()
        .map(|(at, character)| at + character.len_utf8());
    let end = ends.rfind(|end| *end <= LONGEST_NOTE).unwrap_or_default();
    note.get(..end).unwrap_or_default().to_owned()
}

/// The text of a decision. It lists what Liqo has granted, since nobody reads that again.
fn note_on(decided: &audit::Event) -> String {
    let mut note = decided.decision.name().to_owned();
    if let Some(object) = &decided.object {
        note.push_str(&format!(": {object}"));
    }
    if let Decision::ResourcesAdopted { .. } = &decided.decision
        && let Ok(Value::Object(mut form)) = serde_json::to_value(decided)
        && let Some(amounts) = form.remove("details")
    {
        note.push_str(&format!(", {amounts}"));
    }
    note
}

/// What is refused of a peer, why, and what to do.
pub(super) fn refusal(error: &Error, peer: &ClusterId, side: Side) -> String {
    let advice = format!("{error}. {}", error.advice());
    let sentence = error.remedy().and_then(|remedy| {
        let command = command_of(&remedy, peer, side)?;
        Some(sentence_of(&remedy, peer, &format!("liqo-auth {command}")))
    });
    match sentence {
        Some(sentence) => format!("{advice} {sentence}"),
        None => advice,
    }
}

/// The text of a notice. If a person has to give a command, the text names it first, since the
/// end of a long text is cut off.
pub(super) fn note(notice: &Notice, peer: &ClusterId, side: Side) -> String {
    match notice
        .remedy()
        .and_then(|remedy| with_purpose(&remedy, peer, side))
    {
        Some((purpose, command)) => format!("{purpose}: liqo-auth {command}. {notice}"),
        None => notice.to_string(),
    }
}

/// What an administrator has to do before the peering goes on. `None` if somebody else acts
/// next, such as the signer, or if no command of the tool does it.
pub(super) fn order(awaited: &Awaited, peer: &ClusterId, side: Side) -> Option<String> {
    let is_due_here = awaited.party() == Party::Administrator;
    let remedy = awaited.remedy().filter(|_| is_due_here)?;
    let (purpose, command) = with_purpose(&remedy, peer, side)?;
    Some(format!("{purpose}: liqo-auth {command}."))
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
/// The reason of an event about events that were left out.
const LEFT_OUT: &str = "EventsLeftOut";
/// The maximum length of a note, in bytes: what Kubernetes allows.
const LONGEST_NOTE: usize = 1024;
