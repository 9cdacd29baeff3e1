//! The admission webhook of running controllers, called by a real API server.

use std::process::Command;

use serde_json::{Value, json};

use super::{BOTH, Clusters, controllers::start, until};

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn an_api_server_asks_the_webhook() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let mut openssl = Command::new("openssl");
    openssl.args("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=webhook".split(' '));
    openssl.args("-addext subjectAltName=IP:127.0.0.1 -keyout tls.key -out tls.crt".split(' '));
    let made = openssl.current_dir(clusters.0.path("")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let options =
        "--provider --webhook 127.0.0.1:0 --webhook-tls-cert tls.crt --webhook-tls-key tls.key";
    let running = start(&clusters, "milan-service", options);
    let address = running.listens_for("the webhook").unwrap();
    let url = format!("https://{address}");
    clusters.0.write(
        "webhook.json",
        &configurations(&clusters.0.read("tls.crt"), &url),
    );
    clusters.kubectl("milan", "apply -f webhook.json");

    // Without its tenant namespace, and then under another name.
    clusters.kubectl("milan", "create namespace elsewhere");
    clusters
        .0
        .ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    until("the webhook is asked", || {
        let run = clusters.applies("rome", "elsewhere");
        run.code != 0 && run.err.contains("must be created in a tenant namespace")
    });
    let run = clusters.applies("turin", "liqo-tenant-rome");
    assert!(
        run.code != 0 && run.err.contains("denied the request"),
        "{run:?}"
    );
    // Its own tool and controllers are let through, and so is a drain.
    clusters.0.ok(&format!("authenticate {BOTH}"));
    clusters.0.ok("drain tenant rome --kubeconfig milan");
    clusters.0.ok("uncordon tenant rome --kubeconfig milan");
    let label = "get tenant rome -n liqo-tenant-rome -o jsonpath={.spec.authzPolicy}";
    assert_eq!(clusters.kubectl("milan", label), "KeysExchange");
    clusters.ends();
    let run = clusters.applies("rome", "liqo-tenant-rome");
    assert_eq!(run.code, 0, "{run:?}");
    let label = r"get tenant rome -n liqo-tenant-rome -o jsonpath={.metadata.labels.liqo\.io/remote-cluster-id}";
    assert_eq!(clusters.kubectl("milan", label), "rome");

    running.stop();
    clusters.kubectl("milan", "delete -f webhook.json");
    clusters.kubectl("milan", "delete namespace elsewhere");
    clusters.kubectl("milan", "delete tenant rome -n liqo-tenant-rome");
}

impl Clusters {
    /// Applies a Tenant without labels.
    fn applies(&self, cluster_id: &str, namespace: &str) -> crate::tool::Run {
        let tenant = json!({
            "apiVersion": "authentication.liqo.io/v1beta1",
            "kind": "Tenant",
            "metadata": {"name": cluster_id, "namespace": namespace},
            "spec": {"clusterID": cluster_id},
        });
        self.0.write("tenant.json", &tenant.to_string());
        self.try_kubectl("milan", "apply -f tenant.json")
    }
}

fn configurations(ca: &str, url: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let ca = STANDARD.encode(ca);
    let webhook = |path: &str, resource: &str| {
        json!({
            "name": format!("{resource}.liqo-auth.liqo.io"),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("{url}/{path}/{resource}"), "caBundle": ca},
            "rules": [{
                "apiGroups": ["authentication.liqo.io"], "apiVersions": ["v1beta1"],
                "operations": ["CREATE", "UPDATE"], "resources": [resource],
            }],
            "sideEffects": "None",
            "failurePolicy": "Fail",
        })
    };
    let configuration = |kind: &str, webhooks: Vec<Value>| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "liqo-auth"},
            "webhooks": webhooks,
        })
    };
    let items = [
        configuration(
            "MutatingWebhookConfiguration",
            vec![webhook("mutate", "tenants")],
        ),
        configuration(
            "ValidatingWebhookConfiguration",
            vec![
                webhook("validate", "tenants"),
                webhook("validate", "resourceslices"),
            ],
        ),
    ];
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}
