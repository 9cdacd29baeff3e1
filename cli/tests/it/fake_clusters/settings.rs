//! The settings of a cluster, and who follows them.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Cluster, signed_nonce, start, until};
use crate::tool::{Folder, make_ca};

/// The CA belongs to the URL: with another URL, the kubeconfig's CA counts no more.
#[test]
fn the_settings_of_a_cluster_keep_the_ca_of_a_new_url() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    make_ca(&folder);
    let settings = || milan.settings().0;
    folder.ok("set api-server https://new.example:6443 --ca ca.crt --kubeconfig milan");
    let said = settings();
    assert!(
        said.contains("apiServer: https://new.example:6443"),
        "{said}"
    );
    assert!(said.contains("apiServerCA: "), "{said}");
    let renewal = "set renewal by-hand --kubeconfig milan --remote-cluster-id";
    let error = folder.refused(&format!("{renewal} turin"), "", 4);
    assert!(error.contains("no provider turin"), "{error}");
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "liqo-tenant-turin" },
    }));
    milan.server.put(signed_nonce("turin"));
    folder.ok(&format!("{renewal} turin"));
    let (said, of_peers) = milan.settings();
    assert!(
        said.contains("apiServerCA: ") && !said.contains("turin"),
        "{said}"
    );
    assert_eq!(of_peers, "peers:\n  turin:\n    renewal: byHand\n");
    folder.ok("set ca --default --kubeconfig milan");
    assert!(!settings().contains("apiServerCA"));
}

/// Liqo lets its peering users read each ConfigMap of its namespace. What they find there
/// does not name another peer.
#[test]
fn the_settings_for_peers_are_in_a_secret() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": "liqo-tenant-turin" },
    }));
    milan.server.put(signed_nonce("turin"));
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    assert_eq!(folder.run("doctor --kubeconfig milan").code, 0);

    // An earlier version of the tool, or a person, has written them into the ConfigMap. They
    // count, and `doctor` says where they belong.
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "peers": {
            "venice": { "tolerateNoHandshake": true },
            "turin": { "proxyURL": "http://10.70.0.2:8118" },
        },
    }));
    let doctor = folder.run("doctor --kubeconfig milan");
    assert_eq!(doctor.code, 4, "{doctor:?}");
    let finding = "ConfigMap liqo/liqo-auth-settings has settings for peers";
    assert!(doctor.out.contains(finding), "{doctor:?}");
    assert!(
        doctor.out.contains("Secret liqo/liqo-auth-settings"),
        "{doctor:?}"
    );

    // The next command that changes one of them moves all of them.
    let renewal = "set renewal by-hand --kubeconfig milan --remote-cluster-id turin";
    folder.ok(&format!("{renewal} --dry-run"));
    assert_eq!(milan.settings().1, "");
    folder.ok(renewal);
    let (own, of_peers) = milan.settings();
    assert_eq!(own, "apiServer: https://milan.example:6443\n");
    let expected = [
        "peers:",
        "  turin:",
        "    proxyURL: http://10.70.0.2:8118",
        "    renewal: byHand",
        "  venice:",
        "    tolerateNoHandshake: true",
        "",
    ];
    assert_eq!(of_peers, expected.join("\n"));
    assert_eq!(folder.run("doctor --kubeconfig milan").code, 0);

    // Of a peer in both, the Secret counts.
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "peers": { "turin": { "renewal": "byConsumer" } },
    }));
    folder.ok("set renewal by-hand --kubeconfig milan --remote-cluster-id turin");
    assert_eq!(milan.settings().1, of_peers);
}

/// Neither object alone says what is in force.
#[test]
fn the_controllers_follow_the_settings_for_peers() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let running = start(&folder);
    milan.declare_rome();
    until("rome is invited", || milan.invites());
    // What cannot be read changes nothing, and the log says where it is.
    milan.set_peers(&json!({ "turin": { "invites": true } }));
    until("the log names the Secret", || {
        let log = folder.read("log");
        log.contains("Secret liqo/liqo-auth-settings") && log.contains("invites")
    });
    assert!(!milan.invites_peer("turin"));
    // A ConfigMap with peers counts as before.
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "peers": { "venice": { "invite": true } },
    }));
    milan.set_peers(&json!({ "turin": { "invite": true } }));
    until("both are invited", || {
        milan.invites_peer("turin") && milan.invites_peer("venice")
    });
    running.stop();
}

