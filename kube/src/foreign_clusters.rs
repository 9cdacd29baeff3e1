//! The peers that an administrator has declared gone for good, by Liqo's annotation of their
//! ForeignCluster, as `liqoctl force unpeer` sets it.
//!
//! Liqo's replicator then waits for the peer no more. While its authentication module is
//! switched off, a ForeignCluster has no role, and Liqo's replicator passes it over. So the
//! consumer's side removes the replicator's finalizers itself.
//!
//! Source: Liqo `pkg/utils/foreigncluster`, `internal/crdReplicator`.

use std::{collections::BTreeMap, future::ready};

use futures::{StreamExt, stream::BoxStream};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    runtime::watcher,
};
use liqo_auth::model::ClusterId;
use serde_json::Value;

use crate::watching::{Change, PAGE, changes};

/// What a ForeignCluster says of its cluster.
pub(crate) struct Declaration {
    /// The name of the ForeignCluster.
    name: String,
    /// The cluster, if it is declared gone for good.
    gone: Option<ClusterId>,
}

/// The clusters that are gone for good, by the names of their ForeignClusters.
#[derive(Default)]
pub(crate) struct Gone(BTreeMap<String, ClusterId>);

/// The changes of all ForeignClusters, as long as the stream is polled. A cluster that does
/// not serve them has none. A failure is logged, and the watch is retried with backoff.
pub(crate) fn follow(client: &Client) -> BoxStream<'static, Change<Declaration>> {
    let everywhere = Api::all_with(client.clone(), &resource());
    let selected = watcher::Config::default().page_size(PAGE);
    let changes = changes(everywhere, selected, Vec::new(), |seen| {
        Declaration::of(&seen)
    });
    let changes = changes.filter_map(|change| {
        ready(match change {
            Ok(change) => Some(change),
            Err(watcher::Error::InitialListFailed(kube::Error::Api(status)))
                if status.is_not_found() =>
            {
                Some(Change::Listed(Vec::new()))
            }
            Err(error) => {
                tracing::warn!(watch = PLURAL, %error, "the watch failed and is tried again");
                None
            }
        })
    });
    changes.boxed()
}

impl Declaration {
    fn of(foreign: &DynamicObject) -> Self {
        let name = foreign.metadata.name.clone().unwrap_or_default();
        let id = foreign.data.pointer("/spec/clusterID");
        let id = id.and_then(Value::as_str).and_then(|id| id.parse().ok());
        Self {
            name,
            gone: id.filter(|_| is_declared_gone(foreign) && !answers(foreign)),
        }
    }
}

impl Gone {
    /// Takes a change. Returns the clusters that are gone and may not have been before.
    pub(crate) fn take(&mut self, change: Change<Declaration>) -> Vec<ClusterId> {
        match change {
            Change::Listed(all) => {
                self.0.clear();
                all.into_iter().filter_map(|one| self.put(one)).collect()
            }
            Change::Seen(one) => self.put(*one).into_iter().collect(),
            Change::Left(one) => {
                self.0.remove(&one.name);
                Vec::new()
            }
        }
    }

    pub(crate) fn contains(&self, peer: &ClusterId) -> bool {
        self.0.values().any(|gone| gone == peer)
    }

    fn put(&mut self, one: Declaration) -> Option<ClusterId> {
        match &one.gone {
            Some(gone) => self.0.insert(one.name, gone.clone()),
            None => self.0.remove(&one.name),
        };
        one.gone
    }
}

fn is_declared_gone(foreign: &DynamicObject) -> bool {
    let annotations = foreign.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(GONE_FOR_GOOD))
        .is_some_and(|value| value == "true")
}

/// Whether Liqo sees the cluster's API server answer. Then the annotation does not count.
fn answers(foreign: &DynamicObject) -> bool {
    let conditions = foreign.data.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    conditions.any(|condition| {
        condition["type"] == "APIServerStatus" && condition["status"] == "Established"
    })
}

fn resource() -> ApiResource {
    ApiResource {
        group: "core.liqo.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "core.liqo.io/v1beta1".to_owned(),
        kind: "ForeignCluster".to_owned(),
        plural: PLURAL.to_owned(),
    }
}

const PLURAL: &str = "foreignclusters";
const GONE_FOR_GOOD: &str = "liqo.io/foreign-cluster-permanently-unreachable";

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;
    use serde_json::json;

    use super::*;

    fn foreign(name: &str, annotation: Option<&str>, data: Value) -> Declaration {
        let annotation = annotation.map(|value| (GONE_FOR_GOOD.to_owned(), value.to_owned()));
        Declaration::of(&DynamicObject {
            types: None,
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                annotations: annotation.map(|one| [one].into()),
                ..ObjectMeta::default()
            },
            data,
        })
    }

    fn milan(annotation: Option<&str>) -> Declaration {
        foreign(
            "by-hand",
            annotation,
            json!({ "spec": { "clusterID": "milan" } }),
        )
    }

    fn ids(names: &[&str]) -> Vec<ClusterId> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn only_the_annotation_of_a_cluster_that_does_not_answer_counts() {
        assert_eq!(milan(Some("true")).gone, Some("milan".parse().unwrap()));
        assert_eq!(milan(Some("false")).gone, None);
        assert_eq!(milan(None).gone, None);
        for (kind, status, counts) in [
            ("APIServerStatus", "Established", false),
            ("APIServerStatus", "Error", true),
            ("AnotherStatus", "Established", true),
        ] {
            let conditions = json!([{ "type": "One" }, { "type": kind, "status": status }]);
            let data = json!({
                "spec": { "clusterID": "milan" },
                "status": { "conditions": conditions },
            });
            let found = foreign("milan", Some("true"), data);
            assert_eq!(found.gone.is_some(), counts, "{kind} {status}");
        }
        for data in [json!({}), json!({ "spec": { "clusterID": "Not an ID" } })] {
            assert_eq!(foreign("milan", Some("true"), data).gone, None);
        }
    }

    #[test]
    fn what_is_known_follows_the_watch() {
        let mut gone = Gone::default();
        let seen = |declaration| Change::Seen(Box::new(declaration));
        assert_eq!(gone.take(seen(milan(None))), []);
        assert_eq!(gone.take(seen(milan(Some("true")))), ids(&["milan"]));
        assert!(gone.contains(&ids(&["milan"])[0]));
        assert!(!gone.contains(&ids(&["turin"])[0]));
        assert_eq!(gone.take(seen(milan(None))), []);
        assert!(!gone.contains(&ids(&["milan"])[0]));

        let of_turin = json!({ "spec": { "clusterID": "turin" } });
        let turin = foreign("turin", Some("true"), of_turin);
        gone.take(seen(turin));
        let listed = gone.take(Change::Listed(vec![milan(Some("true"))]));
        assert_eq!(listed, ids(&["milan"]));
        assert!(!gone.contains(&ids(&["turin"])[0]));
        assert_eq!(gone.take(Change::Left(Box::new(milan(Some("true"))))), []);
        assert!(!gone.contains(&ids(&["milan"])[0]));
    }
}
