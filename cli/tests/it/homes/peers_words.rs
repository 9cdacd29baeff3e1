//! What a peer may write is no word of this side.

use crate::tool::Folder;
use serde_json::Value;

const AT_PROVIDER: &str = "cl-provider/manifests/liqo-tenant-cl-consumer";
const AT_CONSUMER: &str = "cl-consumer/manifests/liqo-tenant-cl-provider";

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
