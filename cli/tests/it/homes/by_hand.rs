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

#[test]
fn the_tool_prints_the_setting_that_has_a_kubeconfig_count() {
    let folder = Folder::with_homes();
    fs::create_dir_all(folder.path(SECRETS)).unwrap();
    folder.write(
        "cl-consumer/manifests/_cluster/namespace.liqo-tenant-cl-provider.yaml",
        NAMESPACE,
    );
    let indented = KUBECONFIG.trim_end().replace('\n', "\n    ");
    let secret = format!("{SECRET}{indented}\n");
    folder.write(&format!("{SECRETS}/secret.cplane-secret.yaml"), &secret);

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

    let settings = folder.read("cl-consumer/home.yaml");
    let named =
        format!("{settings}peers:\n  cl-provider:\n    {LINE}\n    publiclyTrusted: true\n");
    folder.write("cl-consumer/home.yaml", &named);
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
