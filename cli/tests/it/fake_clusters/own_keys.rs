//! Keys of a cluster that are for one provider alone.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::model::{Kubeconfig, UserCredential};
use serde_json::{Value, json};

use super::{Cluster, signed_nonce, start_as, until};
use crate::tool::{Folder, Run};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";
const OF_MILAN: &str = "authentication-keys-milan";
const OF_ROME: &str = "authentication-keys";

fn clusters(folder: &Folder) -> (Cluster, Cluster) {
    let (rome, milan) = (
        Cluster::start(folder, "rome"),
        Cluster::start(folder, "milan"),
    );
    milan.has_a_signer();
    (rome, milan)
}

fn data(cluster: &Cluster, secret: &str, field: &str) -> Vec<u8> {
    let secrets = cluster.named("secrets", secret);
    let text = secrets[0]["data"][field].as_str().unwrap();
    STANDARD.decode(text).unwrap()
}

/// The private key in rome's kubeconfig for milan.
fn used(rome: &Cluster) -> Vec<u8> {
    let text = data(rome, "kubeconfig-controlplane-milan", "kubeconfig");
    let kubeconfig = Kubeconfig::parse(std::str::from_utf8(&text).unwrap()).unwrap();
    match kubeconfig.credential {
        UserCredential::KeyData { key, .. } => key.expose().to_vec(),
        other => panic!("{other:?}"),
    }
}

fn private_key(rome: &Cluster, secret: &str) -> Vec<u8> {
    data(rome, secret, "privateKey")
}

fn has_own_key(rome: &Cluster) -> bool {
    !rome.named("secrets", OF_MILAN).is_empty()
}

/// Milan becomes a consumer of rome, too.
fn invite_milan(folder: &Folder) {
    folder.ok("create nonce --kubeconfig rome --remote-cluster-id milan");
}

fn doctor(folder: &Folder) -> Run {
    folder.run("doctor --kubeconfig rome")
}

#[test]
fn a_provider_that_is_a_consumer_too_gets_a_key_of_its_own() {
    let folder = Folder::new();
    let (rome, _milan) = clusters(&folder);
    invite_milan(&folder);
    let run = folder.run(&format!("{AUTHENTICATE} --dry-run"));
    assert!(
        run.out.contains("Secret liqo/authentication-keys-milan\n"),
        "{run:?}"
    );
    assert!(!run.out.contains("PRIVATE KEY"), "{run:?}");
    assert!(!has_own_key(&rome));

    folder.ok(AUTHENTICATE);
    assert_eq!(used(&rome), private_key(&rome, OF_MILAN));
    assert_ne!(used(&rome), private_key(&rome, OF_ROME));
    let status = folder.ok("status --kubeconfig rome");
    assert!(status.contains("towards milan: Ed25519"), "{status}");
    let run = doctor(&folder);
    assert_eq!(run.code, 0, "{run:?}");

    // The next commands use the same key.
    let before = rome.named("secrets", OF_MILAN);
    folder.ok(AUTHENTICATE);
    folder.ok("create resourceslice pool --kubeconfig rome --remote-kubeconfig milan --cpu 1");
    assert_eq!(rome.named("secrets", OF_MILAN), before);
    assert_eq!(used(&rome), private_key(&rome, OF_MILAN));
}

#[test]
fn a_setting_gives_each_provider_or_one_a_key_of_its_own() {
    for (of_all, of_milan, own) in [
        (Value::Null, Value::Null, false),
        (json!(true), Value::Null, true),
        (Value::Null, json!(true), true),
        (json!(true), json!(false), false),
    ] {
        let folder = Folder::new();
        let (rome, _milan) = clusters(&folder);
        rome.set(&json!({
            "apiServer": "https://rome.example:6443",
            "keyPerProvider": of_all,
        }));
        rome.set_peers(&json!({ "milan": { "keyPerProvider": of_milan } }));
        folder.ok(AUTHENTICATE);
        assert_eq!(has_own_key(&rome), own, "{of_all} {of_milan}");
        let expected = if own { OF_MILAN } else { OF_ROME };
        assert_eq!(used(&rome), private_key(&rome, expected));
    }
}

#[test]
fn a_running_peering_keeps_its_key_and_doctor_says_what_that_means() {
    let folder = Folder::new();
    let (rome, _milan) = clusters(&folder);
    folder.ok(AUTHENTICATE);
    let run = doctor(&folder);
    assert_eq!(run.code, 0, "{run:?}");
    invite_milan(&folder);
    folder.ok(AUTHENTICATE);
    assert!(!has_own_key(&rome));
    assert_eq!(used(&rome), private_key(&rome, OF_ROME));
    let run = doctor(&folder);
    assert_eq!(run.code, 4, "{run:?}");
    for said in [
        "milan is a consumer of this cluster, too",
        "Secret liqo/liqo-auth-settings",
        "unauthenticate --kubeconfig rome --remote-kubeconfig FILE",
        "release --remote-cluster-id rome",
    ] {
        assert!(run.out.contains(said), "{said}: {run:?}");
    }

    // What it asks for.
    rome.set_peers(&json!({ "milan": { "keyPerProvider": true } }));
    folder.ok(AUTHENTICATE);
    assert!(!has_own_key(&rome), "the key changed without an end");
    folder.ok("unauthenticate --yes --kubeconfig rome --remote-kubeconfig milan");
    folder.ok("release --kubeconfig milan --remote-cluster-id rome --skip-confirm");
    folder.ok(AUTHENTICATE);
    assert_eq!(used(&rome), private_key(&rome, OF_MILAN));
    assert_ne!(used(&rome), private_key(&rome, OF_ROME));
    let run = doctor(&folder);
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn the_controllers_and_the_tool_use_the_same_key() {
    let folder = Folder::new();
    let (rome, _milan) = clusters(&folder);
    let running = start_as(&folder, "--kubeconfig rome --consumer");
    rome.set(&json!({
        "apiServer": "https://rome.example:6443",
        "keyPerProvider": true,
    }));
    until("the settings count", || {
        folder.read("log").contains("have changed")
    });
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let nonce = folder.ok("get nonce --kubeconfig milan --remote-cluster-id rome");
    rome.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "liqo-tenant-milan",
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/tenant-namespace": "true",
            },
        },
    }));
    let mut unsigned = signed_nonce("milan");
    unsigned["metadata"]["labels"]["liqo.io/signed-nonce"] = json!("true");
    unsigned["data"]["nonce"] = json!(STANDARD.encode(nonce.trim()));
    rome.server.put(unsigned);
    until("the controllers have signed", || {
        let nonces = rome.named("secrets", "liqo-signed-nonce");
        nonces[0]["data"]["signedNonce"].is_string()
    });
    let own = private_key(&rome, OF_MILAN);
    folder.ok(AUTHENTICATE);
    assert_eq!(private_key(&rome, OF_MILAN), own);
    assert_eq!(used(&rome), own);
    running.stop();
}
