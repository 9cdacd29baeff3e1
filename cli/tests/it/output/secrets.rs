//! `get nonce` and `get kubeconfig`: the text alone, a table without it, or the Secret.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::tool::Folder;

const NONCE: &str = "get nonce --home cl-provider --remote-cluster-id cl-consumer";
const NONCES: &str = "get nonces --home cl-provider";
const KUBECONFIG: &str = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
const KUBECONFIGS: &str = "get kubeconfigs --home cl-consumer";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The field of a Secret.
fn decoded(secret: &Value, field: &str) -> String {
    let text = secret["data"][field].as_str().unwrap();
    String::from_utf8(STANDARD.decode(text).unwrap()).unwrap()
}

#[test]
fn a_nonce_is_a_text_a_row_or_a_secret() {
    let folder = with_peering();
    let text = folder.ok(NONCE);
    let secret = json(&folder.ok(&format!("{NONCE} -o json")));
    assert_eq!(secret["kind"], "Secret");
    assert_eq!(decoded(&secret, "nonce"), text);
    let yaml = folder.ok(&format!("{NONCE} -o yaml"));
    assert!(yaml.contains("kind: Secret\n"), "{yaml}");
    let picked = folder.ok(&format!("{NONCE} -o jsonpath={{.metadata.namespace}}"));
    assert_eq!(picked, "liqo-tenant-cl-consumer");
    let name = "secret/liqo-nonce\n";
    assert_eq!(folder.ok(&format!("{NONCE} -o name")), name);

    let list = json(&folder.ok(&format!("{NONCES} -o json")));
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(folder.ok(&format!("{NONCES} -o name")), name.repeat(2));
    let one = format!("{NONCES} -n liqo-tenant-cl-other -o name");
    assert_eq!(folder.ok(&one), name);
    // No table has the text.
    for options in ["", "-A", "-n liqo-tenant-cl-consumer", "-o wide"] {
        let table = folder.ok(&format!("{NONCES} {options}"));
        assert!(table.contains("liqo-tenant-cl-consumer"), "{table}");
        assert_eq!(table.contains("cl-other"), !options.starts_with("-n"));
        assert!(!table.contains(&text), "{table}");
    }
    let wide = folder.ok(&format!("{NONCE} -o wide"));
    let mut lines = wide.lines();
    let titles = lines.next().unwrap();
    assert!(titles.ends_with("REMOTE CLUSTER   VALID UNTIL"), "{wide}");
    assert!(lines.next().unwrap().contains(" cl-consumer "), "{wide}");
    assert_eq!(lines.next(), None);
}

#[test]
fn a_kubeconfig_is_a_text_a_row_or_a_secret() {
    let folder = with_peering();
    let text = folder.ok(KUBECONFIG);
    assert!(text.contains("client-key-data"));
    let secret = json(&folder.ok(&format!("{KUBECONFIG} -o json")));
    assert_eq!(decoded(&secret, "kubeconfig"), text);
    let name = "secret/kubeconfig-controlplane-cl-provider\n";
    assert_eq!(folder.ok(&format!("{KUBECONFIG} -o name")), name);
    let of_slice = format!("{KUBECONFIG} --resourceslice mypool -o name");
    let of_slice = folder.ok(&of_slice);
    assert_eq!(of_slice, "secret/kubeconfig-resourceslice-mypool\n");
    let named = "get kubeconfig resourceslice-mypool --home cl-consumer -o name";
    assert_eq!(folder.ok(named), of_slice);

    let list = json(&folder.ok(&format!("{KUBECONFIGS} -o json")));
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(
        folder.ok(&format!("{KUBECONFIGS} -o name")),
        format!("{name}{of_slice}")
    );
    for options in ["-A", "-n liqo-tenant-cl-provider", "-o wide"] {
        let table = folder.ok(&format!("{KUBECONFIGS} {options}"));
        assert_eq!(table.lines().count(), 3, "{table}");
        assert!(table.contains("controlplane-cl-provider"), "{table}");
        assert_eq!(table.starts_with("NAMESPACE "), options == "-A", "{table}");
        let is_wide = options == "-o wide";
        assert_eq!(table.contains("https://172.19.0.3:6443"), is_wide);
        assert!(!table.contains("data"), "{table}");
    }
    let none = folder.run("get kubeconfigs -A --home cl-provider");
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    assert_eq!(none.err, "No kubeconfig found.\n");
}

#[test]
fn another_namespace_has_none() {
    let folder = with_peering();
    for (command, part) in [
        (NONCE, "It is in liqo-tenant-cl-consumer: leave -n out"),
        (KUBECONFIG, "in the namespace default. Leave -n out"),
    ] {
        let error = folder.refused(&format!("{command} -n default"), "", 4);
        assert!(error.contains(part), "{error}");
        folder.refused(&format!("{command} -n default -A"), "", 2);
    }
    let none = "there is no nonce for cl-nobody in cl-provider";
    let nobody = "get nonce --home cl-provider --remote-cluster-id cl-nobody -n default";
    assert!(folder.refused(nobody, "", 4).contains(none));
    let run = folder.run(&format!("{NONCES} -n default"));
    assert_eq!((run.code, run.err.as_str()), (0, "No nonce found.\n"));
}

#[test]
fn a_secret_that_cannot_be_read_is_missing_and_not_absent() {
    let folder = with_peering();
    let secret = "private/liqo-tenant-cl-provider/secret.kubeconfig-resourceslice-mypool.yaml";
    folder.write(&format!("cl-consumer/{secret}"), "kind: [");
    for options in ["-A", "-o json"] {
        let run = folder.run(&format!("{KUBECONFIGS} {options}"));
        assert_eq!(run.code, 5, "{run:?}");
        assert!(run.out.contains("controlplane-cl-provider"), "{run:?}");
        assert!(run.err.contains(secret), "{run:?}");
    }
    folder.ok(KUBECONFIG);
    let nonce = "private/liqo-tenant-cl-other/secret.liqo-nonce.yaml";
    folder.write(&format!("cl-provider/{nonce}"), "kind: [");
    let run = folder.run(NONCES);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.out.contains("liqo-tenant-cl-consumer"), "{run:?}");
    assert!(run.err.contains(nonce), "{run:?}");
    folder.ok(&format!("{NONCE} -o json"));
}
