//! Running controllers.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{Clusters, until};
use crate::tool::running::{Running, get};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn controllers_finish_what_kubectl_applies() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let provider = start(&clusters, "milan-service", "--provider");
    let consumer = start(&clusters, "rome-service", "--consumer");
    let (tenant, identity) = ("tenant.yaml", "identity.yaml");
    let folder = &clusters.0;
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let nonce = folder.ok("get nonce --kubeconfig milan --remote-cluster-id rome");
    let generate = "generate tenant --kubeconfig rome --remote-cluster-id milan --nonce -";
    folder.write(tenant, &folder.ok_with(generate, &nonce));
    clusters.kubectl("milan", "apply -n liqo-tenant-rome -f tenant.yaml");
    until("the provider has answered", || {
        let status =
            "get tenant rome -n liqo-tenant-rome -o jsonpath={.status.authParams.signedCRT}";
        !clusters.kubectl("milan", status).is_empty()
    });
    let generate = "generate identity --kubeconfig milan --remote-cluster-id rome";
    folder.write(identity, &folder.ok(generate));
    clusters.kubectl("rome", "apply -n liqo-tenant-milan -f identity.yaml");
    until("the consumer has a kubeconfig", || {
        let get = "get kubeconfig --kubeconfig rome --remote-cluster-id milan";
        folder.run(get).code == 0
    });
    assert_eq!(clusters.whoami(""), "rome");
    let metrics = get(provider.metrics(), "/metrics").unwrap();
    let authenticated = "liqo_auth_identities{side=\"provider\",stage=\"authenticated\"} 1";
    assert!(metrics.contains(authenticated), "{metrics}");
    let events = clusters.kubectl("milan", "get events -n liqo-tenant-rome");
    assert!(events.contains("RightsGranted"), "{events}");
    clusters.a_condition_stays_until_it_is_lifted(&provider);
    for running in [provider, consumer] {
        assert!(
            get(running.probes(), "/healthz")
                .unwrap()
                .contains("200 OK")
        );
        running.stop();
    }
    clusters.ends();
}

impl Clusters {
    /// As `liqoctl cordon` and `liqoctl uncordon` do, which know no record.
    fn a_condition_stays_until_it_is_lifted(&self, provider: &Running) {
        let held = "liqo_auth_remedies_wanted{side=\"provider\",remedy=\"liftCondition\"} 1";
        let is_held = || get(provider.metrics(), "/metrics").unwrap().contains(held);
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
        until("the condition is on record", || tells("ConditionRecorded"));
        write("Active");
        until("the record holds the condition", is_held);
        until("an event names the command", || {
            tells("To lift the condition: liqo-auth uncordon tenant rome")
        });
        self.0.ok("uncordon tenant rome --kubeconfig milan");
        until("the condition is lifted", || !is_held());
    }
}

/// Controllers on a cluster of a folder.
pub(crate) fn start(clusters: &Clusters, cluster: &str, side: &str) -> Running {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let log = format!("log-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let options =
        format!("--kubeconfig {cluster} {side} --service-account liqo-auth --metrics 127.0.0.1:0");
    Running::start(&clusters.0, &log, &options)
}
