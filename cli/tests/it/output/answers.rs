//! The commonest mistakes: each has its answer, and changes nothing.

use std::fs;

use crate::tool::{Folder, inspected, with_files};
use serde_json::Value;

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const TENANT_FILE: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";

#[test]
fn files_on_the_wrong_cluster_are_told_where_they_belong() {
    let folder = with_files();
    let both = format!(
        "{}---\n{}",
        folder.read("tenant.yaml"),
        folder.read("identity.yaml")
    );
    folder.write("both.yaml", &both);
    for (home, file, answer) in [
        (
            "cl-consumer",
            "tenant.yaml",
            "this Tenant is this cluster's own. Send it to the provider",
        ),
        (
            "cl-consumer",
            "both.yaml",
            "this Tenant is this cluster's own. Send it to the provider",
        ),
        (
            "cl-provider",
            "identity.yaml",
            "this cluster generated this Identity for cl-consumer. Send it to cl-consumer",
        ),
        (
            "cl-provider",
            "both.yaml",
            "this cluster generated this Identity for cl-consumer. Send it to cl-consumer",
        ),
    ] {
        let error = folder.refused(&format!("apply --home {home} -f {file}"), "", 3);
        assert!(error.contains(answer), "{home} {file}: {error}");
        assert!(!error.contains("misuse"), "{error}");
    }
    folder.ok("init --home cl-third");
    let error = folder.refused("apply --home cl-third -f identity.yaml", "", 3);
    assert!(
        error.contains("is for cl-consumer, and this cluster is cl-third"),
        "{error}"
    );
}

#[test]
fn the_own_cluster_is_no_peer() {
    let folder = Folder::with_homes();
    for command in [
        "create nonce --remote-cluster-id cl-provider",
        "generate tenant --remote-cluster-id cl-provider --nonce AAAA",
        "cordon resourceslice x --remote-cluster-id cl-provider",
        "create resourceslice x --remote-cluster-id cl-provider",
    ] {
        let error = folder.refused(&format!("{command} --home cl-provider"), "", 2);
        assert!(
            error.contains("is the ID of this cluster") || error.contains("rule 8"),
            "{command}: {error}"
        );
    }
}

#[test]
fn what_is_no_manifest_is_named() {
    let folder = with_files();
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-consumer");
    let utf16: Vec<u8> = folder
        .read("tenant.yaml")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    fs::write(folder.path("utf16.yaml"), utf16).unwrap();
    folder.write("nonce.txt", &nonce);
    folder.write("tab.yaml", "kind: Tenant\nspec:\n\tcsr: x\n");
    let kubeconfig =
        folder.run("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    assert_eq!(kubeconfig.code, 4);
    folder.ok("apply --home cl-consumer -f identity.yaml");
    folder.write(
        "kubeconfig",
        &folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider"),
    );
    for (file, answer) in [
        ("utf16.yaml", "It is in UTF-16"),
        ("nonce.txt", "It is a nonce"),
        ("tab.yaml", "Line 3 is indented with a tab"),
        ("kubeconfig", "It is a kubeconfig"),
    ] {
        let error = folder.refused(&format!("apply --home cl-provider -f {file}"), "", 3);
        assert!(error.contains(answer), "{file}: {error}");
    }
    for (file, kind) in [("nonce.txt", "Nonce"), ("kubeconfig", "Kubeconfig")] {
        let (code, value) = inspected(&folder, file);
        let report = &value["objects"][0];
        assert_eq!(code, 0, "{value}");
        assert_eq!(report["object"], format!("{kind} {file}"));
    }
}

#[test]
fn quantities_are_checked_before_anything_is_made() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let create = "create rs mypool --home cl-consumer --remote-home cl-provider";
    for bad in [
        "--cpu lots",
        "--memory -1Gi",
        "--pods 1e99",
        "--resource gpu",
        "--resource nvidia.com/gpu=two",
        "--resource a=1,b",
        "--resource /gpu=1",
    ] {
        let arguments = format!("{create} {bad}");
        folder.refused(&arguments, "", 2);
    }
    let slice = folder.ok(&format!(
        "{create} --resource nvidia.com/gpu=2,a.b/c=1 --resource d=3 -o json"
    ));
    let slice: Value = serde_json::from_str(&slice).unwrap();
    assert_eq!(
        slice["spec"]["resources"],
        serde_json::json!({ "nvidia.com/gpu": "2", "a.b/c": "1", "d": "3" })
    );
}

