//! `status` for monitors: what is refused, has expired, or waits is no success.

use crate::tool::{Folder, Run};

const ALL: &str = "refused,expired,waiting";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder
}

fn status(folder: &Folder, home: &str, options: &str) -> Run {
    folder.run(&format!("status --home {home} {options}"))
}

/// The last line on standard error.
fn last(run: &Run) -> &str {
    run.err.lines().last().unwrap_or_default()
}

/// Asserts the line and the code of a plugin.
fn assert_plugin(run: &Run, code: i32, line: &str) {
    let line = format!("LIQO-AUTH {line}\n");
    assert_eq!(
        (run.code, run.out.as_str()),
        (code, line.as_str()),
        "{run:?}"
    );
    assert_eq!(run.err, "", "{run:?}");
}

#[test]
fn what_is_well_is_no_failure() {
    let folder = with_peering();
    for home in ["cl-consumer", "cl-provider"] {
        // A certificate that is an hour old has 364 days left for as long as a test takes.
        let plain = status(&folder, home, "--now +1h");
        let run = status(&folder, home, &format!("--now +1h --fail-if {ALL}"));
        assert_eq!((run.code, &run.out), (0, &plain.out), "{run:?}");
        assert_eq!(run.err, plain.err);
        assert_plugin(&status(&folder, home, "-o nagios"), 0, "OK - 1 peering");
    }
    folder.ok("init --home cl-alone");
    let run = status(&folder, "cl-alone", "-o nagios");
    assert_plugin(&run, 0, "OK - 0 peerings");
}

#[test]
fn what_waits_is_a_warning() {
    let folder = with_peering();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let plain = status(&folder, "cl-provider", "-o json");
    let run = status(&folder, "cl-provider", "-o json --fail-if waiting");
    assert_eq!((run.code, &run.out), (4, &plain.out), "{run:?}");
    assert_eq!(run.err, "Error: 1 waiting: consumer cl-other\n");
    let run = status(&folder, "cl-provider", "-o json --exit-code");
    assert_eq!((run.code, &run.out), (4, &plain.out), "{run:?}");
    assert_eq!(run.err, "Error: 1 waiting: consumer cl-other\n");
    let run = status(&folder, "cl-provider", "--fail-if refused,expired");
    assert_eq!(run.code, 0, "{run:?}");
    let line = "WARNING - 1 waiting: consumer cl-other";
    assert_plugin(&status(&folder, "cl-provider", "-o nagios"), 1, line);
    // What --fail-if does not name is left out.
    let run = status(
        &folder,
        "cl-provider",
        "-o nagios --fail-if refused,expired",
    );
    assert_plugin(&run, 0, "OK - 2 peerings");
    let one = "-o nagios --remote-cluster-id cl-consumer";
    assert_plugin(&status(&folder, "cl-provider", one), 0, "OK - 1 peering");
}

/// Who has ended a peering waits for nobody, and a drained peer does not get a certificate.
#[test]
fn what_a_person_has_ended_is_well() {
    for (end, now) in [
        (
            "unauthenticate --yes --home cl-consumer --remote-home cl-provider",
            "--now +1m",
        ),
        ("drain tenant cl-consumer --home cl-provider", "--now +400d"),
    ] {
        let folder = with_peering();
        folder.ok("delete resourceslice mypool --home cl-consumer --remote-home cl-provider");
        folder.ok(end);
        folder.ok(&format!(
            "renew --home cl-provider --write-at-this-time {now}"
        ));
        let run = status(&folder, "cl-provider", &format!("--exit-code {now}"));
        assert_eq!(run.code, 0, "{end}: {run:?}");
        let run = status(&folder, "cl-provider", &format!("-o nagios {now}"));
        assert_eq!(run.code, 0, "{end}: {run:?}");
        let run = folder.run(&format!("doctor --home cl-provider {now}"));
        assert!(!run.out.contains("the certificate of"), "{end}: {run:?}");
    }
}

