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
