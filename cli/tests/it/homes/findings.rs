//! What `doctor` finds in the files of a home: each cause is one finding, with the remedy that helps.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

use super::ways_out::{DOCTOR, finding, is_well, with_peering};
use crate::tool::Run;

/// Whatever a manifest is for, it is one finding, whose remedy names its file.
#[test]
fn one_broken_manifest_is_one_finding() {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    for file in [
        "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml",
        "cl-provider/manifests/_cluster/clusterrole.liqo-remote-controlplane.yaml",
        "cl-provider/private/liqo-tenant-cl-consumer/secret.liqo-nonce.yaml",
        "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml",
        "cl-provider/manifests/liqo-tenant-cl-consumer/resourceslice.mypool.yaml",
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml",
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.resourceslice-mypool.yaml",
        "cl-consumer/manifests/liqo-tenant-cl-provider/resourceslice.mypool.yaml",
        "cl-consumer/private/liqo-tenant-cl-provider/secret.liqo-signed-nonce.yaml",
        "cl-consumer/records/secret.liqo-auth-consumer-cl-provider.yaml",
        "cl-consumer/private/liqo/secret.authentication-keys.yaml",
    ] {
        let text = folder.read(file);
        folder.write(file, "garbage: [");
        let (home, _) = file.split_once('/').unwrap();
        let (what, remedy) = finding(&folder, &format!("doctor --home {home}"));
        let is_key = file.contains("authentication-keys");
        let names = if is_key { &what } else { &remedy };
        assert!(names.contains(file), "{file}: {what} {remedy}");
        assert_eq!(remedy.contains("Delete it only if"), !is_key, "{remedy}");
        folder.write(file, &text);
    }
}

