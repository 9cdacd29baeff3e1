//! The certificate that Liqo's chart makes: a CA without names.

use std::process::Command;

use crate::tool::server::Server;
use crate::tool::{Folder, Run};

#[test]
fn the_very_certificate_is_trusted_whatever_its_names_and_ca_flag() {
    let folder = Folder::new();
    folder.ok("init --home cl-home");
    folder.ok("init --home cl-foreign");
    for name in ["tls", "other"] {
        let made = Command::new("openssl")
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "365",
            ])
            .args(["-subj", "/C=IT/ST=Turin/O=Liqo"])
            .args([
                "-keyout",
                &format!("{name}.key"),
                "-out",
                &format!("{name}.crt"),
            ])
            .current_dir(folder.path("."))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let options = "--home cl-foreign --listen 127.0.0.1:0 --tls-cert tls.crt --tls-key tls.key";
    let server = Server::start(&folder, options);
    let token = folder.ok("legacy get token --home cl-foreign");
    let set = "legacy set remote-token --home cl-home --remote-cluster-id cl-foreign";
    folder.ok_with(set, &token);
    let peer = format!(
        "legacy peer --home cl-home --foreign-cluster cl-foreign --auth-url {} --ca",
        server.url
    );
    // The same names, and another key.
    let run = folder.run(&format!("{peer} other.crt"));
    assert_eq!(run.code, 3, "{run:?}");
    folder.ok(&format!("{peer} tls.crt"));
}

/// Without `--ca`, the system's certificates count, and the name in the URL.
#[test]
fn a_certificate_of_an_authority_that_the_system_trusts_needs_no_file() {
    let folder = Folder::new();
    folder.ok("init --home cl-home");
    folder.ok("init --home cl-foreign");
    let script = "openssl req -x509 -newkey ed25519 -nodes -days 30 -subj /CN=authority \
        -keyout ca.key -out ca.crt -addext basicConstraints=critical,CA:TRUE
        for name in 127.0.0.1 192.0.2.1; do
            openssl req -x509 -newkey ed25519 -nodes -days 30 -subj /CN=service \
                -CA ca.crt -CAkey ca.key -keyout $name.key -out $name.crt \
                -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=IP:$name
        done";
    let made = Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(folder.path("."))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    for (foreign, name, code) in [("a", "192.0.2.1", 3), ("b", "127.0.0.1", 4)] {
        let options = format!(
            "--home cl-foreign --listen 127.0.0.1:0 --tls-cert {name}.crt --tls-key {name}.key"
        );
        let server = Server::start(&folder, &options);
        let peer = format!(
            "legacy peer --home cl-home --foreign-cluster {foreign} --wait 1s --auth-url {}",
            server.url
        );
        let run = |authorities: &str| {
            let mut command = folder.command(&peer);
            command
                .env("SSL_CERT_FILE", authorities)
                .env_remove("SSL_CERT_DIR");
            Run::of(command.output().unwrap())
        };
        // The system's usual authorities did not issue it.
        let other = run("/etc/ssl/certs/ca-certificates.crt");
        assert!([2, 3].contains(&other.code), "{other:?}");
        let answer = run("ca.crt");
        assert_eq!(answer.code, code, "{answer:?}");
        // It waits for the token: the server was trusted.
        let waits = answer.err.contains("requires its token");
        assert_eq!(waits, code == 4, "{answer:?}");
    }
}

#[test]
fn a_foreign_cluster_of_our_own_says_nothing_about_verification_unless_asked() {
    let folder = Folder::new();
    folder.ok("init --home cl-home");
    folder.ok("init --home cl-foreign");
    let server = Server::start(&folder, "--home cl-foreign --listen 127.0.0.1:0");
    let certificate = folder.ok("legacy get certificate --home cl-foreign");
    folder.write("tls.crt", &certificate);
    for (name, options) in [
        ("a", ""),
        (
            "b",
            "--policy compatible --skip-tls-verification-where-the-foreign-cluster-says-so",
        ),
    ] {
        let peer = "legacy peer --home cl-home --wait 1s --ca tls.crt";
        folder.run(&format!(
            "{peer} --foreign-cluster {name} --auth-url {} {options}",
            server.url
        ));
        let file = format!("cl-home/manifests/_cluster/foreigncluster.{name}.yaml");
        let says = folder.read(&file).contains("insecureSkipTLSVerify: true");
        assert_eq!(says, !options.is_empty(), "{name}");
        assert!(!folder.read(&file).contains("insecureSkipTLSVerify: false"));
    }
}
