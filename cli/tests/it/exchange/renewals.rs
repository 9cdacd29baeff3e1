//! What is due is renewed, once, and reaches the consumer.

use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const NOW: &str = "--now 2026-11-20T13:00:00Z --write-at-this-time";
const LATER: &str = "--now 2027-08-01T13:00:00Z --write-at-this-time";

#[test]
fn what_is_due_is_renewed_on_both_sides_and_once() {
    let folder = with_slice();
    let before = folder.snapshot();
    let told = folder.ok(&format!("renew {BOTH} {NOW}"));
    assert!(before == folder.snapshot());
    assert!(
        told.contains(" INFO   (local) certificate from cl-provider: until 2027-11-20T13:00:00Z, renewal from 2027-07-21T21:00:00Z on (in 243d)\n"),
        "{told}"
    );
    let told = folder.ok(&format!("renew {BOTH} {LATER}"));
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    for line in lines {
        assert!(
            line.ends_with(": renewed, until 2028-07-31T13:00:00Z"),
            "{line}"
        );
    }
    assert_eq!(certificates(&folder), 4);
    let before = folder.snapshot();
    folder.ok(&format!("renew {BOTH} {LATER}"));
    assert!(before == folder.snapshot());
    let kubeconfig = folder.ok(
        "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice mypool",
    );
    assert!(kubeconfig.contains("resourceslice-mypool"), "{kubeconfig}");
}

#[test]
fn a_provider_renews_by_itself_and_the_consumer_gets_it_later() {
    let folder = with_slice();
    let told = folder.ok(&format!("renew --home cl-provider {LATER}"));
    assert!(
        told.contains("certificate of cl-consumer: renewed"),
        "{told}"
    );
    let status = folder.ok(&format!("status --home cl-consumer {LATER}"));
    assert!(
        status.contains("awaited") || status.contains("now"),
        "{status}"
    );
    folder.ok(&format!("replicate {BOTH} {LATER}"));
    let status = folder.ok(&format!("status --home cl-consumer {LATER}"));
    assert_eq!(status.matches("in 243d").count(), 2, "{status}");
    assert_eq!(certificates(&folder), 4);
}

#[test]
fn a_renewal_is_carried_by_files() {
    let folder = with_slice();
    folder.ok(&format!("renew --home cl-provider {LATER}"));
    let renew = folder.ok("get renews controlplane-cl-provider --home cl-provider -o yaml");
    let apply = format!("apply --home cl-consumer -f - {LATER}");
    let redirected = renew.replace("172.19.0.3", "172.19.0.4");
    let error = folder.refused(&apply, &redirected, 3);
    assert!(error.contains(", rule 9)"), "{error}");
    assert_eq!(
        folder.ok_with(&apply, &renew),
        "renew.authentication.liqo.io/controlplane-cl-provider configured\n"
    );
    let slice = folder.ok("get rs mypool --home cl-provider -o yaml");
    folder.ok_with(&apply, &slice);
    let told = folder.ok(&format!("renew --home cl-consumer {LATER}"));
    assert_eq!(
        told.matches("until 2028-07-31T13:00:00Z").count(),
        2,
        "{told}"
    );
}

