//! Many homes at once against one server, with right, wrong, empty and
//! malformed requests, slow clients in between, and a server that is killed
//! and started again: nobody gets an identity twice or wrongly, none is lost.
//!
//! `LIQO_AUTH_LOAD_HOMES=1000` is another number of homes; `--nocapture` shows
//! the figures.

use std::{
    collections::BTreeSet,
    fs,
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::tool::Folder;
use crate::tool::server::Server;
use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    crypto::{
        CertificateChain, ClientCertificateExpectation, Csr, Entropy, KeyPair, SigningKey, Subject,
    },
    model::ClusterId,
    policy::Policy,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

const SLOW_CLIENTS: usize = 64;
const LONGEST: Duration = Duration::from_secs(300);

/// What all clients have.
struct World {
    address: String,
    tls: TlsConnector,
    token: String,
    issued: AtomicUsize,
    requests: AtomicUsize,
    no_answer: AtomicUsize,
    slow_ended: AtomicUsize,
    is_over: AtomicBool,
    latencies: Mutex<Vec<Duration>>,
}

/// A home cluster: one key, one request.
struct Home {
    /// Its own, since the server limits what one address may have.
    address: Ipv4Addr,
    id: ClusterId,
    key: KeyPair,
    csr: String,
}

#[test]
fn nobody_gets_an_identity_twice_or_wrongly_and_none_is_lost() {
    let homes = std::env::var("LIQO_AUTH_LOAD_HOMES");
    let homes: usize = homes.map_or(250, |homes| homes.parse().unwrap());
    allow_sockets();
    let folder = Folder::new();
    folder.ok("init --home foreign");
    let mut server = Server::start(&folder, "--home foreign --listen 127.0.0.1:0");
    let certificate = folder.ok("legacy get certificate --home foreign");
    let token = folder.ok("legacy get token --home foreign");
    let world = Arc::new(World {
        address: server.address().to_owned(),
        tls: connector(&certificate),
        token: token.clone(),
        issued: AtomicUsize::new(0),
        requests: AtomicUsize::new(0),
        no_answer: AtomicUsize::new(0),
        slow_ended: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
        latencies: Mutex::default(),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let began = Instant::now();
    for number in 0..SLOW_CLIENTS {
        runtime.spawn(be_slow(world.clone(), number));
    }
    let tasks: Vec<_> = (0..homes)
        .map(|number| runtime.spawn(live(world.clone(), number)))
        .collect();

    // Others use the home meanwhile.
    let (mut logs, mut memory, mut slowest_reader) = (String::new(), 0, Duration::ZERO);
    for share in [1, 2] {
        while world.issued.load(Ordering::Relaxed) < homes * share / 3 {
            assert!(began.elapsed() < LONGEST, "{}", server.log());
            let asked = Instant::now();
            assert_eq!(folder.ok("legacy get token --home foreign"), token);
            slowest_reader = slowest_reader.max(asked.elapsed());
            thread::sleep(Duration::from_millis(100));
        }
        memory = memory.max(peak_memory(server.id()));
        logs.push_str(&server.kill());
        thread::sleep(Duration::from_millis(100));
        let listen = format!("--home foreign --listen {}", world.address);
        server = Server::start(&folder, &listen);
    }
    let homes_with_identities: Vec<(Home, String)> = runtime.block_on(async {
        let mut all = Vec::new();
        for task in tasks {
            all.push(task.await.unwrap());
        }
        all
    });
    let took = began.elapsed();

    // Each has the identity that is for it, and no two have the same.
    let mut certificates = BTreeSet::new();
    for (home, body) in &homes_with_identities {
        let answer: Value = serde_json::from_str(body).unwrap();
        assert_eq!(answer["namespace"], format!("liqo-tenant-{}", home.id));
        let pem = STANDARD.decode(answer["certificate"].as_str().unwrap());
        let pem = pem.unwrap();
        let policy = Policy::strict();
        let chain = CertificateChain::from_pem(&pem, &policy).unwrap();
        let expectation = ClientCertificateExpectation {
            subject: &Subject::control_plane(&home.id),
            key: home.key.public_key(),
            now: now(),
        };
        chain.check_client(&expectation, &policy).unwrap();
        assert!(certificates.insert(pem), "{}", home.id);
    }
    assert_eq!(certificates.len(), homes);

    // Nobody gets a second one, also with another key.
    runtime.block_on(async {
        let mut tasks = Vec::new();
        for (home, body) in homes_with_identities {
            tasks.push(tokio::spawn(come_again(world.clone(), home, body)));
        }
        for task in tasks {
            task.await.unwrap();
        }
    });
    world.is_over.store(true, Ordering::Relaxed);
    memory = memory.max(peak_memory(server.id()));
    let (code, log) = server.stop();
    logs.push_str(&log);
    assert_eq!(code, 0);
    for line in logs.lines() {
        assert!(!line.contains(&token), "{line}");
        assert!(!line.contains("\"level\":\"error\""), "{line}");
    }

    // What is left: one request signed for each, and each delivered.
    let cluster = folder.path("foreign/manifests/_cluster");
    let signed = fs::read_dir(cluster).unwrap().filter(|file| {
        let name = file.as_ref().unwrap().file_name();
        name.to_string_lossy()
            .starts_with("certificatesigningrequest.")
    });
    assert_eq!(signed.count(), homes);
    let status = folder.ok("legacy status --home foreign");
    let delivered = status.lines().filter(|line| line.ends_with("delivered"));
    assert_eq!(delivered.count(), homes);

    let mut latencies = world.latencies.lock().unwrap().clone();
    latencies.sort_unstable();
    println!(
        "{homes} homes, {SLOW_CLIENTS} slow clients, two kills: {:.1} s, {} requests answered, {} without an answer, {} slow connections ended; a right token was answered in {:?} (median), {:?} (99 of 100), {:?} (longest); the server had {} MiB at most; get token took {slowest_reader:?} at most",
        took.as_secs_f64(),
        world.requests.load(Ordering::Relaxed),
        world.no_answer.load(Ordering::Relaxed),
        world.slow_ended.load(Ordering::Relaxed),
        latencies[latencies.len() / 2],
        latencies[latencies.len() * 99 / 100],
        latencies[latencies.len() - 1],
        memory / 1024,
    );
}

/// Asks in all the wrong ways and the right one, each home in another order,
/// until it has its identity.
async fn live(world: Arc<World>, number: usize) -> (Home, String) {
    let home = Home::new(number);
    let mut identity = None;
    for step in 0..4 {
        match (number + step) % 4 {
            0 => {
                let (status, _) = world.ask(&home, &malformed(number)).await;
                assert_eq!(status, 400, "{}", home.id);
            }
            1 => {
                let (status, _) = world.ask(&home, &home.body("")).await;
                assert_eq!(status, 401, "{}", home.id);
            }
            2 => {
                let wrong: String = world.token.chars().rev().collect();
                let (status, body) = world.ask(&home, &home.body(&wrong)).await;
                assert_eq!((status, body.as_str()), (401, "invalid token\n"));
            }
            _ => {
                let asked = Instant::now();
                let (status, body) = world.ask(&home, &home.body(&world.token)).await;
                assert_eq!(status, 202, "{}: lost: {body}", home.id);
                world.latencies.lock().unwrap().push(asked.elapsed());
                world.issued.fetch_add(1, Ordering::Relaxed);
                identity = Some(body);
            }
        }
    }
    (home, identity.unwrap())
}

/// The same identity once more, if the server was killed before it noted that
/// it was delivered; otherwise none. For another key, none in any case.
async fn come_again(world: Arc<World>, home: Home, identity: String) {
    let thief = Home {
        key: key(1_000_000),
        csr: csr(&home.id, &key(1_000_000)),
        ..home
    };
    let (status, body) = world.ask(&thief, &thief.body(&world.token)).await;
    assert_eq!((status, body.as_str()), (403, "\n"), "{}", thief.id);
    let home = Home {
        address: thief.address,
        csr: csr(&thief.id, &home.key),
        id: thief.id,
        key: home.key,
    };
    let (mut status, body) = world.ask(&home, &home.body(&world.token)).await;
    if status == 202 {
        assert_eq!(body, identity, "{}", home.id);
        (status, _) = world.ask(&home, &home.body(&world.token)).await;
    }
    assert_eq!(status, 403, "{}", home.id);
}

/// Connects and dawdles, until the server has had enough; then again.
async fn be_slow(world: Arc<World>, number: usize) {
    while !world.is_over.load(Ordering::Relaxed) {
        if let Ok(mut stream) = TcpStream::connect(&world.address).await {
            if number.is_multiple_of(2) {
                // Not a word.
                let _ = stream.read(&mut [0; 16]).await;
            } else if let Ok(mut stream) = world.handshake(stream).await {
                let head = b"POST /identity/certificate HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
                let slow_head = number % 4 == 1;
                if !slow_head {
                    let _ = stream.write_all(head).await;
                }
                for byte in head.iter().cycle() {
                    let write = async {
                        stream.write_all(&[*byte]).await?;
                        stream.flush().await
                    };
                    if write.await.is_err() {
                        break;
                    }
                    sleep(Duration::from_millis(500)).await;
                }
            }
            world.slow_ended.fetch_add(1, Ordering::Relaxed);
        }
        sleep(Duration::from_millis(100)).await;
    }
}

impl World {
    /// Asks until there is an answer. A request that arrived too slowly (408) is none.
    async fn ask(&self, home: &Home, body: &str) -> (u16, String) {
        let began = Instant::now();
        loop {
            let answer = timeout(Duration::from_secs(60), self.ask_once(home, body)).await;
            match answer {
                Ok(Some((status, body))) if status < 500 && status != 408 => {
                    self.requests.fetch_add(1, Ordering::Relaxed);
                    return (status, body);
                }
                _ => {
                    self.no_answer.fetch_add(1, Ordering::Relaxed);
                }
            }
            assert!(began.elapsed() < LONGEST, "no answer");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// None where no whole answer comes.
    async fn ask_once(&self, home: &Home, body: &str) -> Option<(u16, String)> {
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind((home.address, 0).into()).ok()?;
        let stream = socket.connect(self.address.parse().ok()?).await.ok()?;
        let mut stream = self.handshake(stream).await.ok()?;
        let request = format!(
            "POST /identity/certificate HTTP/1.1\r\nhost: foreign\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
        let mut answer = Vec::new();
        // One that ends without TLS' last word is whole if its length is.
        let _ = stream.read_to_end(&mut answer).await;
        let text = String::from_utf8(answer).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))?;
        if length.parse::<usize>().ok()? != body.len() {
            return None;
        }
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    async fn handshake(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        self.tls.connect(name, stream).await
    }
}

impl Home {
    fn new(number: usize) -> Self {
        let id: ClusterId = format!("home-{number}").parse().unwrap();
        let key = key(number);
        let csr = csr(&id, &key);
        let address =
            Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + u32::try_from(number).unwrap() + 1);
        Self {
            address,
            id,
            key,
            csr,
        }
    }

    fn body(&self, token: &str) -> String {
        json!({
            "cluster": { "clusterID": self.id.as_str(), "clusterName": self.id.as_str() },
            "originClusterToken": "0f".repeat(64),
            "destinationClusterToken": token,
            "certificateSigningRequest": self.csr,
        })
        .to_string()
    }
}

fn key(number: usize) -> KeyPair {
    let mut entropy = [7; 32];
    entropy[..8].copy_from_slice(&u64::try_from(number).unwrap().to_be_bytes());
    KeyPair::from_entropy(&Entropy::from_bytes(entropy))
}

fn csr(id: &ClusterId, key: &KeyPair) -> String {
    let csr = Csr::make(&Subject::control_plane(id), key)
        .unwrap()
        .at_once()
        .unwrap();
    STANDARD.encode(csr.pem())
}

fn malformed(number: usize) -> String {
    match number % 3 {
        0 => "hello".to_owned(),
        1 => json!({ "cluster": { "clusterID": "../x" } }).to_string(),
        _ => format!("{{\"clusterID\": \"{}\"}}", "x".repeat(40_000)),
    }
}

fn connector(certificate: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// The most that a process had in memory, in KiB.
fn peak_memory(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok())
        .unwrap_or(0)
}

fn allow_sockets() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn now() -> liqo_auth::model::Timestamp {
    std::time::SystemTime::now().try_into().unwrap()
}