#[test]
fn what_is_no_file_of_a_home_is_a_finding_with_a_remedy() {
    let folder = with_peering();
    for area in ["manifests", "private/liqo-tenant-cl-consumer"] {
        let path = folder.path(&format!("cl-provider/{area}"));
        let elsewhere = folder.path("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let (what, remedy) = finding(&folder, DOCTOR);
        assert!(what.contains("it is a symbolic link"), "{what}");
        assert!(remedy.contains("in the place of a link"), "{remedy}");
        fs::remove_file(&path).unwrap();
        fs::rename(&elsewhere, &path).unwrap();
    }
    is_well(&folder, "cl-provider");
}

#[test]
fn settings_that_cannot_be_read_are_a_finding_with_a_remedy() {
    let folder = with_peering();
    let path = folder.path("cl-provider/home.yaml");
    let settings = folder.read("cl-provider/home.yaml");
    folder.write("cl-provider/home.yaml", &format!("{settings}foo: [\n"));
    let (what, remedy) = finding(&folder, DOCTOR);
    assert!(what.starts_with("cl-provider/home.yaml: line "), "{what}");
    assert!(
        remedy.starts_with("Mend the line of cl-provider/home.yaml"),
        "{remedy}"
    );

    folder.write("elsewhere.yaml", &settings);
    fs::remove_file(&path).unwrap();
    symlink(folder.path("elsewhere.yaml"), &path).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    assert!(what.contains("it is a symbolic link"), "{what}");
    assert_eq!(
        remedy,
        "Put the file itself in the place of the link cl-provider/home.yaml."
    );

    // Without a home, nothing is wrong with one.
    let Run { code, err, .. } = folder.run("doctor --home cl-nobody");
    assert!(code != 4 && err.contains("cl-nobody"), "{code}: {err}");
}

#[test]
fn folders_that_others_may_write_are_found() {
    let folder = with_peering();
    for (name, mode, may) in [
        ("cl-provider", 0o777, "write"),
        ("cl-provider/manifests", 0o775, "write"),
        ("cl-provider/private", 0o755, "open"),
    ] {
        let path = folder.path(name);
        let before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let (what, remedy) = finding(&folder, DOCTOR);
        let expected = format!("others than the owner may {may} {name}: its mode is {mode:04o}");
        assert_eq!(what, expected);
        let words: Vec<&str> = remedy.split(' ').collect();
        let [program, change, "--", _] = words[..] else {
            panic!("{remedy}");
        };
        let status = Command::new(program).arg(change).arg(&path).status();
        assert!(status.unwrap().success(), "{remedy}");
        is_well(&folder, "cl-provider");
        fs::set_permissions(&path, before).unwrap();
    }
}

/// The superuser writes everywhere but where a file cannot be changed.
#[test]
fn a_home_to_which_nothing_can_be_written_is_found() {
    let folder = with_peering();
    let path = folder.path("cl-provider");
    let before = fs::metadata(&path).unwrap().permissions();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
    let is_writable = fs::File::create(path.join("probe")).is_ok();
    let run = folder.run(DOCTOR);
    fs::set_permissions(&path, before).unwrap();
    if is_writable {
        fs::remove_file(path.join("probe")).unwrap();
        assert!(!run.out.contains("nothing can be written"), "{run:?}");
        return;
    }
    assert_eq!(run.code, 4, "{run:?}");
    for part in [
        "nothing can be written to cl-provider: ",
        "Let this user write there",
    ] {
        assert!(run.out.contains(part), "{part}: {run:?}");
    }
}

/// The tool opens neither file then, and does not give other advice about it.
#[test]
fn a_log_that_is_no_file_is_one_finding_whose_remedy_helps() {
    let folder = with_peering();
    for name in ["audit.log", "audit.head"] {
        let path = folder.path(&format!("cl-provider/{name}"));
        let elsewhere = folder.path("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let (what, remedy) = finding(&folder, DOCTOR);
        let shown = format!("cl-provider/{name}");
        assert!(
            what.starts_with(&format!("{shown} is a symbolic link")),
            "{what}"
        );
        let expected = format!("Put the file itself in the place of the link {shown}.");
        assert_eq!(remedy, expected);

        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let (what, remedy) = finding(&folder, DOCTOR);
        assert_eq!(what, format!("{shown} is not a regular file"));
        let (_, command) = remedy.split_once("from a copy: ").unwrap();
        let (command, _) = command.split_once(" DIR. ").unwrap();
        assert_eq!(command, format!("mv -- {shown}"));
        fs::rename(&path, folder.path("away")).unwrap();
        fs::remove_dir(folder.path("away")).unwrap();
        fs::rename(&elsewhere, &path).unwrap();
        is_well(&folder, "cl-provider");
    }
    // Without a copy, the next decision makes the log anew.
    fs::remove_file(folder.path("cl-provider/audit.log")).unwrap();
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    assert!(
        folder
            .read("cl-provider/audit.log")
            .contains("which was missing")
    );
}

#[test]
fn a_home_by_a_link_is_named_with_the_folder_itself() {
    let folder = with_peering();
    symlink("cl-provider", folder.path("link")).unwrap();
    let itself = fs::canonicalize(folder.path("cl-provider")).unwrap();
    for command in ["doctor", "status", "init", "audit verify"] {
        let err = folder.refused(&format!("{command} --home link"), "", 2);
        let expected = format!(
            "link: it is a symbolic link, and the tool does not follow symbolic links in a home. Name the folder itself: {}\n",
            itself.display()
        );
        assert!(err.ends_with(&expected), "{err}");
    }
    symlink("nowhere", folder.path("dangling")).unwrap();
    folder.write("file", "");
    for home in ["dangling", "file"] {
        let err = folder.refused(&format!("doctor --home {home}"), "", 2);
        assert!(!err.contains("itself"), "{err}");
    }
}

/// Each other finding may follow from it.
#[test]
fn a_wrong_clock_is_the_first_finding() {
    let folder = with_peering();
    let run = folder.run(&format!("{DOCTOR} --now 2020-01-01T00:00:00Z -o json"));
    assert_eq!(run.code, 4, "{run:?}");
    let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let findings = all["findings"].as_array().unwrap();
    assert!(findings.len() > 1, "{run:?}");
    let what = findings[0]["what"].as_str().unwrap();
    assert!(
        what.starts_with("the clock says 2020-01-01T00:00:00Z, and the last decision"),
        "{what}"
    );
    let remedy = findings[0]["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("Set the clock, for example by NTP, and look again"),
        "{remedy}"
    );
}
