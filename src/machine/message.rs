//! The messages between the clusters.

use sha2::{Digest, Sha256};

use crate::{
    crypto::Nonce,
    error::{ApiMisuse, Error},
    model::{ClusterId, Identity, Tenant},
};

/// A message from one cluster to another, over any transport.
///
/// Sender and addressee tell a transport where to deliver the message.
/// [`Machine::receive`](super::Machine::receive) refuses a message for another
/// cluster, and one whose sender is not the peer of the view. Sender and
/// addressee prove nothing: the body is verified without them.
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
#[derive(Debug, Clone, PartialEq, Eq, derive_more::From)]
#[non_exhaustive]
pub enum MessageBody {
    /// From the provider: the text to be signed.
    #[from]
    Nonce(Nonce),
    /// From the consumer: its key, request and signature.
    #[from(Tenant)]
    Tenant(Box<Tenant>),
    /// From the provider: the certificate and the address of the API server.
    #[from(Identity)]
    Identity(Box<Identity>),
}

impl Message {
    /// A message with that sender, addressee and content.
    pub fn new(from: &ClusterId, to: &ClusterId, body: impl Into<MessageBody>) -> Self {
        Self {
            from: from.clone(),
            to: to.clone(),
            body: body.into(),
        }
    }

    /// The digest of the message's [JSON form](super::json).
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"liqo-auth message v1\0");
        hash.update(self.to_json().expose());
        hash.finalize().into()
    }

    /// Checks that the message is for this cluster, and from the peer of the view.
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

    /// The error of a side that does not take this content.
    pub(crate) fn unexpected(&self) -> Error {
        let message = self.name();
        Error::new(ApiMisuse::UnexpectedMessage { message }, None, "")
    }
}
