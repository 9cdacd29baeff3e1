//! Configurations that are read from data.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Consumer,
    consumer::{ConsumerConfig, PeerSettings, RenewalScheme},
    crypto::{OneKey, RecordKey},
    model::{DocumentError, read_document},
    policy::{Forms, Limits, Policy},
    provider::{self, NameTable, ProviderConfig},
};
use serde_json::json;

use crate::clusters::{
    exchange::{Ledger, RECORD_KEY, Setup, authority, ed25519, id},
    pool::resources,
};

fn provider() -> serde_json::Value {
    json!({
        "clusterID": "cl-provider",
        "apiServer": "https://172.19.0.3:6443",
        "apiServerCA": String::from_utf8(authority().ca_bundle().pem().to_vec()).unwrap(),
        "clientCAs": String::from_utf8(authority().ca_bundle().pem().to_vec()).unwrap(),
        "recordKey": "liqo/record-key",
        "key": "liqo/authentication-keys",
        "kubernetesSigner": false,
        "requireApproval": true,
        "adoptFromLiqo": true,
        "adoptUpTo": { "cpu": 2, "nvidia.com/gpu": "1" },
        "nonceLifetimeSeconds": 3600,
        "invitationsLapse": true,
        "certificateLifetimeSeconds": 86400,
        "namespace": "liqo",
        "policy": { "forms": "compatible", "limits": { "csr": 4096 } },
        "peers": { "cl-consumer": { "policy": {}, "tolerateNoHandshake": true, "keepRecord": true } },
    })
}

fn consumer() -> serde_json::Value {
    json!({
        "clusterID": "cl-consumer",
        "key": "liqo/authentication-keys",
        "namespace": "liqo",
        "policy": { "limits": { "certificateLifetimeSeconds": 60 } },
        "peers": {
            "cl-provider": {
                "proxyURL": "http://10.70.0.2:8118",
                "remoteTenantNamespace": "tenants",
                "providerKeys": [format!("SHA256:{}", "0a".repeat(32))],
                "acceptUnprovenProvider": true,
                "publiclyTrusted": true,
                "policy": { "forms": "compatible" },
                "acceptAws": true,
                "renewal": "byHand",
                "signSlicesMadeByAnyone": true,
                "kubeconfigDigest": format!("SHA256:{}", "0b".repeat(32)),
            },
        },
    })
}

fn read<T: serde::de::DeserializeOwned>(value: &serde_json::Value) -> Result<T, DocumentError> {
    read_document(value.to_string().as_bytes())
}

#[test]
fn clusters_are_built_from_data_and_authenticate() {
    let mut config = provider();
    config["requireApproval"] = json!(false);
    config["peers"] = json!({});
    let config: ProviderConfig = read(&config).unwrap();
    let mut exchange = Setup::new().exchange();
    exchange.provider = config
        .builder(RecordKey::new(RECORD_KEY).unwrap())
        .key(ed25519(2))
        .signer(Arc::new(Ledger::new()))
        .principals(Arc::new(NameTable::default()))
        .build();
    let config = json!({ "clusterID": "cl-consumer", "peers": { "cl-provider": {} } });
    let config: ConsumerConfig = read(&config).unwrap();
    exchange.consumer = Consumer::new(config, Arc::new(OneKey(ed25519(1))));
    exchange.settle();
    let provider::Phase::Authenticated(issued) = exchange.provider_phase() else {
        panic!("{:?}", exchange.phases());
    };
    let until = exchange.now + Duration::from_secs(86_400);
    assert_eq!(issued.credential.shown.valid_until(), Some(until));
}

