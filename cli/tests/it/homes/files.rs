//! What a home looks like on the disk.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
};

use crate::tool::{Folder, openssl};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

#[test]
fn what_is_private_is_the_owners() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let mut seen = 0;
    for (path, (mode, content)) in folder.snapshot() {
        let shown = path.display();
        let private = ["/private", "/records"]
            .iter()
            .any(|area| path.to_string_lossy().contains(area));
        if private && path.is_dir() {
            assert_eq!(mode, 0o700, "{shown}");
        } else if private {
            assert_eq!(mode, 0o600, "{shown}");
            seen += 1;
        } else if path.is_file() {
            let text = String::from_utf8_lossy(&content).into_owned();
            assert!(
                !text.contains("kind: Secret") && !holds_private_key(&text),
                "{shown}"
            );
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_umask_does_not_open_or_close_anything() {
    let folder = Folder::new();
    let mut shell = Command::new("sh");
    let tool = env!("CARGO_BIN_EXE_liqo-auth");
    let status = shell
        .args([
            "-c",
            &format!("umask 0; {tool} init --home cl-open >/dev/null"),
        ])
        .current_dir(folder.path("."))
        .status()
        .unwrap();
    assert!(status.success());
    let mode = |name: &str| {
        fs::metadata(folder.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("cl-open/private"), 0o700);
    assert_eq!(
        mode("cl-open/private/liqo/secret.authentication-keys.yaml"),
        0o600
    );
    assert_eq!(mode("cl-open/lock"), 0o600);
}

#[test]
fn no_symbolic_link_is_followed() {
    // The command line names the home itself, so that a link there is its error.
    for (place, link_to_file, code) in [
        ("cl-provider", false, 2),
        ("cl-provider/private", false, 1),
        ("cl-provider/private/liqo", false, 1),
        ("cl-provider/manifests/_cluster", false, 1),
        (
            "cl-provider/private/liqo/secret.authentication-keys.yaml",
            true,
            1,
        ),
        ("cl-provider/home.yaml", true, 1),
        ("cl-provider/lock", true, 1),
    ] {
        let folder = Folder::with_homes();
        fs::rename(folder.path(place), folder.path("elsewhere")).unwrap();
        symlink(folder.path("elsewhere"), folder.path(place)).unwrap();
        assert_eq!(folder.path("elsewhere").is_file(), link_to_file);
        let error = folder.refused(
            "create nonce --home cl-provider --remote-cluster-id cl-consumer",
            "",
            code,
        );
        assert!(error.contains("symbolic link"), "{place}: {error}");
    }
}

#[test]
fn a_link_at_the_place_of_a_new_folder_is_not_written_through() {
    let folder = Folder::with_homes();
    fs::create_dir(folder.path("elsewhere")).unwrap();
    symlink(
        folder.path("elsewhere"),
        folder.path("cl-provider/private/liqo-tenant-cl-consumer"),
    )
    .unwrap();
    folder.refused(
        "create nonce --home cl-provider --remote-cluster-id cl-consumer",
        "",
        1,
    );
    assert_eq!(fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn what_a_crash_left_is_swept_up() {
    let folder = Folder::with_homes();
    let left = "cl-provider/private/liqo/.new-0123456789abcdef-0.secret.x.yaml";
    folder.write(left, "half a secr");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
    assert!(!folder.path(left).exists());
}

#[test]
fn killed_at_any_moment_it_goes_on_where_it_was() {
    for round in 0..24 {
        let folder = Folder::new();
        let mut run = folder
            .command(&format!("{AUTHENTICATE} --init"))
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(round * 2));
        run.kill().unwrap();
        run.wait().unwrap();
        folder.ok(&format!("{AUTHENTICATE} --init"));
        folder.ok("get kubeconfig --home cl-consumer --remote-cluster-id cl-provider");
        let names = fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
        let names = names.map(|name| name.unwrap().file_name().to_string_lossy().into_owned());
        let certificates = names.filter(|name| name.starts_with("certificatesigningrequest."));
        assert_eq!(certificates.count(), 1, "after {} ms", round * 2);
        for path in folder.snapshot().into_keys() {
            assert!(
                !path.to_string_lossy().contains("/.new-"),
                "{}",
                path.display()
            );
        }
    }
}

/// A pipe has no end, and opening it waits for the other side.
#[test]
fn pipes_in_a_home_block_nobody() {
    for (name, code) in [("lock", 1), ("audit.log", 0)] {
        let folder = Folder::with_homes();
        let path = folder.path(&format!("cl-provider/{name}"));
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let run = folder.run("status --home cl-provider");
        assert_eq!(run.code, code, "{name}: {run:?}");
        let run = folder.run("doctor --home cl-provider");
        assert_ne!(run.code, 0, "{name}: {run:?}");
        assert!(format!("{run:?}").contains(name), "{run:?}");
    }
}

#[test]
fn a_folder_that_is_no_home_stays_as_it_is() {
    let folder = Folder::with_homes();
    fs::create_dir(folder.path("photos")).unwrap();
    folder.refused("get tenants --home photos", "", 2);
    folder.refused(
        "create nonce --home photos --remote-cluster-id cl-consumer",
        "",
        2,
    );
    // Nor do a person's own files in a home disturb anything.
    folder.write("cl-provider/manifests/README.md", "mine");
    folder.write("cl-provider/manifests/_cluster/notes.txt", "mine");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer");
}

#[test]
fn a_folder_with_other_things_is_not_made_a_home() {
    let folder = Folder::new();
    fs::create_dir(folder.path("photos")).unwrap();
    folder.write("photos/cat.jpg", "");
    let error = folder.run("init --home photos").err;
    assert!(error.contains("cat.jpg"), "{error}");
    assert!(!folder.path("photos/private").exists());
}

#[test]
fn a_home_stays_as_it_is() {
    let folder = Folder::with_homes();
    let error = folder.refused("init --home cl-consumer", "", 2);
    assert!(error.contains("is a home already"), "{error}");
}

#[test]
fn an_authority_that_is_given_signs() {
    let folder = Folder::with_homes();
    // The one of another home.
    let text = folder.read("cl-provider/private/liqo/secret.liqo-auth-authority.yaml");
    let field = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap();
        String::from_utf8(base64(line.split_once(": ").unwrap().1)).unwrap()
    };
    folder.write("ca.crt", &field("tls.crt"));
    folder.write("ca.key", &field("tls.key"));
    folder.ok("init --home third --ca-cert ca.crt --ca-key ca.key");
    folder.ok("authenticate --home cl-consumer --remote-home third");
    folder.write("other.key", &field("tls.key").replace("MC4", "MC5"));
    let run = folder.run("init --home fourth --ca-cert ca.crt --ca-key other.key");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(!run.err.contains("MC5"), "{}", run.err);
}

/// kubeadm writes PKCS#1 and SEC1.
#[test]
fn a_ca_may_have_its_key_in_any_form() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer");
    let certificate = "req -x509 -key ca.key -days 2 -subj /CN=ca -out ca.crt";
    for (number, (make, begins)) in [
        (
            "genrsa -traditional -out ca.key 2048",
            "-----BEGIN RSA PRIVATE KEY",
        ),
        (
            "ecparam -genkey -name prime256v1 -out ca.key",
            "-----BEGIN EC PARAMETERS",
        ),
        (
            "ecparam -genkey -noout -name secp384r1 -out ca.key",
            "-----BEGIN EC PRIVATE KEY",
        ),
        (
            "ecparam -genkey -noout -name secp521r1 -out ca.key",
            "-----BEGIN EC PRIVATE KEY",
        ),
        (
            "genpkey -algorithm ed25519 -out ca.key",
            "-----BEGIN PRIVATE KEY",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        openssl(&folder, make);
        assert!(folder.read("ca.key").starts_with(begins), "{make}");
        openssl(&folder, certificate);
        folder.ok(&format!(
            "init --home cl-{number} --ca-cert ca.crt --ca-key ca.key"
        ));
        folder.ok(&format!(
            "authenticate --home cl-consumer --remote-home cl-{number}"
        ));
    }
}

#[test]
fn a_failed_init_leaves_nothing() {
    let folder = Folder::new();
    openssl(
        &folder,
        "genrsa -aes128 -passout pass:x -traditional -out ca.key 2048",
    );
    folder.write("ca.crt", "no certificate");
    folder.write(
        "short.key",
        "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n",
    );
    fs::create_dir(folder.path("taken")).unwrap();
    folder.write("taken/letter.txt", "dear");
    for arguments in [
        "init --home new --ca-cert ca.crt --ca-key ca.key",
        "init --home new --ca-cert ca.crt --ca-key short.key",
        "init --home new --ca-cert ca.crt --ca-key ca.crt",
        "init --home new --ca-cert ca.crt --ca-key ca.key --signer kubernetes",
        "init --home new --api-server-ca ca.crt",
        "init --home taken",
    ] {
        folder.refused(arguments, "", 2);
    }
}

#[test]
fn an_rsa_key_tells_what_it_needs() {
    let run = Folder::new().run("init --home cl-a --key-algorithm rsa-2048");
    assert!(run.err.contains("Liqo 1.0.2"), "{run:?}");
    let run = Folder::new().run("init --home cl-a --api-server https://10.0.0.1:6443");
    assert_eq!(run.err, "", "{run:?}");
}

#[test]
fn no_output_shows_a_private_key() {
    let folder = Folder::with_homes();
    let mut shown = String::new();
    for arguments in [
        AUTHENTICATE,
        "get identities -A --home cl-consumer",
        "get identities -o yaml --home cl-consumer",
        "get tenants -o json --home cl-provider",
        "get nonce --home cl-provider",
        "generate tenant --home cl-consumer --remote-cluster-id cl-provider",
        "generate identity --home cl-provider --remote-cluster-id cl-consumer",
        "export --home cl-consumer",
        "export --home cl-provider",
        "init --home third",
        "init --home third",
        "get tenants --home cl-provider/private",
        "apply --home cl-provider -f cl-consumer/private/liqo/secret.authentication-keys.yaml",
        "inspect cl-consumer/private/liqo/secret.authentication-keys.yaml",
        "inspect cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-controlplane-cl-provider.yaml",
    ] {
        let run = folder.run(arguments);
        shown.push_str(&run.out);
        shown.push_str(&run.err);
    }
    assert!(!holds_private_key(&shown), "{shown}");
}

/// In PEM, or in base64 once more.
fn holds_private_key(text: &str) -> bool {
    [
        "PRIVATE KEY",
        "QUklWQVRFIEtFW",
        "BSSVZBVEUgS0VZ",
        "UFJJVkFURSBLRVk",
        "MC4CAQAwBQYDK2Vw",
    ]
    .iter()
    .any(|mark| text.contains(mark))
}

fn base64(text: &str) -> Vec<u8> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.decode(text.trim()).unwrap()
}
