//! Transcripts, the audit log and peering users.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::tool::Folder;

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
        folder.ok(&format!(
            "init --home {home} --now 2026-11-20T12:00:00Z --write-at-this-time"
        ));
    }
    assert_eq!(folder.ok(VERIFY), "entries  0\n");
    folder.ok(&format!(
        "{AUTHENTICATE} --now 2026-11-20T13:00:00Z --write-at-this-time"
    ));
    let shown = folder.ok("audit show --home cl-provider");
    for decision in [
        "Invited",
        "NonceMade",
        "HandshakeVerified",
        "CertificateIssued",
    ] {
        assert!(shown.contains(decision), "{decision}: {shown}");
    }
    for file in [LOG, HEAD] {
        let metadata = fs::metadata(folder.path(file)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    let verified = folder.ok(VERIFY);
    assert!(
        verified.contains("first    2026-11-20T13:00:00Z\n"),
        "{verified}"
    );
    let head = verified.lines().last().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(folder.ok(&format!("{VERIFY} --head {head}")), verified);
    // Once more, and nothing is decided.
    folder.ok(&format!(
        "{AUTHENTICATE} --now 2026-11-20T14:00:00Z --write-at-this-time"
    ));
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
    // A cut at the end of a line is noticed, too.
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains(&format!(
            "audit.log: its end is missing, since it does not have the entry {head}, which audit.head names"
        )),
        "{err}"
    );
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
        err.contains("its end is missing") && err.contains("Line 1 is incomplete."),
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
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("line 3: the line is incomplete, as a crash leaves it"),
        "{err}"
    );
    folder.ok(AUTHENTICATE);
    assert!(folder.read(path).starts_with(&text));
    folder.ok(VERIFY);
    // A torn first line as well.
    folder.write(path, "{\"seq");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-two");
    folder.ok(VERIFY);
}

const LOG: &str = "cl-provider/audit.log";
const HEAD: &str = "cl-provider/audit.head";

/// A decision about another peer at each call.
fn decide(folder: &Folder, peer: &str) -> String {
    folder.ok(&format!(
        "create nonce --home cl-provider --remote-cluster-id {peer}"
    ))
}

/// The homes, and their logs and heads before and after one decision, and after two.
fn with_decisions() -> (Folder, [String; 3], [String; 3]) {
    let folder = Folder::with_homes();
    folder.ok(VERIFY);
    let (mut logs, mut heads) = ([const { String::new() }; 3], [const { String::new() }; 3]);
    heads[0] = folder.read(HEAD);
    for (number, peer) in [(1, "cl-one"), (2, "cl-two")] {
        decide(&folder, peer);
        (logs[number], heads[number]) = (folder.read(LOG), folder.read(HEAD));
    }
    (folder, logs, heads)
}

#[test]
fn a_cut_of_the_log_is_noticed_and_noted() {
    let (folder, logs, heads) = with_decisions();
    let last = heads[2].lines().next().unwrap();
    let named = format!("audit.head named the entry {last}, which was missing");
    for (log, head, says, noted) in [
        (
            &logs[1],
            Some(&heads[2]),
            "its end is missing",
            named.as_str(),
        ),
        (&logs[0], Some(&heads[2]), "its end is missing", &named),
        (
            &logs[1],
            None,
            "its end may be missing",
            "audit.head was missing",
        ),
        (
            &logs[0],
            None,
            "its end may be missing",
            "audit.head was missing",
        ),
        // A power failure may empty the file.
        (
            &logs[1],
            Some(&String::new()),
            "its end may be missing",
            "audit.head was missing",
        ),
    ] {
        folder.write(LOG, log);
        match head {
            Some(head) => folder.write(HEAD, head),
            None => fs::remove_file(folder.path(HEAD)).unwrap(),
        }
        let err = folder.refused(VERIFY, "", 5);
        assert!(err.contains(says), "{err}");
        let run = folder.run("doctor --home cl-provider");
        assert_eq!(run.code, 4, "{run:?}");
        assert!(run.out.contains(says), "{run:?}");
        // The next decision is made. Its log says what was found, from then on.
        folder.ok("create nonce --home cl-provider --remote-cluster-id cl-one --replace");
        assert!(folder.read(LOG).starts_with(log.as_str()));
        let run = folder.run(VERIFY);
        assert_eq!(run.code, 0, "{run:?}");
        let entry = log.lines().count() + 1;
        assert!(
            run.err.starts_with(&format!("Warning: entry {entry} of ")) && run.err.contains(noted),
            "{run:?}"
        );
        let run = folder.run("doctor --home cl-provider");
        assert!(run.code == 4 && run.out.contains(noted), "{run:?}");
    }
}

