//! `--dry-run` changes nothing, and shows what would change.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test panics"
)]

mod tool;

use tool::Folder;

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

fn log(folder: &Folder) -> Option<String> {
    std::fs::read_to_string(folder.path("cl-provider/audit.log")).ok()
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

#[test]
fn what_is_refused_is_refused_in_a_trial_too() {
    let folder = Folder::with_homes();
    let bad = "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: cl-x\n";
    folder.refused("apply --home cl-provider -f - --dry-run", bad, 3);
    folder.refused("status --home cl-provider --dry-run", "", 2);
    folder.refused("cordon tenant cl-x --home cl-provider --dry-run", "", 4);
}

/// The commands that write, each with a command line that is tried above or here. A command
/// that is in neither list fails this test: it has to be tried, or to be listed with its
/// reason.
#[test]
fn each_command_is_tried_or_says_why_not() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    let tried_commands = [
        ("init", "init --home cl-fourth"),
        ("authenticate", AUTHENTICATE),
        (
            "create nonce",
            "create nonce --home cl-provider --remote-cluster-id cl-x",
        ),
        (
            "create resourceslice",
            "create rs second --home cl-consumer --remote-home cl-provider",
        ),
        (
            "delete resourceslice",
            "delete rs mypool --home cl-consumer --remote-home cl-provider",
        ),
        (
            "delete peering-user",
            "delete peering-user --home cl-provider --consumer-cluster-id cl-x",
        ),
        (
            "generate tenant",
            "generate tenant --home cl-consumer --remote-cluster-id cl-provider",
        ),
        (
            "generate identity",
            "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "generate resourceslice",
            "generate rs mypool --home cl-consumer --remote-cluster-id cl-provider",
        ),
        (
            "generate renew",
            "generate renew controlplane --home cl-consumer --remote-cluster-id cl-provider",
        ),
        (
            "generate peering-user",
            "generate peering-user --home cl-provider --consumer-cluster-id cl-x",
        ),
        ("apply", "apply --home cl-provider -f nowhere.yaml"),
        (
            "set api-server",
            "set api-server https://10.0.0.9:6443 --home cl-provider",
        ),
        ("set ca", "set ca --default --home cl-provider"),
        (
            "set renewal",
            "set renewal --home cl-consumer --remote-cluster-id cl-provider by-hand",
        ),
        (
            "set aws-user",
            "set aws-user --home cl-provider --remote-cluster-id cl-consumer --user-arn arn:aws:iam::1:user/x --access-key-id AKIA1 --region eu-west-1 --eks-cluster x",
        ),
        (
            "delete aws-key",
            "delete aws-key AKIA1 --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "rotate key",
            "rotate key --home cl-consumer --remote-cluster-id cl-provider",
        ),
        (
            "replicate",
            "replicate --home cl-consumer --remote-home cl-provider",
        ),
        ("renew", "renew --home cl-consumer"),
        (
            "cordon tenant",
            "cordon tenant cl-consumer --home cl-provider",
        ),
        (
            "cordon resourceslice",
            "cordon rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "drain tenant",
            "drain tenant cl-consumer --home cl-provider",
        ),
        (
            "uncordon tenant",
            "uncordon tenant cl-consumer --home cl-provider",
        ),
        (
            "uncordon resourceslice",
            "uncordon rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "approve tenant",
            "approve tenant cl-consumer --home cl-provider",
        ),
        (
            "deny tenant",
            "deny tenant cl-consumer --home cl-provider --reason no",
        ),
        (
            "sign-again tenant",
            "sign-again tenant cl-consumer --home cl-provider",
        ),
        (
            "sign-again resourceslice",
            "sign-again rs mypool --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "release",
            "release --home cl-provider --remote-cluster-id cl-consumer",
        ),
        (
            "unauthenticate",
            "unauthenticate --home cl-consumer --remote-home cl-provider",
        ),
        (
            "legacy set remote-token",
            "legacy set remote-token --home cl-consumer --remote-cluster-id cl-x",
        ),
        (
            "legacy release",
            "legacy release --home cl-provider --remote-cluster-id cl-x",
        ),
    ];
    // They change nothing in a home; `man` writes the pages of the manual.
    let readers = [
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
    // They exchange messages with other programs, which have effects there.
    let talkers = ["run", "legacy authenticate", "legacy serve", "legacy peer"];
    let known = |path: &str| {
        let begins = |name: &&str| path == *name || path.starts_with(&format!("{name} "));
        tried_commands.iter().any(|(name, _)| *name == path)
            || readers.iter().any(&begins)
            || talkers.iter().any(begins)
    };
    let mut paths = vec![String::new()];
    while let Some(path) = paths.pop() {
        let page = folder.ok(&format!("{path} --help"));
        let below = below(&page);
        let name = path.trim();
        assert!(!below.is_empty() || known(name), "{name} is in no list");
        paths.extend(below.iter().map(|name| format!("{path} {name}")));
    }
    for (name, arguments) in tried_commands {
        let (before, log) = (folder.snapshot(), log(&folder));
        let run = folder.run_with(&format!("{arguments} --dry-run"), "token");
        assert!(!run.err.contains("cannot be tried"), "{name}: {run:?}");
        assert!(before == folder.snapshot(), "{name} changed something");
        assert_eq!(log, self::log(&folder), "{name}");
        let is_told =
            run.err.contains("Nothing was changed") || run.err.contains("Nothing would change");
        assert!(is_told, "{name}: {run:?}");
    }
}

/// The commands that a help page lists.
fn below(page: &str) -> Vec<String> {
    let Some((_, list)) = page.split_once("\nCommands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}
