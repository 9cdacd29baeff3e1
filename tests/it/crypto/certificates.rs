//! Certificates that some X.509 readers accept and others do not are refused.

use liqo_auth::{
    crypto::{Authority, CertificateChain, CertificateError, Entropy},
    policy::Policy,
};

/// The certificate of an authority, with some bytes of its DER replaced.
fn with_replaced(from: &[u8], to: &[u8]) -> Result<CertificateChain, CertificateError> {
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    let lifetime = core::time::Duration::from_secs(86_400);
    let entropy = Entropy::from_bytes([7; 32]);
    let authority = Authority::new("an authority", now, lifetime, &entropy).unwrap();
    let pem = authority.ca_bundle().pem();
    let mut der = pem_rfc7468::decode_vec(pem).unwrap().1;
    let at = der.windows(from.len()).position(|bytes| bytes == from);
    let at = at.expect("the certificate has these bytes");
    der[at..at + to.len()].copy_from_slice(to);
    let text =
        pem_rfc7468::encode_string("CERTIFICATE", pem_rfc7468::LineEnding::LF, &der).unwrap();
    CertificateChain::from_pem(text.as_bytes(), &Policy::strict())
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
fn different_signature_algorithms_in_the_two_places_are_refused() {
    // Ed25519 is replaced by Ed448 in the first place, which is inside the
    // signed part.
    is_unreadable(
        b"\x30\x05\x06\x03\x2b\x65\x70",
        b"\x30\x05\x06\x03\x2b\x65\x71",
    );
}
