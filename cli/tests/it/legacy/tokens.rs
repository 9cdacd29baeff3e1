//! The token protocol between homes, over HTTPS on this machine.

use std::{fs, io::Write, net::TcpStream, process::Command};

use super::limits::is_closed_by_the_server;
use crate::tool::Folder;
use crate::tool::server::Server;
use serde_json::Value;

const AUTHENTICATE: &str = "legacy authenticate --home cl-home --remote-home cl-foreign --init --trust-whoever-holds-the-token";

#[test]
fn one_command_shows_the_whole_exchange() {
    let folder = Folder::new();
    let out = folder.ok(AUTHENTICATE);
    let steps: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix(" INFO   "))
        .filter(|line| !line.contains("https://"))
        .collect();
    assert_eq!(
        steps,
        [
            "(remote) Token ensured",
            "(local) ForeignCluster correctly ensured",
            "(local) Cluster ID of the foreign cluster received",
            "(remote) The empty token is refused",
            "(local) The foreign cluster requires its token",
            "(local) Token of the foreign cluster set",
            "(remote) cl-home was given its identity (form 0.4)",
            "(local) Identity correctly received and stored",
            "(remote) Stopped serving",
        ]
    );
    let kubeconfig = out.trim_end().rsplit(' ').next().unwrap();
    assert!(folder.read(kubeconfig).contains("kubeconfig: "), "{out}");

    // Again: it is there, and nothing is asked.
    let again = folder.ok(AUTHENTICATE);
    assert!(!again.contains("was given its identity"), "{again}");
    assert!(again.ends_with(&format!("{kubeconfig}\n")), "{again}");
}

#[test]
fn the_state_of_a_home_has_its_legacy_peerings() {
    let folder = Folder::new();
    folder.ok(AUTHENTICATE);
    for (home, peer, role) in [
        ("cl-home", "cl-foreign", "foreign cluster"),
        ("cl-foreign", "cl-home", "home cluster"),
    ] {
        let state = folder.ok(&format!("status --home {home} -o json"));
        let state: Value = serde_json::from_str(&state).unwrap();
        let [peering] = &state["legacyPeerings"].as_array().unwrap()[..] else {
            panic!("{state}");
        };
        assert_eq!(
            (&peering["peer"], &peering["role"]),
            (&peer.into(), &role.into())
        );
        let shown = folder.ok(&format!("status --home {home} --remote-cluster-id {peer}"));
        let row = shown.lines().last().unwrap();
        let state = peering["state"].as_str().unwrap();
        assert!(row.starts_with(peer) && row.contains(role), "{shown}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&shown).contains(&words(state)), "{state}: {shown}");
    }
    folder.refused("status --home cl-home --remote-cluster-id cl-x", "", 4);
}

/// A ForeignCluster may have any name. The peer's name is its cluster ID, if it is known.
#[test]
fn a_foreign_cluster_is_named_by_its_cluster_id() {
    let folder = Folder::new();
    folder.ok(AUTHENTICATE);
    let manifests = "cl-home/manifests/_cluster/foreigncluster";
    let text = folder.read(&format!("{manifests}.cl-foreign.yaml"));
    let renamed = text.replace("  name: cl-foreign\n", "  name: our-friends\n");
    assert_ne!(text, renamed);
    fs::remove_file(folder.path(&format!("{manifests}.cl-foreign.yaml"))).unwrap();
    folder.write(&format!("{manifests}.our-friends.yaml"), &renamed);
    let id = "{.legacyPeerings[*].peer}";
    assert_eq!(
        folder.ok(&format!("status --home cl-home -o jsonpath={id}")),
        "cl-foreign"
    );
    folder.ok("status --home cl-home --remote-cluster-id cl-foreign");
    assert_eq!(folder.ok("status --home cl-home -o name"), "cl-foreign\n");
    // Before it is asked, only its name is known.
    let unknown = renamed.replace("clusterID: cl-foreign", "clusterID: \"\"");
    assert_ne!(unknown, renamed);
    folder.write(&format!("{manifests}.our-friends.yaml"), &unknown);
    assert_eq!(folder.ok("status --home cl-home -o name"), "our-friends\n");
}

#[test]
fn only_who_has_an_identity_is_released() {
    let folder = Folder::new();
    folder.ok(AUTHENTICATE);
    let release = "legacy release --home cl-foreign --remote-cluster-id";
    let error = folder.refused(&format!("{release} cl-x"), "", 4);
    assert!(error.contains("has given no identity to cl-x"), "{error}");
    folder.ok(&format!("{release} cl-home"));
    folder.refused(&format!("{release} cl-home"), "", 4);
}

#[test]
fn whoever_holds_the_token_is_trusted_by_nobody_unasked() {
    let folder = Folder::new();
    let asked = AUTHENTICATE.replace(" --trust-whoever-holds-the-token", "");
    let error = folder.refused(&asked, "", 2);
    assert!(error.contains("--trust-whoever-holds-the-token"), "{error}");
    folder.ok("init --home cl-foreign");
    let error = folder.refused("legacy serve --home cl-foreign", "", 2);
    assert!(error.contains("--trust-whoever-holds-the-token"), "{error}");
}

#[test]
fn a_token_is_asked_for_and_refused_and_mended() {
    let folder = Folder::with_token_homes();
    let server = Server::start(&folder, "--home cl-foreign --listen 127.0.0.1:0");
    let peer = folder.peer(&server, "cl-home");
    let run = folder.run(&peer);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("legacy set remote-token"), "{run:?}");

    let token = folder.ok("legacy get token --home cl-foreign");
    assert_eq!(token.len(), 128);
    let wrong: String = token.chars().rev().collect();
    let set = "legacy set remote-token --home cl-home --remote-cluster-id cl-foreign";
    folder.ok_with(set, &wrong);
    assert_eq!(folder.run(&peer).code, 3);
    // It is not asked again, until there is another one.
    let lines = server.log().lines().count();
    assert_eq!(folder.run(&peer).code, 3);
    assert_eq!(server.log().lines().count(), lines);
    folder.ok_with(set, &format!("{token}\n"));
    folder.ok(&peer);

    // It has its identity; another home of that name gets none, until the
    // administrator takes the first one back, while the server runs.
    folder.ok("init --home other --cluster-id cl-home");
    folder.ok_with(&set.replace("--home cl-home", "--home other"), &token);
    let other = folder.peer(&server, "other");
    let run = folder.run(&other);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("release"), "{run:?}");
    let status = folder.ok("legacy status --home cl-foreign");
    assert!(
        status.contains("cl-home        0.4    delivered"),
        "{status}"
    );
    folder.ok("legacy release --home cl-foreign --remote-cluster-id cl-home");
    folder.ok_with(&set.replace("--home cl-home", "--home other"), &wrong);
    folder.ok_with(&set.replace("--home cl-home", "--home other"), &token);
    folder.ok(&other);

    let (code, log) = server.stop();
    assert_eq!(code, 0, "{log}");
    for secret in [&token, &wrong] {
        assert!(!log.contains(secret.as_str()), "{log}");
        assert!(!status.contains(secret.as_str()), "{status}");
    }
    assert_eq!(log.matches("was given its identity").count(), 2, "{log}");
}

