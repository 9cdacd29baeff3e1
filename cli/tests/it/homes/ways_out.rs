//! From a symptom to its cause: a script that follows what is printed, and nothing else.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use super::changed_providers::carried_as_printed;
use crate::tool::Folder;

pub(super) const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
pub(super) const DOCTOR: &str = "doctor --home cl-provider";
pub(super) const OF_CONSUMER: &str = "--home cl-provider --remote-cluster-id cl-consumer";

/// The first command of the tool that a text names, without the program.
pub(super) fn command_in(text: &str) -> String {
    let (_, after) = text
        .split_once("liqo-auth ")
        .unwrap_or_else(|| panic!("{text}"));
    let sentence = after.split(". ").next().unwrap_or(after);
    let words = sentence.split_whitespace();
    let is_of_command = |word: &&str| !["and", "or", "Then", "signs"].contains(word);
    let words: Vec<&str> = words.take_while(is_of_command).collect();
    words.join(" ").trim_end_matches(['.', '`']).to_owned()
}

/// A doctor's run that has one finding: what is wrong, and the remedy.
pub(super) fn finding(folder: &Folder, doctor: &str) -> (String, String) {
    let run = folder.run(&format!("{doctor} -o json"));
    assert_eq!(run.code, 4, "{run:?}");
    let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let [found] = all["findings"].as_array().unwrap().as_slice() else {
        panic!("{run:?}");
    };
    let text = |field: &str| found[field].as_str().unwrap().to_owned();
    (text("what"), text("remedy"))
}

pub(super) fn is_well(folder: &Folder, home: &str) {
    let run = folder.run(&format!("doctor --home {home}"));
    assert_eq!(
        (run.code, run.err.as_str()),
        (0, "Nothing is wrong.\n"),
        "{run:?}"
    );
}

pub(super) fn with_peering() -> Folder {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    folder.ok(AUTHENTICATE);
    folder
}

#[test]
fn a_lost_consumer_comes_back() {
    comes_back(true);
    // Who reaches both clusters does not need a nonce first.
    comes_back(false);
}

fn comes_back(makes_a_nonce: bool) {
    let folder = with_peering();
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.err.contains("release the pinned key only if"),
        "{run:?}"
    );
    let released = folder.ok(&format!("release --yes {OF_CONSUMER}"));
    let create = command_in(&released);
    assert_eq!(create, format!("create nonce {OF_CONSUMER}"));
    if makes_a_nonce {
        let run = folder.run(&create);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.err.contains("The nonce was replaced"), "{run:?}");
    }
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// Whichever side comes back from a backup of before, one command brings the peering back.
#[test]
fn a_home_that_is_restored_authenticates_again() {
    for home in ["cl-consumer", "cl-provider"] {
        let folder = Folder::new();
        folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
        folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
        copied(&folder.path(home), &folder.path("backup"));
        folder.ok(AUTHENTICATE);
        fs::remove_dir_all(folder.path(home)).unwrap();
        fs::rename(folder.path("backup"), folder.path(home)).unwrap();
        folder.ok(AUTHENTICATE);
        is_well(&folder, "cl-consumer");
        is_well(&folder, "cl-provider");
    }
}

