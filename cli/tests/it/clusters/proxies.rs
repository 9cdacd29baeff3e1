//! API servers behind a proxy.

use super::{BOTH, Clusters, controllers::start, until};
use crate::connect_proxy::{ConnectProxy, no_proxy_at};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig by-proxy";

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn the_tool_reaches_an_api_server_by_its_proxy() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let proxy = ConnectProxy::answering(200);
    clusters.writes_by_proxy(&format!("http://{}", proxy.address));
    clusters.0.ok(AUTHENTICATE);
    assert_eq!(clusters.whoami(""), "rome");
    clusters.only_milan_was_asked_for(&proxy);
    clusters.ends();

    let down = no_proxy_at();
    clusters.writes_by_proxy(&format!("http://rome:secret@{down}"));
    let before = clusters.objects();
    let run = clusters.0.run(AUTHENTICATE);
    assert_eq!(run.code, 1, "{run:?}");
    let says = format!("by the proxy http://{down} (proxy-url of the kubeconfig): ");
    assert!(run.err.contains(&says), "{run:?}");
    assert!(run.err.contains("A proxy in Liqo's network"), "{run:?}");
    assert!(!run.err.contains("secret"), "{run:?}");
    assert_eq!(clusters.objects(), before);
}

/// As in an in-band peering of Liqo, the Identity names the proxy.
#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn the_replicator_reaches_a_provider_by_the_proxy_of_the_identity() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    clusters.says_that_the_proxy_is_down();
    let proxy = ConnectProxy::answering(200);
    let url = format!("http://{}", proxy.address);
    clusters
        .0
        .ok(&format!("authenticate {BOTH} --proxy-url {url}"));
    assert!(clusters.kubeconfig("").contains(&url));
    let replicating = start(&clusters, "rome", "--consumer --replicate");
    let request = "create resourceslice pool --kubeconfig rome --remote-cluster-id milan --cpu 2 --wait=false";
    let run = clusters.0.run(request);
    let replicas = "get resourceslices.authentication.liqo.io -n liqo-tenant-rome -o name";
    until(&format!("the slice has a replica, after {run:?}"), || {
        clusters.kubectl("milan", replicas).contains("/pool")
    });
    clusters.only_milan_was_asked_for(&proxy);
    replicating.stop();
    clusters.0.ok(&format!("delete resourceslice pool {BOTH}"));
    clusters.ends();
    // The settings keep the proxy for the next peering.
    clusters.0.ok(&format!("authenticate {BOTH} --proxy-url="));
    assert!(!clusters.kubeconfig("").contains(&url));
    clusters.ends();
}

impl Clusters {
    /// Writes the kubeconfig of milan with a proxy.
    fn writes_by_proxy(&self, url: &str) {
        self.0.write("by-proxy", &self.0.read("milan"));
        let name = self.kubectl("milan", "config view -o jsonpath={.clusters[0].name}");
        let set = format!("config set-cluster {name} --proxy-url {url}");
        self.kubectl("by-proxy", &set);
    }

    /// Without Liqo's network, nothing answers at the proxy of an in-band peering.
    fn says_that_the_proxy_is_down(&self) {
        let url = format!("http://{}", no_proxy_at());
        self.0.ok(&format!("authenticate {BOTH} --proxy-url {url}"));
        let replicating = start(self, "rome", "--consumer --replicate");
        let events = "get events -n liqo-tenant-milan -o custom-columns=:.reason,:.message";
        until("an event names the proxy", || {
            let events = self.kubectl("rome", events);
            let mut events = events.lines();
            events.any(|event| event.starts_with("NotReplicated") && event.contains(&url))
        });
        replicating.stop();
        self.ends();
    }

    fn only_milan_was_asked_for(&self, proxy: &ConnectProxy) {
        let server = "config view -o jsonpath={.clusters[0].cluster.server}";
        let server = self.kubectl("milan", server);
        let connect = server.replace("https://", "CONNECT ") + " HTTP/1.1\r\n";
        let requests = proxy.requests();
        assert!(!requests.is_empty());
        for request in requests {
            assert!(request.starts_with(&connect), "{request}");
        }
    }
}
