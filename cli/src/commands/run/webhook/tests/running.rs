//! A webhook on a free port, and its clients.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::{FutureExt, future::BoxFuture};
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore, client::WantsClientCert, pki_types::ServerName,
};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

use super::super::{
    super::connections::{Certificate, CertificateFiles, Listener},
    connections, router,
    surroundings::Surroundings,
    tests::reviewed,
};
use crate::legacy::cryptography;

/// A webhook that runs, and its certificate's CA.
pub(super) struct Running {
    address: SocketAddr,
    pub(super) roots: RootCertStore,
    _stop: tokio::sync::oneshot::Sender<()>,
    pub(super) folder: PathBuf,
}

impl Running {
    pub(super) async fn start(name: &str, surroundings: impl Surroundings) -> Self {
        Self::start_for(name, surroundings, None).await
    }

    /// For clients with a certificate of this authority (PEM), whose file is `client-ca.crt`.
    pub(super) async fn start_for(
        name: &str,
        surroundings: impl Surroundings,
        client_ca: Option<&str>,
    ) -> Self {
        let folder = std::env::temp_dir().join(format!("liqo-auth-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let roots = certificate(&folder);
        let (chain, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped: BoxFuture<'static, ()> = stopped.map(|_| ()).boxed();
        let client_ca = client_ca.map(|ca| {
            let file = folder.join("client-ca.crt");
            std::fs::write(&file, ca).unwrap();
            file
        });
        let certificate = Certificate::read(CertificateFiles {
            chain,
            key,
            client_ca,
        });
        let listener = Listener {
            socket,
            router: router(surroundings),
            certificate: Some(certificate.unwrap()),
            connections: connections(),
        };
        tokio::spawn(listener.serve(stopped.shared()));
        Self {
            address,
            roots,
            _stop: stop,
            folder,
        }
    }

    pub(super) async fn review(&self, path: &str, request: Value) -> Value {
        let (status, text) = self.post(path, reviewed(&request)).await;
        assert_eq!(status, 200, "{text}");
        let review: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(review["response"]["uid"], "the-uid");
        review["response"].clone()
    }

    pub(super) async fn post(&self, path: &str, body: String) -> (u16, String) {
        let config = self.config().with_no_client_auth();
        self.post_as(config, path, body).await.unwrap()
    }

    /// A client that trusts the webhook.
    pub(super) fn config(&self) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        ClientConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone())
    }

    /// What the webhook answers to this client, if it does.
    pub(super) async fn post_as(
        &self,
        config: ClientConfig,
        path: &str,
        body: String,
    ) -> Option<(u16, String)> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await.ok()?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        tokio::spawn(connection);
        let request = Request::post(path).header("host", "localhost");
        let request = request.body(Full::<axum::body::Bytes>::from(body)).unwrap();
        let answer: hyper::Response<hyper::body::Incoming> =
            sender.send_request(request).await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        Some((status, String::from_utf8(body.to_vec()).unwrap()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Writes a new certificate for localhost and its key. Returns whom to trust for it.
pub(super) fn certificate(folder: &Path) -> RootCertStore {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    std::fs::write(folder.join("tls.crt"), made.cert.pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    roots
}
