//! The proxy of an in-band peering, as two clusters say it.

use std::net::Ipv4Addr;

use liqo_auth_kube::{Error, InBandError, in_band_address, in_band_proxy};
use serde_json::{Value, json};

use crate::{
    clusters::id,
    fake::{FakeApiServer, Rule},
};

fn ip(status: &Value) -> Value {
    json!({
        "apiVersion": "ipam.liqo.io/v1alpha1",
        "kind": "IP",
        "metadata": { "name": "api-server-proxy", "namespace": "liqo" },
        "spec": { "ip": "10.95.245.141" },
        "status": status,
    })
}

fn configuration(name: &str, namespace: &str, provider: &str) -> Value {
    json!({
        "apiVersion": "networking.liqo.io/v1beta1",
        "kind": "Configuration",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { "liqo.io/remote-cluster-id": provider },
        },
        "spec": { "remote": { "cidr": { "external": ["10.70.0.0/16"] } } },
        "status": { "remote": { "cidr": { "external": ["10.81.0.0/16"] } } },
    })
}

/// Servers with these objects, which this user may only read.
fn server(objects: impl IntoIterator<Item = Value>) -> FakeApiServer {
    let role = json!({
        "kind": "ClusterRole",
        "rules": [
            { "apiGroups": ["ipam.liqo.io"], "resources": ["ips"], "verbs": ["get"] },
            {
                "apiGroups": ["networking.liqo.io"],
                "resources": ["configurations"],
                "verbs": ["list"],
            },
        ],
    });
    let server = FakeApiServer::with_liqo("any");
    for name in ["default", "liqo-tenant-milan", "liqo-tenant-turin"] {
        let metadata = json!({ "name": name });
        server.put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }));
    }
    objects.into_iter().for_each(|object| server.put(object));
    server.with_rights(Rule::of_role(&role))
}

async fn address(objects: impl IntoIterator<Item = Value>) -> Result<Ipv4Addr, Error> {
    in_band_address(&server(objects).client(), "liqo").await
}

async fn proxy(objects: impl IntoIterator<Item = Value>) -> Result<String, Error> {
    let client = server(objects).client();
    let address = Ipv4Addr::new(10, 70, 0, 3);
    let url = in_band_proxy(&client, "liqo-tenant-milan", &id("milan"), address).await;
    url.map(|url| url.to_string())
}

fn reason<T: std::fmt::Debug>(refused: Result<T, Error>) -> InBandError {
    match refused.unwrap_err() {
        Error::InBand(reason) => reason,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_provider_says_the_address_of_its_proxy() {
    let found = address([ip(&json!({ "ip": "10.70.0.3", "cidr": "10.70.0.0/16" }))]).await;
    assert_eq!(found.unwrap(), Ipv4Addr::new(10, 70, 0, 3));

    let namespace = "liqo".to_owned();
    let missing = InBandError::NoProxy { namespace };
    assert_eq!(reason(address([]).await), missing);
    let mut elsewhere = ip(&json!({ "ip": "10.70.0.3" }));
    elsewhere["metadata"]["namespace"] = "default".into();
    assert_eq!(reason(address([elsewhere]).await), missing);
    for status in [json!({}), json!({ "ip": "" })] {
        let namespace = "liqo".to_owned();
        let expected = InBandError::NoAddress { namespace };
        assert_eq!(reason(address([ip(&status)]).await), expected);
    }
    for wrong in ["fd00::3", "proxy.example", "10.70.0.3:8118"] {
        let expected = InBandError::Malformed {
            object: "IP liqo/api-server-proxy".to_owned(),
            field: "status.ip".to_owned(),
            expected: "an IPv4 address",
        };
        let status = json!({ "ip": wrong });
        assert_eq!(reason(address([ip(&status)]).await), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_consumer_says_where_it_sees_the_proxy() {
    let of_milan = configuration("milan", "liqo-tenant-milan", "milan");
    // Those of other peers do not count, nor those that other peers have labelled so.
    let of_others = [
        configuration("turin", "liqo-tenant-milan", "turin"),
        configuration("milan", "liqo-tenant-turin", "milan"),
    ];
    let all = of_others.iter().cloned().chain([of_milan.clone()]);
    assert_eq!(proxy(all).await.unwrap(), "http://10.81.0.3:8118");

    let (provider, namespace) = (id("milan"), "liqo-tenant-milan".to_owned());
    let expected = InBandError::NotConnected {
        provider: provider.clone(),
        namespace: namespace.clone(),
    };
    assert_eq!(reason(proxy(of_others).await), expected);
    let twice = [
        of_milan.clone(),
        configuration("again", "liqo-tenant-milan", "milan"),
        configuration("once-more", "liqo-tenant-milan", "milan"),
    ];
    let expected = InBandError::Ambiguous {
        provider,
        namespace,
        found: 3,
    };
    assert_eq!(reason(proxy(twice).await), expected);
    let mut unusable = of_milan;
    unusable["status"]["remote"]["cidr"]["external"] = json!(["169.254.0.0/16"]);
    let found = reason(proxy([unusable]).await);
    let InBandError::Unusable { address, .. } = found else {
        panic!("{found}");
    };
    assert_eq!(address, Ipv4Addr::new(169, 254, 0, 3));
}

/// Liqo without its networking module has the kinds; an older cluster may lack them.
#[tokio::test(start_paused = true)]
async fn a_cluster_without_the_kinds_has_no_network() {
    let server = server([])
        .without_group("networking.liqo.io/v1beta1")
        .without_group("ipam.liqo.io/v1alpha1");
    let client = server.client();
    let found = in_band_address(&client, "liqo").await;
    assert!(matches!(reason(found), InBandError::NoProxy { .. }));
    let address = Ipv4Addr::new(10, 70, 0, 3);
    let found = in_band_proxy(&client, "liqo-tenant-milan", &id("milan"), address).await;
    assert!(matches!(reason(found), InBandError::NotConnected { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_user_without_the_rights_is_told_so() {
    let server = FakeApiServer::with_liqo("any").with_rights(Vec::new());
    let client = server.client();
    let found = in_band_address(&client, "liqo").await.unwrap_err();
    assert!(found.is_forbidden(), "{found}");
    assert!(found.to_string().contains("get IP liqo/api-server-proxy"));
    let address = Ipv4Addr::new(10, 70, 0, 3);
    let found = in_band_proxy(&client, "liqo-tenant-milan", &id("milan"), address).await;
    let found = found.unwrap_err();
    assert!(found.is_forbidden(), "{found}");
    let asked = "list Configurations in liqo-tenant-milan";
    assert!(found.to_string().contains(asked), "{found}");
}