#[test]
fn a_consumer_alone_asks_and_says_so() {
    let folder = with_slice();
    let run = folder.run(&format!("renew --home cl-consumer {LATER}"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("the next one is awaited"), "{run:?}");
    let says = "Error: not renewed: certificate from cl-provider, certificate from cl-provider for slice mypool\n";
    assert!(run.err.ends_with(says), "{run:?}");
    folder.ok(&format!("renew {BOTH} {LATER}"));
    let told = folder.ok(&format!("renew {BOTH} {LATER}"));
    assert_eq!(told.matches("until 2028-07-31").count(), 4, "{told}");
}

/// By files, each side names what comes next, and a script follows.
#[test]
fn a_renewal_by_files_names_each_next_step() {
    let folder = with_slice();
    let awaited = folder.run(&format!("renew --home cl-consumer {LATER}"));
    for part in [
        "cl-provider has to sign the next certificate. On cl-provider: liqo-auth renew, and then liqo-auth generate renew controlplane-cl-provider --remote-cluster-id cl-consumer, and liqo-auth generate resourceslice mypool --remote-cluster-id cl-consumer\n",
        "Then here: liqo-auth apply -f FILE --home cl-consumer",
    ] {
        assert!(awaited.err.contains(part), "{part}: {awaited:?}");
    }
    let signed = folder.run(&format!("renew --home cl-provider {LATER}"));
    assert_eq!(signed.code, 0, "{signed:?}");
    let (_, step) = signed
        .err
        .split_once("Here: liqo-auth ")
        .unwrap_or_else(|| panic!("{signed:?}"));
    let (generate, step) = step
        .split_once("\nThen on cl-consumer: liqo-auth ")
        .unwrap();
    assert_eq!(step.trim_end(), "apply -f FILE");
    let generate: Vec<&str> = generate.split(", and liqo-auth ").collect();
    assert_eq!(generate.len(), 2, "{generate:?}");
    for generate in generate {
        let printed = folder.ok(&format!("{generate} {LATER}"));
        folder.ok_with(&format!("apply -f - --home cl-consumer {LATER}"), &printed);
    }
    for home in ["cl-consumer", "cl-provider"] {
        let run = folder.run(&format!(
            "renew --home {home} --remote-cluster-id {} {LATER}",
            match home {
                "cl-consumer" => "cl-provider",
                _ => "cl-consumer",
            }
        ));
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.err.contains("has to"), "{run:?}");
    }
    // With access to both, nothing is left to a person.
    let both = folder.run(&format!("renew {BOTH} {LATER}"));
    assert!(!both.err.contains("has to"), "{both:?}");
}

/// The provider has moved since, and the consumer has pinned the earlier address.
#[test]
fn a_renewal_whose_answer_is_refused_is_no_success() {
    let folder = with_slice();
    folder.ok("set api-server https://172.19.0.9:6443 --home cl-provider");
    let run = folder.run(&format!("renew {BOTH}"));
    assert_eq!(run.code, 3, "{run:?}");
    let run = folder.run(&format!("renew {BOTH} {LATER}"));
    assert_eq!(run.code, 3, "{run:?}");
    let (_, error) = run.err.split_once("Error: ").unwrap();
    assert!(
        error.starts_with("not renewed: certificate from cl-provider"),
        "{error}"
    );
    // It names what is pinned and the way out, as `status` and `doctor` do.
    let pinned = "This side has pinned the URL https://172.19.0.3:6443, and the answer has https://172.19.0.9:6443.";
    let release = "release --home cl-consumer --remote-cluster-id cl-provider";
    let alone = folder.run(&format!("renew --home cl-consumer {LATER}"));
    assert_eq!(alone.code, 3, "{alone:?}");
    let status = folder.run(&format!("status --home cl-consumer {LATER}"));
    let doctor = folder.run(&format!("doctor --home cl-consumer {LATER}"));
    let carried = folder.run(&format!("replicate {BOTH} {LATER}"));
    assert_eq!(carried.code, 3, "{carried:?}");
    let says = "Error: not renewed: certificate from cl-provider, certificate from cl-provider for slice mypool. cl-provider: ";
    assert!(carried.err.contains(says), "{carried:?}");
    for told in [error, &alone.err, &status.err, &doctor.out, &carried.err] {
        assert!(told.contains(pinned) && told.contains(release), "{told}");
    }
    let run = folder.run(&format!(
        "status --home cl-consumer --fail-if refused {LATER}"
    ));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("refused: provider cl-provider"), "{run:?}");
}

