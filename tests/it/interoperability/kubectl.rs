//! kubectl's own library reads every field of the messages and objects of an
//! exchange.

use std::{path::PathBuf, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    consumer::PeerSettings,
    model::{Kubeconfig, Object, UserCredential, manifest},
};
use serde_json::{Value, json};

use crate::clusters::exchange::Setup;

#[test]
fn kubectl_reads_tenant_and_identity() {
    let mut exchange = with_a_proxy().exchange();
    exchange.settle();
    for object in [
        Object::from(exchange.tenant()),
        Object::from(exchange.identity()),
        Object::from(exchange.stored_tenant()),
        Object::from(exchange.stored_identity()),
    ] {
        for text in [manifest::write_yaml(&object), manifest::write_json(&object)] {
            // kubectl adds a label by itself, without an API server.
            let Some(read) = kubectl(
                &["label", "--local", "-o", "json", "read-by=kubectl", "-f"],
                &text,
            ) else {
                return;
            };
            let mut expected = object.to_value();
            expected["metadata"]["labels"]["read-by"] = "kubectl".into();
            assert_eq!(read, expected);
        }
    }
}

#[test]
fn kubectl_reads_the_kubeconfig() {
    let mut exchange = with_a_proxy().exchange();
    exchange.settle();
    let text = exchange.kubeconfig();
    let Some(read) = kubectl(
        &["config", "view", "--raw", "-o", "json", "--kubeconfig"],
        &text,
    ) else {
        return;
    };
    let kubeconfig = Kubeconfig::parse(&text).unwrap();
    let UserCredential::KeyData { certificate, key } = &kubeconfig.credential else {
        panic!("no key in the kubeconfig");
    };
    let expected = json!({
        "kind": "Config",
        "apiVersion": "v1",
        "clusters": [{
            "name": "cl-provider",
            "cluster": {
                "server": "https://172.19.0.3:6443",
                "certificate-authority-data":
                    STANDARD.encode(kubeconfig.certificate_authority.as_slice()),
                "proxy-url": "http://10.70.0.2:8118",
            },
        }],
        "users": [{
            "name": "controlplane-cl-provider",
            "user": {
                "client-certificate-data": STANDARD.encode(certificate.as_slice()),
                "client-key-data": STANDARD.encode(key.expose()),
            },
        }],
        "contexts": [{
            "name": "default-context",
            "context": {
                "cluster": "cl-provider",
                "user": "controlplane-cl-provider",
                "namespace": "liqo-tenant-cl-consumer",
            },
        }],
        "current-context": "default-context",
    });
    let mut read = read;
    // Older versions write an empty `preferences`.
    read.as_object_mut().unwrap().remove("preferences");
    assert_eq!(read, expected);
}

fn with_a_proxy() -> Setup {
    let mut setup = Setup::new();
    setup.settings = PeerSettings {
        proxy_url: Some("http://10.70.0.2:8118".parse().unwrap()),
        ..PeerSettings::default()
    };
    setup
}

/// The output of kubectl for a file with this text. The file is the last
/// argument. `None` if kubectl is not installed.
fn kubectl(arguments: &[&str], text: &str) -> Option<Value> {
    let file = File::new(text);
    let output = Command::new("kubectl")
        .args(arguments)
        .arg(&file.0)
        .env("KUBECONFIG", "/dev/null")
        .output();
    let Ok(output) = output else {
        super::not_run("kubectl");
        return None;
    };
    assert!(output.status.success(), "kubectl {arguments:?}: {output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A temporary file, deleted with the value.
struct File(PathBuf);

impl File {
    fn new(text: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("liqo-auth-kubectl-{}-{number}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        Self(file)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
