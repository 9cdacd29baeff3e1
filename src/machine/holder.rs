//! The holders of identities.

use serde::Serialize;

use crate::{
    crypto::Subject,
    model::{ClusterId, names},
};

/// The holder of an identity: a consumer's control plane, or one of its
/// resource slices.
///
/// The identity of either holder consists of a request, a certificate or another
/// credential, and its renewal.
///
/// # Examples
/// ```
/// use liqo_auth::machine::Holder;
///
/// let consumer = "cl-consumer".parse()?;
/// assert_eq!(Holder::ControlPlane.subject(&consumer).common_name(), "cl-consumer");
/// assert_eq!(Holder::Slice("mypool".to_owned()).to_string(), "resource slice mypool");
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, derive_more::Display)]
#[serde(tag = "type", content = "slice", rename_all = "camelCase")]
pub enum Holder {
    /// The consumer's control plane.
    #[display("control plane")]
    ControlPlane,
    /// The consumer's resource slice of this name.
    #[display("resource slice {_0}")]
    Slice(String),
}

impl Holder {
    /// The subject of the holder's certificate.
    pub fn subject(&self, consumer: &ClusterId) -> Subject {
        match self {
            Self::ControlPlane => Subject::control_plane(consumer),
            Self::Slice(slice) => Subject::resource_slice(slice, consumer),
        }
    }

    /// The slice's name; `None` for the control plane.
    pub(crate) fn slice(&self) -> Option<&str> {
        match self {
            Self::ControlPlane => None,
            Self::Slice(slice) => Some(slice),
        }
    }

    /// The name of the holder's Identity at the consumer.
    pub(crate) fn identity_name(&self, provider: &ClusterId) -> String {
        match self {
            Self::ControlPlane => names::identity_name(provider),
            Self::Slice(slice) => names::resource_slice_identity_name(slice),
        }
    }
}
