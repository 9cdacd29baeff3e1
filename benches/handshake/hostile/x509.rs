//! Certificates as an attacker writes them, in DER and PEM.

/// The AlgorithmIdentifier of Ed25519.
pub(super) const ED25519: [u8; 7] = [0x30, 5, 6, 3, 0x2b, 0x65, 0x70];

/// A certificate (RFC 5280 section 4.1) with that issuer and subject.
pub(super) fn certificate(
    (issuer, subject): &(Vec<u8>, Vec<u8>),
    spki: &[u8],
    extensions: &[u8],
    algorithm: &[u8],
    signature: &[u8],
) -> Vec<u8> {
    let time = |text: &[u8]| tlv(0x17, text);
    let validity = tlv(
        0x30,
        &[time(b"260101000000Z"), time(b"270101000000Z")].concat(),
    );
    let parts: [&[u8]; 8] = [
        &[0xa0, 3, 2, 1, 2],
        &[2, 1, 1],
        algorithm,
        issuer,
        &validity,
        subject,
        spki,
        &tlv(0xa3, &tlv(0x30, extensions)),
    ];
    let signed = tlv(0x30, &parts.concat());
    let signature = tlv(3, &[&[0], signature].concat());
    tlv(0x30, &[&signed[..], algorithm, &signature].concat())
}

/// The subject that a client's certificate has to have: O=liqo.io, CN=consumer.
pub(super) fn client_name() -> Vec<u8> {
    let organization = part(10, "liqo.io");
    tlv(0x30, &[organization, common_name_part("consumer")].concat())
}

/// An Ed25519 signature whose R is a point on the curve and whose s is below the
/// order. Only the verification equation fails.
pub(super) fn likely_signature() -> [u8; 64] {
    let mut signature = [0x66; 64];
    signature[0] = 0x58;
    signature[32..].fill(1);
    signature
}

pub(super) fn common_name(text: &str) -> Vec<u8> {
    tlv(0x30, &common_name_part(text))
}

pub(super) fn common_name_part(text: &str) -> Vec<u8> {
    part(3, text)
}

/// ExtendedKeyUsage: clientAuth.
pub(super) fn client_authentication() -> Vec<u8> {
    extension(&[37], &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2])
}

/// An extension of id-ce (2.5.29).
pub(super) fn extension(kind: &[u8], value: &[u8]) -> Vec<u8> {
    let oid = tlv(6, &[&[0x55, 0x1d], kind].concat());
    tlv(0x30, &[oid, tlv(4, value)].concat())
}

pub(super) fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut element = vec![tag];
    match length {
        0..0x80 => element.push(length as u8),
        0x80..0x100 => element.extend([0x81, length as u8]),
        _ => element.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    element.extend(content);
    element
}

pub(super) fn pem(der: &[u8]) -> String {
    pem_of("CERTIFICATE", der)
}

pub(super) fn pem_of(label: &str, der: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let digits = STANDARD.encode(der);
    let lines = digits.as_bytes().chunks(64);
    let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

fn part(kind: u8, text: &str) -> Vec<u8> {
    let attribute = [vec![6, 3, 0x55, 4, kind], tlv(0x13, text.as_bytes())].concat();
    tlv(0x31, &tlv(0x30, &attribute))
}
