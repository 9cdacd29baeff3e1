//! Certificates that one reader of X.509 takes and another does not are refused.

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
    let pem = authority.certificate_pem();
    let mut der = pem::parse(pem).unwrap().into_contents();
    let at = der.windows(from.len()).position(|bytes| bytes == from);
    let at = at.expect("the certificate has these bytes");
    der[at..at + to.len()].copy_from_slice(to);
    let text = pem::encode_config(
        &pem::Pem::new("CERTIFICATE", der),
        pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
    );
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
fn the_unchanged_one_is_read() {
    assert!(with_replaced(NAME, NAME).is_ok());
}

#[test]
fn the_text_of_a_name_has_the_form_of_its_type() {
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
fn the_type_of_an_attribute_is_an_object_identifier() {
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
}
