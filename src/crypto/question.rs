//! The questions to keys as data, and the answers of all backends.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, value::UnitDeserializer},
};
use serde_json::json;

use super::{
    Answer, CertificateChain, ClientKey, ExecPlugin, Payload, PublicKey, Purpose, Signature,
    SignatureScheme,
};
use crate::{
    model::{Bytes, ClusterId},
    policy::Policy,
};

/// A question to a key store or to a private key, as data. Its form is
/// [documented](crate::machine::json), and no secret is in it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum KeyQuestion<'a> {
    /// Which key this cluster uses towards a peer
    /// ([`KeyStore::find`](super::KeyStore::find)).
    Key(&'a ClusterId),
    /// Which key the peer still knows this cluster by
    /// ([`KeyStore::predecessor`](super::KeyStore::predecessor)).
    Predecessor(&'a ClusterId),
    /// A signature ([`SigningKey::sign`](super::SigningKey::sign)).
    Signature(Payload<'a>),
}

/// A key that lies elsewhere: what a key store answers as data. Whoever reads it
/// makes a [`SigningKey`](super::SigningKey) of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyElsewhere {
    /// The public half.
    pub public_key: PublicKey,
    /// How a kubeconfig reaches the private key.
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
                "purpose": match payload.purpose() {
                    Purpose::Nonce => "nonce",
                    Purpose::CertificationRequest => "certificationRequest",
                    Purpose::Certificate => "certificate",
                    Purpose::Commitment => "commitment",
                    Purpose::KeySuccession => "keySuccession",
                },
                "scheme": match payload.scheme() {
                    SignatureScheme::Ed25519 => "ed25519",
                    SignatureScheme::RsaPkcs1Sha256 => "rsaPkcs1Sha256",
                    SignatureScheme::EcdsaSha256 => "ecdsaSha256",
                    SignatureScheme::EcdsaSha384 => "ecdsaSha384",
                    SignatureScheme::EcdsaSha512 => "ecdsaSha512",
                },
                "publicKey": payload.key().to_pem(),
                "bytes": Bytes::from(payload.bytes()),
            }),
        }
        .serialize(serializer)
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

/// A chain in PEM. Whether it is the one that was asked for is verified where it
/// is used.
impl<'de> Deserialize<'de> for CertificateChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pem = String::deserialize(deserializer)?;
        Self::from_pem(pem.as_bytes(), &Policy::compatible()).map_err(|error| {
            D::Error::custom(format_args!(
                "found other text, expected certificates in PEM: {error}"
            ))
        })
    }
}

/// The bytes in base64.
impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Bytes::deserialize(deserializer).map(|bytes| Self(bytes.into_vec()))
    }
}

impl<'de> Deserialize<'de> for KeyElsewhere {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = KeyForm::deserialize(deserializer)?;
        let public_key = PublicKey::from_pem(form.public_key.as_bytes(), &Policy::strict());
        Ok(Self {
            public_key: public_key.map_err(|error| {
                D::Error::custom(format_args!(
                    "found another publicKey, expected one in PEM: {error}"
                ))
            })?,
            client_key: match form.client_key {
                ClientKeyForm::File { path } => ClientKey::File(path),
                ClientKeyForm::Exec {
                    api_version,
                    command,
                    args,
                    env,
                } => ClientKey::Exec(ExecPlugin {
                    api_version,
                    command,
                    args,
                    env: env.into_iter().map(|it| (it.name, it.value)).collect(),
                }),
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
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
enum ClientKeyForm {
    File {
        path: String,
    },
    Exec {
        api_version: String,
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: Vec<Variable>,
    },
    NotExportable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    name: String,
    value: String,
}
