//! What is due or refused, and was not carried, is no success: the cause is named, and the command.

use std::fs;

use serde_json::Value;

use crate::tool::{Folder, Run};

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const LATE: &str = "--now +400d --write-at-this-time";
const TENANT: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
const RECORD: &str = "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml";
const ROLE: &str = "cl-provider/manifests/_cluster/clusterrole.liqo-remote-controlplane.yaml";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder
}

fn moved(folder: &Folder) {
    folder.ok("set api-server https://172.19.0.9:6443 --home cl-provider");
}

fn says(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!(run.code, code, "{run:?}");
    let (_, error) = run.err.split_once("Error: ").unwrap();
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

fn json_of(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn an_expired_certificate_that_is_not_renewed_is_named_with_its_cause() {
    let renew = format!("renew --home cl-provider {LATE}");

    let folder = with_peering();
    fs::remove_file(folder.path(RECORD)).unwrap();
    let run = folder.run(&renew);
    says(
        &run,
        3,
        &["cl-consumer: ", "nonce", "create nonce", "--replace"],
    );

    let folder = with_peering();
    // A slice may have the name of its Tenant.
    folder.ok(&format!("create rs cl-consumer {BOTH}"));
    folder.write(TENANT, "kind: [");
    let restore = format!("Restore {TENANT} from a backup. Then the command is");
    let again = "liqo-auth renew --home cl-provider";
    let left = "not renewed: certificate of cl-consumer, certificate of cl-consumer for slice cl-consumer. cl-consumer: ";
    says(&folder.run(&renew), 5, &[left, &restore, again]);
    let told = json_of(&folder.run(&format!("{renew} -o json")));
    assert_eq!(told["certificates"][0]["renewal"], "refused", "{told}");
    assert_eq!(told["certificates"][1]["renewal"], "due", "{told}");

    let folder = with_peering();
    folder.ok("release --yes --home cl-provider --remote-cluster-id cl-consumer");
    let left = "not renewed: certificate of cl-consumer. cl-consumer: ";
    says(&folder.run(&renew), 3, &[left, "create nonce", "--replace"]);
    let told = json_of(&folder.run(&format!("{renew} -o json")));
    assert_eq!(told["outcome"], "refused", "{told}");
    assert_eq!(told["certificates"][0]["renewal"], "refused", "{told}");
}

/// A newer proof waits for this side's administrator, and the certificate ends meanwhile.
#[test]
fn an_expired_certificate_that_waits_for_an_approval_names_the_command() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443 --require-approval");
    let renew = format!("renew --home cl-provider {LATE}");
    let approve = "approve tenant cl-consumer --home cl-provider";
    assert_eq!(folder.run(AUTHENTICATE).code, 4);
    // A new peer waits for a decision, and has nothing to renew.
    folder.ok("renew --home cl-provider");
    folder.ok(approve);
    folder.ok(AUTHENTICATE);
    let of_consumer = "--home cl-provider --remote-cluster-id cl-consumer";
    folder.ok(&format!("create nonce {of_consumer} --replace"));
    let nonce = folder.ok(&format!("get nonce {of_consumer}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let tenant = folder.ok_with(generate, &nonce);
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    let run = folder.run(&renew);
    let parts = [
        "not renewed: certificate of cl-consumer. cl-consumer waits for its approval",
        "approve tenant cl-consumer",
    ];
    says(&run, 4, &parts);
    assert!(run.out.contains(", due now\n"), "{run:?}");
    let told = json_of(&folder.run(&format!("{renew} -o json")));
    assert_eq!(told["certificates"][0]["renewal"], "due", "{told}");
    let doctor = folder.run("doctor --home cl-provider --now +400d -o json");
    let remedy = json_of(&doctor)["findings"][0]["remedy"].to_string();
    assert!(
        remedy.contains("waits for an approval: `liqo-auth approve tenant"),
        "{remedy}"
    );
}

#[test]
fn a_refused_answer_that_is_not_due_yet_is_no_success() {
    let folder = with_peering();
    folder.ok(&format!("replicate {BOTH}"));
    moved(&folder);
    let run = folder.run(&format!("renew {BOTH} -o json"));
    says(&run, 3, &["cl-provider: Renew ", "release"]);
    assert_eq!(json_of(&run)["outcome"], "refused");
    let run = folder.run("renew --home cl-consumer -o json");
    says(&run, 3, &["cl-provider: Renew "]);
    assert_eq!(json_of(&run)["certificates"][0]["renewal"], "refused");
    let run = folder.run("renew --home cl-consumer");
    assert!(run.out.contains(", refused: Renew "), "{run:?}");
    let run = folder.run(&format!("replicate {BOTH} -o json"));
    says(&run, 3, &["cl-provider: Renew "]);
    assert_eq!(json_of(&run)["directions"][0]["inSync"], false);
}

/// The first answer to a slice, without a certificate of before.
#[test]
fn the_refused_answer_to_a_new_slice_is_no_success() {
    let folder = Folder::with_homes();
    folder.tenant();
    // No Renew has an answer of its own.
    folder.ok("set renewal by-hand --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok(AUTHENTICATE);
    moved(&folder);
    folder.ok("create rs pool --home cl-consumer --remote-cluster-id cl-provider");
    let run = folder.run(&format!("replicate {BOTH} -o json"));
    says(&run, 3, &["cl-provider: ResourceSlice "]);
    assert_eq!(json_of(&run)["directions"][0]["inSync"], false);
    says(
        &folder.run("renew --home cl-consumer"),
        3,
        &["cl-provider: ResourceSlice "],
    );
}

/// Nothing of it was granted, so that nothing is due.
#[test]
fn the_refused_request_of_a_new_slice_fails_no_renewal() {
    let folder = with_peering();
    folder.ok("create rs pool --home cl-consumer --remote-cluster-id cl-provider");
    let generate = "generate rs pool --home cl-consumer --remote-cluster-id cl-provider";
    let slice = folder.ok(generate);
    let line = slice
        .lines()
        .find(|line| line.trim_start().starts_with("csr: "))
        .unwrap();
    let (indent, _) = line.split_once("csr: ").unwrap();
    let broken = slice.replace(line, &format!("{indent}csr: bm9uZQ=="));
    let uid = "  name: pool\n  uid: 1b4e28ba-2fa1-11d2-883f-0016d3cca427\n";
    let broken = broken.replace("  name: pool\n", uid);
    folder.write(
        "cl-provider/manifests/liqo-tenant-cl-consumer/resourceslice.pool.yaml",
        &broken,
    );
    let run = folder.run("renew --home cl-provider");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("Warning: cl-consumer: ResourceSlice "),
        "{run:?}"
    );
}

/// The answer is gone after the first run, and its fault is not.
#[test]
fn a_changed_address_is_named_at_each_run_with_a_way_out_that_works() {
    const LATER: &str = "--now +300d --write-at-this-time";
    let folder = with_peering();
    let first = folder.run(
        "get tenant cl-consumer --home cl-provider -o jsonpath={.status.authParams.apiServer}",
    );
    let pinned = format!("This side has pinned the URL {}.", first.out);
    moved(&folder);
    let release = "release --home cl-consumer --remote-cluster-id cl-provider";
    let parts = [
        "not renewed: certificate from cl-provider. cl-provider: ",
        "(endpoint-changed, rule 9)",
        &pinned,
        release,
    ];
    for renew in [BOTH, BOTH, "--home cl-consumer"] {
        let run = folder.run(&format!("renew {renew} {LATER}"));
        says(&run, 3, &parts);
        assert!(!run.err.contains("has to sign"), "{run:?}");
    }
    let status = folder.run("status --home cl-consumer --now +300d -o json");
    let certificate = &json_of(&status)["peerings"][0]["certificate"];
    let refused = &certificate["refused"];
    assert_eq!(
        refused["error"]["code"], "endpoint-changed",
        "{certificate}"
    );
    assert_eq!(refused["command"], format!("liqo-auth {release}"));
    let status = folder.run("status --home cl-consumer --now +300d");
    let waits = "this side: release cl-provider, whose address or CA has changed";
    assert!(status.out.contains(waits), "{status:?}");
    let doctor = folder.run("doctor --home cl-consumer --now +300d -o json");
    let findings = json_of(&doctor)["findings"].to_string();
    assert!(
        findings.contains(&pinned) && findings.contains(release),
        "{findings}"
    );

    folder.ok(&format!("{release} --yes {LATER}"));
    folder.ok(&format!("authenticate {BOTH} {LATER}"));
    assert_eq!(
        folder
            .run("status --home cl-consumer --now +300d --exit-code")
            .code,
        0
    );
}

/// A provider that goes back to what is pinned costs no pin.
#[test]
fn a_provider_with_the_pinned_address_again_is_taken_without_a_release() {
    const LATER: &str = "--now +300d --write-at-this-time";
    let folder = with_peering();
    let first = folder.run(
        "get tenant cl-consumer --home cl-provider -o jsonpath={.status.authParams.apiServer}",
    );
    moved(&folder);
    let run = folder.run(&format!("renew {BOTH} {LATER}"));
    let again = "If what is pinned is right again, nothing has to be released.";
    says(&run, 3, &[again]);
    folder.ok(&format!("set api-server {} --home cl-provider", first.out));
    let run = folder.run(&format!("renew --home cl-consumer {LATER}"));
    let (_, told) = run.err.split_once(again).unwrap();
    let commands: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
    assert_eq!(
        commands[..2],
        [
            "liqo-auth generate identity --remote-cluster-id cl-consumer",
            "liqo-auth apply -f FILE --home cl-consumer",
        ]
    );
    let identity = folder.ok(&format!(
        "generate identity --remote-cluster-id cl-consumer --home cl-provider {LATER}"
    ));
    folder.write("identity.yaml", &identity);
    folder.ok(&format!(
        "apply -f identity.yaml --home cl-consumer {LATER}"
    ));
    let status = "status --home cl-consumer --now +300d --exit-code";
    assert_eq!(folder.run(status).code, 0);
}

/// What this side refuses is not asked of the peer.
#[test]
fn a_refusal_of_this_side_stands_without_advice_for_the_peer() {
    let folder = with_peering();
    folder.ok(&format!("replicate {BOTH}"));
    moved(&folder);
    folder.run(&format!("renew {BOTH}"));
    let renew = "renew --home cl-consumer --now +300d --write-at-this-time";
    let run = folder.run(renew);
    says(
        &run,
        3,
        &["not renewed: certificate from cl-provider. cl-provider: Renew "],
    );
    assert!(run.out.contains(", refused: Renew "), "{run:?}");
    for text in [&run.out, &run.err] {
        assert!(
            !text.contains("awaited") && !text.contains("has to sign"),
            "{run:?}"
        );
    }
    let told = json_of(&folder.run(&format!("{renew} -o json")));
    assert_eq!(told["certificates"][0]["renewal"], "refused", "{told}");
}

#[test]
fn a_missing_cluster_role_is_made_on_both_sides() {
    let folder = with_peering();
    for both in [BOTH, "--home cl-provider --remote-home cl-consumer"] {
        fs::remove_file(folder.path(ROLE)).unwrap();
        folder.ok(&format!("renew {both}"));
        assert!(folder.path(ROLE).exists(), "{both}");
    }
}

#[test]
fn clusters_without_a_peering_are_told_how_to_make_one() {
    for command in ["replicate", "renew"] {
        let folder = Folder::with_homes();
        let err = folder.refused(&format!("{command} {BOTH}"), "", 4);
        let (_, command) = err.split_once("the command is liqo-auth ").unwrap();
        folder.ok(command.trim_end());
        folder.ok(&format!("replicate {BOTH}"));
    }
}

/// Without an Identity there is no certificate, and so nothing that would be due.
#[test]
fn a_lost_identity_is_no_success() {
    let folder = with_peering();
    let identity =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";
    fs::remove_file(folder.path(identity)).unwrap();
    let lost = "the Identity from cl-provider is lost: its kubeconfig is there";
    let print = "liqo-auth generate identity --remote-cluster-id cl-consumer";
    for renew in [
        "renew --home cl-consumer".to_owned(),
        format!("renew {BOTH}"),
    ] {
        says(&folder.run(&renew), 4, &[lost, print]);
    }
}

#[test]
fn an_identity_of_a_slice_that_cannot_be_read_is_no_success() {
    let folder = with_peering();
    folder.ok(&format!("create resourceslice mypool {BOTH}"));
    folder.ok("renew --home cl-consumer");
    let identity =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.resourceslice-mypool.yaml";
    folder.write(identity, "{");
    for command in [
        "renew --home cl-consumer",
        "renew --home cl-consumer -o json",
    ] {
        assert_eq!(folder.run(command).code, 5, "{command}");
    }
    assert_eq!(folder.run(&format!("replicate {BOTH}")).code, 5);
}

/// A restored provider, or one that has ended the peering alone.
#[test]
fn a_provider_that_does_not_know_the_consumer_is_authenticated_with_again() {
    let folder = with_peering();
    folder.ok("unauthenticate --yes --home cl-provider --remote-cluster-id cl-consumer");
    let again = "cl-provider grants cl-consumer no rights: nothing was carried. The command that authenticates again is liqo-auth ";
    says(
        &folder.run(&format!("replicate {BOTH}")),
        4,
        &[again, AUTHENTICATE],
    );
    folder.ok(AUTHENTICATE);
    folder.ok(&format!("replicate {BOTH}"));
}

/// What waits for the provider is due, and what is printed brings it there.
#[test]
fn a_slice_that_is_not_carried_is_no_success_of_a_renewal() {
    let forth = format!("renew {BOTH}");
    let back = "renew --home cl-provider --remote-home cl-consumer";
    let folder = with_peering();
    folder.ok("unauthenticate --yes --home cl-provider --remote-cluster-id cl-consumer");
    // Nothing is due.
    let run = folder.run(&forth);
    let warned = run.err.contains("Warning: cl-provider grants");
    assert_eq!((run.code, warned), (0, true), "{run:?}");
    let create = format!("create resourceslice mypool {BOTH}");
    let again = "cl-provider grants cl-consumer no rights: nothing was carried. The command that authenticates again is liqo-auth ";
    let undecided = format!("cl-provider has not decided on the slice mypool: {again}");
    says(&folder.run(&create), 4, &[&undecided, AUTHENTICATE]);
    for renew in [forth.as_str(), back] {
        let run = folder.run(renew);
        says(&run, 4, &[again, AUTHENTICATE]);
        assert_eq!(run.err.matches(again).count(), 1, "{run:?}");
    }
    let run = folder.run(&format!("{forth} -o json"));
    assert_eq!(run.code, 4, "{run:?}");
    assert_eq!(json_of(&run)["outcome"], "waiting");
    folder.ok(AUTHENTICATE);
    folder.ok(&forth);
    let said = folder.ok(&create);
    assert!(said.contains("resources: Accepted"), "{said}");
}

#[test]
fn a_new_slice_of_a_drained_consumer_names_what_lifts_the_drain() {
    let folder = with_peering();
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let create = format!("create resourceslice mypool {BOTH}");
    let lift = "The command is liqo-auth uncordon tenant cl-consumer --home cl-provider.";
    says(&folder.run(&create), 4, &["has not decided", lift]);
    let run = folder.run(&format!("renew {BOTH}"));
    says(&run, 4, &["nothing was carried"]);
    assert!(run.err.contains(lift), "{run:?}");
    folder.ok("uncordon tenant cl-consumer --home cl-provider");
    folder.ok(&create);
    // A slice that is decided stays so.
    folder.ok("drain tenant cl-consumer --home cl-provider");
    folder.ok(&create);
}

/// The provider cannot know whether somebody has carried the Identity.
#[test]
fn a_renewal_that_is_carried_by_a_person_is_a_note() {
    let folder = with_peering();
    let renewed = "--now +300d --write-at-this-time";
    folder.ok(&format!("renew {BOTH} {renewed}"));
    folder.ok("status --exit-code --home cl-provider --now +300d");
    let doctor = folder.run("doctor --home cl-provider --now +300d -o json");
    assert_eq!(doctor.code, 0, "{doctor:?}");
    let note = json_of(&doctor)["notes"][0].to_string();
    let print = "liqo-auth generate identity --home cl-provider --remote-cluster-id cl-consumer";
    assert!(note.contains(print), "{note}");
}

/// An answer by files is not in the home: what is pinned is named all the same.
#[test]
fn a_refused_answer_by_files_names_what_is_pinned() {
    let folder = with_peering();
    folder.ok(&format!("create resourceslice mypool {BOTH}"));
    moved(&folder);
    let slice = "resourceslice mypool";
    let asked = folder.ok(&format!(
        "generate {slice} --home cl-consumer --remote-cluster-id cl-provider"
    ));
    folder.ok_with("apply --home cl-provider -f -", &asked);
    let answer = folder.ok(&format!(
        "generate {slice} --home cl-provider --remote-cluster-id cl-consumer"
    ));
    let error = folder.refused("apply --home cl-consumer -f -", &answer, 3);
    for part in [
        "This side has pinned the URL https://172.19.0.3:6443",
        "liqo-auth release --home cl-consumer --remote-cluster-id cl-provider",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
