//! The record of a slice that cannot be read, or was changed: what is printed is done as it is
//! printed.

use std::{fs, process::Command};

use super::ways_out::{OF_CONSUMER, command_in, finding, is_well, with_peering};
use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const DOCTOR: &str = "doctor --home cl-provider";
const RENEW: &str = "renew --home cl-provider";

/// The file of the only slice's record.
fn record(folder: &Folder) -> String {
    let records = fs::read_dir(folder.path("cl-provider/records")).unwrap();
    let names = records.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names = names.filter(|name| name.contains("liqo-auth-slice-"));
    format!("cl-provider/records/{}", names.next().unwrap())
}

/// The record with another content than this side has sealed.
fn changed(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| match line.starts_with("  record: ") {
            true => "  record: e30=\n".to_owned(),
            false => format!("{line}\n"),
        });
    lines.collect()
}

/// What deletes the file, and what makes it again: the second is a command of the tool.
fn commands_in(remedy: &str) -> (&str, String) {
    let (_, after) = remedy.split_once("delete it: ").unwrap();
    let (deletion, after) = after.split_once(". ").unwrap();
    (deletion, command_in(after))
}

#[test]
fn a_slice_whose_record_is_broken_comes_back_as_printed() {
    for is_readable in [false, true] {
        let folder = with_peering();
        folder.ok(&format!("create resourceslice mypool {BOTH}"));
        let file = record(&folder);
        let text = folder.read(&file);
        let broken = match is_readable {
            true => changed(&text),
            false => "garbage: [".to_owned(),
        };
        folder.write(&file, &broken);
        let (what, remedy) = finding(&folder, DOCTOR);
        assert!(what.contains("Secret liqo/liqo-auth-slice-"), "{what}");
        let restore = format!("Restore {file} from a backup. Without one, delete it: ");
        assert!(remedy.starts_with(&restore), "{remedy}");
        for command in [RENEW.to_owned(), format!("replicate {BOTH}")] {
            let error = folder.refused(&command, "", 5);
            assert!(!error.contains("exists already"), "{error}");
            assert!(error.contains(&remedy), "{error}");
        }
        let status = folder.ok("status --home cl-provider -o json");
        assert!(status.contains(&remedy), "{status}");
        assert!(
            !status.contains(r#""command": "liqo-auth renew"#),
            "{status}"
        );

        // With a backup, nothing is lost.
        folder.write(&file, &text);
        is_well(&folder, "cl-provider");
        folder.ok(RENEW);

        folder.write(&file, &broken);
        let (deletion, renew) = commands_in(&remedy);
        let mut bash = Command::new("bash");
        let bash = bash.arg("-c").arg(deletion).current_dir(folder.path(""));
        assert!(bash.status().unwrap().success(), "{deletion}");
        folder.ok(&renew);
        folder.ok(&format!("replicate {BOTH}"));
        is_well(&folder, "cl-provider");
        is_well(&folder, "cl-consumer");
    }
}

/// Each command that needs the Tenant ends with the same code.
#[test]
fn a_tenant_that_cannot_be_read_is_no_fault_of_its_consumer() {
    let folder = with_peering();
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    folder.write(file, "garbage: [");
    let restore = format!("Restore {file} from a backup. Then the command is liqo-auth {RENEW}.");
    for command in [
        RENEW.to_owned(),
        format!("replicate {BOTH}"),
        format!("create nonce {OF_CONSUMER}"),
    ] {
        let run = folder.run(&command);
        assert_eq!(run.code, 5, "{command}: {run:?}");
        assert!(run.err.contains(&restore), "{command}: {run:?}");
    }
}
