//! `--dry-run` changes nothing, and shows what would change.

use std::fs;

use crate::tool::{Folder, commands_of, make_ca};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const TENANT: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";

/// The output of a trial. Nothing changes, not even the log.
fn tried(folder: &Folder, arguments: &str) -> String {
    let (before, log) = (folder.snapshot(), log(folder));
    let run = folder.run(&format!("{arguments} --dry-run"));
    assert_eq!(run.code, 0, "{arguments}: {run:?}");
    assert!(before == folder.snapshot(), "{arguments} changed something");
    assert_eq!(log, self::log(folder));
    run.out
}

/// The logs of all homes.
fn log(folder: &Folder) -> Vec<String> {
    let homes = fs::read_dir(folder.path(".")).unwrap();
    let logs = homes.filter_map(|home| {
        let log = home.unwrap().path().join("audit.log");
        fs::read_to_string(log).ok()
    });
    logs.collect()
}

#[test]
fn homes_that_the_exchange_would_make_are_shown() {
    let folder = Folder::with_homes();
    let shown = tried(
        &folder,
        "authenticate --init --home cl-new --remote-home cl-other",
    );
    for home in ["cl-new", "cl-other"] {
        assert!(
            shown.contains(&format!("+++ {home}/home.yaml\n")),
            "{shown}"
        );
    }
}

#[test]
fn each_command_that_writes_can_be_tried() {
    let folder = Folder::with_homes();
    let made = tried(&folder, "init --home cl-third");
    assert!(
        made.contains("--- /dev/null\n+++ cl-third/home.yaml\n"),
        "{made}"
    );
    assert!(made.contains("+clusterID: cl-third\n"), "{made}");
    let nonce = "create nonce --home cl-provider --remote-cluster-id cl-consumer";
    let shown = tried(&folder, nonce);
    assert!(
        shown.contains("+++ cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml\n"),
        "{shown}"
    );
    assert!(
        shown.contains("+  nonce: <120 characters in base64>\n"),
        "{shown}"
    );
    let whole = tried(&folder, AUTHENTICATE);
    assert!(whole.contains("+++ cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml\n"), "{whole}");
    folder.ok(AUTHENTICATE);
    assert_eq!(tried(&folder, AUTHENTICATE), "");
    for (arguments, line) in [
        (
            "cordon tenant cl-consumer --home cl-provider",
            "+  tenantCondition: Cordoned\n",
        ),
        (
            "set api-server https://10.1.1.1:6443 --home cl-provider",
            "+apiServer: https://10.1.1.1:6443\n",
        ),
        (
            "create rs mypool --home cl-consumer --remote-home cl-provider --cpu 2",
            "+    cpu: \"2\"\n",
        ),
        (
            "renew --home cl-consumer --remote-home cl-provider --now +300d",
            ", changed>\n",
        ),
        (
            "unauthenticate --home cl-consumer --remote-home cl-provider",
            "+++ /dev/null\n",
        ),
        (
            "drain tenant cl-consumer --home cl-provider",
            "+++ /dev/null\n",
        ),
        (
            "release --home cl-provider --remote-cluster-id cl-consumer",
            "+++ cl-provider/records/",
        ),
    ] {
        let shown = tried(&folder, arguments);
        assert!(shown.contains(line), "{arguments}: {shown}");
        assert!(
            !shown.contains("PRIVATE KEY") && !shown.contains("LS0tLS1CRUdJTiBQUklW"),
            "{shown}"
        );
        assert!(!shown.contains(" INFO "), "{shown}");
    }
    // The diff is what the command then does.
    let shown = tried(&folder, "cordon tenant cl-consumer --home cl-provider");
    let before = folder.read(TENANT);
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    let after = folder.read(TENANT);
    for line in after
        .lines()
        .filter(|line| !before.lines().any(|old| old == *line))
    {
        assert!(shown.contains(&format!("\n+{line}\n")), "{line}: {shown}");
    }
}

