//! `authenticate --in-band`: the proxy is that of Liqo's network.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Cluster, start};
use crate::{fake::Rule, tool::Folder};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";
const IN_BAND: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan --in-band";
/// Where rome sees the proxy of milan, by [`remapped`]. Nothing answers there.
const PROXY: &str = "http://127.0.0.3:8118";

/// The address that milan's proxy has in Liqo's network.
fn exposed() -> Value {
    json!({
        "apiVersion": "ipam.liqo.io/v1alpha1",
        "kind": "IP",
        "metadata": { "name": "api-server-proxy", "namespace": "liqo" },
        "spec": { "ip": "10.95.245.141" },
        "status": { "ip": "10.70.0.3", "cidr": "10.70.0.0/16" },
    })
}

/// The tenant namespace of milan at rome.
fn tenant_namespace(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "labels": {
                "liqo.io/remote-cluster-id": "milan",
                "liqo.io/tenant-namespace": "true",
            },
        },
    })
}

/// Where rome sees milan's networks.
fn remapped() -> Value {
    json!({
        "apiVersion": "networking.liqo.io/v1beta1",
        "kind": "Configuration",
        "metadata": {
            "name": "milan",
            "namespace": "liqo-tenant-milan",
            "labels": { "liqo.io/remote-cluster-id": "milan" },
        },
        "spec": { "remote": { "cidr": {
            "pod": ["10.200.0.0/16"], "external": ["10.70.0.0/16"],
        } } },
        "status": {
            "conditions": [{
                "type": "NetworkCIDRsConfigured", "status": "True", "observedGeneration": 1,
            }],
            "remote": { "cidr": { "pod": ["10.200.0.0/16"], "external": ["127.0.0.0/16"] } },
        },
    })
}

/// Rome and milan, which Liqo's network connects.
fn connected(folder: &Folder) -> (Cluster, Cluster) {
    let (rome, milan) = (
        Cluster::start(folder, "rome"),
        Cluster::start(folder, "milan"),
    );
    milan.has_a_signer();
    rome.set(&json!({
        "apiServer": "https://rome.example:6443",
        "addresses": { "allowed": ["127.0.0.0/8"] },
    }));
    milan.server.put(exposed());
    (rome, milan)
}

/// The same, with the names that Liqo gives.
fn connected_as_usual(folder: &Folder) -> (Cluster, Cluster) {
    let (rome, milan) = connected(folder);
    rome.server.put(tenant_namespace("liqo-tenant-milan"));
    rome.server.put(remapped());
    (rome, milan)
}

/// The proxies that the Tenant, the Identity and the kubeconfig name.
fn proxies(rome: &Cluster, milan: &Cluster) -> [Value; 3] {
    let tenant = milan.named("tenants", "rome").remove(0);
    let identity = rome.server.all("identities").remove(0);
    let secret = rome.named("secrets", "kubeconfig-controlplane-milan");
    let kubeconfig = STANDARD
        .decode(secret[0]["data"]["kubeconfig"].as_str().unwrap())
        .unwrap();
    let kubeconfig = String::from_utf8(kubeconfig).unwrap();
    let mut lines = kubeconfig.lines().map(str::trim);
    let proxy = lines.find_map(|line| line.strip_prefix("proxy-url: "));
    [
        tenant["spec"]["proxyURL"].clone(),
        identity["spec"]["authParams"]["proxyURL"].clone(),
        json!(proxy),
    ]
}

#[test]
fn the_consumer_gets_the_proxy_of_liqos_network() {
    let folder = Folder::new();
    let (rome, milan) = connected_as_usual(&folder);
    folder.ok(AUTHENTICATE);
    assert_eq!(
        proxies(&rome, &milan),
        [Value::Null, Value::Null, Value::Null]
    );
    let before = milan.named("tenants", "rome").remove(0);
    let run = folder.run(IN_BAND);
    assert_eq!(run.code, 0, "{run:?}");
    let says = format!("In band: rome reaches the API server of milan by the proxy {PROXY}.");
    assert!(
        run.err.contains(&says) || run.out.contains(&says),
        "{run:?}"
    );
    assert!(
        run.err
            .contains("milan was not seen to let this cluster in"),
        "{run:?}"
    );
    // The cause is told once.
    assert_eq!(
        run.err.matches("cannot reach the API").count(),
        1,
        "{run:?}"
    );
    assert_eq!(
        proxies(&rome, &milan),
        [PROXY, PROXY, PROXY].map(Value::from)
    );

    // Nothing else of the Tenant changes.
    let mut after = milan.named("tenants", "rome").remove(0);
    after["spec"].as_object_mut().unwrap().remove("proxyURL");
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);
    // The settings keep the proxy. So a renewal, and a controller, have it as well.
    assert!(rome.settings().1.contains(PROXY), "{:?}", rome.settings());
    folder.ok(AUTHENTICATE);
    assert_eq!(
        proxies(&rome, &milan),
        [PROXY, PROXY, PROXY].map(Value::from)
    );
}

/// As with liqoctl.
#[test]
fn a_proxy_that_is_named_counts_first() {
    let folder = Folder::new();
    let (rome, milan) = connected_as_usual(&folder);
    let other = "http://127.0.0.9:8118";
    folder.ok(&format!("{IN_BAND} --proxy-url {other}"));
    assert_eq!(
        proxies(&rome, &milan),
        [other, other, other].map(Value::from)
    );
    folder.ok(&format!("{IN_BAND} --proxy-url="));
    assert_eq!(
        proxies(&rome, &milan),
        [PROXY, PROXY, PROXY].map(Value::from)
    );
    // The peering goes on out of band.
    folder.ok(&format!("{AUTHENTICATE} --proxy-url="));
    assert_eq!(
        proxies(&rome, &milan),
        [Value::Null, Value::Null, Value::Null]
    );
}

