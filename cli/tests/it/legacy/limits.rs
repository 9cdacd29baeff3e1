//! Clients that guess, and clients that say nothing: they slow down their own
//! address and nobody else's.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::tool::Folder;
use crate::tool::server::Server;

/// A client that closes early does not see a refusal that is held back. So the
/// right token is held back, too.
#[test]
fn guesses_over_many_connections_delay_the_next_verdict() {
    let (folder, server) = foreign("");
    let token = folder.ok("legacy get token --home cl-foreign");
    // Each round has one verdict at least, which doubles the delay.
    for _ in 0..4 {
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| ask(&folder, &server, "127.0.0.1", &"0".repeat(128)));
            }
        });
    }
    let (status, took) = ask(&folder, &server, "127.0.0.1", &token);
    assert!(
        status == 503 || took > Duration::from_secs(1),
        "{status} after {took:?}"
    );
    // The token is right, and the request lacks a CSR. Others are not delayed.
    assert!(is_prompt(|| {
        let (status, took) = ask(&folder, &server, "127.0.0.2", &token);
        assert_eq!(status, 400);
        took
    }));
}

#[test]
fn silent_connections_of_one_address_delay_no_other_one() {
    let (folder, server) = foreign("--max-connections 64");
    assert!(is_prompt(|| {
        let silent: Vec<TcpStream> = (0..80)
            .map(|_| TcpStream::connect(server.address()).unwrap())
            .collect();
        let (status, took) = ask(&folder, &server, "127.0.0.2", "");
        assert_eq!(status, 401);
        silent.into_iter().for_each(is_closed_by_the_server);
        took
    }));
}

/// A client that sends its body slowly is given ten seconds for it.
#[test]
fn a_body_that_comes_slowly_is_not_waited_for() {
    let (folder, server) = foreign("");
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", server.address()])
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut body = client.stdin.take().unwrap();
    let head = "POST /identity/certificate HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
    body.write_all(head.as_bytes()).unwrap();
    let began = Instant::now();
    while client.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(180));
        let _ = body.write_all(b" ");
        let _ = body.flush();
        thread::sleep(Duration::from_millis(200));
    }
    let took = began.elapsed();
    assert!(took > Duration::from_secs(8), "{took:?}");
    // The server answers others, meanwhile and after.
    assert_eq!(ask(&folder, &server, "127.0.0.2", "").0, 401);
}

/// An honest home sends the empty token first.
#[test]
fn empty_tokens_are_no_guesses() {
    let (folder, server) = foreign("");
    let ask_with_none = || {
        let (status, took) = ask(&folder, &server, "127.0.0.1", "");
        assert_eq!(status, 401);
        took
    };
    for _ in 0..5 {
        ask_with_none();
    }
    assert!(is_prompt(ask_with_none));
}

/// Whether one of several answers comes sooner than one that is held back. A machine that does
/// much else slows some, and not all of them.
fn is_prompt(ask: impl Fn() -> Duration) -> bool {
    (0..10).any(|_| ask() < Duration::from_secs(1))
}

/// Closed or reset: over.
pub(super) fn is_closed_by_the_server(mut stream: TcpStream) {
    let limit = Some(Duration::from_secs(180));
    stream.set_read_timeout(limit).unwrap();
    if let Err(error) = stream.read_to_end(&mut Vec::new()) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}

fn foreign(options: &str) -> (Folder, Server) {
    let folder = Folder::new();
    folder.ok("init --home cl-foreign");
    let server = Server::start(
        &folder,
        &format!("--home cl-foreign --listen 127.0.0.1:0 {options}"),
    );
    let certificate = folder.ok("legacy get certificate --home cl-foreign");
    folder.write("cl-foreign.crt", &certificate);
    (folder, server)
}

/// Asks with a token and without a CSR.
fn ask(folder: &Folder, server: &Server, from: &str, token: &str) -> (u16, Duration) {
    let body = format!(
        r#"{{"cluster":{{"clusterID":"cl-home"}},"destinationClusterToken":"{}"}}"#,
        token.trim()
    );
    let began = Instant::now();
    let output = Command::new("curl")
        .args([
            "--silent",
            "--cacert",
            "cl-foreign.crt",
            "--interface",
            from,
        ])
        .args(["--output", "/dev/null", "--write-out", "%{http_code}"])
        .args(["--max-time", "180", "--data-binary", &body])
        .arg(format!("{}/identity/certificate", server.url))
        .current_dir(folder.path("."))
        .output()
        .unwrap();
    let status = String::from_utf8(output.stdout).unwrap();
    (status.parse().unwrap(), began.elapsed())
}