/// What is made for the other cluster can be piped, unless it first has to be recorded.
#[test]
fn what_is_made_is_printed_in_a_trial_if_nothing_has_to_be_recorded() {
    let folder = Folder::with_homes();
    let nonce = "nonce --home cl-provider --remote-cluster-id cl-consumer";
    folder.ok(&format!("create {nonce}"));
    let nonce = folder.ok(&format!("get {nonce}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider";
    let unrecorded = folder.run(&format!("{generate} --nonce {nonce} --dry-run"));
    assert!(!unrecorded.out.contains("kind: Tenant"), "{unrecorded:?}");
    let why =
        "The object itself is not printed: what it signs is recorded before it is given away.";
    assert!(unrecorded.err.starts_with(why), "{unrecorded:?}");

    let tenant = folder.ok(&format!("{generate} --nonce {nonce}"));
    folder.ok_with("apply -f - --home cl-provider", &tenant);
    for made in [
        generate,
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
    ] {
        let made_now = folder.ok(made);
        for trial in ["--dry-run", "--now +1h"] {
            let run = folder.run(&format!("{made} {trial}"));
            assert_eq!((run.code, &*run.err), (0, "Nothing would change.\n"));
            assert_eq!(run.out, made_now);
        }
    }
}

/// The sentences before the differences count them.
#[test]
fn a_summary_comes_first() {
    let folder = Folder::with_homes();
    for (arguments, homes) in [
        (AUTHENTICATE, &["cl-provider", "cl-consumer"][..]),
        ("init --home cl-third", &["cl-third"]),
    ] {
        let shown = tried(&folder, arguments);
        let (summary, differences) = shown.split_once("\n\n").unwrap();
        let lines: Vec<&str> = summary.lines().collect();
        assert_eq!(lines.len(), homes.len(), "{summary}");
        for (line, home) in lines.iter().zip(homes) {
            let created = format!("--- /dev/null\n+++ {home}/");
            let number = differences.matches(&created).count();
            let begin = format!("In {home}, {number} objects would be created");
            assert!(line.starts_with(&begin) && line.ends_with('.'), "{summary}");
        }
    }
    folder.ok(AUTHENTICATE);
    let shown = tried(&folder, "cordon tenant cl-consumer --home cl-provider");
    let begin = "In cl-provider, 2 objects would be changed.\n\n--- cl-provider/";
    assert!(shown.starts_with(begin), "{shown}");
}

#[test]
fn what_is_refused_is_refused_in_a_trial_too() {
    let folder = Folder::with_homes();
    let bad = "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: cl-x\n";
    folder.refused("apply --home cl-provider -f - --dry-run", bad, 3);
    folder.refused("status --home cl-provider --dry-run", "", 2);
    folder.refused("cordon tenant cl-x --home cl-provider --dry-run", "", 4);
}

/// The secret of an access key.
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// What a trial ends with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// It shows what the command would write.
    Changes,
    /// There is nothing to write.
    Same,
    /// There is nothing to write. It shows what the command makes for the other cluster.
    Made,
    /// The command is refused with exit code 4, and the trial, too.
    Refused,
}

use End::{Changes, Made, Refused, Same};

/// The commands that write, each with a command line that changes something, where there is
/// one.
const WRITERS: &[(&str, &str, End)] = &[
    ("init", "init --home cl-fourth", Changes),
    (
        "authenticate",
        "authenticate --init --home cl-new --remote-home cl-provider",
        Changes,
    ),
    (
        "create nonce",
        "create nonce --home cl-provider --remote-cluster-id cl-x",
        Changes,
    ),
    (
        "create resourceslice",
        "create rs second --home cl-consumer --remote-home cl-provider",
        Changes,
    ),
    (
        "delete nonce",
        "delete nonce --home cl-provider --remote-cluster-id cl-third",
        Changes,
    ),
    (
        "delete resourceslice",
        "delete rs mypool --home cl-consumer --remote-home cl-provider",
        Changes,
    ),
    (
        "delete peering-user",
        "delete peering-user --home cl-provider --consumer-cluster-id cl-guest",
        Changes,
    ),
    (
        "delete aws-key",
        "delete aws-key AKIAIOSFODNN7EXAMPLE --home cl-aws --remote-cluster-id cl-second",
        Changes,
    ),
    (
        "generate tenant",
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider",
        Made,
    ),
    (
        "generate identity",
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        Made,
    ),
    (
        "generate resourceslice",
        "generate rs mypool --home cl-consumer --remote-cluster-id cl-provider",
        Made,
    ),
    (
        "generate renew",
        "generate renew nothing --home cl-consumer --remote-cluster-id cl-provider",
        Refused,
    ),
    (
        "generate peering-user",
        "generate peering-user --home cl-provider --consumer-cluster-id cl-x",
        Changes,
    ),
    ("apply", "apply --home cl-provider -f tenant.yaml", Changes),
    (
        "set api-server",
        "set api-server https://10.0.0.9:6443 --home cl-provider",
        Changes,
    ),
    ("set ca", "set ca ca.crt --home cl-provider", Changes),
    (
        "set renewal",
        "set renewal --home cl-consumer --remote-cluster-id cl-provider by-hand",
        Changes,
    ),
    (
        "set aws-user",
        "set aws-user --home cl-aws --remote-cluster-id cl-consumer --user-arn arn:aws:iam::123456789012:user/x --access-key-id AKIAIOSFODNN7OTHERS1 --region eu-west-1 --eks-cluster x",
        Changes,
    ),
    (
        "rotate key",
        "rotate key --home cl-consumer --remote-cluster-id cl-provider",
        Changes,
    ),
    (
        "replicate",
        "replicate --home cl-consumer --remote-home cl-provider",
        Same,
    ),
    (
        "renew",
        "renew --home cl-consumer --remote-home cl-provider --now +300d",
        Changes,
    ),
    (
        "cordon tenant",
        "cordon tenant cl-consumer --home cl-provider",
        Changes,
    ),
    (
        "cordon resourceslice",
        "cordon rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        Changes,
    ),
    (
        "drain tenant",
        "drain tenant cl-consumer --home cl-provider",
        Changes,
    ),
    (
        "uncordon tenant",
        "uncordon tenant cl-second --home cl-provider",
        Changes,
    ),
    (
        "activate tenant",
        "activate tenant cl-second --home cl-provider",
        Changes,
    ),
    (
        "uncordon resourceslice",
        "uncordon rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        Same,
    ),
    (
        "approve tenant",
        "approve tenant cl-consumer --home cl-strict",
        Changes,
    ),
    (
        "approve resourceslice",
        "approve rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        Refused,
    ),
    (
        "deny tenant",
        "deny tenant cl-consumer --home cl-strict --reason no",
        Changes,
    ),
    (
        "sign-again tenant",
        "sign-again tenant cl-consumer --home cl-provider",
        Refused,
    ),
    (
        "sign-again resourceslice",
        "sign-again rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        Refused,
    ),
    (
        "release",
        "release --home cl-provider --remote-cluster-id cl-consumer",
        Changes,
    ),
    (
        "unauthenticate",
        "unauthenticate --home cl-second --remote-home cl-provider",
        Changes,
    ),
    (
        "legacy set remote-token",
        "legacy set remote-token --home cl-consumer --remote-cluster-id cl-x --token-file token",
        Changes,
    ),
    (
        "legacy release",
        "legacy release --home cl-foreign --remote-cluster-id cl-home",
        Changes,
    ),
];

/// They change nothing in a home; `man` writes the pages of the manual.
const READERS: &[&str] = &[
    "get",
    "export",
    "inspect",
    "status",
    "doctor",
    "transcript",
    "audit",
    "rbac",
    "completion",
    "version",
    "man",
    "options",
    "legacy get",
    "legacy status",
];

/// They exchange messages with other programs, which have effects there.
const TALKERS: &[&str] = &["run", "legacy authenticate", "legacy serve", "legacy peer"];

/// Homes in which each of the writers has something to write.
fn with_work() -> Folder {
    let folder = Folder::with_homes();
    make_ca(&folder);
    folder.ok("init --home cl-second");
    folder.ok("init --home cl-strict --require-approval");
    folder.ok(
        "init --home cl-aws --signer aws --api-server https://eks.example --api-server-ca ca.crt",
    );
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("authenticate --home cl-second --remote-home cl-provider");
    folder.ok("cordon tenant cl-second --home cl-provider");
    folder.ok("generate peering-user --home cl-provider --consumer-cluster-id cl-guest");
    // A Tenant that is not applied yet.
    folder.ok("init --home cl-third");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-third");
    let nonce = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-third");
    let tenant = "generate tenant --home cl-third --remote-cluster-id cl-provider --nonce -";
    folder.write("tenant.yaml", &folder.ok_with(tenant, &nonce));
    // What waits for a person: an approval, an AWS user, the deletion of a key at AWS.
    for (home, provider) in [
        ("cl-consumer", "cl-strict"),
        ("cl-consumer", "cl-aws"),
        ("cl-second", "cl-aws"),
    ] {
        let run = folder.run(&format!(
            "authenticate --home {home} --remote-home {provider}"
        ));
        assert_eq!(run.code, 4, "{run:?}");
    }
    folder.ok_with(
        "set aws-user --home cl-aws --remote-cluster-id cl-second --user-arn arn:aws:iam::123456789012:user/y --access-key-id AKIAIOSFODNN7EXAMPLE --region eu-west-1 --eks-cluster x",
        SECRET,
    );
    folder.ok("unauthenticate --yes --home cl-second --remote-home cl-aws");
    folder.ok("legacy authenticate --init --home cl-home --remote-home cl-foreign --trust-whoever-holds-the-token");
    let token = folder.ok("legacy get token --home cl-foreign");
    folder.write("token", &token);
    folder
}

/// A command that is in no list fails this test: it has to be tried, or to be listed with
/// its reason.
#[test]
fn each_command_is_tried_or_says_why_not() {
    let folder = with_work();
    let known = |path: &str| {
        let begins = |name: &&str| path == *name || path.starts_with(&format!("{name} "));
        WRITERS.iter().any(|(name, ..)| *name == path)
            || READERS.iter().any(begins)
            || TALKERS.iter().any(begins)
    };
    let mut paths = vec![String::new()];
    while let Some(path) = paths.pop() {
        let below = commands_of(&folder.ok(&format!("{path} --help")));
        let name = path.trim();
        assert!(!below.is_empty() || known(name), "{name} is in no list");
        paths.extend(below.iter().map(|name| format!("{path} {name}")));
    }
    for (name, arguments, end) in WRITERS {
        let (before, log) = (folder.snapshot(), log(&folder));
        let run = folder.run_with(&format!("{arguments} --dry-run"), SECRET);
        assert!(before == folder.snapshot(), "{name} changed something");
        assert_eq!(log, self::log(&folder), "{name}");
        let told = match run.err.lines().last() {
            Some("Nothing was changed (--dry-run).") => Changes,
            Some("Nothing would change.") if run.out.is_empty() => Same,
            Some("Nothing would change.") => Made,
            _ => Refused,
        };
        assert_eq!(told, *end, "{name}: {run:?}");
        assert_eq!(
            run.code,
            if told == Refused { 4 } else { 0 },
            "{name}: {run:?}"
        );
        let shows = matches!(told, Changes | Made);
        assert_eq!(!run.out.is_empty(), shows, "{name}: {run:?}");
    }
}
