//! The end of a peering on clusters, as `liqoctl` has it.

use serde_json::json;

use super::Cluster;
use crate::tool::Folder;

/// Another program holds the Tenant.
#[test]
fn the_end_is_awaited_by_default() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let held = json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "finalizers": ["example.org/other"],
        },
        "spec": { "clusterID": "rome" },
    });
    milan.server.put(held);
    let end = "unauthenticate --yes --kubeconfig milan --remote-cluster-id rome --timeout 0.1s";
    for waits in ["", " --wait", " --wait=false --wait=true"] {
        let run = folder.run(&format!("{end}{waits}"));
        assert_eq!(run.code, 4, "{run:?}");
        assert!(
            run.err.contains("it waits for example.org/other"),
            "{run:?}"
        );
    }
    let doctor = folder.run("doctor --kubeconfig milan");
    let remedy = "If that program is gone for good: take it out by kubectl -n liqo-tenant-rome edit tenants.authentication.liqo.io rome. Then";
    assert!(doctor.out.contains(remedy), "{doctor:?}");
    let said = folder.ok(&format!("{end} --wait=false"));
    assert!(said.contains("Tenant correctly deleted"), "{said}");
    assert_eq!(milan.named("tenants", "rome").len(), 1);
}

/// The other one may be a home.
#[test]
fn an_end_is_awaited_if_one_of_the_two_is_a_cluster() {
    let folder = Folder::with_homes();
    let milan = Cluster::start(&folder, "milan");
    milan.has_a_signer();
    let both = "--home cl-consumer --remote-kubeconfig milan";
    folder.ok(&format!("authenticate {both}"));
    // Another program holds the Identity.
    let identity = "cl-consumer/manifests/liqo-tenant-milan/identity.controlplane-milan.yaml";
    let text = folder.read(identity);
    let (before, after) = text.split_once("metadata:\n").unwrap();
    let held = "metadata:\n  finalizers:\n  - example.org/other\n";
    let after = after.replacen("  finalizers:\n", "", 1);
    folder.write(identity, &format!("{before}{held}{after}"));
    let run = folder.run(&format!("unauthenticate --yes {both} --timeout 0.1s"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("example.org/other"), "{run:?}");
    folder.ok(&format!("unauthenticate --yes {both} --wait=false"));
}

/// On a cluster, a deleted slice goes before its Identity. Nothing is lost.
#[test]
fn an_identity_without_its_slice_is_not_lost_on_a_cluster() {
    let folder = Folder::new();
    let (rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    let mut identity = rome.named("identities", "controlplane-milan").remove(0);
    identity["metadata"]["name"] = json!("resourceslice-mypool");
    identity["spec"]["type"] = json!("ResourceSlice");
    rome.server.put(identity);
    let run = folder.run("renew --kubeconfig rome");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.err.contains("is gone"), "{run:?}");
}