/// The provider's CA is another one: both are named.
#[test]
fn a_renewal_by_another_ca_is_no_success() {
    let folder = with_slice();
    let other = Folder::with_homes();
    let authority = "cl-provider/private/liqo/secret.liqo-auth-authority.yaml";
    folder.write(authority, &other.read(authority));
    let run = folder.run(&format!("renew {BOTH} {LATER}"));
    assert_eq!(run.code, 3, "{run:?}");
    let (_, error) = run.err.split_once("Error: ").unwrap();
    let (_, pinned) = error.split_once("pinned the CA SHA256:").unwrap();
    assert!(pinned.contains(", and the answer has SHA256:"), "{error}");
    assert!(pinned.contains("release --home cl-consumer"), "{error}");
}

/// An Identity in a file is not in the home: what is pinned is named.
#[test]
fn an_identity_of_another_address_is_told_what_is_pinned() {
    let folder = with_slice();
    folder.ok("set api-server https://172.19.0.9:6443 --home cl-provider");
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    let error = folder.refused("apply --home cl-consumer -f -", &identity, 3);
    let pinned = "This side has pinned the URL https://172.19.0.3:6443. The command is";
    assert!(error.contains(pinned), "{error}");
    folder.write("identity.yaml", &identity);
    let inspected = folder.run("inspect --home cl-consumer identity.yaml");
    assert_eq!(inspected.code, 3, "{inspected:?}");
    let release =
        "The command is liqo-auth release --home cl-consumer --remote-cluster-id cl-provider.";
    assert!(inspected.out.contains(release), "{inspected:?}");
}

#[test]
fn a_renewal_that_a_drain_prevents_is_no_success() {
    let folder = with_slice();
    folder.ok("drain tenant cl-consumer --home cl-provider");
    folder.ok(&format!("renew {BOTH}"));
    let run = folder.run(&format!("renew {BOTH} {LATER}"));
    assert_eq!(run.code, 4, "{run:?}");
    for part in [
        "grants cl-consumer no rights",
        "Error: not renewed: certificate from cl-provider",
    ] {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
}

/// Whoever is asked to renew says why nothing comes, and the command that lets the peer in again.
#[test]
fn a_drain_is_named_with_the_command_that_lifts_it() {
    let folder = with_slice();
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let lift = "uncordon tenant cl-consumer --home cl-provider";
    let says = format!(
        "cl-consumer is drained: it gets neither a certificate nor rights until that is lifted. The command is liqo-auth {lift}.\n"
    );
    for (command, code) in [
        ("renew --home cl-provider".to_owned(), 0),
        (format!("renew {BOTH}"), 0),
        (format!("replicate {BOTH}"), 4),
    ] {
        let run = folder.run(&command);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.err.ends_with(&says), "{command}: {run:?}");
    }
    folder.ok(lift);
    for command in ["renew --home cl-provider", "renew --home cl-consumer"] {
        let run = folder.run(command);
        assert!(!run.err.contains("drained"), "{run:?}");
    }
    folder.ok(&format!("replicate {BOTH}"));
}