/// The log is written before its head.
#[test]
fn after_a_crash_before_the_head_nothing_is_missing() {
    let (folder, logs, heads) = with_decisions();
    let nothing_missing = || {
        let run = folder.run(VERIFY);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    };
    for head in &heads[..2] {
        folder.write(LOG, &logs[2]);
        folder.write(HEAD, head);
        nothing_missing();
        folder.ok("create nonce --home cl-provider --remote-cluster-id cl-two --replace");
        nothing_missing();
    }
    // Also if the head's entry is further back than the end that a decision reads.
    let mut number = 0;
    while folder.read(LOG).len() < 40_000 {
        decide(&folder, &format!("cl-more-{number}"));
        number += 1;
    }
    folder.write(HEAD, &heads[1]);
    decide(&folder, "cl-last");
    nothing_missing();
}

#[test]
fn a_head_that_the_home_has_not_sealed_counts_for_nothing() {
    let (folder, logs, heads) = with_decisions();
    let (first, last) = (heads[1].lines().next(), heads[2].lines().last());
    // The hash of an entry is no secret. Its seal is that of another head.
    let forged = format!("{}\n{}\n", first.unwrap(), last.unwrap());
    let others = folder.read("cl-consumer/audit.head");
    let says = "audit.head: this home's record key has not sealed it";
    let refused = || {
        for command in [
            VERIFY,
            "create nonce --home cl-provider --remote-cluster-id cl-x",
        ] {
            let err = folder.refused(command, "", 5);
            assert!(err.contains(says), "{command}: {err}");
        }
        assert_eq!(folder.read(LOG), logs[2]);
    };
    for head in ["\n", "words\n", &forged, &others, heads[2].trim_end()] {
        folder.write(HEAD, head);
        refused();
    }
    folder.write(HEAD, &heads[2]);
    folder.ok(VERIFY);
    // Another record key: the home cannot know its own log any more.
    let key = "private/liqo/secret.liqo-auth-record-key.yaml";
    let (own, other) = (format!("cl-provider/{key}"), format!("cl-consumer/{key}"));
    folder.write(&own, &folder.read(&other));
    refused();
    fs::remove_file(folder.path(HEAD)).unwrap();
    decide(&folder, "cl-x");
    let err = folder.refused(VERIFY, "", 5);
    assert!(
        err.contains("line 1: the entry's MAC is not by this record key"),
        "{err}"
    );
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

/// A torn last line hides no cut, and its words are never the tool's own.
#[test]
fn an_incomplete_line_hides_no_missing_entry() {
    let (folder, logs, heads) = with_decisions();
    let last = heads[2].lines().next().unwrap();
    let named = format!("audit.head named the entry {last}, which was missing");
    for torn in ["{", "audit.head \u{1b}[31mwas missing, all is whole"] {
        folder.write(LOG, &format!("{}{torn}", logs[1]));
        folder.write(HEAD, &heads[2]);
        let err = folder.refused(VERIFY, "", 5);
        assert!(err.contains("its end is missing"), "{err}");
        folder.ok("create nonce --home cl-provider --remote-cluster-id cl-one --replace");
        let run = folder.run(VERIFY);
        let removed = format!("an incomplete line of {} bytes was removed", torn.len());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.err.contains(&removed) && run.err.contains(&named),
            "{run:?}"
        );
        assert!(!run.err.contains("all is whole"), "{run:?}");
    }
}

/// A line that was changed does not hold up a decision. The next verification names it.
#[test]
fn a_decision_goes_on_after_a_changed_line_and_a_cut() {
    let (folder, logs, heads) = with_decisions();
    let changed = logs[1].replacen("Invited", "Invaded", 1);
    assert_ne!(changed, logs[1]);
    folder.write(LOG, &changed);
    folder.write(HEAD, &heads[2]);
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-one --replace");
    let err = folder.refused(VERIFY, "", 5);
    assert!(err.contains("line 1"), "{err}");
}
