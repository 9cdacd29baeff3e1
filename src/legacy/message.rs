//! The bodies of requests and responses, in the form of each version.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{
    HttpRequest,
    http::{CERTIFICATE_PATH, IDENTITY_PATH},
};
use crate::{
    model::{
        ClusterId, ClusterIdentity, DocumentError, MapOnly, NameError, ProtocolVersion,
        SecretBytes, SecretText, read_json,
    },
    policy::Limits,
};

/// A home cluster's request for an identity. It is read, but not checked yet.
///
/// Source: Liqo `auth.IdentityRequest` (0.2) and
/// `auth.CertificateIdentityRequest` (0.3 to 0.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityRequest {
    /// The form of the request.
    pub version: ProtocolVersion,
    /// The cluster ID in the request.
    pub peer: ClusterId,
    pub(super) name: String,
    pub(super) token: SecretText,
    pub(super) origin_token: SecretText,
    pub(super) csr: Vec<u8>,
}

/// Why a request for an identity cannot be read. The error does not contain a part of
/// a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The body is not JSON of the expected form.
    #[error("the body: {0}")]
    Form(#[from] DocumentError),
    /// The cluster ID is malformed.
    #[error("the cluster ID: {0}")]
    ClusterId(NameError),
    /// `clusterID` and `cluster` contain different IDs.
    #[error("clusterID and cluster.clusterID differ")]
    TwoClusters,
    /// The cluster's name is longer than the limit.
    #[error("the cluster's name has {found} bytes, expected at most {limit}")]
    NameTooLong {
        /// The length that was found, in bytes.
        found: usize,
        /// The maximum length, in bytes.
        limit: usize,
    },
    /// The certificate signing request is not base64.
    #[error("certificateSigningRequest is not base64 in the standard alphabet")]
    Base64,
    /// The body has an encoding, a header about its length or encoding occurs twice, or
    /// the request has both `content-length` and `transfer-encoding`.
    #[error("the header {name} occurs twice, contradicts another header, or is not supported")]
    Header {
        /// The header.
        name: &'static str,
    },
}

impl IdentityRequest {
    /// The token of the request. It may contain any bytes.
    pub(super) fn token_bytes(&self) -> &[u8] {
        self.token.expose().as_bytes()
    }

    /// Reads the body of a `POST` to one of the paths for identities.
    pub(super) fn read(request: &HttpRequest, limits: &Limits) -> Result<Self, RequestError> {
        check_headers(request)?;
        let body = request.body.expose();
        if request.path == IDENTITY_PATH {
            let body: AccountBody = read_json(body, limits.legacy_request)?;
            let peer: ClusterId = body.cluster_id.parse().map_err(RequestError::ClusterId)?;
            return Ok(Self {
                version: ProtocolVersion::V0_2,
                name: peer.to_string(),
                peer,
                token: body.token,
                origin_token: SecretText::default(),
                csr: Vec::new(),
            });
        }
        let body: CertificateBody = read_json(body, limits.legacy_request)?;
        let (version, identity) = body.identity()?;
        let found = identity.cluster_name.len();
        if found > LONGEST_NAME {
            let limit = LONGEST_NAME;
            return Err(RequestError::NameTooLong { found, limit });
        }
        let csr = STANDARD
            .decode(body.certificate_signing_request.as_bytes())
            .map_err(|_| RequestError::Base64)?;
        Ok(Self {
            version,
            peer: identity
                .cluster_id
                .parse()
                .map_err(RequestError::ClusterId)?,
            name: identity.cluster_name,
            token: body.destination_cluster_token,
            origin_token: body.origin_cluster_token,
            csr,
        })
    }
}

/// A request for an identity, as a home cluster sends it. Without a version, it
/// contains both `clusterID` and `cluster`. Liqo 0.3 reads the first, and later
/// versions read the second. Every version ignores unknown fields.
pub(super) struct Outgoing<'a> {
    pub(super) version: Option<ProtocolVersion>,
    pub(super) home: &'a ClusterId,
    pub(super) name: &'a str,
    pub(super) token: &'a str,
    pub(super) origin_token: Option<&'a str>,
    pub(super) csr: &'a [u8],
}

