//! The questions to a provider's backends as data, and a slice's decision.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value, json};

use super::{
    ApprovalRequest, AwsIdentityRequest, Claimant, Grant, PrincipalKind, PrincipalName,
    SigningRequest, SliceDecision, SliceRequest,
};
use crate::crypto::{Csr, Subject};

/// A question to a backend of the provider, as data. Its form is
/// [documented](crate::machine::json), and no secret is in it.
///
/// A caller in another language gets the question in one call, and answers with
/// its next one: the same question comes at each look until the backend answers.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Answer, BoxError, CertificateChain},
///     model::read_document,
///     provider::{CsrSigner, Question, SigningRequest},
/// };
///
/// /// Another language's callback: JSON in, JSON out.
/// struct Callback(fn(String) -> String);
///
/// impl CsrSigner for Callback {
///     fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
///         let question = serde_json::to_string(&Question::Certificate(request))?;
///         Ok(read_document((self.0)(question).as_bytes())?)
///     }
/// }
/// # let _ = Callback(|_| r#"{ "type": "pending" }"#.to_owned());
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Question<'a> {
    /// A certificate ([`CsrSigner`](super::CsrSigner)).
    Certificate(&'a SigningRequest),
    /// Whether a peer's request is to be signed ([`Approver`](super::Approver)).
    Approval(&'a ApprovalRequest),
    /// An AWS user ([`AwsIdentities`](super::AwsIdentities)).
    AwsIdentity(&'a AwsIdentityRequest),
    /// The resources of a slice
    /// ([`ResourceSlicePolicy`](super::ResourceSlicePolicy)).
    Resources(&'a SliceRequest<'a>),
    /// Whether a name is a principal's ([`Principals`](super::Principals)).
    Name(PrincipalName<'a>, Claimant<'a>),
}

impl Serialize for Question<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Certificate(request) => json!({
                "type": "certificate",
                "id": request.id.to_string(),
                "peer": request.peer.as_str(),
                "holder": request.holder,
                "csr": pem(&request.csr),
                "subject": subject(&request.subject),
                "publicKey": request.public_key.to_pem(),
                "lifetimeSeconds": request.lifetime.as_secs(),
                "now": request.now,
            }),
            Self::Approval(request) => json!({
                "type": "approval",
                "peer": request.peer.as_str(),
                "tenant": request.tenant,
                "publicKey": request.public_key.to_pem(),
                "fingerprint": request.fingerprint().to_string(),
                "csr": pem(&request.csr),
                "proxyURL": request.proxy_url.as_ref().map(|url| url.as_str()),
                "now": request.now,
            }),
            Self::AwsIdentity(request) => json!({
                "type": "awsIdentity",
                "id": request.id.to_string(),
                "peer": request.peer.as_str(),
                "holder": request.holder,
                "subject": subject(&request.subject),
            }),
            Self::Resources(request) => json!({
                "type": "resources",
                "peer": request.peer.as_str(),
                "slice": request.slice,
                "class": request.class,
                "resources": request.resources,
                "granted": request.granted,
                "now": request.now,
            }),
            Self::Name(name, claimant) => json!({
                "type": "name",
                "kind": match name.kind {
                    PrincipalKind::User => "user",
                    PrincipalKind::Group => "group",
                },
                "name": name.name,
                "claimant": claimant_value(claimant),
            }),
        }
        .serialize(serializer)
    }
}

fn pem(csr: &Csr) -> String {
    String::from_utf8_lossy(csr.pem()).into_owned()
}

fn subject(subject: &Subject) -> Value {
    json!({ "organization": subject.organization(), "commonName": subject.common_name() })
}

fn claimant_value(claimant: &Claimant<'_>) -> Value {
    match claimant {
        Claimant::ControlPlane(consumer) => {
            json!({ "type": "controlPlane", "consumer": consumer.as_str() })
        }
        Claimant::PeeringUser(consumer) => {
            json!({ "type": "peeringUser", "consumer": consumer.as_str() })
        }
        Claimant::Slice { consumer, slice } => {
            json!({ "type": "slice", "consumer": consumer.as_str(), "slice": slice })
        }
    }
}

/// `type` is `grant` with `grant`, `deny` with `reason` and `message`, or
/// `notMine`.
impl<'de> Deserialize<'de> for SliceDecision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Decision::deserialize(deserializer)?;
        match (form.r#type, form.grant, form.reason, form.message) {
            (DecisionType::Grant, Some(grant), None, None) => Ok(Self::Grant(grant)),
            (DecisionType::Deny, None, Some(reason), Some(message)) => {
                Ok(Self::Deny { reason, message })
            }
            (DecisionType::NotMine, None, None, None) => Ok(Self::NotMine),
            _ => Err(D::Error::custom(
                "found fields that do not fit the type, expected grant with grant, reason and \
                 message with deny, and nothing with notMine",
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    r#type: DecisionType,
    #[serde(default)]
    grant: Option<Grant>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum DecisionType {
    Grant,
    Deny,
    NotMine,
}
