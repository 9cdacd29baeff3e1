//! Logins at a provider's API server, over TLS.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::client::Body;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::Cluster;
use crate::tool::{Folder, Run};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

/// As a number of logins to refuse: all succeed, and give no rights.
const WITHOUT_RIGHTS: usize = usize::MAX;

impl Cluster {
    /// Clients reach the API server over TLS, where they only log in. Returns how many logins
    /// it refuses from now on, and the settings.
    pub(super) fn has_logins(&self, consumer: &Cluster) -> (Arc<AtomicUsize>, Value) {
        self.has_logins_with(consumer, "127.0.0.1", |_| ())
    }

    /// The same, with a serving certificate for this name.
    fn has_logins_with(
        &self,
        consumer: &Cluster,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> (Arc<AtomicUsize>, Value) {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap();
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let leaf = params.signed_by(&key, &issuer).unwrap();
        let chain = vec![CertificateDer::from(leaf.der().to_vec())];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        let refused = Arc::new(AtomicUsize::new(0));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        self.runtime
            .spawn(serve(listener, acceptor, refused.clone()));
        let settings = json!({
            "apiServer": format!("https://{address}"),
            "apiServerCA": root.pem(),
        });
        self.set(&settings);
        consumer.set(&json!({
            "apiServer": "https://rome.example:6443",
            "addresses": { "allowed": ["127.0.0.0/8"] },
        }));
        (refused, settings)
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, refused: Arc<AtomicUsize>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(stream) = acceptor.accept(stream).await else {
            continue;
        };
        let refused = refused.clone();
        let service = service_fn(move |_: Request<Incoming>| {
            let left = refused.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                (left != WITHOUT_RIGHTS).then_some(left)?.checked_sub(1)
            });
            let (code, answer) = match left {
                Ok(_) => (
                    401,
                    json!({ "kind": "Status", "code": 401, "message": "no" }),
                ),
                Err(left) => {
                    let allowed = left != WITHOUT_RIGHTS;
                    (201, json!({ "spec": {}, "status": { "allowed": allowed } }))
                }
            };
            async move {
                Response::builder()
                    .status(code)
                    .body(Body::from(serde_json::to_vec(&answer).unwrap()))
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// Two clusters, milan with such a serving certificate.
fn clusters(
    folder: &Folder,
    name: &str,
    change: impl FnOnce(&mut CertificateParams),
) -> (Cluster, Cluster, Arc<AtomicUsize>) {
    let milan = Cluster::start(folder, "milan");
    let rome = Cluster::start(folder, "rome");
    milan.has_a_signer();
    let (refused, _) = milan.has_logins_with(&rome, name, change);
    (rome, milan, refused)
}

fn doctor(folder: &Folder) -> Run {
    folder.run("doctor --kubeconfig rome")
}

/// Doctor's only finding has these texts.
fn finds(folder: &Folder, says: &[&str]) {
    let run = doctor(folder);
    assert_eq!((run.code, run.err.as_str()), (4, "Error: 1 finding\n"));
    for says in says {
        assert!(run.out.contains(says), "{says}: {}", run.out);
    }
}

#[test]
fn doctor_logs_in_at_each_provider() {
    let folder = Folder::new();
    let (_rome, _milan, refused) = clusters(&folder, "127.0.0.1", |_| ());
    folder.ok(AUTHENTICATE);
    let run = doctor(&folder);
    assert_eq!((run.code, run.err.as_str()), (0, "Nothing is wrong.\n"));
    refused.store(1, Ordering::Relaxed);
    finds(
        &folder,
        &[
            "does not accept the certificate of this cluster",
            "sign-again tenant rome --force",
        ],
    );
    assert_eq!(doctor(&folder).code, 0);
    refused.store(WITHOUT_RIGHTS, Ordering::Relaxed);
    finds(&folder, &["and gives it no rights", "uncordon tenant rome"]);
}

#[test]
fn doctor_compares_the_name_of_a_provider() {
    let folder = Folder::new();
    let (_rome, _milan, _) = clusters(&folder, "milan.example", |_| ());
    folder.ok(AUTHENTICATE);
    finds(
        &folder,
        &[
            "cannot reach the API server https://127.0.0.1:",
            "certificate not valid for name",
            "a certificate for this name",
            "release --kubeconfig rome --remote-cluster-id milan",
        ],
    );
}

#[test]
fn doctor_compares_the_time_of_a_providers_certificate() {
    for (from, until) in [(-2, -1), (1, 2)] {
        let folder = Folder::new();
        let (_rome, _milan, _) = clusters(&folder, "127.0.0.1", |params| {
            params.not_before = in_days(from);
            params.not_after = in_days(until);
        });
        folder.ok(AUTHENTICATE);
        finds(
            &folder,
            &[
                "invalid peer certificate: certificate ",
                "If the clock of this machine is right",
            ],
        );
    }
}

fn in_days(days: i64) -> time::OffsetDateTime {
    time::OffsetDateTime::from(SystemTime::now()) + time::Duration::days(days)
}

#[test]
fn doctor_compares_the_ca_of_a_provider() {
    let folder = Folder::new();
    let (rome, milan, _) = clusters(&folder, "127.0.0.1", |_| ());
    let (_, mut settings) = milan.has_logins(&rome);
    // The certificate is by this CA, and the Identity names the other one.
    let other = milan.has_a_signer();
    settings["apiServerCA"] = json!(other);
    milan.set(&settings);
    folder.ok(AUTHENTICATE);
    finds(
        &folder,
        &[
            "UnknownIssuer",
            "has not issued the certificate that answers",
            "something else answers at https://127.0.0.1:",
        ],
    );
}

/// Who looks from elsewhere may not reach what the cluster reaches.
#[test]
fn doctor_says_which_provider_it_could_not_ask() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let _rome = Cluster::start(&folder, "rome");
    milan.has_a_signer();
    folder.ok(AUTHENTICATE);
    let run = doctor(&folder);
    assert_eq!(run.code, 0, "{run:?}");
    let says = "milan was not seen to let this cluster in: cannot reach the API server https://milan.example:6443: ";
    assert_eq!(run.err.matches(says).count(), 1, "{run:?}");
}
