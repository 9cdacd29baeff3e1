//! The tool takes over a peering that Liqo's own module has made.

use serde_json::{Value, json};

use super::Cluster;
use crate::tool::Folder;

const APPROVE: &str = "approve resourceslice mypool --kubeconfig milan --remote-cluster-id rome";

/// Two clusters with a slice of 16 CPU, with the objects that Liqo leaves.
fn of_liqo(folder: &Folder) -> (Cluster, Cluster) {
    let (rome, milan) = (
        Cluster::start(folder, "rome"),
        Cluster::start(folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    folder.ok(
        "create resourceslice mypool --cpu 16 --memory 4Gi --kubeconfig rome \
         --remote-kubeconfig milan",
    );
    for secret in milan.server.all("secrets") {
        let name = secret["metadata"]["name"].as_str().unwrap();
        if name.starts_with("liqo-auth-provider-") || name.starts_with("liqo-auth-slice-") {
            milan.server.delete(&secret);
        }
    }
    assert_eq!(cpu(&milan), "16");
    (rome, milan)
}

/// What milan grants the slice.
fn cpu(milan: &Cluster) -> Value {
    milan.named("resourceslices", "mypool")[0]["status"]["resources"]["cpu"].clone()
}

#[test]
fn a_person_grants_a_slice_what_liqo_has_granted_it_beyond_the_caps() {
    let folder = Folder::new();
    let (_rome, milan) = of_liqo(&folder);
    let error = folder.refused(APPROVE, "", 4);
    assert!(error.contains("granted nothing"), "{error}");

    folder.ok("renew --kubeconfig milan");
    assert_eq!(cpu(&milan), "4");
    let status = folder.ok("status --kubeconfig milan");
    assert!(
        status.contains("cpu=16") && status.contains("approve resourceslice"),
        "{status}"
    );
    folder.refused(&APPROVE.replace("mypool", "another"), "", 4);
    let done = folder.ok(APPROVE);
    assert_eq!(done, " INFO  ResourceSlice \"mypool\" is granted cpu=16\n");
    assert_eq!(cpu(&milan), "16");
    folder.refused(APPROVE, "", 4);
    let status = folder.ok("status --kubeconfig milan");
    assert!(!status.contains("cpu=16"), "{status}");
}

#[test]
fn the_settings_of_a_cluster_have_the_caps() {
    let folder = Folder::new();
    let (_rome, milan) = of_liqo(&folder);
    let set = |slices: Value| {
        let mut settings: Value = serde_json::from_str(&milan.settings().0).unwrap();
        settings["slices"] = slices;
        milan.set(&settings);
    };
    set(json!({ "adoptUpTo": { "cpu": "much" } }));
    let error = folder.refused("status --kubeconfig milan", "", 5);
    assert!(error.contains("adoptUpTo"), "{error}");
    set(json!({ "adoptUpTo": { "cpu": "8", "memory": "1Gi" } }));
    folder.ok("renew --kubeconfig milan");
    assert_eq!(cpu(&milan), "8");
}
