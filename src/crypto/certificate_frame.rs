//! A strict check of a certificate's structure (RFC 5280 section 4.1).
//!
//! Readers that skip unexpected parts may read different contents from the same
//! certificate. So the position, tag and end of each part are checked before the
//! content is read.

use std::collections::BTreeSet;

use super::{
    der::{
        BOOLEAN, CONTEXT_0, CONTEXT_3, DerError, Element, GENERALIZED_TIME, INTEGER,
        OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, UTC_TIME, single,
    },
    new_certificate::EXTENDED_KEY_USAGE,
};

/// Whether the certificate has exactly the parts of RFC 5280, gives both times in full,
/// names the same signature algorithm in both places, and has no repeated extension.
pub(super) fn is_framed(der: &[u8]) -> bool {
    read(der).is_ok_and(|is_framed| is_framed)
}

fn read(der: &[u8]) -> Result<bool, DerError> {
    let mut certificate = Reader::new(single(der, SEQUENCE)?);
    let mut signed = Reader::new(certificate.expect(SEQUENCE)?);
    if let Some(version) = signed.optional(CONTEXT_0)? {
        single(version, INTEGER)?;
    }
    signed.expect(INTEGER)?;
    let algorithm = signed.next()?;
    let _issuer = signed.expect(SEQUENCE)?;
    let mut validity = Reader::new(signed.expect(SEQUENCE)?);
    let are_times = is_time(&validity.next()?) && is_time(&validity.next()?);
    validity.end()?;
    let (_subject, _public_key) = (signed.expect(SEQUENCE)?, signed.expect(SEQUENCE)?);
    signed.optional(ISSUER_UNIQUE_ID)?;
    signed.optional(SUBJECT_UNIQUE_ID)?;
    let extensions = signed.optional(CONTEXT_3)?;
    signed.end()?;
    let names_one_algorithm = algorithm.tag == SEQUENCE && certificate.next()?.raw == algorithm.raw;
    certificate.bit_string()?;
    certificate.end()?;
    let are_unique = extensions.map_or(Ok(true), are_unique)?;
    Ok(are_times && names_one_algorithm && are_unique)
}

/// Whether a time has seconds, no fraction of them, and is in UTC (RFC 5280 section
/// 4.1.2.5).
fn is_time(time: &Element<'_>) -> bool {
    let length = match time.tag {
        UTC_TIME => "YYMMDDhhmmss".len(),
        GENERALIZED_TIME => "YYYYMMDDhhmmss".len(),
        _ => return false,
    };
    let digits = time.content.strip_suffix(b"Z");
    digits.is_some_and(|digits| digits.len() == length && digits.iter().all(u8::is_ascii_digit))
}

/// Whether each extension is well-formed and occurs once. The parser takes each tag for an
/// object identifier's, so the purposes in the extended key usage are read here.
fn are_unique(extensions: &[u8]) -> Result<bool, DerError> {
    let mut extensions = Reader::new(single(extensions, SEQUENCE)?);
    let mut kinds = BTreeSet::new();
    while !extensions.is_empty() {
        let mut extension = Reader::new(extensions.expect(SEQUENCE)?);
        let kind = extension.expect(OBJECT_IDENTIFIER)?;
        extension.optional(BOOLEAN)?;
        let value = extension.expect(OCTET_STRING)?;
        extension.end()?;
        // id-ce-extKeyUsage
        if kind == [0x55, 0x1d, EXTENDED_KEY_USAGE] {
            let mut purposes = Reader::new(single(value, SEQUENCE)?);
            while !purposes.is_empty() {
                purposes.expect(OBJECT_IDENTIFIER)?;
            }
        }
        if !kinds.insert(kind) {
            return Ok(false);
        }
    }
    Ok(true)
}

const ISSUER_UNIQUE_ID: u8 = 0x81;
const SUBJECT_UNIQUE_ID: u8 = 0x82;
