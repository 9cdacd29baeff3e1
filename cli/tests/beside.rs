//! Transcripts, the audit log and peering users.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test panics"
)]

mod tool;

use std::{fs, os::unix::fs::PermissionsExt};

use tool::Folder;

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const AT_CONSUMER: &str = "transcript --home cl-consumer --remote-cluster-id cl-provider";
const AT_PROVIDER: &str = "transcript --home cl-provider --remote-cluster-id cl-consumer";
const VERIFY: &str = "audit verify --home cl-provider";
const GENERATE: &str = "generate peering-user --home cl-provider --consumer-cluster-id cl-consumer";
const DELETE: &str = "delete peering-user --home cl-provider --consumer-cluster-id cl-consumer";

#[test]
fn both_homes_print_the_same_code() {
    let folder = Folder::with_homes();
    let err = folder.refused(AT_CONSUMER, "", 4);
    assert!(
        err.contains("there is nothing to compare with cl-provider yet"),
        "{err}"
    );
    folder.ok(AUTHENTICATE);
    let code = folder.ok(AT_CONSUMER);
    assert_eq!(folder.ok(AT_PROVIDER), code);
    let digits = code.strip_prefix("cl-consumer -> cl-provider  ").unwrap();
    assert_eq!(digits.trim_end().split('-').count(), 8);
    folder.ok(&format!("{AT_PROVIDER} --expect {}", digits.trim_end()));

    let json: serde_json::Value = serde_json::from_str(&folder.ok(&format!(
        "{AT_PROVIDER} -o json --expect {}",
        digits.trim_end()
    )))
    .unwrap();
    assert_eq!(
        json["transcripts"][0]["direction"],
        "cl-consumer -> cl-provider"
    );
    assert_eq!(json["transcripts"][0]["code"], digits.trim_end());

    let text = folder.ok(&format!("{AT_PROVIDER} --text"));
    assert!(
        text.starts_with("liqo-auth transcript v1\nprovider "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 10);
    let other = "00000-00000-00000-00000-00000-00000-00000-00000";
    let err = folder.refused(&format!("{AT_PROVIDER} --expect {other}"), "", 3);
    assert!(err.contains(&format!("the code is not {other}")), "{err}");
    assert_eq!(folder.run(&format!("{AT_PROVIDER} --expect 12")).code, 2);
}

#[test]
fn the_log_tells_what_was_decided_and_holds() {
    let folder = Folder::new();
    for home in ["cl-consumer", "cl-provider"] {
        folder.ok(&format!("init --home {home} --now 2026-11-20T12:00:00Z"));
    }
    assert_eq!(folder.ok(VERIFY), "entries  0\n");
    folder.ok(&format!("{AUTHENTICATE} --now 2026-11-20T13:00:00Z"));
    let shown = folder.ok("audit show --home cl-provider");
    for decision in [
        "Invited",
        "NonceMade",
        "HandshakeVerified",
        "CertificateIssued",
    ] {
        assert!(shown.contains(decision), "{decision}: {shown}");
    }
    let log = folder.path("cl-provider/audit.log");
    assert_eq!(
        fs::metadata(&log).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let verified = folder.ok(VERIFY);
    assert!(
        verified.contains("first    2026-11-20T13:00:00Z\n"),
        "{verified}"
    );
    let head = verified.lines().last().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(folder.ok(&format!("{VERIFY} --head {head}")), verified);
    // Once more, and nothing is decided.
    folder.ok(&format!("{AUTHENTICATE} --now 2026-11-20T14:00:00Z"));
    assert_eq!(folder.ok(VERIFY), verified);

    let text = folder.read("cl-provider/audit.log");
    let nonce = folder.read("cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml");
    let nonce = nonce
        .lines()
        .find(|line| line.contains(" nonce: "))
        .unwrap();
    assert!(!text.contains(nonce.rsplit(' ').next().unwrap()));

    let path = "cl-provider/audit.log";
    let without_last = text.lines().rev().skip(1).collect::<Vec<_>>();
    let without_last: String = without_last
        .iter()
        .rev()
        .flat_map(|line| [line, "\n"])
        .collect();
    folder.write(path, &without_last);
    folder.ok(VERIFY);
    let err = folder.refused(&format!("{VERIFY} --head {head}"), "", 5);
    assert!(
        err.contains(&format!("the entry {head} is missing")),
        "{err}"
    );

    folder.write(path, &text.replacen("Invited", "Invaded", 1));
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("audit.log, line 1: the entry's hash does not match its content"),
        "{err}"
    );
    folder.write(path, text.lines().next().unwrap());
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("line 1: the entry does not have the form"),
        "{err}"
    );
    folder.write(path, &"x".repeat(100_000));
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("line 1: the entry is longer than 16384 bytes"),
        "{err}"
    );
}