#[test]
fn swapped_homes_end_nothing() {
    let folder = Folder::with_homes();
    let swapped = "unauthenticate --yes --home cl-provider --remote-home cl-consumer";
    let error = folder.refused(swapped, "", 4);
    assert!(error.contains("have no peering"), "{error}");
    folder.ok(AUTHENTICATE);
    let error = folder.refused(swapped, "", 2);
    assert!(
        error.contains("unauthenticate --home cl-consumer --remote-home cl-provider"),
        "{error}"
    );
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    // Once more, it is said to be ended already.
    let out = folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    assert!(out.contains("Tenant already deleted"), "{out}");
}

#[test]
fn an_unreadable_object_is_missing_and_not_absent() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("init --home cl-third");
    folder.ok("authenticate --home cl-third --remote-home cl-provider");
    folder.write(TENANT_FILE, "kind: [");
    for (arguments, shown) in [
        (
            "get tenants --home cl-provider",
            "NAME       AGE   CONDITION\ncl-third   ",
        ),
        ("get tenants cl-consumer --home cl-provider", ""),
        ("get tenants -o json --home cl-provider", "{"),
    ] {
        let run = folder.run(arguments);
        assert_eq!(run.code, 5, "{arguments}: {run:?}");
        assert!(run.out.starts_with(shown), "{arguments}: {run:?}");
        assert!(run.err.contains(TENANT_FILE), "{run:?}");
        assert!(!run.err.contains("No Tenant found"), "{run:?}");
    }
    // Other kinds are not concerned, nor are other peers.
    folder.ok("get renews --home cl-provider");
    let status = folder.run("status -o json --home cl-provider");
    let status: Value = serde_json::from_str(&status.out).unwrap();
    let phases: Vec<&str> = status["peerings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|peering| peering["phase"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["Refused", "Authenticated"]);
    let out = folder
        .run("renew --home cl-provider --now +300d --write-at-this-time")
        .out;
    assert!(out.contains("certificate of cl-third: renewed"), "{out}");
}

#[test]
fn one_record_that_cannot_be_read_does_not_hide_the_other_peers() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("init --home cl-third");
    folder.ok("authenticate --home cl-third --remote-home cl-provider");
    let record = "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml";
    let text = folder.read(record);
    folder.write(record, &text.replace("seal: ", "seal: AAAA"));
    let run = folder.run("status --home cl-provider -o json");
    assert_eq!(run.code, 5, "{run:?}");
    let status: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(status["peerings"][0]["phase"], "Unknown");
    assert_eq!(status["peerings"][1]["phase"], "Authenticated");
    let run = folder.run("renew --home cl-provider --now +300d --write-at-this-time");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.out.contains("certificate of cl-third: renewed"),
        "{run:?}"
    );
    assert!(
        run.err
            .contains("with cl-consumer are not renewed, the others are"),
        "{run:?}"
    );
}

#[test]
fn a_torn_log_is_repaired_with_a_note() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let log = folder.read("cl-provider/audit.log");
    folder.write("cl-provider/audit.log", &log[..log.len() - 40]);
    assert_eq!(folder.run("audit verify --home cl-provider").code, 5);
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let run = folder.run("audit verify --home cl-provider");
    assert_eq!(run.code, 0, "{run:?}");
    let torn = log.lines().last().unwrap().len() - 39;
    assert!(
        run.err
            .contains(&format!("an incomplete line of {torn} bytes was removed")),
        "{run:?}"
    );
    let entries: Value =
        serde_json::from_str(&folder.ok("audit show -o json --home cl-provider")).unwrap();
    let repair = entries
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["decision"] == "LogRepaired");
    let found = repair.unwrap()["details"]["found"].as_str().unwrap();
    assert!(log.contains(&found[..200]), "{found}");
}

