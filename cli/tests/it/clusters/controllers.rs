//! Running controllers.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use super::Clusters;

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn controllers_finish_what_kubectl_applies() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let provider = Running::start(&clusters, "milan-service", "--provider");
    let consumer = Running::start(&clusters, "rome-service", "--consumer");
    let (tenant, identity) = ("tenant.yaml", "identity.yaml");
    let folder = &clusters.0;
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let nonce = folder.ok("get nonce --kubeconfig milan --remote-cluster-id rome");
    let generate = "generate tenant --kubeconfig rome --remote-cluster-id milan --nonce -";
    folder.write(tenant, &folder.ok_with(generate, &nonce));
    clusters.kubectl("milan", "apply -n liqo-tenant-rome -f tenant.yaml");
    clusters.until("the provider has answered", || {
        let status =
            "get tenant rome -n liqo-tenant-rome -o jsonpath={.status.authParams.signedCRT}";
        !clusters.kubectl("milan", status).is_empty()
    });
    let generate = "generate identity --kubeconfig milan --remote-cluster-id rome";
    folder.write(identity, &folder.ok(generate));
    clusters.kubectl("rome", "apply -n liqo-tenant-milan -f identity.yaml");
    clusters.until("the consumer has a kubeconfig", || {
        let get = "get kubeconfig --kubeconfig rome --remote-cluster-id milan";
        folder.run(get).code == 0
    });
    assert_eq!(clusters.whoami(""), "rome");
    let metrics = get(provider.metrics, "/metrics");
    let authenticated = "liqo_auth_identities{side=\"provider\",stage=\"authenticated\"} 1";
    assert!(metrics.contains(authenticated), "{metrics}");
    let events = clusters.kubectl("milan", "get events -n liqo-tenant-rome");
    assert!(events.contains("RightsGranted"), "{events}");
    clusters.a_condition_stays_until_it_is_lifted(&provider);
    for running in [provider, consumer] {
        assert!(get(running.probes, "/healthz").contains("200 OK"));
        running.stop();
    }
    clusters.ends();
}

impl Clusters {
    /// As `liqoctl cordon` and `liqoctl uncordon` do, which know no record.
    fn a_condition_stays_until_it_is_lifted(&self, provider: &Running) {
        let held = "liqo_auth_remedies_wanted{side=\"provider\",remedy=\"liftCondition\"} 1";
        let is_held = || get(provider.metrics, "/metrics").contains(held);
        let tells = |text: &str| {
            let events = self.kubectl("milan", "get events -n liqo-tenant-rome");
            events.contains(text)
        };
        let write = |condition: &str| {
            let spec = format!("{{\"spec\":{{\"tenantCondition\":\"{condition}\"}}}}");
            let patch = "patch tenant rome -n liqo-tenant-rome --type merge -p";
            self.kubectl("milan", &format!("{patch} {spec}"));
        };
        assert!(!is_held());
        write("Cordoned");
        self.until("the condition is on record", || tells("ConditionRecorded"));
        write("Active");
        self.until("the record holds the condition", is_held);
        self.until("an event names the command", || {
            tells("To lift the condition: liqo-auth uncordon tenant rome")
        });
        self.0.ok("uncordon tenant rome --kubeconfig milan");
        self.until("the condition is lifted", || !is_held());
    }
}

/// A running controller.
pub(crate) struct Running {
    process: Child,
    probes: SocketAddr,
    metrics: SocketAddr,
}

impl Running {
    /// Starts a controller, and waits until it is ready.
    pub(crate) fn start(clusters: &Clusters, cluster: &str, side: &str) -> Self {
        // Both are free at once, so that they differ.
        let free = ["127.0.0.1:0"; 2].map(|any| TcpListener::bind(any).unwrap());
        let [probes, metrics] = free.each_ref().map(|free| free.local_addr().unwrap());
        drop(free);
        let mut command = clusters.0.command(&format!(
            "run --kubeconfig {cluster} {side} --service-account liqo-auth --probes {probes} --metrics {metrics}"
        ));
        let process = command.stderr(Stdio::inherit()).spawn().unwrap();
        clusters.until("the controller is ready", || {
            TcpStream::connect(probes).is_ok() && get(probes, "/readyz").contains("200 OK")
        });
        Self {
            process,
            probes,
            metrics,
        }
    }

    /// Stops it as a cluster does. It ends without a failure.
    pub(crate) fn stop(mut self) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
    }

    /// Kills it, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
