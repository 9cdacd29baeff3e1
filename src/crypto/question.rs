//! The JSON forms of the questions to keys, of the keys and requests in any question,
//! and of the answers of all backends.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, value::UnitDeserializer},
};
use serde_json::json;

use super::{Answer, CertificateChain, ClientKey, Csr, Payload, PublicKey, Signature};
use crate::{
    model::{Bytes, ClusterId, ExecCredential},
    policy::Policy,
};

/// A question to a key store or to a private key, with its
/// [JSON form](crate::machine::json). The question does not contain a secret.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum KeyQuestion<'a> {
    /// Asks for this cluster's key for a peer
    /// ([`KeyStore::find`](super::KeyStore::find)).
    Key(&'a ClusterId),
    /// Asks for the earlier key that the peer still knows
    /// ([`KeyStore::predecessor`](super::KeyStore::predecessor)).
    Predecessor(&'a ClusterId),
    /// Asks for a signature ([`SigningKey::sign`](super::SigningKey::sign)).
    Signature(Payload<'a>),
}

/// A private key outside this process, as a key store names it in JSON. The caller
/// turns the answer into a [`SigningKey`](super::SigningKey).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalKey {
    /// The public half.
    pub public_key: PublicKey,
    /// The reference from a kubeconfig to the private key.
    pub client_key: ClientKey,
}

impl Serialize for KeyQuestion<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Key(peer) => json!({ "type": "key", "peer": peer.as_str() }),
            Self::Predecessor(peer) => json!({ "type": "predecessor", "peer": peer.as_str() }),
            Self::Signature(payload) => json!({
                "type": "signature",
                "id": payload.id().to_string(),
                "purpose": payload.purpose(),
                "scheme": payload.scheme(),
                "publicKey": payload.key().to_pem(),
                "peer": payload.peer().map(ClusterId::as_str),
                "bytes": Bytes::from(payload.bytes()),
            }),
        }
        .serialize(serializer)
    }
}

/// The key in PEM.
impl Serialize for PublicKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_pem())
    }
}

/// The request in PEM.
impl Serialize for Csr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(self.pem()))
    }
}

/// `type` is `ready` with `value`, `pending`, or `denied` with `reason`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Answer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = AnswerForm::<T>::deserialize(deserializer)?;
        match (form.r#type, form.value, form.reason) {
            (AnswerType::Ready, Some(value), None) => Ok(Self::Ready(value)),
            // An approval has no value, and a key may have no predecessor.
            (AnswerType::Ready, None, None) => T::deserialize(UnitDeserializer::<D::Error>::new())
                .map(Self::Ready)
                .map_err(|_| D::Error::missing_field("value")),
            (AnswerType::Pending, None, None) => Ok(Self::Pending),
            (AnswerType::Denied, None, Some(reason)) => Ok(Self::Denied(reason)),
            _ => Err(D::Error::custom(
                "found a value or a reason that does not fit the type, expected value with ready, \
                 reason with denied, and neither with pending",
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Deserialize<'de>")]
struct AnswerForm<T> {
    r#type: AnswerType,
    #[serde(default)]
    value: Option<T>,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum AnswerType {
    Ready,
    Pending,
    Denied,
}

/// A chain in PEM. The user of the chain verifies its content.
impl<'de> Deserialize<'de> for CertificateChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pem = String::deserialize(deserializer)?;
        Self::from_pem(pem.as_bytes(), &Policy::compatible()).map_err(|error| {
            D::Error::custom(format_args!(
                "found text without valid certificates, expected certificates in PEM: {error}"
            ))
        })
    }
}

/// The bytes in base64.
impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bytes::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()))
    }
}

impl<'de> Deserialize<'de> for ExternalKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = KeyForm::deserialize(deserializer)?;
        // The tests against a peer's weak keys take long. The embedder's own key does
        // not need them in each call.
        let public_key = PublicKey::from_known_pem(form.public_key.as_bytes(), &Policy::strict());
        Ok(Self {
            public_key: public_key.map_err(|error| {
                D::Error::custom(format_args!(
                    "found an invalid publicKey, expected a public key in PEM: {error}"
                ))
            })?,
            client_key: match form.client_key {
                ClientKeyForm::File { path } => ClientKey::File(path),
                ClientKeyForm::Exec(program) => ClientKey::Exec(program),
                ClientKeyForm::NotExportable => ClientKey::NotExportable,
            },
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct KeyForm {
    public_key: String,
    client_key: ClientKeyForm,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum ClientKeyForm {
    File { path: String },
    Exec(ExecCredential),
    NotExportable,
}