#[test]
fn a_tenant_that_cannot_be_signed_yet_says_what_is_left_to_do() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    folder.ok("init --home other");
    let secret = folder.read("other/private/liqo/secret.liqo-auth-authority.yaml");
    let line = secret
        .lines()
        .find(|line| line.contains("tls.crt: "))
        .unwrap();
    let pem = line.rsplit(' ').next().unwrap();
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, pem).unwrap();
    fs::write(folder.path("ca.crt"), pem).unwrap();
    folder.ok("init --home cl-provider --api-server-ca ca.crt");
    folder.write("tenant.yaml", &folder.tenant());
    let authority = "cl-provider/private/liqo/secret.liqo-auth-authority.yaml";
    let text = folder.read(authority);
    folder.write(authority, &text.replace("tls.key: ", "tls.lost: "));
    let run = folder.run("apply --home cl-provider -f tenant.yaml");
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.err
            .contains("the Tenant of cl-consumer is stored, and has no certificate yet")
            && run.err.contains("renew --home cl-provider"),
        "{run:?}"
    );
    folder.write(authority, &text);
    folder.ok("renew --home cl-provider");
    folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
}

#[test]
fn a_slice_without_an_answer_has_no_kubeconfig_yet() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let get = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice";
    let error = folder.refused(&format!("{get} mypool"), "", 4);
    assert!(
        error.contains("there is no ResourceSlice mypool"),
        "{error}"
    );
    folder.ok("create rs mypool --home cl-consumer --remote-cluster-id cl-provider");
    let error = folder.refused(&format!("{get} mypool"), "", 4);
    assert!(
        error.contains("cl-provider has not answered the ResourceSlice mypool yet")
            && error.contains(
                "generate resourceslice mypool --home cl-consumer --remote-cluster-id cl-provider"
            ),
        "{error}"
    );
}

#[test]
fn the_api_server_that_peers_cannot_reach_is_told_and_changed() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://10.0.0.1:6443");
    let run = folder.run("init --home cl-provider");
    assert!(
        run.err.contains("set api-server URL --home cl-provider"),
        "{run:?}"
    );
    folder.write("tenant.yaml", &folder.tenant());
    folder.ok("apply --home cl-provider -f tenant.yaml");
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    let run = folder.run(generate);
    assert!(
        run.err
            .contains("only this machine reaches https://127.0.0.1:6443"),
        "{run:?}"
    );
    let run = folder.run("set api-server https://172.19.0.3:6443 --home cl-provider");
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "API server  https://172.19.0.3:6443\n")
    );
    assert!(run.err.contains("send them: cl-consumer"), "{run:?}");
    let run = folder.run(generate);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    folder.ok_with("apply --home cl-consumer -f -", &run.out);
    let kubeconfig = folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
    assert!(
        kubeconfig.contains("server: https://172.19.0.3:6443\n"),
        "{kubeconfig}"
    );
    folder.refused("set ca tenant.yaml --home cl-provider", "", 2);
    folder.ok("set ca --default --home cl-provider");
}

#[test]
fn a_file_that_cannot_be_taken_has_one_exit_code() {
    let folder = Folder::with_homes();
    fs::create_dir(folder.path("folder")).unwrap();
    fs::write(folder.path("large"), vec![b'#'; 70 << 20]).unwrap();
    for file in ["missing", "folder", "large"] {
        folder.refused(&format!("apply --home cl-provider -f {file}"), "", 2);
        folder.refused(&format!("inspect {file}"), "", 2);
    }
}

/// Help and the version are output as any other.
#[test]
fn what_cannot_be_printed_is_an_error() {
    let folder = Folder::with_homes();
    for arguments in [
        "-h",
        "--help",
        "--version",
        "version",
        "help",
        "status --help",
        "options",
        "status --home cl-provider",
    ] {
        let full = fs::File::create("/dev/full").unwrap();
        let run = folder.command(arguments).stdout(full).output().unwrap();
        let err = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(1), "{arguments}: {err}");
        let says = "Error: nothing can be written to standard output: No space left on device";
        assert!(err.starts_with(says), "{arguments}: {err}");
    }
    let run = folder.run("--version");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.starts_with("liqo-auth "), "{run:?}");
}
