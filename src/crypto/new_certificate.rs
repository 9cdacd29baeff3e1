//! Certificates (RFC 5280 section 4.1) as an authority writes them.

use super::{
    BoxError, Payload, PublicKey, Purpose, SigningKey,
    der::{
        BIT_STRING, BOOLEAN, CONTEXT_0, CONTEXT_3, CONTEXT_PRIMITIVE_0, GENERALIZED_TIME, INTEGER,
        OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, UTC_TIME, bit_string, element,
    },
    sign_verified,
};
use crate::model::Timestamp;

/// A certificate that is not signed yet.
pub(super) struct NewCertificate<'a> {
    pub(super) serial: [u8; 16],
    /// The `Name` of the authority in DER, byte for byte as in its own certificate.
    pub(super) issuer: &'a [u8],
    /// The `Name` of the subject in DER.
    pub(super) subject: &'a [u8],
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
    pub(super) key: &'a PublicKey,
    pub(super) extensions: &'a [Vec<u8>],
}

impl NewCertificate<'_> {
    /// The certificate in DER, signed by an authority's key.
    pub(super) fn sign(&self, authority: &dyn SigningKey) -> Result<Vec<u8>, BoxError> {
        let scheme = authority.public_key().csr_scheme();
        // Always positive and 16 bytes long.
        let [first, rest @ ..] = self.serial;
        let serial = element(INTEGER, &[&[(first & 0x7f) | 0x40], &rest]);
        let validity = element(SEQUENCE, &[&time(self.not_before), &time(self.not_after)]);
        let extensions = element(SEQUENCE, &[&self.extensions.concat()]);
        let to_be_signed = element(
            SEQUENCE,
            &[
                &VERSION_3,
                &serial,
                scheme.identifier(),
                self.issuer,
                &validity,
                self.subject,
                self.key.spki_der(),
                &element(CONTEXT_3, &[&extensions]),
            ],
        );
        let payload = Payload::of(Purpose::Certificate, &to_be_signed, authority.public_key());
        let signature = sign_verified(authority, &payload)?.at_once()?;
        let signature = bit_string(&signature.0);
        Ok(element(
            SEQUENCE,
            &[&to_be_signed, scheme.identifier(), &signature],
        ))
    }
}

/// The extensions of a client's certificate, in the order of the signer
/// `kubernetes.io/kube-apiserver-client`. The identifier is that of the authority's
/// key.
pub(super) fn of_client(authority: Option<&[u8]>) -> Vec<Vec<u8>> {
    let mut extensions = vec![
        // digitalSignature and keyEncipherment.
        extension(KEY_USAGE, true, &[BIT_STRING, 2, 5, 0xa0]),
        extension(EXTENDED_KEY_USAGE, false, CLIENT_AUTHENTICATION),
        extension(BASIC_CONSTRAINTS, true, &element(SEQUENCE, &[])),
    ];
    if let Some(identifier) = authority {
        let identifier = element(SEQUENCE, &[&element(CONTEXT_PRIMITIVE_0, &[identifier])]);
        extensions.push(extension(AUTHORITY_KEY_IDENTIFIER, false, &identifier));
    }
    extensions
}

/// The extensions of an authority's own certificate.
pub(super) fn of_authority(key_identifier: &[u8]) -> Vec<Vec<u8>> {
    let is_authority = element(SEQUENCE, &[&element(BOOLEAN, &[&[0xff]])]);
    let identifier = element(OCTET_STRING, &[key_identifier]);
    vec![
        // digitalSignature, keyCertSign and cRLSign.
        extension(KEY_USAGE, true, &[BIT_STRING, 2, 1, 0x86]),
        extension(SUBJECT_KEY_IDENTIFIER, false, &identifier),
        extension(BASIC_CONSTRAINTS, true, &is_authority),
    ]
}

/// An extension of id-ce (2.5.29).
pub(super) fn extension(kind: u8, is_critical: bool, value: &[u8]) -> Vec<u8> {
    let kind = element(OBJECT_IDENTIFIER, &[&[0x55, 0x1d, kind]]);
    let critical: &[u8] = match is_critical {
        true => &[BOOLEAN, 1, 0xff],
        false => &[],
    };
    let value = element(OCTET_STRING, &[value]);
    element(SEQUENCE, &[&kind, critical, &value])
}

/// UTCTime from 1950 to 2049, GeneralizedTime otherwise (RFC 5280 section 4.1.2.5).
fn time(time: Timestamp) -> Vec<u8> {
    let mut digits = time.to_string().into_bytes();
    digits.retain(|byte| !b"-:T".contains(byte));
    match digits.as_slice() {
        [b'1', b'9', decade @ b'5'..=b'9', rest @ ..]
        | [b'2', b'0', decade @ b'0'..=b'4', rest @ ..] => element(UTC_TIME, &[&[*decade], rest]),
        long => element(GENERALIZED_TIME, &[long]),
    }
}

pub(super) const VERSION_3: [u8; 5] = [CONTEXT_0, 3, INTEGER, 1, 2];
const SUBJECT_KEY_IDENTIFIER: u8 = 14;
const KEY_USAGE: u8 = 15;
const BASIC_CONSTRAINTS: u8 = 19;
const AUTHORITY_KEY_IDENTIFIER: u8 = 35;
pub(super) const EXTENDED_KEY_USAGE: u8 = 37;
/// A list with id-kp-clientAuth, 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTHENTICATION: &[u8] = &[SEQUENCE, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_two_digits_from_1950_to_2049() {
        for (text, tag, digits) in [
            ("1949-12-31T23:59:59Z", GENERALIZED_TIME, "19491231235959Z"),
            ("1950-01-01T00:00:00Z", UTC_TIME, "500101000000Z"),
            ("1999-12-31T23:59:59Z", UTC_TIME, "991231235959Z"),
            ("2049-12-31T23:59:59Z", UTC_TIME, "491231235959Z"),
            ("2050-01-01T00:00:00Z", GENERALIZED_TIME, "20500101000000Z"),
        ] {
            let expected = element(tag, &[digits.as_bytes()]);
            assert_eq!(time(text.parse().unwrap()), expected, "{text}");
        }
    }
}
