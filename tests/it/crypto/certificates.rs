//! Certificates that some X.509 readers accept and others do not are refused.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    crypto::{Authority, CertificateChain, CertificateError, Entropy},
    policy::Policy,
};

/// The certificate of an authority, with some bytes of its DER replaced.
fn with_replaced(from: &[u8], to: &[u8]) -> Result<CertificateChain, CertificateError> {
    with_all_replaced(&[(from, to)])
}

fn with_all_replaced(
    replacements: &[(&[u8], &[u8])],
) -> Result<CertificateChain, CertificateError> {
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    let lifetime = core::time::Duration::from_secs(86_400);
    let entropy = Entropy::from_bytes([7; 32]);
    let authority = Authority::new("an authority", now, lifetime, &entropy).unwrap();
    let mut der = authority.ca_bundle().certificates()[0].der.clone();
    for (from, to) in replacements {
        let at = der.windows(from.len()).position(|bytes| bytes == *from);
        let at = at.expect("the certificate has these bytes");
        der[at..at + to.len()].copy_from_slice(to);
    }
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        pem.extend([core::str::from_utf8(line).unwrap(), "\n"]);
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    CertificateChain::from_pem(pem.as_bytes(), &Policy::strict())
}

#[track_caller]
fn is_unreadable(from: &[u8], to: &[u8]) {
    let refused = with_replaced(from, to).unwrap_err();
    assert_eq!(refused, CertificateError::Unreadable { index: 0 });
}

/// The type and the value of the common name.
const NAME: &[u8] = b"\x06\x03\x55\x04\x03\x0c\x0can authority";

#[test]
fn the_unchanged_certificate_is_read() {
    assert!(with_replaced(NAME, NAME).is_ok());
}

#[test]
fn a_name_whose_text_does_not_fit_its_type_is_refused() {
    is_unreadable(NAME, b"\x06\x03\x55\x04\x03\x0c\x0can authorit\xff");
    is_unreadable(NAME, b"\x06\x03\x55\x04\x03\x13\x0can@authority");
    is_unreadable(NAME, b"\x06\x03\x55\x04\x03\x12\x0can authority");
    is_unreadable(NAME, b"\x06\x03\x55\x04\x03\x16\x0can authorit\xff");
    is_unreadable(NAME, b"\x06\x03\x55\x04\x03\x1c\x0can authority");
    for written in [
        b"\x06\x03\x55\x04\x03\x13\x0can authority",
        b"\x06\x03\x55\x04\x03\x12\x0c000 00000000",
        b"\x06\x03\x55\x04\x03\x14\x0can authorit\xff",
        b"\x06\x03\x55\x04\x03\x16\x0can authority",
        b"\x06\x03\x55\x04\x03\x1e\x0can authority",
    ] {
        assert!(with_replaced(NAME, written).is_ok(), "{written:?}");
    }
}

#[test]
fn an_attribute_type_that_is_no_object_identifier_is_refused() {
    is_unreadable(NAME, b"\x06\x03\x55\x04\x83");
    is_unreadable(NAME, b"\x06\x03\x55\x80\x03");
}

#[test]
fn the_algorithm_of_the_signature_is_the_same_in_both_places() {
    // Ed25519, at first within what is signed; Ed448 in its place.
    is_unreadable(
        b"\x30\x05\x06\x03\x2b\x65\x70",
        b"\x30\x05\x06\x03\x2b\x65\x71",
    );
    // The same with another tag.
    is_unreadable(
        b"\x30\x05\x06\x03\x2b\x65\x70",
        b"\x70\x05\x06\x03\x2b\x65\x70",
    );
}

/// The identifiers of the key usage and of the key's identifier.
const KEY_USAGE: &[u8] = b"\x06\x03\x55\x1d\x0f";
const SUBJECT_KEY_IDENTIFIER: &[u8] = b"\x06\x03\x55\x1d\x0e";

#[test]
fn each_extension_stands_once() {
    // A kind that this library does not read.
    const UNKNOWN: &[u8] = b"\x06\x03\x55\x1d\x63";
    assert!(with_replaced(SUBJECT_KEY_IDENTIFIER, UNKNOWN).is_ok());
    let twice = [(SUBJECT_KEY_IDENTIFIER, UNKNOWN), (KEY_USAGE, UNKNOWN)];
    let refused = with_all_replaced(&twice).unwrap_err();
    assert_eq!(refused, CertificateError::Unreadable { index: 0 });
    is_unreadable(SUBJECT_KEY_IDENTIFIER, KEY_USAGE);
}

#[test]
fn an_extension_whose_content_does_not_fit_its_kind_is_refused() {
    // The key's identifier: a BIT STRING in place of the OCTET STRING.
    is_unreadable(b"\x04\x16\x04\x14", b"\x04\x16\x03\x14");
    // The basic constraints: an OCTET STRING in place of the BOOLEAN, and a SET in place
    // of the SEQUENCE.
    is_unreadable(b"\x30\x03\x01\x01\xff", b"\x30\x03\x04\x01\xff");
    is_unreadable(b"\x30\x03\x01\x01\xff", b"\x31\x03\x01\x01\xff");
}

#[test]
fn each_part_ends_where_its_frame_ends() {
    // The extensions, one byte shorter than what they hold.
    is_unreadable(b"\xa3\x42\x30\x40", b"\xa3\x41\x30\x40");
    is_unreadable(b"\xa3\x42\x30\x40", b"\xa3\x42\x30\x3f");
    // The critical mark of the key usage, with a tag of its own.
    is_unreadable(b"\x1d\x0f\x01\x01\xff", b"\x1d\x0f\x41\x01\xff");
}

#[test]
fn a_time_without_seconds_is_refused() {
    // The same digits in full: 2017-12-07 05:02:35.
    assert!(with_replaced(b"\x17\x0d261120", b"\x17\x0d171207050235Z").is_ok());
    // As a GeneralizedTime: 1712-07-05 02:35.
    is_unreadable(b"\x17\x0d261120", b"\x18\x0d171207050235Z");
    is_unreadable(b"\x17\x0d261121", b"\x18\x0d171207050235Z");
}