#[test]
fn a_server_that_is_not_trusted_hears_no_token() {
    let folder = Folder::with_token_homes();
    let server = Server::start(&folder, "--home cl-foreign --listen 127.0.0.1:0");
    folder.ok("init --home cl-stranger");
    let stranger = Server::start(&folder, "--home cl-stranger --listen 127.0.0.1:0");
    let token = folder.ok("legacy get token --home cl-foreign");
    let set = "legacy set remote-token --home cl-home --remote-cluster-id cl-foreign";
    folder.ok_with(set, &token);
    // The stranger's address, and the certificate of the one that is meant.
    let peer = folder.peer(&server, "cl-home");
    let peer = peer.replace(&server.url, &stranger.url);
    let run = folder.run(&peer);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("certificate"), "{run:?}");
    assert!(
        !stranger.log().contains("\"answered\""),
        "{}",
        stranger.log()
    );
}

#[test]
fn liqo_0_2_gets_service_accounts() {
    let folder = Folder::with_token_homes();
    let serve = "legacy serve --trust-whoever-holds-the-token --listen 127.0.0.1:0";
    let run = folder.run(&format!(
        "{serve} --home cl-foreign --service-accounts liqo"
    ));
    assert_eq!(run.code, 2, "{run:?}");
    let options = "--home cl-foreign --listen 127.0.0.1:0 --service-accounts guests";
    let server = Server::start(&folder, options);
    let token = folder.ok("legacy get token --home cl-foreign");
    let set = "legacy set remote-token --home cl-home --remote-cluster-id cl-foreign";
    folder.ok_with(set, &token);
    let peer = folder.peer(&server, "cl-home");
    // Strict: that form is not spoken.
    let run = folder.run(&peer);
    assert_eq!(run.code, 3, "{run:?}");
    let out = folder.ok(&format!("{peer} --policy compatible"));
    let kubeconfig = out.trim_end().rsplit(' ').next().unwrap();
    assert!(folder.read(kubeconfig).contains("kubeconfig: "), "{out}");
    let account = "cl-foreign/manifests/guests/serviceaccount.remote-cl-home.yaml";
    assert!(folder.read(account).contains("garbage-collection"));
    let status = folder.ok("legacy status --home cl-foreign");
    assert!(
        status.contains("cl-home        0.2    delivered"),
        "{status}"
    );
    drop(server);

    // What was made is taken back, the account with its finalizer too.
    folder.ok("legacy release --home cl-foreign --remote-cluster-id cl-home");
    assert!(!folder.path(account).exists());
    let left = fs::read_dir(folder.path("cl-foreign/manifests/_cluster")).unwrap();
    let left = left.filter(|file| {
        let name = file.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("remote-cl-home")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_token_serves_once_where_that_is_chosen() {
    let folder = Folder::with_token_homes();
    folder.ok("init --home cl-late");
    let options = "--home cl-foreign --listen 127.0.0.1:0 --single-use-token --token-lifetime 1h";
    let server = Server::start(&folder, options);
    let token = folder.ok("legacy get token --home cl-foreign");
    for home in ["cl-home", "cl-late"] {
        let set = format!("legacy set remote-token --home {home} --remote-cluster-id cl-foreign");
        folder.ok_with(&set, &token);
    }
    folder.ok(&folder.peer(&server, "cl-home"));
    assert_ne!(folder.ok("legacy get token --home cl-foreign"), token);
    assert_eq!(folder.run(&folder.peer(&server, "cl-late")).code, 3);
    let later = "legacy get token --home cl-foreign --now 2100-01-01T00:00:00Z";
    assert_eq!(folder.run(later).code, 4);
}

#[test]
fn who_authenticates_with_a_key_is_not_replaced_by_a_token() {
    let folder = Folder::with_token_homes();
    folder.ok("authenticate --home cl-home --remote-home cl-foreign");
    let server = Server::start(&folder, "--home cl-foreign --listen 127.0.0.1:0");
    let token = folder.ok("legacy get token --home cl-foreign");
    folder.ok("init --home thief --cluster-id cl-home");
    let set = "legacy set remote-token --home thief --remote-cluster-id cl-foreign";
    folder.ok_with(set, &token);
    let run = folder.run(&folder.peer(&server, "thief"));
    assert_eq!(run.code, 3, "{run:?}");
    let log = server.log();
    assert!(
        log.contains("a Kubernetes user or group is already named"),
        "{log}"
    );
}

#[test]
fn hostile_connections_end_and_hinder_nobody() {
    let folder = Folder::with_token_homes();
    let options = "--home cl-foreign --listen 127.0.0.1:0 --max-connections 4";
    let server = Server::start(&folder, options);
    let address = server.address().to_owned();
    // As many as have a place say nothing, or no TLS.
    let mut silent: Vec<TcpStream> = (0..4)
        .map(|_| TcpStream::connect(&address).unwrap())
        .collect();
    silent[0].write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    folder.write(
        "cl-foreign.crt",
        &folder.ok("legacy get certificate --home cl-foreign"),
    );
    let run = folder.run(&folder.peer(&server, "cl-home"));
    assert_eq!(run.code, 4, "{run:?}");
    silent.into_iter().for_each(is_closed_by_the_server);
    // One that is too large is answered, and what it says is not kept.
    let body = format!("{{\"clusterID\": \"{}\"}}", "x".repeat(200_000));
    folder.write("large.json", &body);
    let url = format!("{}/identity/certificate", server.url);
    let curl = |arguments: &[&str]| {
        let output = Command::new("curl")
            .args([
                "--silent",
                "--cacert",
                "cl-foreign.crt",
                "--write-out",
                "%{http_code}",
            ])
            .args(arguments)
            .current_dir(folder.path("."))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let answer = curl(&["--data-binary", "@large.json", &url]);
    assert!(answer.ends_with("400") && answer.len() < 300, "{answer}");
    let answer = curl(&[&format!("{}/nothing", server.url)]);
    assert!(answer.ends_with("404"), "{answer}");
    let (code, log) = server.stop();
    assert_eq!(code, 0);
    for line in log.lines().filter(|line| line.starts_with('{')) {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(line.len() < 1000, "{line}");
        assert_ne!(entry["level"], "error", "{line}");
    }
}

impl Folder {
    fn with_token_homes() -> Self {
        let folder = Self::new();
        folder.ok("init --home cl-home");
        folder.ok("init --home cl-foreign --api-server https://172.19.0.3:6443");
        folder
    }

    /// The command by which a home asks a server.
    fn peer(&self, server: &Server, home: &str) -> String {
        let certificate = self.ok("legacy get certificate --home cl-foreign");
        self.write("cl-foreign.crt", &certificate);
        format!(
            "legacy peer --home {home} --foreign-cluster cl-foreign --auth-url {} --ca cl-foreign.crt",
            server.url
        )
    }
}