impl Outgoing<'_> {
    pub(super) fn request(&self) -> HttpRequest {
        let (path, body) = if self.version == Some(ProtocolVersion::V0_2) {
            let body = AccountBody {
                cluster_id: self.home.to_string(),
                token: self.token.into(),
            };
            (IDENTITY_PATH, write(&body))
        } else {
            let body = CertificateBody {
                cluster_id: (self.version != Some(ProtocolVersion::V0_4))
                    .then(|| self.home.to_string()),
                cluster: (self.version != Some(ProtocolVersion::V0_3)).then(|| {
                    MapOnly(ClusterIdentity {
                        cluster_id: self.home.to_string(),
                        cluster_name: self.name.to_owned(),
                    })
                }),
                origin_cluster_token: self.origin_token.unwrap_or_default().into(),
                destination_cluster_token: self.token.into(),
                certificate_signing_request: STANDARD.encode(self.csr),
            };
            (CERTIFICATE_PATH, write(&body))
        };
        let mut request = HttpRequest::new("POST", path, body);
        // Liqo sends the same header.
        request
            .headers
            .push(("content-type".to_owned(), "text/plain".to_owned()));
        request
    }
}

/// A cluster's ID and name. Source: Liqo `auth.ClusterInfo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterInfo {
    #[serde(default)]
    pub(super) cluster_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) cluster_name: String,
    /// Only in 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) guest_namespace: Option<String>,
}

/// The certificate, and the API server that accepts it. Source: Liqo
/// `auth.CertificateIdentityResponse`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CertificateResponse {
    pub(super) namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) certificate: String,
    pub(super) api_server_url: String,
    #[serde(rename = "apiServerCA", skip_serializing_if = "String::is_empty")]
    pub(super) api_server_ca: String,
    pub(super) aws: MapOnly<AwsCredentials>,
}

/// AWS credentials, which this library does not accept here. Source: Liqo
/// `auth.AWSIdentityInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AwsCredentials {
    #[serde(rename = "accessKeyID")]
    access_key_id: SecretText,
    #[serde(rename = "secretAccessKey")]
    secret_access_key: SecretText,
    region: String,
    #[serde(rename = "eksClusterID")]
    eks_cluster_id: String,
    #[serde(rename = "iamUserArn")]
    iam_user_arn: String,
}

/// The JSON of a message. The buffer is large from the start, because a growing
/// buffer would leave copies of secrets in memory.
pub(super) fn write<T: Serialize>(message: &T) -> SecretBytes {
    let mut text = Zeroizing::new(Vec::with_capacity(CAPACITY));
    // Cannot fail: every map key is a string.
    let _ = serde_json::to_writer(&mut *text, message);
    SecretBytes::from(text)
}

#[derive(Serialize, Deserialize)]
struct AccountBody {
    #[serde(rename = "clusterID", default)]
    cluster_id: String,
    #[serde(default)]
    token: SecretText,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CertificateBody {
    #[serde(rename = "clusterID", default, skip_serializing_if = "Option::is_none")]
    cluster_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<MapOnly<ClusterIdentity>>,
    #[serde(default, skip_serializing_if = "SecretText::is_empty")]
    origin_cluster_token: SecretText,
    #[serde(default)]
    destination_cluster_token: SecretText,
    #[serde(default)]
    certificate_signing_request: String,
}

impl CertificateBody {
    fn identity(&self) -> Result<(ProtocolVersion, ClusterIdentity), RequestError> {
        // An empty text counts as an absent field.
        let id = self.cluster_id.as_ref().filter(|id| !id.is_empty());
        let cluster = self.cluster.as_ref();
        let cluster = cluster.filter(|MapOnly(cluster)| *cluster != ClusterIdentity::default());
        match (id, cluster) {
            (Some(id), Some(MapOnly(cluster))) if *id != cluster.cluster_id => {
                Err(RequestError::TwoClusters)
            }
            (_, Some(MapOnly(cluster))) => Ok((ProtocolVersion::V0_4, cluster.clone())),
            // Liqo 0.3 has no cluster names and uses the ID as the name.
            (id, None) => {
                let id = id.cloned().unwrap_or_default();
                let identity = ClusterIdentity {
                    cluster_id: id.clone(),
                    cluster_name: id,
                };
                Ok((ProtocolVersion::V0_3, identity))
            }
        }
    }
}

/// Refuses headers that two HTTP parsers could read differently. The transport
/// should already refuse such headers.
fn check_headers(request: &HttpRequest) -> Result<(), RequestError> {
    for name in ["content-length", "transfer-encoding", "content-encoding"] {
        if request.header(name).count() > 1 {
            return Err(RequestError::Header { name });
        }
    }
    let has = |name: &'static str| request.header(name).next().is_some();
    if has("content-length") && has("transfer-encoding") {
        let name = "transfer-encoding";
        return Err(RequestError::Header { name });
    }
    let name = "content-encoding";
    if request.header(name).any(|value| value != "identity") {
        return Err(RequestError::Header { name });
    }
    Ok(())
}

/// The maximum length of a Kubernetes object's name, in bytes.
pub(super) const LONGEST_NAME: usize = 253;
/// Enough for every message, unless its CA bundle is large.
const CAPACITY: usize = 16 * 1024;