#[test]
fn what_has_expired_is_critical() {
    let folder = with_peering();
    let later = "--now +400d";
    for (home, peer) in [
        ("cl-consumer", "provider cl-provider"),
        ("cl-provider", "consumer cl-consumer"),
    ] {
        let both = format!("2 expired: {peer}, slice mypool of {peer}");
        let run = status(&folder, home, &format!("--fail-if expired {later}"));
        assert_eq!(
            (run.code, last(&run)),
            (4, format!("Error: {both}").as_str())
        );
        let run = status(
            &folder,
            home,
            &format!("-o nagios --fail-if expired {later}"),
        );
        assert_plugin(&run, 2, &format!("CRITICAL - {both}"));
        let options = format!("--fail-if expired --fail-if-expiring 30d {later}");
        let run = status(&folder, home, &options);
        let line = format!("Error: {both}; at most 30d left: 2 certificates");
        assert_eq!((run.code, last(&run)), (4, line.as_str()), "{run:?}");
        // What has expired does not end soon, and what ends soon has not expired.
        let soon = "-o nagios --fail-if expired --fail-if-expiring 30d";
        let run = status(&folder, home, &format!("{soon} {later}"));
        assert_plugin(&run, 2, &format!("CRITICAL - {both}"));
        let run = status(&folder, home, &format!("{soon} --now +340d"));
        let line = format!("WARNING - 2 ending soon: {peer}, slice mypool of {peer}");
        assert_plugin(&run, 1, &line);
        let run = status(&folder, home, soon);
        assert_plugin(&run, 0, "OK - 1 peering");
    }
    // The table shows which certificate has expired.
    for home in ["cl-consumer", "cl-provider"] {
        let table = status(&folder, home, later).out;
        let slice = table.lines().find(|line| line.starts_with("mypool"));
        assert!(slice.unwrap().contains(" expired "), "{table}");
    }
}

/// A certificate is valid until its end, that second included.
#[test]
fn the_last_second_is_the_end_and_not_after_it() {
    let folder = with_peering();
    let json = status(&folder, "cl-provider", "-o json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let until = json["peerings"][0]["certificate"]["until"].as_str();
    let now = format!("--now {}", until.unwrap());
    let run = status(&folder, "cl-provider", &format!("--fail-if expired {now}"));
    assert_eq!(run.code, 0, "{run:?}");
    let soon = format!("-o nagios --fail-if expired --fail-if-expiring 0 {now}");
    let run = status(&folder, "cl-provider", &soon);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.out.contains(" ending soon: consumer cl-consumer"),
        "{run:?}"
    );
}

#[test]
fn what_is_refused_or_denied_is_critical() {
    let folder = with_peering();
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    folder.ok("create rs denied --home cl-consumer --remote-home cl-provider --wait=false");
    for (home, peer) in [
        ("cl-consumer", "provider cl-provider"),
        ("cl-provider", "consumer cl-consumer"),
    ] {
        let run = status(&folder, home, &format!("--fail-if {ALL}"));
        assert_eq!(run.code, 4, "{run:?}");
        let names = format!("slice denied of {peer}");
        assert!(
            last(&run).contains(" refused: ") && last(&run).contains(&names),
            "{run:?}"
        );
        let run = status(&folder, home, "-o nagios --fail-if expired,waiting");
        assert_plugin(&run, 0, "OK - 1 peering");
    }
    let tenant = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let text = folder.read(tenant);
    let other = text.replace("clusterID: cl-consumer", "clusterID: cl-other");
    folder.write(tenant, &other);
    let run = status(&folder, "cl-provider", "--fail-if refused");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        last(&run).contains(" refused: consumer cl-consumer"),
        "{run:?}"
    );
    let run = status(&folder, "cl-provider", "-o nagios");
    assert!(run.out.starts_with("LIQO-AUTH CRITICAL - "), "{run:?}");
    assert_eq!((run.code, run.out.lines().count()), (2, 1), "{run:?}");
}

