//! A home signs approved requests, as a controller manager does.

use std::path::PathBuf;

use crate::tool::{Folder, Run};

const GENERATE: &str = "generate identity --home cl-provider --remote-cluster-id cl-consumer";

/// As after a crash between the approval and the signature.
#[test]
fn an_approved_request_on_the_disk_is_signed_by_the_next_command() {
    let folder = approved_and_not_signed();
    let [request] = requests(&folder).try_into().unwrap();
    let before = std::fs::read_to_string(&request).unwrap();
    assert!(before.contains("type: Approved"), "{before}");
    assert!(!before.contains("certificate:"), "{before}");
    let doctor = folder.run("doctor --home cl-provider");
    assert_eq!(doctor.code, 4, "{doctor:?}");
    for part in [
        "the request of cl-consumer waits for this cluster's signer",
        "The command is liqo-auth renew --home cl-provider\n",
    ] {
        assert!(doctor.out.contains(part), "{part}: {doctor:?}");
    }

    let identity = folder.ok(GENERATE);
    assert!(identity.contains("kind: Identity"), "{identity}");
    assert_eq!(requests(&folder), std::slice::from_ref(&request));
    let signed = std::fs::read_to_string(&request).unwrap();
    assert!(signed.contains("certificate:"), "{signed}");
    assert_eq!(folder.ok(GENERATE), identity);
}

#[test]
fn a_request_that_a_person_denied_is_refused_with_advice() {
    let folder = approved_and_not_signed();
    let [request] = requests(&folder).try_into().unwrap();
    let text = std::fs::read_to_string(&request).unwrap();
    let denied = text.replace("type: Approved", "type: Denied");
    std::fs::write(&request, denied).unwrap();
    is_refused(&folder.run(GENERATE));
    let status = folder.ok("status --home cl-provider");
    assert!(status.contains("NeedsCredential"), "{status}");
    // The command helps, as it is printed.
    let run = folder.run(GENERATE);
    let (_, again) = run
        .err
        .split_once("Then the command is liqo-auth ")
        .unwrap();
    let again = again.trim_end().trim_end_matches('.');
    let fork = folder.path("fork");
    let copied = std::process::Command::new("cp")
        .arg("-rp")
        .arg(folder.path("cl-provider"))
        .arg(&fork)
        .status();
    assert!(copied.unwrap().success());
    folder.ok(&again.replace("cl-provider", "fork"));
    folder.ok(&GENERATE.replace("cl-provider", "fork"));

    // Kubernetes deletes denied requests after an hour.
    std::fs::remove_file(&request).unwrap();
    is_refused(&folder.run(GENERATE));
    assert!(requests(&folder).is_empty());
}

#[test]
fn a_request_that_was_denied_is_signed_when_the_administrator_asks_again() {
    const AGAIN: &str = "sign-again tenant cl-consumer --home cl-provider";
    for cleaned in [false, true] {
        let folder = approved_and_not_signed();
        let [request] = requests(&folder).try_into().unwrap();
        let text = std::fs::read_to_string(&request).unwrap();
        let denied = text.replace("type: Approved", "type: Denied");
        std::fs::write(&request, denied).unwrap();
        if cleaned {
            is_refused(&folder.run(GENERATE));
            std::fs::remove_file(&request).unwrap();
        }
        assert_eq!(
            folder.ok(AGAIN),
            " INFO  The request of Tenant \"cl-consumer\" is signed again\n"
        );
        let identity = folder.ok(GENERATE);
        assert!(identity.contains("kind: Identity"), "{identity}");
        let error = folder.refused(AGAIN, "", 4);
        assert!(error.contains("no request"), "{error}");
    }
    let folder = Folder::with_homes();
    folder.refused(
        "sign-again resourceslice mypool --home cl-provider --remote-cluster-id cl-consumer",
        "",
        4,
    );
}

#[test]
fn a_request_that_cannot_be_signed_has_failed() {
    let folder = approved_and_not_signed();
    let manifest = "apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata:
  name: by-hand
spec:
  request: bm9uZQ==
  signerName: kubernetes.io/kube-apiserver-client
  usages: [client auth]
status:
  conditions:
  - type: Approved
    status: 'True'
";
    let path = "cl-provider/manifests/_cluster/certificatesigningrequest.by-hand.yaml";
    folder.write(path, manifest);
    folder.ok(GENERATE);
    let text = folder.read(path);
    assert!(text.contains("type: Failed"), "{text}");
    let before = folder.snapshot();
    folder.ok(GENERATE);
    assert!(before == folder.snapshot());
}

/// The authority's certificate has ended when the Tenant comes, and holds when
/// the clock is put right.
fn approved_and_not_signed() -> Folder {
    let folder = Folder::with_homes();
    let late = "--now 2040-01-01T00:00:00Z --write-at-this-time";
    let peer = "--remote-cluster-id cl-consumer";
    folder.ok(&format!("create nonce --home cl-provider {peer} {late}"));
    let nonce = folder.ok(&format!("get nonce --home cl-provider {peer} {late}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let tenant = folder.ok_with(&format!("{generate} {late}"), &nonce);
    let run = folder.run_with(&format!("apply --home cl-provider -f - {late}"), &tenant);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.err.contains("cannot sign"), "{run:?}");
    folder
}

fn is_refused(run: &Run) {
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("the request for a credential was denied"),
        "{run:?}"
    );
    assert!(run.err.contains("Ask the administrator"), "{run:?}");
}

fn requests(folder: &Folder) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_request = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("certificatesigningrequest.")
    };
    paths.filter(is_request).collect()
}
