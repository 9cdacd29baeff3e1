//! A conversation with Liqo 0.10.3, replayed over real TLS: by curl to our
//! server, and by a server that says what Liqo said to our client.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    sync::Arc,
    thread,
};

use crate::tool::server::Server;
use crate::tool::{Folder, vector};
use base64::{Engine, engine::general_purpose::STANDARD};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::Value;

const FOREIGN: &str = "11111111-aaaa-4bbb-8ccc-222222222222";
const HOME: &str = "0f6d1a3e-5c8b-4f7e-9a1d-33aa44bb55cc";
const NOW: &str = "2026-11-20T23:03:41Z";

/// A response as curl writes it with `-i`.
#[derive(Debug)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// The compatible policy, since the CSR is openssl's and the token has no seal
/// of ours.
#[test]
fn curl_hears_from_our_server_what_it_heard_from_liqo() {
    let folder = Folder::new();
    folder.ok(&format!(
        "init --home foreign --cluster-id {FOREIGN} --api-server https://127.0.0.1:17443"
    ));
    let token_file = folder.path("foreign/private/liqo/secret.auth-token.yaml");
    fs::copy(vector("liqo-0.10.3/auth-token.yaml"), token_file).unwrap();
    let server = Server::start(
        &folder,
        "--home foreign --name foreign --policy compatible --listen 127.0.0.1:0",
    );
    let certificate = folder.ok("legacy get certificate --home foreign");
    folder.write("foreign.crt", &certificate);

    let request = fs::read(vector("liqo-0.10.3/4-request.json")).unwrap();
    let with_token = |token: &str| {
        let mut body: Value = serde_json::from_slice(&request).unwrap();
        body["destinationClusterToken"] = token.into();
        serde_json::to_vec(&body).unwrap()
    };
    let certificate = "/identity/certificate";
    for (file, path, body) in [
        ("1-ids.http", "/ids", None),
        (
            "2-wrong-token.http",
            certificate,
            Some(with_token("hunter2")),
        ),
        ("3-empty-token.http", certificate, Some(with_token(""))),
        ("4-right-token.http", certificate, Some(request.clone())),
        ("5-again.http", certificate, Some(request.clone())),
        ("6-not-json.http", certificate, Some(b"hello".to_vec())),
        ("7-get.http", certificate, None),
    ] {
        let theirs = parse(&fs::read(vector(&format!("liqo-0.10.3/{file}"))).unwrap());
        let ours = curl(&folder, &format!("{}{path}", server.url), body.as_deref());
        assert_eq!(ours.status, theirs.status, "{file}");
        let names = |response: &Response| -> Vec<(String, String)> {
            let is_the_transports =
                |name: &str| ["content-length", "date", "connection"].contains(&name);
            let mut headers = response.headers.clone();
            headers.retain(|(name, _)| !is_the_transports(name));
            headers.sort();
            headers
        };
        assert_eq!(names(&ours), names(&theirs), "{file}");
        match serde_json::from_slice::<Value>(&theirs.body) {
            // The same fields, with our authority's content.
            Ok(theirs) => {
                let ours: Value = serde_json::from_slice(&ours.body).unwrap();
                assert_eq!(keys(&ours), keys(&theirs), "{file}");
                for field in [
                    "namespace",
                    "clusterId",
                    "clusterName",
                    "apiServerUrl",
                    "aws",
                ] {
                    assert_eq!(ours[field], theirs[field], "{file}: {field}");
                }
            }
            // A text for people: theirs shows the token, ours does not.
            Err(_) => {
                let text = String::from_utf8(ours.body).unwrap();
                assert!(!text.contains("hunter2"), "{file}: {text}");
                assert!(text.ends_with('\n'), "{file}");
                assert_eq!(text.len() > 1, theirs.body.len() > 1, "{file}");
            }
        }
    }
    let (code, log) = server.stop();
    assert_eq!(code, 0, "{log}");
    let lines: Vec<Value> = log
        .lines()
        .skip_while(|line| !line.contains("\"started\""))
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    assert_eq!(lines.len(), 9, "{log}");
    assert_eq!(lines[8]["message"], "stopped");
    let token = recorded_token();
    assert!(!log.contains("hunter2") && !log.contains(&token), "{log}");
}