#[test]
fn what_cannot_be_read_is_unknown() {
    let folder = with_peering();
    let record = "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml";
    let text = folder.read(record);
    folder.write(record, &text.replace("seal: ", "seal: AAAA"));
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let run = status(&folder, "cl-provider", "-o nagios");
    let line = "UNKNOWN - 1 unknown: consumer cl-consumer; 1 waiting: consumer cl-other";
    assert_plugin(&run, 3, line);
    // Nobody knows whether it is refused.
    let run = status(&folder, "cl-provider", &format!("--fail-if {ALL}"));
    assert_eq!(run.code, 5, "{run:?}");
    folder.write(record, &text);
    let unknown = |options: &str, part: &str| {
        let run = folder.run(&format!("status -o nagios {options}"));
        assert_eq!((run.code, run.out.lines().count()), (3, 1), "{run:?}");
        let line = run.out.strip_prefix("LIQO-AUTH UNKNOWN - ");
        assert!(line.is_some_and(|line| line.contains(part)), "{run:?}");
        assert_eq!(run.err, "", "{run:?}");
    };
    unknown("", "name this cluster");
    unknown("--home no|where", "no where is not a home");
    unknown("--home cl-provider --watch", "leave --watch out");
    let nobody = "--home cl-provider --remote-cluster-id cl-nobody";
    unknown(nobody, "no peering with cl-nobody");
    // So is a command line that is wrong: 2 would be CRITICAL.
    let home = "--home cl-provider";
    unknown(
        &format!("{home} --fail-if soon"),
        "invalid value 'soon' for '--fail-if",
    );
    unknown(&format!("{home} --wtch"), "unexpected argument '--wtch'");
    unknown("--home no\u{1b}where", "no\\u{1b}where is not a home");
    unknown(&format!("{home} --dry-run"), "--dry-run");
    unknown(&format!("{home} --write-at-this-time"), "name the time");
    unknown(&format!("{home} --kubeconfig x"), "--kubeconfig");
    let helped = status(&folder, "cl-provider", "-o nagios --help");
    assert!(
        helped.code == 0 && helped.out.contains("Usage:"),
        "{helped:?}"
    );
    for wrong in ["--fail-if soon", "--fail-if=", "--fail-if refused,soon"] {
        assert_eq!(status(&folder, "cl-provider", wrong).code, 2, "{wrong}");
    }
}

/// A certificate that a drained peer had is no fault. What is due is done as printed.
#[test]
fn a_drained_peer_past_its_end_is_shown_as_drained() {
    let folder = with_peering();
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let later = "--now +400d";
    for form in ["", "--tree"] {
        let run = status(
            &folder,
            "cl-provider",
            &format!("{form} --color always {later}"),
        );
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.out.contains("\u{1b}[31m"), "{run:?}");
    }
    let run = status(&folder, "cl-provider", later);
    assert!(
        run.out.contains("Drained   Drained     drained  "),
        "{run:?}"
    );
    assert!(!run.out.contains("expired"), "{run:?}");
    let run = status(
        &folder,
        "cl-provider",
        &format!("--fail-if expired {later}"),
    );
    assert_eq!(run.code, 0, "{run:?}");

    // The record of its slice is left behind: the two say so.
    let run = status(&folder, "cl-provider", &format!("--exit-code {later}"));
    assert_eq!(run.code, 4, "{run:?}");
    let run = folder.run(&format!("doctor --home cl-provider {later}"));
    assert_eq!(run.code, 4, "{run:?}");
    let (_, remedy) = run.out.split_once("Remedy").unwrap();
    let (_, renew) = remedy.split_once("liqo-auth ").unwrap();
    folder.ok(&format!("{renew} {later} --write-at-this-time"));
    for command in ["status --exit-code", "doctor"] {
        let run = folder.run(&format!("{command} --home cl-provider {later}"));
        assert_eq!(run.code, 0, "{command}: {run:?}");
    }
}