#[test]
fn a_log_that_somebody_else_wrote_has_no_mac_of_ours() {
    let folder = Folder::with_homes();
    folder.ok("init --home cl-other --cluster-id cl-provider");
    folder.ok("create nonce --home cl-other --remote-cluster-id cl-consumer");
    let theirs = folder.read("cl-other/audit.log");
    folder.write("cl-provider/audit.log", &theirs);
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("line 1: the entry's MAC is not by this record key"),
        "{err}"
    );
}

#[test]
fn a_refusal_is_in_the_log_and_changes_nothing_else() {
    let folder = Folder::with_homes();
    let tenant = folder.tenant();
    let before = folder.ok("audit show --home cl-provider");
    assert!(!before.contains("Refused"));
    let tampered = tenant.replace("clusterID: cl-consumer", "clusterID: cl-enemy");
    folder.refused("apply --home cl-provider -f -", &tampered, 3);
    let after = folder.ok("audit show --home cl-provider");
    assert!(after.contains("Refused"), "{after}");
    assert!(after.contains("field=spec.clusterID"), "{after}");
    folder.ok(VERIFY);
}

#[test]
fn a_line_that_a_crash_tore_is_taken_away() {
    let folder = Folder::with_homes();
    let path = "cl-provider/audit.log";
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    let text = folder.read(path);
    folder.write(path, &format!("{text}{{\"sequence\":3,\"ti"));
    folder.refused(VERIFY, "", 5);
    folder.ok(AUTHENTICATE);
    assert!(folder.read(path).starts_with(&text));
    folder.ok(VERIFY);
    // A torn first line as well.
    folder.write(path, "{\"seq");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-two");
    folder.ok(VERIFY);
}

#[test]
fn what_cannot_be_logged_is_not_done() {
    let folder = Folder::with_homes();
    folder.write("cl-provider/audit.log", "no entry\n");
    let create = "create nonce --home cl-provider --remote-cluster-id cl-consumer";
    let err = folder.refused(create, "", 5);
    assert!(
        err.contains("audit.log, last line: the entry does not have the form"),
        "{err}"
    );
    // A link is not followed.
    fs::remove_file(folder.path("cl-provider/audit.log")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", folder.path("cl-provider/audit.log")).unwrap();
    let run = folder.run(create);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(!folder.path("elsewhere").exists());
}

#[test]
fn a_peering_user_is_made_once_and_deleted() {
    let folder = Folder::with_homes();
    let run = folder.run(GENERATE);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err
            .contains("Please take note of this kubeconfig as it is not stored.")
    );
    assert!(
        run.out.contains("- name: cl-consumer-user\n"),
        "{}",
        run.out
    );
    assert!(run.out.contains("    namespace: liqo-tenant-cl-consumer\n"));
    let key = run
        .out
        .lines()
        .find_map(|line| line.trim().strip_prefix("client-key-data: "))
        .unwrap();
    // Its key lies nowhere.
    for (path, (_, content)) in folder.snapshot() {
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(key), "{}", path.display());
    }
    let binding = folder.read(
        "cl-provider/manifests/liqo/rolebinding.liqo-peer-user-cl-consumer-liqo-ns-reader.yaml",
    );
    assert!(
        binding.contains("name: liqo-peering-user-liqo-ns\n"),
        "{binding}"
    );
    folder.read(
        "cl-provider/manifests/_cluster/certificatesigningrequest.liqo-peer-user-cl-consumer.yaml",
    );

    let err = folder.refused(GENERATE, "", 5);
    assert!(
        err.contains("this cluster already has a peering user"),
        "{err}"
    );
    let deleted = folder.ok(DELETE);
    assert_eq!(
        deleted,
        " INFO  Peering user for cluster with ID \"cl-consumer\" deleted successfully\n"
    );
    assert_eq!(folder.ok(DELETE), deleted);
    let left = folder.snapshot().into_keys();
    for path in left {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!name.contains("liqo-peer-user"), "{name}");
    }
    let shown = folder.ok("audit show --home cl-provider");
    assert!(
        shown.contains("PeeringUserMade") && shown.contains("PeeringUserDeleted"),
        "{shown}"
    );
    folder.ok(&format!("{GENERATE} --tls-compatibility-mode true"));
    // The peering goes its own way.
    folder.ok(AUTHENTICATE);
    folder.ok(VERIFY);
}
