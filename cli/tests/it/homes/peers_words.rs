//! What a peer may write is no word of this side, and what cannot be read is there.

use crate::tool::Folder;
use serde_json::Value;

const AT_PROVIDER: &str = "cl-provider/manifests/liqo-tenant-cl-consumer";
const AT_CONSUMER: &str = "cl-consumer/manifests/liqo-tenant-cl-provider";
const PEER: &str = "--home cl-provider --remote-cluster-id cl-consumer";

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder
}

/// Replaces a text in a file, wherever it is.
fn edit(folder: &Folder, file: &str, from: &str, to: &str) {
    let text = folder.read(file);
    assert!(text.contains(from), "{file}: {text}");
    folder.write(file, &text.replace(from, to));
}

/// The line of a file that begins so.
fn line_of(folder: &Folder, file: &str, start: &str) -> String {
    let text = folder.read(file);
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with(start));
    line.unwrap_or_else(|| panic!("{file}: {text}")).to_owned()
}

fn peering(folder: &Folder, home: &str) -> Value {
    let shown = folder.run(&format!("status --home {home} -o json"));
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    shown["peerings"][0].clone()
}

#[test]
fn a_peer_writes_no_word_of_the_provider() {
    let folder = with_peering();
    let file = format!("{AT_PROVIDER}/resourceslice.mypool.yaml");
    let tenant = format!("{AT_PROVIDER}/tenant.cl-consumer.yaml");
    let honest = folder.read(&file);
    let before = peering(&folder, "cl-provider");
    assert_eq!(before["slices"][0]["resources"], "Accepted");
    let is_same = |what: &str| {
        let slice = &peering(&folder, "cl-provider")["slices"][0];
        for field in [
            "name",
            "authentication",
            "resources",
            "cordoned",
            "certificate",
        ] {
            assert_eq!(slice[field], before["slices"][0][field], "{what}: {field}");
        }
        for arguments in [
            "--fail-if refused,expired",
            "-o nagios --fail-if refused,expired",
        ] {
            let run = folder.run(&format!("status --home cl-provider {arguments}"));
            assert_eq!(run.code, 0, "{what}: {run:?}");
        }
        let run = folder.run("status --home cl-provider --fail-if-expiring 30d --now +340d");
        assert_eq!(run.code, 4, "{what}: {run:?}");
        assert!(run.err.contains(": 2 certificates"), "{what}: {run:?}");
        let table = folder.ok("status --home cl-provider");
        let row = table.lines().find(|line| line.starts_with("mypool "));
        let row = row.unwrap_or_else(|| panic!("{what}: {table}"));
        assert!(!row.contains("Denied") && !row.contains(" - "), "{row}");
        let run = folder.run("doctor --home cl-provider");
        assert!(!run.err.contains("ended at"), "{what}: {run:?}");
    };

    edit(&folder, &file, "status: Accepted", "status: Denied");
    is_same("denied");
    folder.write(&file, &honest);

    let own = line_of(&folder, &file, "signedCRT: ");
    let other = line_of(&folder, &tenant, "signedCRT: ");
    edit(&folder, &file, &own, &other);
    is_same("another certificate");
    folder.write(&file, &honest);

    let (head, rest) = honest.split_once("  authParams:\n").unwrap();
    let (_, rest) = rest.split_once("  conditions:\n").unwrap();
    folder.write(&file, &format!("{head}  conditions:\n{rest}"));
    is_same("no certificate");
    folder.write(&file, &honest.replace("status:\n", "was:\n"));
    is_same("no status");
}

#[test]
fn a_slice_that_cannot_be_read_has_a_row_and_its_certificate() {
    for (home, place) in [("cl-provider", AT_PROVIDER), ("cl-consumer", AT_CONSUMER)] {
        let folder = with_peering();
        let file = format!("{place}/resourceslice.mypool.yaml");
        let before = peering(&folder, home);
        edit(&folder, &file, "class: default", "class: [1, 2]");
        let slice = &peering(&folder, home)["slices"][0];
        assert_eq!(slice["name"], "mypool");
        assert_eq!(slice["phase"], "Refused");
        let fingerprint = &before["slices"][0]["certificate"]["fingerprint"];
        assert!(fingerprint.is_string());
        assert_eq!(slice["certificate"]["fingerprint"], *fingerprint, "{home}");
        let run = folder.run(&format!("status --home {home} --fail-if-expiring 400d"));
        assert!(run.err.contains(": 2 certificates"), "{run:?}");
        let tree = folder.run(&format!("status --home {home} --tree")).out;
        assert!(tree.contains("slice mypool: Refused"), "{tree}");
    }
}

