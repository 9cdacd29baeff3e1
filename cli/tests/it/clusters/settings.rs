//! Settings that change while the controllers run.

use super::{BOTH, Clusters, controllers::start, until};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn settings_count_at_once_and_invite() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let forgotten = "delete secret liqo-auth-provider-rome -n liqo --ignore-not-found";
    clusters.kubectl("milan", forgotten);
    clusters.kubectl(
        "milan",
        "delete namespace liqo-tenant-rome --ignore-not-found",
    );
    let provider = start(&clusters, "milan-service", "--provider");

    // A peer that is declared is invited, once.
    clusters.set(
        "milan",
        r#"{"peers":{"rome":{"invite":true}},"requireApproval":true}"#,
    );
    let nonce = "get nonce --kubeconfig milan --remote-cluster-id rome";
    until("rome is invited", || clusters.0.run(nonce).code == 0);
    // What cannot be read changes nothing.
    clusters.set("milan", r#"{"requireAproval":false}"#);
    let run = clusters.0.run(&format!("authenticate {BOTH}"));
    assert_eq!(run.code, 5, "{run:?}");
    clusters.set(
        "milan",
        r#"{"peers":{"rome":{"invite":true}},"requireApproval":true}"#,
    );
    let run = clusters.0.run(&format!("authenticate {BOTH}"));
    assert_eq!(run.code, 4, "{run:?}");
    clusters.0.ok("approve tenant rome --kubeconfig milan");
    let said = clusters.0.ok(&format!("authenticate {BOTH}"));
    let logged_in = " INFO   (local) Logged in at the provider cluster\n";
    assert!(said.contains(logged_in), "{said}");

    // The controller tells the peer another address as soon as it is set.
    let address = "get tenant rome -n liqo-tenant-rome -o jsonpath={.status.authParams.apiServer}";
    let before = clusters.kubectl("milan", address);
    let moved = "https://milan.example:6443";
    clusters.set("milan", &format!(r#"{{"apiServer":"{moved}"}}"#));
    until("the address is told", || {
        clusters.kubectl("milan", address) == moved
    });
    clusters.set("milan", r#"{"peers":{"rome":{"invite":true}}}"#);
    until("the address is as before", || {
        clusters.kubectl("milan", address) == before
    });
    clusters.ends();
    // The nonce may serve again, until the end is final.
    let nonces = "get secret liqo-nonce -n liqo-tenant-rome -o name --ignore-not-found";
    assert!(!clusters.kubectl("milan", nonces).is_empty());
    clusters
        .0
        .ok("unauthenticate --yes --kubeconfig milan --remote-cluster-id rome --final");
    // The record stays while the peer is declared, and other settings invite nobody.
    clusters.set(
        "milan",
        r#"{"peers":{"rome":{"invite":true}},"requireApproval":true}"#,
    );
    std::thread::sleep(std::time::Duration::from_secs(2));
    let record = "get secret liqo-auth-provider-rome -n liqo -o name";
    assert!(!clusters.kubectl("milan", record).is_empty());
    assert_eq!(clusters.kubectl("milan", nonces), "");

    // After an end, neither the declaration nor an empty nonce invites.
    clusters.kubectl(
        "milan",
        "delete secret liqo-nonce -n liqo-tenant-rome --ignore-not-found",
    );
    clusters.asks_for_a_nonce();
    until("an event names the command", || {
        let events = clusters.kubectl("milan", "get events -n liqo-tenant-rome");
        events.contains("liqo-auth create nonce --remote-cluster-id rome")
    });
    let nonce =
        "get secret liqo-nonce -n liqo-tenant-rome --ignore-not-found -o jsonpath={.data.nonce}";
    until("the question is taken back", || {
        clusters
            .kubectl("milan", "get secrets -n liqo-tenant-rome -o name")
            .is_empty()
    });

    // Of a peer that was never there, an empty nonce is the beginning.
    clusters.kubectl("milan", "delete configmap liqo-auth-settings -n liqo");
    clusters.kubectl("milan", forgotten);
    clusters.asks_for_a_nonce();
    until("the nonce is made", || {
        !clusters.kubectl("milan", nonce).is_empty()
    });
    provider.stop();
    clusters
        .0
        .ok("create nonce --kubeconfig milan --remote-cluster-id rome");
}

impl Clusters {
    fn set(&self, cluster: &str, settings: &str) {
        self.0.write("settings.yaml", settings);
        let make = "create configmap liqo-auth-settings -n liqo --from-file settings.yaml";
        let made = self.kubectl(cluster, &format!("{make} --dry-run=client -o json"));
        self.0.write("settings.json", &made);
        self.kubectl(cluster, "apply -f settings.json");
    }

    /// As `liqoctl authenticate` does.
    fn asks_for_a_nonce(&self) {
        let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"liqo-nonce",
            "namespace":"liqo-tenant-rome","labels":{"liqo.io/remote-cluster-id":"rome"}}}"#;
        self.0.write("nonce.json", secret);
        self.kubectl("milan", "apply -f nonce.json");
    }
}