#[test]
fn our_client_takes_and_stores_the_answer_that_liqo_gave() {
    let folder = Folder::new();
    folder.ok(&format!(
        "init --home home --cluster-id {HOME} --now {NOW} --write-at-this-time"
    ));
    let key = fs::read(vector("liqo-0.10.3/home.key")).unwrap();
    folder.write(
        "home/private/liqo/secret.authentication-keys.yaml",
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: authentication-keys\n  namespace: liqo\ndata:\n  privateKey: {}\n",
            STANDARD.encode(&key)
        ),
    );
    let (url, asked) = liqo(&folder);
    let peer = format!(
        "legacy peer --home home --name home --foreign-cluster foreign --ca liqo.crt --policy compatible --now {NOW} --write-at-this-time"
    );

    // It is asked who it is, then with the empty token: a token is awaited.
    let run = folder.run(&format!("{peer} --auth-url {url}"));
    assert_eq!(run.code, 4, "{run:?}");
    let status = folder.ok(&format!("legacy status --home home --now {NOW}"));
    assert!(status.contains("EmptyRefused"), "{status}");
    // Nothing more is sent meanwhile.
    assert_eq!(folder.run(&peer).code, 4);

    let token = recorded_token();
    folder.ok_with(
        &format!("legacy set remote-token --home home --remote-cluster-id {FOREIGN}"),
        &format!("{token}\n"),
    );
    let out = folder.ok(&peer);
    assert!(
        out.contains("Identity correctly received and stored"),
        "{out}"
    );
    let file = out.trim_end().rsplit(' ').next().unwrap();
    let secret: Value = serde_saphyr::from_str(&folder.read(file)).unwrap();
    let kubeconfig = STANDARD
        .decode(secret["data"]["kubeconfig"].as_str().unwrap())
        .unwrap();
    let kubeconfig: Value = serde_saphyr::from_slice(&kubeconfig).unwrap();
    let user = &kubeconfig["users"][0]["user"];
    let theirs = parse(&fs::read(vector("liqo-0.10.3/4-right-token.http")).unwrap());
    let theirs: Value = serde_json::from_slice(&theirs.body).unwrap();
    assert_eq!(user["client-certificate-data"], theirs["certificate"]);
    assert_eq!(user["client-key-data"], STANDARD.encode(&key));
    let cluster = &kubeconfig["clusters"][0]["cluster"];
    assert_eq!(cluster["server"], theirs["apiServerUrl"]);
    assert_eq!(cluster["certificate-authority-data"], theirs["apiServerCA"]);
    let status = folder.ok(&format!("legacy status --home home --now {NOW}"));
    assert!(status.contains("Accepted"), "{status}");
    assert!(!status.contains(&token), "{status}");
    // It has what it wants: nothing is sent.
    folder.ok(&peer);

    let requests = asked.join().unwrap();
    let lines: Vec<&str> = requests
        .iter()
        .map(|request| request.lines().next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "GET /ids HTTP/1.1",
            "POST /identity/certificate HTTP/1.1",
            "POST /identity/certificate HTTP/1.1"
        ]
    );
    let body = |request: &str| -> Value {
        serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    assert_eq!(body(&requests[1])["destinationClusterToken"], "");
    let theirs: Value =
        serde_json::from_slice(&fs::read(vector("liqo-0.10.3/4-request.json")).unwrap()).unwrap();
    let ours = body(&requests[2]);
    assert_eq!(ours["destinationClusterToken"], token);
    assert_eq!(ours["cluster"], theirs["cluster"]);
}

/// Answers three connections with what Liqo said, and gives the requests.
fn liqo(folder: &Folder) -> (String, thread::JoinHandle<Vec<String>>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    folder.write("liqo.crt", &certificate.pem());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let files = ["1-ids.http", "3-empty-token.http", "4-right-token.http"];
    let serving = thread::spawn(move || {
        files
            .map(|file| {
                let (stream, _) = listener.accept().unwrap();
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                let request = read_request(&mut stream);
                let recorded = fs::read(vector(&format!("liqo-0.10.3/{file}"))).unwrap();
                // curl noted HTTP/2, whose header lines are not HTTP/1.1's.
                let recorded = [b"HTTP/1.1".as_slice(), &recorded[b"HTTP/2".len()..]].concat();
                stream.write_all(&recorded).unwrap();
                stream.conn.send_close_notify();
                let _ = stream.flush();
                request
            })
            .into()
    });
    (url, serving)
}

fn read_request(stream: &mut impl Read) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, length)| length.parse().unwrap());
            if body.len() >= length {
                return text;
            }
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the request ended early: {text}");
        request.extend_from_slice(&buffer[..count]);
    }
}

fn curl(folder: &Folder, url: &str, body: Option<&[u8]>) -> Response {
    let mut command = Command::new("curl");
    let ca = folder.path("foreign.crt");
    command.args(["--silent", "--show-error", "--include", "--cacert"]);
    command.arg(ca).arg(url);
    if body.is_some() {
        command.args(["--header", "content-type: text/plain"]);
        command.args(["--data-binary", "@-"]);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(body.unwrap_or_default())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{url}: {error}");
    parse(&output.stdout)
}

fn parse(text: &[u8]) -> Response {
    let end = text
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = std::str::from_utf8(&text[..end]).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    Response {
        status: status.parse().unwrap(),
        headers: lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect(),
        body: text[end + 4..].to_vec(),
    }
}

fn recorded_token() -> String {
    let text = fs::read_to_string(vector("liqo-0.10.3/auth-token.yaml")).unwrap();
    let secret: Value = serde_saphyr::from_str(&text).unwrap();
    let token = STANDARD
        .decode(secret["data"]["token"].as_str().unwrap())
        .unwrap();
    String::from_utf8(token).unwrap()
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().unwrap().keys().collect()
}

#[test]
fn an_exchange_at_another_time_is_asked_for() {
    let folder = Folder::new();
    for command in ["authenticate", "serve", "peer"] {
        let other = match command {
            "authenticate" => "--home home --remote-home foreign --trust-whoever-holds-the-token",
            "serve" => "--home foreign --trust-whoever-holds-the-token",
            _ => "--home home --name home --foreign-cluster foreign",
        };
        let error = folder.refused(&format!("legacy {command} {other} --now +1h"), "", 2);
        assert!(error.contains("Add --write-at-this-time"), "{error}");
    }
}
