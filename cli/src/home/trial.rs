//! A trial: a command runs in memory, and shows what it would write.

use std::sync::{Arc, Mutex, PoisonError};

use liqo_auth::{
    machine::Effect,
    model::{Kind, ObjectRef, Timestamp},
};
use serde_json::Value;
use similar::TextDiff;

use super::{Ground, Home, content::SecretValue, layout::SETTINGS_FILE, store::Store};
use crate::{
    failure::Result,
    output::{counted, printable},
};

/// What the clusters of a command would have written, shared by all of them.
#[derive(Clone, Default)]
pub(crate) struct Trial(Arc<Mutex<Vec<Tried>>>);

/// The differences of one cluster, since it was opened.
struct Tried {
    site: String,
    differences: Vec<Difference>,
}

/// What a command would do with one object.
#[derive(Debug, Clone)]
pub(super) struct Difference {
    change: Change,
    /// The difference in the unified form.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    Changed,
    Deleted,
}

/// The trial of one cluster, with its objects before the command.
pub(super) struct Rehearsed {
    trial: Trial,
    /// Which of the trial's clusters it is.
    number: usize,
    before: Store,
}

impl Trial {
    /// How many objects the command would create, change and delete in each cluster, and then
    /// the differences in the unified form. None if nothing would change.
    pub(crate) fn shown(&self) -> Option<String> {
        let tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sites: Vec<&str> = Vec::new();
        for tried in tried.iter() {
            if !sites.contains(&tried.site.as_str()) {
                sites.push(&tried.site);
            }
        }
        let summaries: String = sites
            .iter()
            .filter_map(|site| summary(site, &tried))
            .collect();
        let differences = tried.iter().flat_map(|tried| &tried.differences);
        let texts: String = differences.map(|one| one.text.as_str()).collect();
        (!texts.is_empty()).then(|| format!("{summaries}\n{texts}"))
    }

    /// Begins with a cluster that was opened. A command may open one several times, for several
    /// peers. Returns its number.
    pub(super) fn begin(&self, site: String) -> usize {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.push(Tried {
            site,
            differences: Vec::new(),
        });
        tried.len() - 1
    }

    /// Notes the differences of a cluster in place of its earlier ones.
    pub(super) fn note(&self, number: usize, differences: Vec<Difference>) {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tried) = tried.get_mut(number) {
            tried.differences = differences;
        }
    }
}

/// A sentence, such as `In cl-a, 2 objects would be created, 1 changed.`
fn summary(site: &str, tried: &[Tried]) -> Option<String> {
    let number = |change: Change| {
        let of_site = tried.iter().filter(|tried| tried.site == site);
        let all = of_site.flat_map(|tried| &tried.differences);
        all.filter(|one| one.change == change).count()
    };
    let parts = [
        (number(Change::Created), "created"),
        (number(Change::Changed), "changed"),
        (number(Change::Deleted), "deleted"),
    ];
    let mut parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let (number, word) = parts.next()?;
    let first = format!("{} would be {word}", counted(number, "object"));
    let others: String = parts
        .map(|(number, word)| format!(", {number} {word}"))
        .collect();
    Some(format!("In {site}, {first}{others}.\n"))
}

impl Home {
    /// Keeps all changes in memory from now on. Each save notes them in the trial. The keys
    /// that the cluster does not have yet count as the first changes.
    pub(crate) fn try_out(&mut self, trial: Trial, now: Timestamp) -> Result<()> {
        let before = self.store.clone();
        self.is_rehearsal = true;
        let number = trial.begin(self.site().to_string());
        self.rehearsed = Some(Rehearsed {
            trial,
            number,
            before,
        });
        if let Ground::Cluster(live) = &mut self.ground {
            for secret in std::mem::take(&mut live.unwritten_keys) {
                self.store.apply(&Effect::Create(secret), now)?;
            }
        }
        Ok(())
    }

    /// Whether the changes stay in memory.
    pub(crate) fn is_trial(&self) -> bool {
        self.rehearsed.is_some()
    }

    /// Notes what a save would write.
    pub(super) fn note_trial(&self, rehearsed: &Rehearsed) -> Result<()> {
        let mut differences = Vec::new();
        if self.settings != self.written_settings {
            let (before, after) = (self.written_settings.write()?, self.settings.write()?);
            let is_of_peers = self.settings.peers != self.written_settings.peers;
            let name = match self.is_live() {
                true if is_of_peers => format!("{}: {}", self.site(), self.peers_place()),
                true => format!("{}: {}", self.site(), self.settings_place()),
                false => format!("{}/{SETTINGS_FILE}", self.site()),
            };
            differences.extend(difference(&name, Some(&before), Some(&after)));
        }
        for id in self.store.changed() {
            let before = rehearsed.before.value(id);
            let after = self.store.value(id);
            let name = match self.is_live() {
                true => format!("{}: {id}", self.site()),
                false => self.site_of(id),
            };
            differences.extend(of_object(&name, id, before.as_ref(), after.as_ref())?);
        }
        rehearsed.trial.note(rehearsed.number, differences);
        Ok(())
    }
}

