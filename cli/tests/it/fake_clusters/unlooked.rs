//! A command that does not log in at the provider says that nobody has looked.

use super::Cluster;
use crate::tool::Folder;

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

#[test]
fn a_command_that_does_not_log_in_says_so_at_a_consumer() {
    let folder = Folder::new();
    let (_rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    let unlooked = |command: &str| {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {run:?}");
        let says = "Nobody has looked whether this cluster is let in by milan.\n";
        let said = [&run.out, &run.err].map(|text| text.matches(says).count());
        said.iter().sum::<usize>()
    };
    // It tries, and says what came of it.
    assert_eq!(unlooked(AUTHENTICATE), 0);
    assert_eq!(unlooked(&format!("{AUTHENTICATE} --dry-run")), 1);
    assert_eq!(unlooked("renew --kubeconfig rome"), 1);
    let both = "renew --kubeconfig rome --remote-kubeconfig milan";
    assert_eq!(unlooked(both), 1);
    let of_milan = "release --kubeconfig rome --remote-cluster-id milan --skip-confirm";
    assert_eq!(unlooked(of_milan), 1);
    // Nobody lets a provider in.
    assert_eq!(unlooked("renew --kubeconfig milan"), 0);
    let of_rome = "release --kubeconfig milan --remote-cluster-id rome --skip-confirm";
    assert_eq!(unlooked(of_rome), 0);
}

#[test]
fn between_homes_there_is_no_api_server_to_ask() {
    let folder = Folder::with_homes();
    for command in [
        "authenticate --home cl-consumer --remote-home cl-provider",
        "authenticate --home cl-consumer --remote-home cl-provider --dry-run",
        "renew --home cl-consumer",
        "renew --home cl-consumer --remote-home cl-provider",
        "release --yes --home cl-consumer --remote-cluster-id cl-provider",
    ] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{command}: {run:?}");
        let said = format!("{}{}", run.out, run.err);
        assert!(!said.contains("Nobody has looked"), "{said}");
    }
}
