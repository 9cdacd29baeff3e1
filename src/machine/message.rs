//! What travels between the clusters.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::{
    crypto::Nonce,
    error::{ApiMisuse, Error},
    model::{ClusterId, Identity, Tenant, write_hex},
};

/// What one cluster sends to another, by whatever means.
///
/// Sender and addressee say where a transport delivers the message.
/// [`Provider::receive`](crate::Provider::receive) and
/// [`Consumer::receive`](crate::Consumer::receive) refuse a message for another
/// cluster, and one whose sender is not the peer of the view. The names prove
/// nothing: the body is verified as if they were not there.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::{Entropy, Nonce}, machine::{Message, MessageBody}};
///
/// let nonce = Nonce::random(&Entropy::from_bytes([7; 32]));
/// let message = Message::new(&"cl-provider".parse()?, &"cl-consumer".parse()?, nonce);
/// assert!(matches!(message.body, MessageBody::Nonce(_)));
/// assert_eq!(message.digest(), message.clone().digest());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The cluster that sends the message.
    pub from: ClusterId,
    /// The cluster that the message is for.
    pub to: ClusterId,
    /// The content.
    pub body: MessageBody,
}

/// The content of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageBody {
    /// From the provider: the text to be signed.
    Nonce(Nonce),
    /// From the consumer: its key, request and signature.
    Tenant(Box<Tenant>),
    /// From the provider: the certificate and where to use it.
    Identity(Box<Identity>),
}

/// The name of a message by its content: SHA-256 over sender, addressee and body.
///
/// Two messages with the same digest say the same, so a transport can drop the
/// second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageDigest([u8; 32]);

impl Message {
    /// A message with that sender, addressee and content.
    pub fn new(from: &ClusterId, to: &ClusterId, body: impl Into<MessageBody>) -> Self {
        Self {
            from: from.clone(),
            to: to.clone(),
            body: body.into(),
        }
    }

    /// The name of the message by its content. The digest covers the
    /// [JSON form](super::json).
    pub fn digest(&self) -> MessageDigest {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth message v1\0");
        hash.update(self.to_json().expose());
        MessageDigest(hash.finalize().into())
    }

    /// That the message is for this cluster, and from the peer that is looked at.
    pub(crate) fn check_delivery(&self, own: &ClusterId, peer: &ClusterId) -> Result<(), Error> {
        let fault = if self.to != *own {
            let (found, expected) = (self.to.clone(), own.clone());
            ApiMisuse::OtherAddressee { found, expected }
        } else if self.from != *peer {
            let (found, expected) = (self.from.clone(), peer.clone());
            ApiMisuse::OtherSender { found, expected }
        } else {
            return Ok(());
        };
        Err(Error::new(fault, None, ""))
    }
}

impl MessageBody {
    /// The name of the content: `nonce`, `Tenant` or `Identity`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nonce(_) => "nonce",
            Self::Tenant(_) => "Tenant",
            Self::Identity(_) => "Identity",
        }
    }
}

impl MessageDigest {
    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// 64 hexadecimal digits, in lower case.
impl fmt::Display for MessageDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

impl From<Nonce> for MessageBody {
    fn from(nonce: Nonce) -> Self {
        Self::Nonce(nonce)
    }
}

impl From<Tenant> for MessageBody {
    fn from(tenant: Tenant) -> Self {
        Self::Tenant(Box::new(tenant))
    }
}

impl From<Identity> for MessageBody {
    fn from(identity: Identity) -> Self {
        Self::Identity(Box::new(identity))
    }
}
