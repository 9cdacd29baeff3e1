//! Sends a home's requests over HTTPS.

use std::{io, time::Duration};

use liqo_auth::{
    legacy::{HttpResponse, Request, Tls},
    policy::Limits,
};
use ureq::{
    Agent,
    http::{Method, Uri, header::CONTENT_LENGTH},
    tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem},
};
use zeroize::Zeroizing;

use super::cryptography;
use crate::failure::{Failure, Result};

/// A client that trusts certain authorities and follows no redirection.
pub(crate) struct HttpsClient {
    verifying: Agent,
    not_verifying: Agent,
}

/// No answer came.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    reason: String,
    /// Whether the server showed a certificate that is not trusted: trying
    /// again does not mend that.
    pub(crate) is_not_trusted: bool,
}

impl HttpsClient {
    /// A client that trusts the certificates in this PEM, and those that they
    /// issued.
    pub(crate) fn trusting(authorities: &[u8]) -> Result<Self> {
        let certificates: Vec<Certificate<'static>> = parse_pem(authorities)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        if certificates.is_empty() {
            return Err(Failure::usage("--ca: there is no certificate (PEM) in it"));
        }
        let tls = || {
            TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .unversioned_rustls_crypto_provider(cryptography())
                .root_certs(RootCerts::new_with_certs(&certificates))
        };
        Ok(Self {
            verifying: agent(tls().build()),
            not_verifying: agent(tls().disable_verification(true).build()),
        })
    }

    /// Sends a request, and waits for the answer.
    ///
    /// An answer that is larger than is read, or cannot be read to its end, is
    /// none.
    pub(crate) fn send(&self, request: &Request) -> Result<HttpResponse, NoAnswer> {
        let uri: Uri = request.url.parse().map_err(NoAnswer::of)?;
        let method: Method = request.http.method.parse().map_err(NoAnswer::of)?;
        let body = request.http.body.expose();
        let mut sent = ureq::http::Request::builder().method(method).uri(uri);
        for (name, value) in &request.http.headers {
            sent = sent.header(name, value);
        }
        let agent = match request.tls {
            Tls::Verify => &self.verifying,
            Tls::Skip => &self.not_verifying,
        };
        let answer = if body.is_empty() {
            agent.run(sent.body(()).map_err(NoAnswer::of)?)
        } else {
            sent = sent.header(CONTENT_LENGTH, body.len());
            agent.run(sent.body(body).map_err(NoAnswer::of)?)
        };
        read(answer.map_err(NoAnswer::of_exchange)?)
    }
}

impl NoAnswer {
    fn of(error: impl std::error::Error) -> Self {
        Self {
            reason: error.to_string(),
            is_not_trusted: false,
        }
    }

    fn of_exchange(error: ureq::Error) -> Self {
        let is_not_trusted = match &error {
            ureq::Error::Rustls(error) => is_not_trusted(error),
            ureq::Error::Io(error) => error
                .get_ref()
                .and_then(|inner| inner.downcast_ref())
                .is_some_and(is_not_trusted),
            _ => false,
        };
        Self {
            is_not_trusted,
            ..Self::of(error)
        }
    }
}

fn is_not_trusted(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(_))
}

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

fn agent(tls: TlsConfig) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .https_only(true)
        // A redirection would carry the token away.
        .max_redirects(0)
        .max_redirects_will_error(false)
        // The environment does not decide who gets the token.
        .proxy(None)
        .max_idle_connections(0)
        .timeout_global(Some(LONGEST_EXCHANGE))
        .timeout_connect(Some(LONGEST_CONNECT))
        .tls_config(tls)
        .build()
        .new_agent()
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<HttpResponse, NoAnswer> {
    let limit = Limits::default().legacy_answer;
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.to_string(), value)
    };
    let headers = answer.headers().iter().map(header).collect();
    let status = answer.status().as_u16();
    // So large that it never grows: what it would leave behind is not wiped.
    let mut body = Zeroizing::new(Vec::with_capacity(limit.saturating_add(1)));
    let room = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut reader = io::Read::take(answer.body_mut().as_reader(), room.saturating_add(1));
    io::Read::read_to_end(&mut reader, &mut body).map_err(NoAnswer::of)?;
    if body.len() > limit {
        return Err(NoAnswer {
            reason: format!("the answer is larger than {limit} bytes"),
            is_not_trusted: false,
        });
    }
    Ok(HttpResponse {
        status,
        headers,
        body: body.as_slice().into(),
    })
}

/// Longer than a server that is busy holds an answer back.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(90);
const LONGEST_CONNECT: Duration = Duration::from_secs(15);