/// The difference between two states of an object.
pub(super) fn of_object(
    name: &str,
    id: &ObjectRef,
    before: Option<&SecretValue>,
    after: Option<&SecretValue>,
) -> Result<Option<Difference>> {
    let text = |value: Option<&SecretValue>| value.map(SecretValue::to_yaml).transpose();
    let (mut hidden_before, mut hidden_after) = (before.cloned(), after.cloned());
    if let Some(value) = &mut hidden_before {
        hide(value, None, id.kind);
    }
    if let Some(value) = &mut hidden_after {
        hide(value, before, id.kind);
    }
    let (old, new) = (text(hidden_before.as_ref())?, text(hidden_after.as_ref())?);
    let (old, new) = (
        old.as_ref().map(|text| text.as_str()),
        new.as_ref().map(|text| text.as_str()),
    );
    Ok(difference(name, old, new))
}

/// Replaces secret content by its length, and says whether it differs from `before`.
fn hide(value: &mut SecretValue, before: Option<&SecretValue>, kind: Kind) {
    let mut paths = vec![
        vec!["spec", "authParams", "awsConfig", "awsSecretAccessKey"],
        vec!["status", "authParams", "awsConfig", "awsSecretAccessKey"],
        // The whole object as kubectl has applied it.
        vec![
            "metadata",
            "annotations",
            "kubectl.kubernetes.io/last-applied-configuration",
        ],
    ];
    let data = value
        .get("data")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    if kind == Kind::Secret {
        paths.extend(data.keys().map(|key| vec!["data", key.as_str()]));
    }
    for path in paths {
        let escaped = |key: &&str| format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        let pointer: String = path.iter().map(escaped).collect();
        let Some(secret) = value.pointer(&pointer).and_then(Value::as_str) else {
            continue;
        };
        let earlier = before.and_then(|before| before.pointer(&pointer)?.as_str());
        let changed = match earlier {
            Some(earlier) if earlier != secret => ", changed",
            _ => "",
        };
        let coding = match path.first() {
            Some(&"metadata") => "",
            _ => " in base64",
        };
        let shown = format!("<{} characters{coding}{changed}>", secret.len());
        value.set(&path, shown);
    }
}

/// The difference between two texts. None if they are the same.
pub(super) fn difference(
    name: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> Option<Difference> {
    if before == after {
        return None;
    }
    let change = match (before, after) {
        (None, _) => Change::Created,
        (Some(_), Some(_)) => Change::Changed,
        (Some(_), None) => Change::Deleted,
    };
    let header = |text: Option<&str>| match text {
        Some(_) => printable(name),
        None => "/dev/null".to_owned(),
    };
    let texts = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let mut unified = texts.unified_diff();
    let text = unified.header(&header(before), &header(after)).to_string();
    Some(Difference { change, text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_is_shown() {
        let aws = json!({"authParams": {"awsConfig": {"awsSecretAccessKey": "hidden"}}});
        let applied = "kubectl.kubernetes.io/last-applied-configuration";
        let value = SecretValue::new(json!({
            "metadata": {"name": "n", "annotations": {(applied): "{\"a\": \"hidden\"}"}},
            "spec": aws, "status": aws,
            "data": {"a/b~c": "hidden"},
        }));
        let id = ObjectRef::new(Kind::Secret, "n", "n");
        let shown = of_object("n.yaml", &id, None, Some(&value));
        let shown = shown.unwrap().unwrap().text;
        assert!(!shown.contains("hidden"), "{shown}");
        assert_eq!(shown.matches(" characters").count(), 4, "{shown}");
    }

    #[test]
    fn a_summary_counts_what_there_is() {
        let (old, new) = (Some("a\n"), Some("b\n"));
        let of = |states: &[(Option<&str>, Option<&str>)]| {
            let trial = Trial::default();
            let all = states
                .iter()
                .filter_map(|(before, after)| difference("n.yaml", *before, *after));
            // One opening for each difference, and a cluster without any.
            for difference in all {
                trial.note(trial.begin("cl-a".to_owned()), vec![difference]);
            }
            trial.begin("cl-b".to_owned());
            let shown = trial.shown();
            shown.map(|shown| shown.split_once("\n\n").unwrap().0.to_owned())
        };
        assert_eq!(of(&[(old, old)]), None);
        for (states, summary) in [
            (
                &[(None, new), (None, old)][..],
                "2 objects would be created",
            ),
            (&[(old, new)], "1 object would be changed"),
            (
                &[(old, None), (old, new)],
                "1 object would be changed, 1 deleted",
            ),
            (
                &[(old, None), (old, new), (None, new), (old, None)],
                "1 object would be created, 1 changed, 2 deleted",
            ),
        ] {
            assert_eq!(of(states), Some(format!("In cl-a, {summary}.")));
        }
    }
}