#[test]
fn the_consumer_deletes_a_slice_that_it_cannot_read() {
    for (what, spoilt) in [
        ("class: default", "class: [1, 2]"),
        ("  labels:\n", "  labels: 5\n  was:\n"),
    ] {
        let folder = with_peering();
        let file = format!("{AT_CONSUMER}/resourceslice.mypool.yaml");
        edit(&folder, &file, what, spoilt);
        let both = "--home cl-consumer --remote-home cl-provider";
        let error = folder.refused(&format!("unauthenticate {both} --yes"), "", 5);
        assert!(!error.contains("still present"), "{error}");
        let delete = format!("delete resourceslice mypool {both}");
        let printed = folder.ok(&delete);
        assert!(printed.contains("\"mypool\" deleted"), "{printed}");
        for file in [
            file,
            format!("{AT_CONSUMER}/identity.resourceslice-mypool.yaml"),
            format!("{AT_PROVIDER}/resourceslice.mypool.yaml"),
        ] {
            assert!(!folder.path(&file).exists(), "{file}");
        }
        // It is gone, and so is what was in the way.
        let error = folder.refused(&delete, "", 4);
        assert!(error.contains("there is no ResourceSlice"), "{error}");
        folder.ok(&format!("unauthenticate {both} --yes"));
    }
}

#[test]
fn the_provider_deletes_a_replica_that_it_cannot_read() {
    let folder = with_peering();
    let file = format!("{AT_PROVIDER}/resourceslice.mypool.yaml");
    edit(&folder, &file, "class: default", "class: [1, 2]");
    folder.ok(&format!("delete resourceslice mypool {PEER}"));
    assert!(!folder.path(&file).exists());
}

#[test]
fn what_cannot_be_read_is_not_said_to_be_gone() {
    let folder = with_peering();
    folder.ok("delete rs mypool --home cl-consumer --remote-home cl-provider");
    let tenant = format!("{AT_PROVIDER}/tenant.cl-consumer.yaml");
    edit(&folder, &tenant, "  csr: ", "  csr: 5\n  was: ");
    let run = folder.run(&format!("unauthenticate {PEER} --yes"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("Tenant correctly deleted"), "{run:?}");

    let identity = format!("{AT_CONSUMER}/identity.controlplane-cl-provider.yaml");
    edit(
        &folder,
        &identity,
        "  authParams:",
        "  authParams: 5\n  was:",
    );
    let get = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
    let error = folder.refused(get, "", 5);
    assert!(error.contains("cannot be read"), "{error}");
    assert!(error.contains(&identity), "{error}");
    assert!(!error.contains("Apply the Identity"), "{error}");
}

#[test]
fn a_tenant_that_cannot_be_read_is_a_peer_without_a_record_too() {
    let folder = with_peering();
    let tenant = format!("{AT_PROVIDER}/tenant.cl-consumer.yaml");
    edit(&folder, &tenant, "  csr: ", "  csr: 5\n  was: ");
    for record in folder.snapshot().keys() {
        if record.to_string_lossy().contains("cl-provider/records/") {
            std::fs::remove_file(record).unwrap();
        }
    }
    std::fs::remove_dir_all(folder.path("cl-provider/private/liqo-tenant-cl-consumer")).unwrap();
    std::fs::remove_file(folder.path(&format!("{AT_PROVIDER}/resourceslice.mypool.yaml"))).unwrap();
    let run = folder.run("status --home cl-provider --fail-if refused");
    assert!(!run.err.contains("No peer."), "{run:?}");
    assert!(run.out.contains("cl-consumer "), "{run:?}");
    assert!(run.code != 0, "{run:?}");
}