/// The provider has pinned the key of a home that was made anew, and the earlier home comes back.
#[test]
fn a_home_that_is_restored_with_an_earlier_key_is_led_to_the_release() {
    let folder = with_peering();
    copied(&folder.path("cl-consumer"), &folder.path("backup"));
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok(&format!("release --yes {OF_CONSUMER}"));
    folder.ok(&format!("create nonce {OF_CONSUMER}"));
    folder.ok(AUTHENTICATE);
    fs::remove_dir_all(folder.path("cl-consumer")).unwrap();
    fs::rename(folder.path("backup"), folder.path("cl-consumer")).unwrap();
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    let there = "have the administrator of cl-provider run liqo-auth release --remote-cluster-id cl-consumer, and liqo-auth create nonce --remote-cluster-id cl-consumer";
    assert!(run.err.contains(there), "{run:?}");
    folder.ok(&format!("release --yes {OF_CONSUMER}"));
    folder.ok(&format!("create nonce {OF_CONSUMER}"));
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// The provider has another key, and all else of before. Its nonce names the earlier key.
#[test]
fn a_provider_with_another_key_is_released_as_printed() {
    let folder = with_peering();
    folder.ok("init --home anew --cluster-id cl-provider --api-server https://172.19.0.3:6443");
    let key = "private/liqo/secret.authentication-keys.yaml";
    fs::copy(
        folder.path(&format!("anew/{key}")),
        folder.path(&format!("cl-provider/{key}")),
    )
    .unwrap();
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    let release = "liqo-auth release --home cl-consumer --remote-cluster-id cl-provider";
    assert!(run.err.contains(release), "{run:?}");
    folder.ok("release --yes --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// Its CA's key is one of the files that no command makes again.
#[test]
fn a_home_without_its_ca_has_a_finding_beside_the_others() {
    let folder = with_peering();
    let secret = "cl-provider/private/liqo/secret.liqo-auth-authority.yaml";
    fs::remove_file(folder.path(secret)).unwrap();
    let manifests = folder.path("cl-provider/manifests");
    fs::set_permissions(manifests, fs::Permissions::from_mode(0o777)).unwrap();
    let run = folder.run(DOCTOR);
    assert_eq!(run.code, 4, "{run:?}");
    for part in [
        "liqo-auth-authority",
        "Restore the file from a backup",
        "may write",
    ] {
        assert!(run.out.contains(part), "{part}: {run:?}");
    }
}

#[test]
fn the_settings_of_another_home_are_found() {
    let folder = with_peering();
    let settings = folder.read("cl-provider/home.yaml");
    folder.write("cl-consumer/home.yaml", &settings);
    let run = folder.run("doctor --home cl-consumer");
    assert_eq!(run.code, 4, "{run:?}");
    let found = "the settings are of the cluster cl-provider, and the objects of cl-consumer";
    assert!(run.out.contains(found), "{run:?}");
}

pub(super) fn copied(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-rp").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

#[test]
fn an_expired_peering_comes_back() {
    let folder = with_peering();
    let late = "--now +600d";
    let (what, remedy) = finding(&folder, &format!("doctor --home cl-consumer {late}"));
    assert!(what.contains("expired: client certificate"), "{what}");
    assert!(
        command_in(&remedy).starts_with("authenticate --home cl-consumer"),
        "{remedy}"
    );
    folder.ok(&format!("{AUTHENTICATE} {late} --write-at-this-time"));
    let run = folder.run(&format!("doctor --home cl-consumer {late}"));
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn a_nonce_that_was_signed_is_not_handed_out_again() {
    let folder = with_peering();
    let create = format!("create nonce {OF_CONSUMER}");
    let err = folder.refused(&create, "", 4);
    assert!(
        err.contains("cl-consumer has signed its nonce already, and does not need another one"),
        "{err}"
    );
    assert_eq!(command_in(&err), format!("{create} --replace"));
    folder.ok("drain tenant cl-consumer --home cl-provider");
    folder.refused(&create, "", 4);
}

#[test]
fn an_invitation_is_taken_back() {
    let folder = Folder::with_homes();
    let delete = format!("delete nonce {OF_CONSUMER}");
    let err = folder.refused(&delete, "", 4);
    assert!(err.contains("has no invitation for cl-consumer"), "{err}");
    let tenant = folder.tenant();
    let end = format!("unauthenticate --yes {OF_CONSUMER}");
    let err = folder.refused(&end, "", 4);
    assert!(err.contains("has invited cl-consumer"), "{err}");
    assert_eq!(command_in(&err), delete);
    let said = folder.ok(&delete);
    assert!(
        said.contains("cl-consumer is not invited any more"),
        "{said}"
    );
    // It does not come back, and what signs it is refused.
    folder.ok("renew --home cl-provider");
    let shown = folder.ok("status --home cl-provider -o json");
    assert!(shown.contains(r#""peerings": []"#), "{shown}");
    folder.refused("apply --home cl-provider -f -", &tenant, 3);
    folder.refused(&delete, "", 4);

    folder.ok(AUTHENTICATE);
    let err = folder.refused(&delete, "", 4);
    assert!(
        err.contains("has answered its invitation by a Tenant"),
        "{err}"
    );
    folder.ok(&format!("{} --yes", command_in(&err)));
    let err = folder.refused(&delete, "", 4);
    assert!(err.contains("has no invitation for cl-consumer"), "{err}");
}

#[test]
fn an_invitation_that_has_lapsed_does_not_come_back() {
    let folder = Folder::with_homes();
    folder.ok(&format!("create nonce {OF_CONSUMER}"));
    let late = "--now +3d --write-at-this-time";
    let (_, remedy) = finding(&folder, &format!("{DOCTOR} --now +3d"));
    folder.ok(&format!("{} {late}", command_in(&remedy)));
    let none = |of: &str| {
        let shown = folder.ok(&format!("status {of} -o json --now +3d"));
        assert!(shown.contains(r#""peerings": []"#), "{shown}");
    };
    none("--home cl-provider");
    let nonces = folder.ok("get nonces --home cl-provider");
    assert!(!nonces.contains("liqo-nonce"), "{nonces}");
    folder.ok(&format!("{AUTHENTICATE} {late}"));
}

/// Its certificate is valid for longer than the peering.
#[test]
fn an_ended_peering_leaves_with_its_certificate() {
    let folder = with_peering();
    folder.ok("unauthenticate --home cl-consumer --remote-home cl-provider --skip-confirm");
    let peerings = |home: &str, now: &str| {
        let shown = folder.ok(&format!("status --home {home} -o json {now}"));
        !shown.contains(r#""peerings": []"#)
    };
    assert!(!peerings("cl-consumer", ""));
    assert!(peerings("cl-provider", ""));
    let (late, writes) = ("--now +400d", "--write-at-this-time");
    let (_, remedy) = finding(&folder, &format!("{DOCTOR} {late}"));
    assert_eq!(remedy, "liqo-auth renew --home cl-provider");
    folder.ok(&format!("{} {late} {writes}", command_in(&remedy)));
    assert!(!peerings("cl-provider", late));
}

#[test]
fn what_is_due_is_found_and_done() {
    let folder = with_peering();
    let kubeconfig = "cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml";
    fs::remove_file(folder.path(kubeconfig)).unwrap();
    let (what, remedy) = finding(&folder, "doctor --home cl-consumer");
    assert_eq!(what, "the kubeconfig for cl-provider is missing");
    folder.ok(&command_in(&remedy));
    assert!(folder.path(kubeconfig).exists());
    is_well(&folder, "cl-consumer");

    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let nonce = "cl-provider/private/liqo-tenant-cl-other/secret.liqo-nonce.yaml";
    fs::remove_file(folder.path(nonce)).unwrap();
    let (what, remedy) = finding(&folder, DOCTOR);
    let missing = "the nonce is missing that cl-other is invited to sign";
    assert_eq!(what, missing);
    folder.ok(&command_in(&remedy));
    is_well(&folder, "cl-provider");
}

/// By files, as it is printed: each line is done, and leads to the next one.
#[test]
fn a_rotation_by_files_names_all_its_steps() {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    let run = folder.run("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    assert_eq!(run.code, 0, "{run:?}");
    let steps: Vec<&str> = run
        .err
        .lines()
        .filter(|line| line.contains("on cl-provider: ") || line.contains(" here: "))
        .collect();
    let [nonce, tenant, identity, apply] = steps[..] else {
        panic!("{run:?}");
    };
    folder.ok(&format!("{} --home cl-provider", command_in(nonce)));
    let text = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let signed = folder.ok(&command_in(tenant).replace("NONCE", text.trim()));
    folder.write("tenant.yaml", &signed);
    let first = command_in(identity)
        .trim_end_matches(',')
        .replace("FILE", "tenant.yaml");
    folder.ok(&format!("{first} --home cl-provider"));
    let (_, then) = identity.split_once("FILE, and liqo-auth ").unwrap();
    let answer = folder.ok(&format!("{then} --home cl-provider"));
    folder.write("identity.yaml", &answer);
    let run = folder.run(&command_in(apply).replace("FILE", "identity.yaml"));
    assert_eq!(run.code, 0, "{run:?}");
    // The Renew and the slice were answered for the earlier key.
    assert_eq!(run.err.matches("from before").count(), 2, "{run:?}");
    carried_as_printed(&folder, &run.err);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

#[test]
fn one_cause_is_one_finding() {
    let folder = with_peering();
    let late = "--now +600d";
    let (what, remedy) = finding(&folder, &format!("{DOCTOR} {late}"));
    assert!(
        what.starts_with("the certificate of cl-consumer ended"),
        "{what}"
    );
    assert!(remedy.contains("renew --home cl-provider"), "{remedy}");
    let key = "cl-provider/private/liqo/secret.authentication-keys.yaml";
    folder.write(key, "garbage: [");
    let (what, remedy) = finding(&folder, DOCTOR);
    assert!(what.contains("secret.authentication-keys.yaml"), "{what}");
    assert!(!remedy.contains("delete"), "{remedy}");
}

#[test]
fn a_ca_that_signs_nothing_any_more_is_found() {
    let folder = Folder::new();
    folder.ok("init --home alone --api-server https://172.19.0.2:6443");
    let doctor = "doctor --home alone --now";
    assert_eq!(folder.run(&format!("{doctor} +3649d")).code, 0);
    let (what, remedy) = finding(&folder, &format!("{doctor} +3651d"));
    assert!(
        what.starts_with("the CA of this home is valid from "),
        "{what}"
    );
    assert!(
        remedy.contains("init --home DIR --ca-cert FILE"),
        "{remedy}"
    );
    let (what, _) = finding(&folder, &format!("{doctor} 2020-01-01T00:00:00Z"));
    assert!(what.starts_with("the CA of this home"), "{what}");
}

#[test]
fn status_prints_whole_commands_and_a_drain_the_one_that_lifts_it() {
    let folder = with_peering();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    folder.ok("unauthenticate --yes --home cl-consumer --remote-home cl-provider");
    let status = folder.run("status --home cl-provider");
    let says =
        "To do here: liqo-auth create nonce --home cl-provider --remote-cluster-id cl-consumer\n";
    assert_eq!((status.code, status.err.as_str()), (0, says), "{status:?}");
    folder.ok(AUTHENTICATE);
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let run = folder.run(AUTHENTICATE);
    let (_, command) = run.err.split_once("has to lift that first: ").unwrap();
    folder.ok(command_in(command).split(';').next().unwrap());
    folder.ok(AUTHENTICATE);
}

/// Who may write in a home chooses names there. The remedy runs nothing else.
#[test]
fn a_remedy_quotes_the_names_of_files() {
    let folder = with_peering();
    let name = "identity.d'$(touch taken)'\n.yaml";
    let file = folder.path(&format!("cl-provider/manifests/{name}"));
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let run = folder.run(&format!("{DOCTOR} -o json"));
    let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let remedies = all["findings"].as_array().unwrap().iter();
    let mut remedies = remedies.filter_map(|found| found["remedy"].as_str());
    let remedy = remedies.find(|it| it.starts_with("chmod")).unwrap();
    let mut bash = Command::new("bash");
    let status = bash.arg("-c").arg(remedy).current_dir(folder.path(""));
    assert!(status.status().unwrap().success(), "{remedy}");
    assert!(!folder.path("taken").exists(), "{remedy}");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "{remedy}");
}
