//! Liqo runs beside the controllers, and its ForeignClusters show peerings or not.

use serde_json::{Value, json};

use super::{Cluster, client_cas::all_but_the_client_cas};
use crate::tool::Folder;

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

#[test]
fn doctor_finds_both_programs_that_answer_at_once() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    folder.ok("doctor --kubeconfig milan");

    milan.has_deployment(&liqos("--authentication-enabled=true"));
    folder.ok("doctor --kubeconfig milan");
    milan.has_deployment(&ours(&["run", "--in-cluster"]));
    let found = folder.run("doctor --kubeconfig milan");
    assert_eq!(found.code, 4, "{found:?}");
    for says in [
        "both answer the peers",
        "liqo/liqo-controller-manager",
        "liqo/liqo-auth",
        "authentication.enabled=false",
        "liqo-auth run --guard",
    ] {
        assert!(found.out.contains(says), "{says}: {}", found.out);
    }

    // Both ways out.
    milan.has_deployment(&ours(&["run", "--guard", "--in-cluster"]));
    folder.ok("doctor --kubeconfig milan");
    milan.has_deployment(&ours(&["run", "--in-cluster"]));
    milan.has_deployment(&liqos("--authentication-enabled=false"));
    folder.ok("doctor --kubeconfig milan");
    let asked = milan.server.requests();
    let asked = asked.iter().filter(|it| it.contains("/deployments"));
    assert_eq!(asked.count(), 5, "one request each time");
}

/// On a cluster, an object has no file.
#[test]
fn doctor_finds_an_object_that_cannot_be_read_once() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let mut spoilt = super::tenant();
    spoilt["spec"]["csr"] = json!(5);
    milan.server.put(spoilt);
    let run = folder.run("doctor --kubeconfig milan -o json");
    assert_eq!(run.code, 4, "{run:?}");
    let found: Value = serde_json::from_str(&run.out).unwrap();
    let [found] = found["findings"].as_array().unwrap().as_slice() else {
        panic!("{run:?}");
    };
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("Restore the object from a backup"),
        "{run:?}"
    );
}

/// Without Liqo's module, it stays so: doctor would never be content.
#[test]
fn doctor_notes_the_peerings_that_liqo_does_not_show() {
    let folder = Folder::new();
    let (rome, milan) = authenticated(&folder);
    let says = "Liqo's ForeignClusters do not show the peerings with";
    let note = |of: &str| {
        let run = folder.run(&format!("doctor --kubeconfig {of}"));
        assert_eq!(run.code, 0, "{run:?}");
        let notes = run.err.lines().filter(|line| line.contains(says));
        let notes: Vec<String> = notes.map(str::to_owned).collect();
        assert!(notes.len() <= 1, "{run:?}");
        notes.into_iter().next()
    };
    assert_eq!((note("milan"), note("rome")), (None, None));
    // Nothing was granted to turin.
    milan.has_foreign_cluster("turin", "Unknown", false);
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id turin");
    assert_eq!(note("milan"), None);

    milan.has_foreign_cluster("rome", "Unknown", false);
    rome.has_foreign_cluster("milan", "Provider", false);
    let at_milan = note("milan").unwrap();
    for says in [
        "with rome, as",
        "liqoctl info",
        "liqoctl unpeer",
        "`liqo-auth status --kubeconfig milan` shows them",
    ] {
        assert!(at_milan.contains(says), "{says}: {at_milan}");
    }
    let at_rome = note("rome").unwrap();
    assert!(at_rome.contains("with milan, as"), "{at_rome}");
    let document = folder.ok("doctor --kubeconfig milan -o json");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["findings"], json!([]));
    assert_eq!(
        document["notes"][0]
            .as_str()
            .map(|note| format!("Note: {note}")),
        Some(at_milan)
    );

    milan.has_foreign_cluster("rome", "Consumer", true);
    assert_eq!(note("milan"), None);
    let document = folder.ok("doctor --kubeconfig milan -o json");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["notes"], json!([]));
}

#[test]
fn doctor_says_that_it_may_not_look_at_liqo() {
    let folder = Folder::new();
    let (_rome, milan) = authenticated(&folder);
    milan.has_foreign_cluster("rome", "Unknown", false);
    let _server = milan.has_a_user(&folder, "account", all_but_the_client_cas());
    let run = folder.run("doctor --kubeconfig account");
    assert_eq!(run.code, 0, "{run:?}");
    for says in [
        "whether Liqo's authentication module runs beside the controllers could not be looked at",
        "whether Liqo's ForeignClusters show the peerings could not be looked at",
    ] {
        assert!(run.err.contains(says), "{says}: {run:?}");
    }
    assert!(!run.err.contains("Note:"), "{run:?}");
    // An API server without Liqo has none of them.
    let _server = milan.server.clone().without_resource("foreignclusters");
    let run = folder.run("doctor --kubeconfig milan");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.err.contains("ForeignClusters"), "{run:?}");
}

fn authenticated(folder: &Folder) -> (Cluster, Cluster) {
    let rome = Cluster::start(folder, "rome");
    let milan = Cluster::start(folder, "milan");
    milan.has_a_signer();
    folder.ok(AUTHENTICATE);
    (rome, milan)
}

impl Cluster {
    /// Makes a Deployment, in place of the one that was there.
    fn has_deployment(&self, deployment: &Value) {
        let name = deployment["metadata"]["name"].as_str().unwrap();
        if !self.named("deployments", name).is_empty() {
            self.server.delete(deployment);
        }
        self.server.put(deployment.clone());
    }

    /// Has Liqo show a peer in this way.
    fn has_foreign_cluster(&self, id: &str, role: &str, is_enabled: bool) {
        let foreign = json!({
            "apiVersion": "core.liqo.io/v1beta1",
            "kind": "ForeignCluster",
            "metadata": { "name": id },
            "spec": { "clusterID": id },
            "status": {
                "role": role,
                "modules": { "authentication": { "enabled": is_enabled } },
            },
        });
        if !self.named("foreignclusters", id).is_empty() {
            self.server.delete(&foreign);
        }
        self.server.put(foreign);
    }
}

/// As in Liqo's chart.
fn liqos(argument: &str) -> Value {
    let container = json!({
        "name": "controller-manager",
        "command": ["/usr/bin/liqo-controller-manager"],
        "args": ["--cluster-id=$(CLUSTER_ID)", "--networking-enabled=true", argument],
    });
    deployment("liqo-controller-manager", "controller-manager", &container)
}

/// As in the chart in `deploy/`.
fn ours(args: &[&str]) -> Value {
    deployment(
        "liqo-auth",
        "liqo-auth",
        &json!({ "name": "liqo-auth", "args": args }),
    )
}

fn deployment(name: &str, label: &str, container: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "liqo",
            "labels": { "app.kubernetes.io/name": label },
        },
        "spec": {
            "replicas": 1,
            "template": { "spec": { "containers": [container] } },
        },
    })
}
