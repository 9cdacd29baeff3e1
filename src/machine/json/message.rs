//! The form of a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::written;
use crate::{
    crypto::{Nonce, NonceError},
    machine::{Message, MessageBody},
    model::{
        ClusterId, DocumentError, Identity, Object, ObjectError, SecretBytes, SecretText, Tenant,
        TypedForm, read_json,
    },
    policy::Policy,
};

/// Why a text is not a message. The error does not contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text does not have the form of a message.
    #[error(transparent)]
    Form(#[from] DocumentError),
    /// The message does not have exactly one body, or the body is not of the type
    /// that `type` names.
    #[error("found a body of another type, expected a {expected}")]
    Body {
        /// The body that the type names.
        expected: &'static str,
    },
    /// The object in the message cannot be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The nonce does not have the form of a nonce.
    #[error("nonce: {0}")]
    Nonce(#[from] NonceError),
}

impl Message {
    /// The message in its [JSON form](super). The bytes are wiped when they are
    /// dropped, since an Identity may carry a secret access key.
    pub fn to_json(&self) -> SecretBytes {
        written(&MessageForm::from(self))
    }

    /// Reads a message in its [JSON form](super), within the limits of a policy.
    /// The policy also decides which forms of a nonce are accepted.
    ///
    /// The message is not verified: `receive` verifies it.
    ///
    /// # Errors
    /// [`MessageError`], if the text is not a message. An unknown field is an error.
    pub fn from_json(text: &[u8], policy: &Policy) -> Result<Self, MessageError> {
        let form: Form = read_json(text, policy.limits.object.saturating_add(FRAME))?;
        let expected = form.r#type.name();
        let body = match (form.r#type, form.nonce, form.tenant, form.identity) {
            (Type::Nonce, Some(text), None, None) => {
                Nonce::parse(text.expose().as_bytes(), policy)?.into()
            }
            (Type::Tenant, None, Some(value), None) | (Type::Identity, None, None, Some(value)) => {
                match (form.r#type, read(value, policy)?) {
                    (Type::Tenant, Object::Tenant(tenant)) => MessageBody::Tenant(tenant),
                    (Type::Identity, Object::Identity(identity)) => MessageBody::Identity(identity),
                    _ => return Err(MessageError::Body { expected }),
                }
            }
            _ => return Err(MessageError::Body { expected }),
        };
        let (from, to) = (form.from, form.to);
        Ok(Self { from, to, body })
    }
}

/// The form of a message that is written.
#[derive(Serialize)]
pub(super) struct MessageForm<'a> {
    from: &'a ClusterId,
    to: &'a ClusterId,
    #[serde(flatten)]
    body: BodyForm<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum BodyForm<'a> {
    Nonce { nonce: &'a str },
    Tenant { tenant: TypedForm<'a, Tenant> },
    Identity { identity: TypedForm<'a, Identity> },
}

impl<'a> From<&'a Message> for MessageForm<'a> {
    fn from(message: &'a Message) -> Self {
        let body = match &message.body {
            MessageBody::Nonce(nonce) => BodyForm::Nonce {
                nonce: nonce.as_str(),
            },
            MessageBody::Tenant(tenant) => BodyForm::Tenant {
                tenant: TypedForm::of(tenant),
            },
            MessageBody::Identity(identity) => BodyForm::Identity {
                identity: TypedForm::of(identity),
            },
        };
        Self {
            from: &message.from,
            to: &message.to,
            body,
        }
    }
}

/// The form of a message that is read. `type` names the field with the body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    r#type: Type,
    from: ClusterId,
    to: ClusterId,
    nonce: Option<SecretText>,
    tenant: Option<Value>,
    identity: Option<Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Type {
    Nonce,
    Tenant,
    Identity,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Nonce => "nonce",
            Self::Tenant => "tenant",
            Self::Identity => "identity",
        }
    }
}

/// Reads an object from a value, and wipes the value's strings.
fn read(value: Value, policy: &Policy) -> Result<Object, ObjectError> {
    match Object::from_value_within(value, &policy.limits) {
        Object::Unreadable(unreadable) => Err(unreadable.reason),
        object => Ok(object),
    }
}

/// The most bytes that a message has in addition to its object.
const FRAME: usize = 1024;
