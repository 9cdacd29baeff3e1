//! Names as `rcgen` takes them.

use core::str;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, SerialNumber,
    string::{BmpString, UniversalString},
};
use x509_parser::der_parser::oid::Oid;

use super::{
    PublicKey,
    der::{CONTEXT_0, INTEGER, PRINTABLE_STRING, Reader, SEQUENCE, UTF8_STRING, single},
    name::Name,
    rcgen_key::Unsigned,
};

/// The name with each value in its own type of string. What rcgen has no form
/// for is lost: a set of two values, and the first of two of one kind.
pub(super) fn of_name(name: &Name<'_>) -> Option<DistinguishedName> {
    let mut distinguished_name = DistinguishedName::new();
    for attribute in name.attributes() {
        let arcs: Vec<u64> = Oid::new(attribute.kind.into()).iter()?.collect();
        // Anything else makes rcgen's writer panic.
        if !matches!(arcs.as_slice(), [0..=2, 0..=39, ..]) {
            return None;
        }
        let text = || str::from_utf8(attribute.value).ok();
        let value = match attribute.tag {
            UTF8_STRING => DnValue::Utf8String(text()?.to_owned()),
            PRINTABLE_STRING => DnValue::PrintableString(text()?.try_into().ok()?),
            0x14 => DnValue::TeletexString(text()?.try_into().ok()?),
            0x16 => DnValue::Ia5String(text()?.try_into().ok()?),
            0x1c => {
                let value = UniversalString::from_utf32be(attribute.value.to_vec());
                DnValue::UniversalString(value.ok()?)
            }
            0x1e => DnValue::BmpString(BmpString::from_utf16be(attribute.value.to_vec()).ok()?),
            _ => return None,
        };
        distinguished_name.push(DnType::from_oid(&arcs), value);
    }
    Some(distinguished_name)
}

/// The name in DER, as rcgen writes it. It writes names in certificates only.
pub(super) fn written(name: &DistinguishedName, key: &PublicKey) -> Option<Vec<u8>> {
    let mut params = CertificateParams::default();
    params.distinguished_name = name.clone();
    params.serial_number = Some(SerialNumber::from(1));
    let certificate = params.self_signed(&Unsigned(key)).ok()?;
    let signed = Reader::new(single(certificate.der(), SEQUENCE).ok()?)
        .expect(SEQUENCE)
        .ok()?;
    let mut fields = Reader::new(signed);
    fields.expect(CONTEXT_0).ok()?;
    fields.expect(INTEGER).ok()?;
    // The algorithm stands before the issuer.
    fields.expect(SEQUENCE).ok()?;
    Some(fields.next().ok()?.raw.to_vec())
}
