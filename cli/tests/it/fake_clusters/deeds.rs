//! `-o json` on clusters: what the API servers have written.

use serde_json::Value;

use super::Cluster;
use crate::tool::Folder;

#[test]
fn a_command_on_clusters_tells_what_it_wrote() {
    let folder = Folder::new();
    let (_rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    let authenticate = "authenticate --kubeconfig rome --remote-kubeconfig milan -o json";
    let told = |text: &str| -> Vec<Vec<String>> {
        let document: Value = serde_json::from_str(text).unwrap();
        assert_eq!(document["outcome"], "done");
        let clusters = document["clusters"].as_array().unwrap().iter();
        let clusters = clusters.map(|cluster| {
            let written = cluster["written"].as_array().unwrap().iter();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let written = written.map(|one| {
                let object = &one["object"];
                format!(
                    "{} {} {}",
                    text(&one["action"]),
                    text(&object["kind"]),
                    text(&object["name"])
                )
            });
            written.collect()
        });
        clusters.collect()
    };
    let written = told(&folder.ok(authenticate));
    for (cluster, object) in [
        (0, "created Identity controlplane-milan"),
        (0, "created Secret kubeconfig-controlplane-milan"),
        (1, "created Tenant rome"),
        (1, "created Secret liqo-nonce"),
    ] {
        assert!(
            written[cluster].contains(&object.to_owned()),
            "{object}: {written:?}"
        );
    }
    assert_eq!(told(&folder.ok(authenticate)), [[""; 0]; 2]);

    // A drain takes away what was there before.
    let mut tenant = milan.server.all("tenants").remove(0);
    tenant["spec"]["tenantCondition"] = "Drained".into();
    tenant["metadata"]["resourceVersion"].take();
    milan.server.replace(&tenant);
    let written = told(&folder.ok("renew --kubeconfig milan -o json"));
    let binding = "deleted RoleBinding liqo-binding-liqo-remote-controlplane".to_owned();
    assert!(written[0].contains(&binding), "{written:?}");
}