#[test]
fn what_liqos_network_lacks_is_said_before_anything_is_written() {
    let folder = Folder::new();
    let (rome, milan) = connected_as_usual(&folder);
    // The keys are made when a cluster is opened.
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id turin");
    folder.ok("create nonce --kubeconfig rome --remote-cluster-id turin");
    let before = [rome.writes(), milan.writes()];
    let refused = |code: i32, site: &str, words: &str| {
        let run = folder.run(IN_BAND);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.err.contains(&format!("{site}: in band: ")), "{run:?}");
        assert!(run.err.contains(words), "{run:?}");
        assert!(run.err.contains("--proxy-url"), "{run:?}");
        assert_eq!([rome.writes(), milan.writes()], before);
    };
    let set_ip = |status: Value| {
        let mut ip = exposed();
        ip["status"] = status;
        milan.server.delete(&exposed());
        milan.server.put(ip);
    };
    set_ip(json!({ "ip": "8.8.8.8" }));
    refused(
        3,
        "rome",
        "8.8.8.8 of the provider's proxy is in none of the networks",
    );
    set_ip(json!({ "ip": "proxy" }));
    refused(
        5,
        "milan",
        "status.ip is malformed, expected an IPv4 address",
    );
    set_ip(json!({}));
    refused(4, "milan", "has no status.ip yet");
    milan.server.delete(&exposed());
    refused(4, "milan", "no IP liqo/api-server-proxy");

    milan.server.put(exposed());
    rome.server.delete(&remapped());
    refused(4, "rome", "liqoctl network connect");
    let mut waiting = remapped();
    waiting["status"]["conditions"][0]["status"] = json!("False");
    rome.server.put(waiting.clone());
    refused(4, "rome", "Try again when Liqo has remapped them");
    waiting["metadata"]["name"] = json!("milan-again");
    rome.server.put(waiting);
    refused(5, "rome", "has 2 Configurations of milan, expected one");
}

/// A tenant namespace may have another name.
#[test]
fn the_configuration_is_that_of_the_providers_tenant_namespace() {
    let folder = Folder::new();
    let (rome, milan) = connected(&folder);
    let run = folder.run(IN_BAND);
    assert_eq!(run.code, 4, "{run:?}");
    let says = "of milan in the namespace liqo-tenant-milan";
    assert!(run.err.contains(says), "{run:?}");
    rome.server.put(tenant_namespace("tenants-milan"));
    let run = folder.run(IN_BAND);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err.contains("of milan in the namespace tenants-milan"),
        "{run:?}"
    );
    let mut moved = remapped();
    moved["metadata"]["namespace"] = json!("tenants-milan");
    rome.server.put(moved);
    folder.ok(IN_BAND);
    assert_eq!(milan.named("tenants", "rome")[0]["spec"]["proxyURL"], PROXY);
}

/// With the rights that Liqo's roles give.
#[test]
fn a_peering_user_authenticates_in_band() {
    let folder = Folder::new();
    let (rome, milan) = connected_as_usual(&folder);
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": [resource], "verbs": verbs });
    let user = |ips: &[&str]| {
        let role = json!({
            "kind": "Role",
            "metadata": { "namespace": "liqo" },
            "rules": [
                rule("", "configmaps", &["get", "list", "watch"]),
                rule("ipam.liqo.io", "ips", ips),
            ],
        });
        let in_tenant = json!({
            "kind": "ClusterRole",
            "rules": [
                rule("", "namespaces", &["get"]),
                rule("", "secrets", &["create", "get"]),
                rule("authentication.liqo.io", "tenants", &["create", "get", "list", "update"]),
            ],
        });
        [&role, &in_tenant]
            .into_iter()
            .flat_map(Rule::of_role)
            .collect()
    };
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    let running = start(&folder);
    milan.has_a_user(&folder, "user", user(&["get"]));
    folder.ok("authenticate --kubeconfig rome --remote-kubeconfig user --in-band");
    assert_eq!(
        proxies(&rome, &milan),
        [PROXY, PROXY, PROXY].map(Value::from)
    );
    milan.has_a_user(&folder, "user", user(&["list"]));
    let run = folder.run("authenticate --kubeconfig rome --remote-kubeconfig user --in-band");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.err
            .contains("refuses to get IP liqo/api-server-proxy (403)"),
        "{run:?}"
    );
    running.stop();
}

#[test]
fn a_home_has_no_network() {
    let folder = Folder::new();
    let _milan = Cluster::start(&folder, "milan");
    for sides in [
        "--home rome --remote-home milan-home --init",
        "--home rome --remote-kubeconfig milan",
        "--kubeconfig milan --remote-home rome",
    ] {
        let error = folder.refused(&format!("authenticate {sides} --in-band"), "", 2);
        assert!(error.contains("--in-band needs two clusters"), "{error}");
        assert!(
            error.contains("is a home. Name the proxy with --proxy-url"),
            "{error}"
        );
    }
    assert!(!folder.path("rome").exists());
    let error = folder.refused(
        "generate tenant --home rome --remote-cluster-id milan --in-band",
        "",
        2,
    );
    assert!(
        error.contains("here, name the proxy with --proxy-url"),
        "{error}"
    );
}
