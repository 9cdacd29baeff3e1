//! The serialization of values that a record keeps as bytes in base64, for serde's
//! `with` attribute.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{
    crypto::{Nonce, PublicKey},
    model::Bytes,
    policy::Policy,
};

/// A value that a record keeps as bytes.
///
/// The content of a record was checked before it was written. Therefore, a record
/// is read with the compatible policy.
pub(crate) trait RecordBytes: Sized {
    fn to_bytes(&self) -> Bytes;

    /// The value; `None` if the bytes are of another version of this library.
    fn from_bytes(bytes: Bytes) -> Option<Self>;
}

pub(crate) fn serialize<T: RecordBytes, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.to_bytes().serialize(serializer)
}

pub(crate) fn deserialize<'de, T: RecordBytes, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let bytes = Bytes::deserialize(deserializer)?;
    T::from_bytes(bytes).ok_or_else(|| D::Error::custom("a value of another version"))
}

/// The serialization of several such values.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::{Bytes, RecordBytes};

    pub(crate) fn serialize<T: RecordBytes, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(T::to_bytes))
    }

    pub(crate) fn deserialize<'de, T: RecordBytes, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let values: Vec<Bytes> = Vec::deserialize(deserializer)?;
        let values: Option<Vec<T>> = values.into_iter().map(T::from_bytes).collect();
        values.ok_or_else(|| D::Error::custom("a value of another version"))
    }
}

impl RecordBytes for Vec<u8> {
    fn to_bytes(&self) -> Bytes {
        Bytes::from(self.as_slice())
    }

    fn from_bytes(bytes: Bytes) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl RecordBytes for [u8; 32] {
    fn to_bytes(&self) -> Bytes {
        Bytes::from(self.as_slice())
    }

    fn from_bytes(bytes: Bytes) -> Option<Self> {
        bytes.as_slice().try_into().ok()
    }
}

/// The text of the nonce.
impl RecordBytes for Nonce {
    fn to_bytes(&self) -> Bytes {
        Bytes::from(self.as_bytes())
    }

    fn from_bytes(bytes: Bytes) -> Option<Self> {
        Self::parse(bytes.as_slice(), &Policy::compatible()).ok()
    }
}

/// The key in DER.
impl RecordBytes for PublicKey {
    fn to_bytes(&self) -> Bytes {
        Bytes::from(self.spki_der())
    }

    fn from_bytes(bytes: Bytes) -> Option<Self> {
        Self::from_known_spki_der(bytes.as_slice(), &Policy::compatible()).ok()
    }
}

/// A field that is left out if it has no value.
impl<T: RecordBytes> RecordBytes for Option<T> {
    fn to_bytes(&self) -> Bytes {
        self.as_ref().map(T::to_bytes).unwrap_or_default()
    }

    fn from_bytes(bytes: Bytes) -> Option<Self> {
        T::from_bytes(bytes).map(Some)
    }
}