/// What is said of the CA, and the CA that rome gets in its Identity.
#[test]
fn peers_get_the_clusters_own_ca_unless_the_settings_say_otherwise() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let rome = Cluster::start(&folder, "rome");
    rome.set_peers(&json!({ "milan": { "publiclyTrusted": true } }));
    let own = milan.has_a_signer();
    let published = |said: Value| {
        let mut settings = json!({ "apiServer": "https://milan.example:6443" });
        settings
            .as_object_mut()
            .unwrap()
            .extend(said.as_object().unwrap().clone());
        milan.set(&settings);
        let identity =
            folder.ok("generate identity --kubeconfig milan --remote-cluster-id rome -o json");
        let identity: Value = serde_json::from_str(&identity).unwrap();
        identity.pointer("/spec/authParams/ca").cloned()
    };
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "kube-root-ca.crt", "namespace": "liqo" },
        "data": { "ca.crt": own },
    }));
    let own = Some(json!(STANDARD.encode(own)));
    // The CA that was said before is the cluster's own.
    assert_eq!(published(json!({})), own);
    assert_eq!(published(json!({ "publiclyTrusted": true })), None);
    // Peers have the URL without a CA, as an earlier version published it.
    assert_eq!(published(json!({})), None);
    assert_eq!(published(json!({ "publiclyTrusted": false })), own);
    assert_eq!(published(json!({})), own);
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "apiServerCA": "-----BEGIN CERTIFICATE-----",
        "publiclyTrusted": true,
    }));
    let error = folder.refused("status --kubeconfig milan", "", 2);
    assert!(error.contains("expected one of them"), "{error}");
}

/// The message says what was found, before it says what a cluster takes.
#[test]
fn what_a_cluster_does_not_take_is_named() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let tenant = |name: &str| {
        format!(
            "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: {name}\n---\n"
        )
    };
    let both = format!("{}{}", tenant("rome"), tenant("turin"));
    let error = folder.refused("apply -f - --kubeconfig milan", &both, 2);
    let found = "found 2 objects, and a cluster takes one at a time";
    assert!(error.contains(found), "{error}");

    milan.set(&json!({ "apiServer": "https://milan.example:6443", "signer": "home" }));
    let error = folder.refused("status --kubeconfig milan", "", 2);
    let found = "signer is `home`, which a cluster does not have";
    assert!(error.contains(found), "{error}");
}

/// A cluster's CA may be replaced while the controllers run.
#[test]
fn the_controllers_follow_the_clusters_own_ca() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let rome = Cluster::start(&folder, "rome");
    let root_ca = |ca: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "kube-root-ca.crt", "namespace": "liqo" },
            "data": { "ca.crt": ca },
        })
    };
    let (first, next) = (milan.has_a_signer(), rome.has_a_signer());
    milan.server.put(root_ca(&first));
    milan.set(&json!({ "apiServer": "https://milan.example:6443" }));
    let running = start(&folder);
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    let peers_have = |ca: &str| {
        let tenants = milan.named("tenants", "rome");
        tenants[0].pointer("/status/authParams/ca") == Some(&json!(STANDARD.encode(ca)))
    };
    until("rome has the first CA", || peers_have(&first));
    milan.server.delete(&root_ca(&first));
    milan.server.put(root_ca(&next));
    until("rome has the next CA", || peers_have(&next));
    running.stop();
}

/// The provider's side of the tool decides on the slice, as Liqo would.
#[test]
fn a_slice_is_offered_the_storage_classes_of_the_cluster() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let rome = Cluster::start(&folder, "rome");
    let _ca = milan.has_a_signer();
    milan.server.put(json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": { "name": "fast" },
    }));
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    folder.ok("create resourceslice mypool --cpu 2 --kubeconfig rome --remote-kubeconfig milan");
    let slices = milan.named("resourceslices", "mypool");
    let status = &slices[0]["status"];
    assert_eq!(
        status["storageClasses"],
        json!([{ "storageClassName": "fast" }])
    );
    let resources =
        json!({ "cpu": "2", "memory": "8Gi", "pods": "110", "ephemeral-storage": "20Gi" });
    assert_eq!(status["resources"], resources);
    drop(rome);
}

/// By liqoctl's names: it does not know other ones where it works on two clusters.
#[test]
fn the_namespaces_of_liqo_are_named_as_with_liqoctl() {
    let folder = Folder::new();
    let _rome = Cluster::start(&folder, "rome");
    let milan = Cluster::start(&folder, "milan");
    milan.has_a_signer();
    let both = "--kubeconfig rome --remote-kubeconfig milan";
    for wrong in [
        "-n nowhere",
        "--namespace=nowhere",
        "--remote-namespace nowhere",
    ] {
        let run = folder.run(&format!("authenticate {both} {wrong}"));
        assert_eq!(run.code, 5, "{run:?}");
        assert!(run.err.contains("nowhere"), "{run:?}");
    }
    folder.ok(&format!(
        "authenticate {both} -n liqo --remote-namespace liqo"
    ));
    let same = "--namespace liqo --liqo-namespace liqo";
    folder.ok(&format!("unauthenticate --yes {both} {same}"));
}
