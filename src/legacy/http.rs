//! HTTP requests and responses as values.

use crate::model::{ProtocolVersion, SecretBytes};

/// A request, without its connection.
///
/// `Debug` shows neither headers nor body, since a body holds tokens.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("HttpRequest {{ method: {method:?}, path: {path:?}, .. }}")]
pub struct HttpRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The path, such as `/identity`, without query.
    pub path: String,
    /// The headers by name. The transport sets `host` and `content-length`, so they
    /// are not needed here.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: SecretBytes,
}

/// A response, without its connection.
///
/// `Debug` shows neither headers nor body, since a body may hold a credential.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("HttpResponse {{ status: {status}, .. }}")]
pub struct HttpResponse {
    /// The status, such as 202.
    pub status: u16,
    /// The headers by name, in lower case. The transport adds
    /// `content-length` and `date`.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: SecretBytes,
}

impl HttpRequest {
    /// A request without headers.
    pub fn new(
        method: impl Into<String>,
        path: impl Into<String>,
        body: impl Into<SecretBytes>,
    ) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The values of the headers with this name. Case does not matter.
    pub(super) fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

impl HttpResponse {
    /// The response if [`handle`] or an effect fails: 500, without a reason. The
    /// peer tries again later.
    ///
    /// [`handle`]: super::Foreign::handle
    pub fn internal_error() -> Self {
        Self::error(500, "internal error")
    }

    /// The response 503, without a reason. The peer tries again later. A transport
    /// that is overloaded can send it as well.
    pub fn unavailable() -> Self {
        Self::error(503, "try again later")
    }

    /// A response with that status and text, as Go's `http.Error` makes it.
    pub(super) fn error(status: u16, text: &str) -> Self {
        let mut response = Self::text(status, format!("{text}\n").into_bytes());
        let header = ("x-content-type-options".to_owned(), "nosniff".to_owned());
        response.headers.push(header);
        response
    }

    /// A response with the content type that Go's server detects for JSON and for
    /// YAML.
    pub(super) fn text(status: u16, body: impl Into<SecretBytes>) -> Self {
        let content_type = ("content-type", "text/plain; charset=utf-8");
        Self {
            status,
            headers: vec![(content_type.0.to_owned(), content_type.1.to_owned())],
            body: body.into(),
        }
    }

    pub(super) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The path where a cluster publishes its ID and name.
pub(super) const IDS_PATH: &str = "/ids";
pub(super) const IDENTITY_PATH: &str = ProtocolVersion::V0_2.identity_path();
pub(super) const CERTIFICATE_PATH: &str = ProtocolVersion::V0_4.identity_path();
