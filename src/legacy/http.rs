//! HTTP requests and responses as values.

use crate::model::SecretBytes;

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
        Self::text(status, format!("{text}\n").into_bytes())
            .with_header("x-content-type-options", "nosniff")
    }

    /// A response with the content type that Go's server detects for JSON and for
    /// YAML.
    pub(super) fn text(status: u16, body: impl Into<SecretBytes>) -> Self {
        let response = Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        };
        response.with_header("content-type", "text/plain; charset=utf-8")
    }

    pub(super) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The path where a cluster publishes its ID and name.
pub(super) const IDS_PATH: &str = "/ids";
/// The path of a request for an identity in Liqo 0.2.
pub(super) const IDENTITY_PATH: &str = "/identity";
/// The path of a request for an identity from Liqo 0.3 on.
pub(super) const CERTIFICATE_PATH: &str = "/identity/certificate";
