//! Sends a home's requests over HTTPS.

use std::{future::poll_fn, io, pin::pin, sync::Arc, time::Duration};

use axum::body::{Body, HttpBody};
use hyper::{Request as HttpsRequest, Uri, client::conn::http1, header::HOST};
use hyper_util::rt::TokioIo;
use liqo_auth::{
    legacy::{HttpResponse, Request, Tls},
    policy::Limits,
};
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use super::cryptography;
use crate::failure::{Failure, Result};

/// A client that trusts certain certificates and does not follow redirections. It does
/// not use a proxy from the environment.
pub(crate) struct HttpsClient {
    runtime: Runtime,
    verifying: TlsConnector,
    not_verifying: TlsConnector,
}

/// The reason why no answer came.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    reason: String,
    /// Whether the server's certificate is not trusted. Then another try has the
    /// same result.
    pub(crate) is_not_trusted: bool,
}

/// Accepts each given certificate, byte for byte, and the certificates that they
/// have issued. A given certificate does not need a matching name, and may be a
/// CA certificate: Liqo's chart makes such a certificate.
#[derive(Debug)]
struct Verifier {
    given: Vec<CertificateDer<'static>>,
    issued: Arc<WebPkiServerVerifier>,
    is_verifying: bool,
}

impl HttpsClient {
    /// A client that trusts the certificates in this PEM, and those that they
    /// issued.
    pub(crate) fn trusting(certificates: &[u8]) -> Result<Self> {
        let given: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates)
            .filter_map(Result::ok)
            .collect();
        if given.is_empty() {
            return Err(Failure::usage("--ca: the file has no certificate (PEM)"));
        }
        let roots = given.clone();
        Self::new(given, roots)
    }

    /// A client that trusts the servers whose certificates are issued by an authority that
    /// this system trusts, for their names.
    pub(crate) fn trusting_the_system() -> Result<Self> {
        let found = rustls_native_certs::load_native_certs();
        if found.certs.is_empty() {
            let reasons = found.errors.iter().map(|error| format!(": {error}"));
            return Err(Failure::usage(format!(
                "this system has no certificates of public authorities{}. Pass the certificate to trust with --ca",
                reasons.collect::<String>()
            )));
        }
        Self::new(Vec::new(), found.certs)
    }

    /// A client that trusts the `given` certificates as they are, and what the `authorities`
    /// have issued.
    fn new(
        given: Vec<CertificateDer<'static>>,
        authorities: Vec<CertificateDer<'static>>,
    ) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities);
        let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), cryptography())
            .build()
            .map_err(|error| Failure::usage(format!("the certificates to trust: {error}")))?;
        let connector = |is_verifying| {
            let verifier = Verifier {
                given: given.clone(),
                issued: issued.clone(),
                is_verifying,
            };
            let config = ClientConfig::builder_with_provider(cryptography())
                .with_safe_default_protocol_versions()?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth();
            Ok(TlsConnector::from(Arc::new(config)))
        };
        let failed = |error: rustls::Error| Failure::usage(format!("TLS: {error}"));
        Ok(Self {
            runtime: Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| {
                    Failure::at_odds(format!("the HTTPS client cannot be made: {error}"))
                })?,
            verifying: connector(true).map_err(failed)?,
            not_verifying: connector(false).map_err(failed)?,
        })
    }

    /// Sends a request, and waits for the answer.
    ///
    /// An answer that is too large or incomplete is an error, as if no answer came.
    pub(crate) fn send(&self, request: &Request) -> Result<HttpResponse, NoAnswer> {
        let exchange = self.exchange(request);
        let answer = async { timeout(LONGEST_EXCHANGE, exchange).await };
        self.runtime.block_on(answer).map_err(NoAnswer::of)?
    }

    async fn exchange(&self, request: &Request) -> Result<HttpResponse, NoAnswer> {
        let uri: Uri = request.url.parse().map_err(NoAnswer::of)?;
        let authority = uri.authority().ok_or_else(|| NoAnswer::new("no host"))?;
        let host = authority.host();
        let port = authority.port_u16().unwrap_or(443);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned()).map_err(NoAnswer::of)?;
        let stream = timeout(LONGEST_CONNECT, TcpStream::connect((bare, port))).await;
        let stream = stream.map_err(NoAnswer::of)?.map_err(NoAnswer::of)?;
        let tls = match request.tls {
            Tls::Verify => &self.verifying,
            Tls::Skip => &self.not_verifying,
        };
        let stream = tls.connect(name, stream).await.map_err(NoAnswer::of_tls)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(NoAnswer::of)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut sent = HttpsRequest::builder()
            .method(request.http.method.as_str())
            .uri(path)
            .header(HOST, authority.as_str());
        for (name, value) in &request.http.headers {
            sent = sent.header(name, value);
        }
        let body = Body::from(request.http.body.expose().to_vec());
        let sent = sent.body(body).map_err(NoAnswer::of)?;
        let answer = async {
            let answer = sender.send_request(sent).await.map_err(NoAnswer::of)?;
            read(answer).await
        };
        let mut answer = pin!(answer);
        tokio::select! {
            answer = &mut answer => answer,
            // The connection has ended, but the last data must still be read.
            _ = connection => answer.await,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.is_verifying || self.given.iter().any(|given| given == end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        self.issued
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.issued
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.issued.supported_verify_schemes()
    }
}

impl NoAnswer {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_not_trusted: false,
        }
    }

    fn of(error: impl std::error::Error) -> Self {
        Self::new(error.to_string())
    }

    fn of_tls(error: io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let is_not_trusted = matches!(inner, Some(rustls::Error::InvalidCertificate(_)));
        Self {
            is_not_trusted,
            ..Self::of(error)
        }
    }
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

async fn read(answer: hyper::Response<hyper::body::Incoming>) -> Result<HttpResponse, NoAnswer> {
    let limit = Limits::default().legacy_answer;
    let (parts, body) = answer.into_parts();
    let header = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    };
    let mut body = pin!(body);
    // The buffer is so large that it never grows. Growth would leave a copy of the
    // content in memory that is not wiped.
    let mut content = Zeroizing::new(Vec::with_capacity(limit));
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(data) = frame.map_err(NoAnswer::of)?.into_data() else {
            continue;
        };
        if data.len() > limit.saturating_sub(content.len()) {
            let reason = format!("the answer is larger than {limit} bytes");
            return Err(NoAnswer::new(reason));
        }
        content.extend_from_slice(&data);
    }
    Ok(HttpResponse {
        status: parts.status.as_u16(),
        headers: parts.headers.iter().map(header).collect(),
        body: content.as_slice().into(),
    })
}

/// Longer than the delay of an answer on a busy server.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(90);
const LONGEST_CONNECT: Duration = Duration::from_secs(15);
