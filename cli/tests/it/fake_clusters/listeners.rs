//! The addresses where running controllers answer, and clients that use them up.

use std::{
    net::{SocketAddr, TcpStream},
    process::Command,
};

use serde_json::json;

use super::{Cluster, start_as, until};
use crate::tool::Folder;

/// More than an address takes.
const MANY: usize = 100;

#[test]
fn silent_clients_hold_up_no_probe() {
    let folder = Folder::new();
    let _milan = Cluster::start(&folder, "milan");
    let running = start_as(
        &folder,
        "--kubeconfig milan --provider --metrics 127.0.0.1:0",
    );
    let metrics = running.metrics();
    let silent = |address: SocketAddr| -> Vec<TcpStream> {
        let connected = (0..MANY).map(|_| TcpStream::connect(address).unwrap());
        connected.collect()
    };
    let of_metrics = silent(metrics);
    let of_probes = silent(running.probes());
    until("a probe is answered", || running.is_ready());
    // Another client still reads the metrics.
    let mut answer = String::new();
    until("the metrics are answered", || {
        answer = get(metrics, "127.0.0.2", "");
        !answer.is_empty()
    });
    assert!(answer.contains("liqo_auth_looks_total"), "{answer}");
    drop((of_metrics, of_probes));
    running.stop();
}

#[test]
fn the_metrics_are_for_the_holders_of_the_token() {
    let folder = Folder::new();
    let _milan = Cluster::start(&folder, "milan");
    folder.write("token", "first\n");
    let options = "--kubeconfig milan --provider --metrics 127.0.0.1:0 --metrics-token-file token";
    let running = start_as(&folder, options);
    let metrics = running.metrics();
    let shows = |token: &str| {
        let header = format!("Authorization: Bearer {token}");
        get(metrics, "127.0.0.1", &header).contains("liqo_auth_looks_total")
    };
    assert!(!get(metrics, "127.0.0.1", "").contains("liqo_auth"));
    assert!(shows("first") && !shows("second"));
    folder.write("token", "second\n");
    assert!(shows("second") && !shows("first"));
    // The probes' address does not have them.
    assert!(!get(running.probes(), "127.0.0.1", "").contains("liqo_auth"));
    running.stop();
}

#[test]
fn files_that_are_wrong_are_refused_at_the_start() {
    let folder = Folder::new();
    let _milan = Cluster::start(&folder, "milan");
    folder.write("empty", "\n");
    let run = "run --kubeconfig milan --probes 127.0.0.1:0";
    for file in ["missing", "empty"] {
        let options = format!("--metrics 127.0.0.1:0 --metrics-token-file {file}");
        let error = folder.refused(&format!("{run} {options}"), "", 2);
        assert!(error.contains(file), "{error}");
    }
    let error = folder.refused(&format!("{run} --metrics-token-file empty"), "", 2);
    assert!(error.contains("--metrics <ADDRESS>"), "{error}");
    crate::tool::make_ca(&folder);
    let options = "--webhook 127.0.0.1:0 --webhook-tls-cert ca.crt --webhook-tls-key ca.key";
    let options = format!("{options} --webhook-client-ca empty");
    let error = folder.refused(&format!("{run} {options}"), "", 2);
    assert!(error.contains("empty is no CA certificate"), "{error}");
}

#[test]
fn the_metrics_count_the_remedies_of_refusals() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    milan.server.put(json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "liqo-tenant-rome",
            "labels": { "liqo.io/remote-cluster-id": "rome", "liqo.io/tenant-namespace": "true" },
        },
    }));
    milan.server.put(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "Tenant",
        "metadata": {
            "name": "rome",
            "namespace": "liqo-tenant-rome",
            "labels": { "liqo.io/remote-cluster-id": "rome" },
        },
        "spec": { "clusterID": "rome" },
    }));
    let options = "--kubeconfig milan --provider --metrics 127.0.0.1:0";
    let running = start_as(&folder, options);
    let metrics = running.metrics();
    // The provider has no nonce that the Tenant could sign.
    let asked = "liqo_auth_remedies_wanted{side=\"provider\",remedy=\"invite\"} 1";
    // Each answer has all metrics.
    assert!(get(metrics, "127.0.0.1", "").contains("\nliqo_auth_synchronized "));
    until("the refusal counts", || {
        get(metrics, "127.0.0.1", "").contains(asked)
    });
    assert!(get(metrics, "127.0.0.1", "").contains("\nliqo_auth_synchronized 1\n"));
    running.stop();
}

/// The metrics at an address, for a client with an address of its own.
fn get(address: SocketAddr, from: &str, header: &str) -> String {
    let output = Command::new("curl")
        .args(["--silent", "--interface", from, "--header", header])
        .arg(format!("http://{address}/metrics"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}