#[test]
fn each_setting_is_read() {
    let config: ProviderConfig = read(&provider()).unwrap();
    assert_eq!(config.record_key.as_deref(), Some("liqo/record-key"));
    assert_eq!(config.key.as_deref(), Some("liqo/authentication-keys"));
    assert_eq!(config.nonce_lifetime, Duration::from_secs(3600));
    assert!(config.invitations_lapse);
    assert_eq!(config.policy.forms, Forms::Compatible);
    let limits = Limits {
        csr: 4096,
        ..Policy::compatible().limits.clone()
    };
    assert_eq!(config.policy.limits, limits);
    let peer = &config.peers[&id("cl-consumer")];
    assert_eq!(peer.policy, Some(Policy::strict()));
    assert!(peer.tolerate_no_handshake && config.require_approval && config.adopt_from_liqo);
    let caps = resources(&[("cpu", "2"), ("nvidia.com/gpu", "1")]);
    assert_eq!(config.adopt_up_to, caps);
    assert_eq!(config.client_cas.as_ref(), Some(authority().ca_bundle()));

    let config: ConsumerConfig = read(&consumer()).unwrap();
    let lifetime = config.policy.limits.certificate_lifetime;
    assert_eq!(lifetime, Duration::from_secs(60));
    assert_eq!(
        config.peers[&id("cl-provider")],
        PeerSettings {
            proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
            remote_tenant_namespace: Some("tenants".parse().unwrap()),
            provider_keys: vec![format!("SHA256:{}", "0a".repeat(32)).parse().unwrap()],
            accept_unproven_provider: true,
            publicly_trusted: true,
            policy: Some(Policy::compatible()),
            accept_aws: true,
            renewal: RenewalScheme::ByHand,
            sign_slices_made_by_anyone: true,
            kubeconfig_digest: Some(format!("SHA256:{}", "0b".repeat(32)).parse().unwrap()),
        }
    );
}

/// The API server writes them, so nobody could mend the configuration.
#[test]
fn client_cas_that_cannot_be_read_are_unknown() {
    let many = "#".repeat(65_537);
    for text in [json!(null), json!(""), json!("hunter2"), json!(many)] {
        let mut config = provider();
        config["clientCAs"] = text;
        assert_eq!(read::<ProviderConfig>(&config).unwrap().client_cas, None);
    }
}

#[test]
fn a_setting_that_is_unknown_or_wrong_is_refused_with_its_path() {
    let refusal = |pointer: &str, key: &str, value: serde_json::Value| {
        let mut config = provider();
        config.pointer_mut(pointer).unwrap()[key] = value;
        read::<ProviderConfig>(&config).unwrap_err().to_string()
    };
    for (pointer, key, value, expected) in [
        (
            "",
            "clusterId",
            json!("a"),
            "clusterId: found a field that is not known",
        ),
        (
            "/policy",
            "form",
            json!("a"),
            "policy.form: found a field that is not known",
        ),
        (
            "/policy/limits",
            "certificateLifetime",
            json!(1),
            "policy.limits.certificateLifetime: found a field that is not known",
        ),
        (
            "/peers/cl-consumer",
            "renewal",
            json!("byHand"),
            "peers.cl-consumer.renewal: found a field that is not known",
        ),
        (
            "",
            "apiServer",
            json!("http://a"),
            "apiServer: found an invalid text",
        ),
        (
            "",
            "apiServerCA",
            json!("hunter2"),
            "apiServerCA: found text without",
        ),
        (
            "",
            "nonceLifetimeSeconds",
            json!(-1),
            "nonceLifetimeSeconds: found",
        ),
        ("/peers", "CL", json!({}), "peers.CL: found an invalid text"),
        (
            "",
            "adoptUpTo",
            json!({ "cpu": "-1" }),
            "adoptUpTo.cpu: found another text, expected a quantity",
        ),
    ] {
        let found = refusal(pointer, key, value);
        assert!(found.starts_with(expected), "{found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
    let mut config = consumer();
    config["peers"]["cl-provider"]["acceptAWS"] = json!(true);
    let error = read::<ConsumerConfig>(&config).unwrap_err().to_string();
    let expected = "peers.cl-provider.acceptAWS: found a field that is not known";
    assert!(error.starts_with(expected), "{error}");
}

#[cfg(feature = "yaml")]
#[test]
fn yaml_says_the_same() {
    let text = b"clusterID: cl-consumer\npeers:\n  cl-provider:\n    acceptAws: true\n";
    let config: ConsumerConfig = read_document(text).unwrap();
    assert!(config.peers[&id("cl-provider")].accept_aws);
}
