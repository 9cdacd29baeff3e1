//! The subjects of certificates.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::der::{PRINTABLE_STRING, SEQUENCE, UTF8_STRING, element};
use super::name::{COMMON_NAME, Name, ORGANIZATION, relative_name};
use crate::{
    model::{ClusterId, Hex, names},
    policy::Forms,
};

/// The subject of a certificate: one organization (a Kubernetes group) and one
/// common name (a Kubernetes user), and nothing else.
///
/// # Examples
/// ```
/// use liqo_auth::{crypto::Subject, model::ClusterId};
///
/// let consumer: ClusterId = "cl01".parse()?;
/// assert_eq!(Subject::control_plane(&consumer).to_string(), "O=liqo.io, CN=cl01");
/// assert_eq!(
///     Subject::resource_slice("mypool", &consumer).to_string(),
///     "O=cl01, CN=mypool-ea7d977b605f"
/// );
/// # Ok::<(), liqo_auth::model::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, derive_more::Display)]
#[display("O={}, CN={}", organization.escape_debug(), common_name.escape_debug())]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    organization: String,
    common_name: String,
}

impl Subject {
    /// The subject of a consumer's control plane: the organization is `liqo.io`, and
    /// the common name is the consumer's ID (Liqo
    /// `authentication.GenerateCSRForControlPlane`).
    pub fn control_plane(consumer: &ClusterId) -> Self {
        Self {
            organization: names::CONTROL_PLANE_ORGANIZATION.to_owned(),
            common_name: consumer.to_string(),
        }
    }

    /// The subject of a resource slice: the organization is the consumer's ID. The
    /// common name is the slice's name, a hyphen, and the first six bytes of the ID's
    /// SHA-256 in hexadecimal (Liqo `authentication.CommonNameResourceSliceCSR`).
    pub fn resource_slice(name: &str, consumer: &ClusterId) -> Self {
        let hash: [u8; 32] = Sha256::digest(consumer.as_str()).into();
        let (suffix, _) = hash.split_at(6);
        Self {
            organization: consumer.to_string(),
            common_name: format!("{name}-{}", Hex(suffix)),
        }
    }

    /// The subject of a peering user: the organization is `liqo.io`, and the common
    /// name is `liqo-peer-user-<consumer>-` and the suffix in hexadecimal (Liqo
    /// `authentication.GenerateCSRForPeerUser`).
    pub fn peering_user(consumer: &ClusterId, suffix: [u8; 16]) -> Self {
        Self {
            organization: names::CONTROL_PLANE_ORGANIZATION.to_owned(),
            common_name: format!("{}-{}", names::peering_user(consumer), Hex(&suffix)),
        }
    }

    /// The organization: a Kubernetes group.
    pub fn organization(&self) -> &str {
        &self.organization
    }

    /// The common name: a Kubernetes user.
    pub fn common_name(&self) -> &str {
        &self.common_name
    }

    /// The encodings of the subject that a request may have. The first one is Go's.
    pub(super) fn encodings(&self, forms: Forms) -> Vec<Vec<u8>> {
        let tag = |value: &str| {
            if value.bytes().all(is_printable) {
                PRINTABLE_STRING
            } else {
                UTF8_STRING
            }
        };
        let organization = |tag| relative_name(ORGANIZATION, tag, &self.organization);
        let common_name = |tag| relative_name(COMMON_NAME, tag, &self.common_name);
        let go = (
            organization(tag(&self.organization)),
            common_name(tag(&self.common_name)),
        );
        let mut encodings = vec![element(SEQUENCE, &[&go.0, &go.1])];
        if forms == Forms::Compatible {
            let utf8 = (organization(UTF8_STRING), common_name(UTF8_STRING));
            encodings.push(element(SEQUENCE, &[&utf8.0, &utf8.1]));
            encodings.push(element(SEQUENCE, &[&go.1, &go.0]));
            encodings.push(element(SEQUENCE, &[&utf8.1, &utf8.0]));
        }
        encodings
    }

    /// Whether a name has exactly this content, in either string type and order.
    pub(super) fn matches_name(&self, name: &Name<'_>) -> bool {
        let mut attributes: Vec<_> = name.attributes().collect();
        attributes.sort_by_key(|attribute| attribute.kind != ORGANIZATION);
        !name.has_multiple_values()
            && matches!(attributes.as_slice(), [organization, common_name]
                if organization.kind == ORGANIZATION
                    && organization.is_text(&self.organization)
                    && common_name.kind == COMMON_NAME
                    && common_name.is_text(&self.common_name))
    }
}

/// The characters for which Go's `encoding/asn1` chooses PrintableString.
const fn is_printable(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'\''..=b')' | b'+'..=b'/')
        || matches!(byte, b' ' | b':' | b'=' | b'?')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::der::single;

    #[test]
    fn go_chooses_the_string_type() {
        let encoded = |name: &str| {
            let subject = Subject {
                organization: "liqo.io".into(),
                common_name: name.into(),
            };
            subject.encodings(Forms::Canonical).concat()
        };
        assert!(encoded("a-b.c").ends_with(b"\x06\x03\x55\x04\x03\x13\x05a-b.c"));
        assert!(encoded("a_b").ends_with(b"\x06\x03\x55\x04\x03\x0c\x03a_b"));
        assert!(encoded("a*b").ends_with(b"\x06\x03\x55\x04\x03\x0c\x03a*b"));
    }

    #[test]
    fn every_encoding_says_the_subject() {
        let subject = Subject::control_plane(&"cl01".parse().unwrap());
        let other = Subject::control_plane(&"cl02".parse().unwrap());
        let encodings = subject.encodings(Forms::Compatible);
        assert_eq!(encodings.len(), 4);
        for der in &encodings {
            let name = Name::read(single(der, SEQUENCE).unwrap()).unwrap();
            assert!(subject.matches_name(&name));
            assert!(!other.matches_name(&name));
        }
    }
}
