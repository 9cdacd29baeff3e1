//! A kubeconfig that a person has made, in place of an Identity.

use std::fs;

use crate::tool::Folder;

const SECRETS: &str = "cl-consumer/private/liqo-tenant-cl-provider";
const NAMESPACE: &str = "\
apiVersion: v1
kind: Namespace
metadata:
  name: liqo-tenant-cl-provider
  labels: {liqo.io/remote-cluster-id: cl-provider, liqo.io/tenant-namespace: 'true'}
";
const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata:
  name: cplane-secret
  namespace: liqo-tenant-cl-provider
  labels:
    liqo.io/identity-type: ControlPlane
    liqo.io/remote-cluster-id: cl-provider
stringData:
  kubeconfig: |
    ";
const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
clusters:
- name: milan
  cluster: {server: \"https://172.19.0.3:6443\"}
users:
- name: rome
  user: {token: hunter2}
contexts:
- name: milan
  context: {cluster: milan, user: rome}
current-context: milan
";
/// With what `sha256sum` says.
const LINE: &str =
    "kubeconfigDigest: SHA256:862986283f6f45b44394ed8576c666fbdc57660b39427b0d31134f0d1bdb8b26";

/// Stores a kubeconfig as an administrator does it.
fn store(folder: &Folder, kubeconfig: &str) {
    fs::create_dir_all(folder.path(SECRETS)).unwrap();
    folder.write(
        "cl-consumer/manifests/_cluster/namespace.liqo-tenant-cl-provider.yaml",
        NAMESPACE,
    );
    let indented = kubeconfig.trim_end().replace('\n', "\n    ");
    let secret = format!("{SECRET}{indented}\n");
    folder.write(&format!("{SECRETS}/secret.cplane-secret.yaml"), &secret);
}

/// Names the kubeconfig in the settings, by the line that `doctor` prints.
fn name(folder: &Folder, line: &str) {
    let settings = folder.read("cl-consumer/home.yaml");
    let named =
        format!("{settings}peers:\n  cl-provider:\n    {line}\n    publiclyTrusted: true\n");
    folder.write("cl-consumer/home.yaml", &named);
}

#[test]
fn the_tool_prints_the_setting_that_has_a_kubeconfig_count() {
    let folder = Folder::with_homes();
    store(&folder, KUBECONFIG);

    let printed = folder.ok("status --home cl-consumer");
    assert!(printed.contains("if you made the kubeconfig"), "{printed}");
    let found = folder.run("doctor --home cl-consumer");
    let found = format!("{}{}", found.out, found.err).replace('\n', " ");
    assert!(
        found.contains("does not count") && found.contains(LINE),
        "{found}"
    );
    assert!(!found.contains("hunter2"));
    folder.refused(
        "create rs pool --home cl-consumer --remote-cluster-id cl-provider",
        "",
        4,
    );

    name(&folder, LINE);
    let printed = folder.ok("status --home cl-consumer");
    assert!(
        printed.contains("KubeconfigByHand") && !printed.contains("if you made"),
        "{printed}"
    );
    folder.ok("create rs pool --home cl-consumer --remote-cluster-id cl-provider");
    // Whoever has made it deletes it.
    let error = folder.refused(
        "unauthenticate --home cl-consumer --remote-cluster-id cl-provider --yes",
        "",
        4,
    );
    let error = error.replace('\n', " ");
    assert!(
        error.contains(
            "a person has made the kubeconfig in Secret liqo-tenant-cl-provider/cplane-secret"
        ),
        "{error}"
    );
}

/// Nobody renews it, and `status` shows when that is to be done by hand.
#[test]
fn the_end_of_a_certificate_in_a_kubeconfig_by_hand_is_shown() {
    let other = Folder::with_homes();
    other.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let kubeconfig = other.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");

    let folder = Folder::with_homes();
    store(&folder, &kubeconfig);
    let found = folder.run("doctor --home cl-consumer");
    let found = format!("{}{}", found.out, found.err).replace('\n', " ");
    let (_, digest) = found.split_once("kubeconfigDigest: ").unwrap();
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == ':';
    let digest: String = digest.chars().take_while(|one| is_part(*one)).collect();
    name(&folder, &format!("kubeconfigDigest: {digest}"));

    let shown = folder.ok("status --home cl-consumer -o json");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let peering = &shown["peerings"][0];
    assert_eq!(peering["phase"], "KubeconfigByHand", "{shown}");
    let others = other.ok("status --home cl-consumer -o json");
    let others: serde_json::Value = serde_json::from_str(&others).unwrap();
    let certificate = &others["peerings"][0]["certificate"];
    assert!(certificate["until"].is_string(), "{others}");
    for field in ["fingerprint", "until"] {
        assert_eq!(peering["certificate"][field], certificate[field], "{shown}");
    }
    let renewed = folder.ok("renew --home cl-consumer");
    assert!(
        renewed.contains("not renewed: an administrator has made the kubeconfig"),
        "{renewed}"
    );
}