#[test]
fn who_has_let_its_identity_expire_authenticates_again() {
    let folder = with_slice();
    let after = "--now 2028-01-01T00:00:00Z --write-at-this-time";
    let run = folder.run(&format!("renew {BOTH} {after}"));
    assert!(
        run.err
            .contains("cl-consumer has no valid identity from cl-provider"),
        "{run:?}"
    );
    let says = "nothing was carried. To authenticate again with access to both clusters, run `liqo-auth authenticate --home cl-consumer --remote-home DIR`";
    assert!(run.err.contains(says), "{run:?}");
    let run = folder.run(&format!("replicate {BOTH} {after}"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains(says), "{run:?}");
    folder.ok(&format!("authenticate {BOTH} {after}"));
    folder.ok(&format!("replicate {BOTH} {after}"));
    let status = folder.ok(&format!("status --home cl-consumer {after}"));
    assert_eq!(status.matches("Authenticated").count(), 1, "{status}");
    assert_eq!(status.matches("365d").count(), 2, "{status}");
}

/// As if the power had gone between the two homes' disks.
#[test]
fn a_crash_between_the_homes_loses_nothing() {
    let folder = with_slice();
    let state = |home: &str| folder.path(home);
    let keep = |home: &str, name: &str| copy(&state(home), &folder.path(name));
    keep("cl-consumer", "consumer-0");
    keep("cl-provider", "provider-0");
    folder.ok(&format!("renew {BOTH} {LATER}"));
    keep("cl-consumer", "consumer-1");
    keep("cl-provider", "provider-1");
    for (consumer, provider) in [
        ("consumer-0", "provider-1"),
        ("consumer-1", "provider-1"),
        ("consumer-0", "provider-0"),
    ] {
        for (from, home) in [(consumer, "cl-consumer"), (provider, "cl-provider")] {
            std::fs::remove_dir_all(state(home)).unwrap();
            copy(&folder.path(from), &state(home));
        }
        folder.ok(&format!("renew {BOTH} {LATER}"));
        let status = folder.ok(&format!("status --home cl-consumer {LATER}"));
        assert_eq!(status.matches("in 243d").count(), 2, "{status}");
        assert_eq!(certificates(&folder), 4, "{consumer} {provider}");
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_home_without_peers_has_nothing_to_renew() {
    let folder = Folder::with_homes();
    let run = folder.run("renew --home cl-consumer");
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert_eq!(run.err, "cl-consumer: no certificate.\n");
}

fn with_slice() -> Folder {
    let folder = Folder::new();
    folder.ok(&format!("init --home cl-consumer {NOW}"));
    folder.ok(&format!(
        "init --home cl-provider --api-server https://172.19.0.3:6443 {NOW}"
    ));
    folder.ok(&format!("authenticate {BOTH} {NOW}"));
    folder.ok(&format!("create rs mypool {BOTH} {NOW}"));
    folder.ok(&format!("replicate {BOTH} {NOW}"));
    folder
}

fn certificates(folder: &Folder) -> usize {
    let names = std::fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
    names
        .filter(|name| {
            let name = name.as_ref().unwrap().file_name();
            name.to_string_lossy()
                .starts_with("certificatesigningrequest.")
        })
        .count()
}

#[test]
fn the_renewal_scheme_of_a_provider_is_a_setting() {
    const RENEWS: &str = "get renews --home cl-consumer -o name";
    for (scheme, at_once, when_due) in [
        ("by-evidence", true, true),
        ("by-provider", true, true),
        ("by-consumer", false, true),
        ("by-hand", false, false),
    ] {
        let folder = Folder::with_homes();
        // The scheme counts from the first certificate on.
        folder.tenant();
        let set = "set renewal --home cl-consumer --remote-cluster-id cl-provider";
        folder.ok(&format!("{set} {scheme}"));
        folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
        assert_eq!(!folder.ok(RENEWS).is_empty(), at_once, "{scheme}");
        // The next certificate has not come.
        let run = folder.run("renew --home cl-consumer --now +300d --write-at-this-time");
        assert_eq!(run.code, 4, "{scheme}: {run:?}");
        assert_eq!(!folder.ok(RENEWS).is_empty(), when_due, "{scheme}");
        let asks = folder
            .ok("get renews --home cl-consumer -o yaml")
            .contains("  csr: ");
        assert_eq!(
            asks,
            scheme == "by-consumer" || scheme == "by-evidence",
            "{scheme}"
        );
    }
    let folder = Folder::with_homes();
    folder.refused(
        "set renewal by-force --home cl-consumer --remote-cluster-id cl-provider",
        "",
        2,
    );
    folder.refused(
        "set renewal by-hand --home cl-consumer --remote-cluster-id cl-consumer",
        "",
        2,
    );
}
