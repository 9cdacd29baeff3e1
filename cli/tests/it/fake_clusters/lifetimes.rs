//! The settings for what a cluster makes: its key pair, nonces and certificates.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{crypto::Nonce, model::Timestamp, policy::Policy};
use serde_json::{Value, json};

use super::{Cluster, signer::now, start, until};
use crate::tool::Folder;

#[test]
fn a_missing_key_pair_has_the_algorithm_of_the_settings() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let create = "create nonce --kubeconfig milan --remote-cluster-id rome";
    let set = |algorithm: &str| {
        milan.set(&json!({
            "apiServer": "https://milan.example:6443",
            "keyAlgorithm": algorithm,
        }));
    };
    // No key is made while the settings cannot be read.
    set("rsa-1024");
    let error = folder.refused(create, "", 5);
    assert!(
        error.contains("ConfigMap liqo/liqo-auth-settings") && error.contains("rsa-1024"),
        "{error}"
    );
    assert!(milan.named("secrets", "authentication-keys").is_empty());

    set("ecdsa-p384");
    folder.ok(&format!("{create} --dry-run"));
    assert!(milan.named("secrets", "authentication-keys").is_empty());
    folder.ok(create);
    let key = "Key             ECDSA P-384, ";
    let status = folder.ok("status --kubeconfig milan");
    assert!(status.contains(key), "{status}");
    // A key that is there stays.
    set("rsa-2048");
    folder.ok(&format!("{create} --replace"));
    let status = folder.ok("status --kubeconfig milan");
    assert!(status.contains(key), "{status}");
}

#[test]
fn nonces_and_certificates_have_the_lifetimes_of_the_settings() {
    let folder = Folder::new();
    let (milan, _rome) = (
        Cluster::start(&folder, "milan"),
        Cluster::start(&folder, "rome"),
    );
    let ca = milan.has_a_signer();
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "apiServerCA": ca,
        "nonceLifetime": "2h",
        "certificateLifetime": "30d",
    }));
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig milan");
    assert_eq!(milan.minutes_of_nonce(), 120);
    let requests = milan.server.all("certificatesigningrequests");
    let asked: Vec<&Value> = requests
        .iter()
        .map(|request| &request["spec"]["expirationSeconds"])
        .collect();
    assert_eq!(asked, [30 * 24 * 60 * 60]);
}

#[test]
fn the_controllers_follow_the_lifetimes() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let running = start(&folder);
    milan.set(&json!({
        "apiServer": "https://milan.example:6443",
        "nonceLifetime": "90m",
    }));
    until("the settings count", || {
        folder.read("log").contains("have changed")
    });
    milan.declare_rome();
    until("rome is invited", || milan.invites());
    assert_eq!(milan.minutes_of_nonce(), 90);
    running.stop();
}

impl Cluster {
    /// How long the nonce is valid, from now on. It was made within the last minute.
    fn minutes_of_nonce(&self) -> u64 {
        let secret = self.named("secrets", "liqo-nonce").remove(0);
        let text = secret["data"]["nonce"].as_str().unwrap();
        let text = STANDARD.decode(text).unwrap();
        let nonce = Nonce::parse(&text, &Policy::strict());
        let expires: Timestamp = nonce.unwrap().structured().unwrap().expires();
        expires.since(now()).as_secs().div_ceil(60)
    }
}
