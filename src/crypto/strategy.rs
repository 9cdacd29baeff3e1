//! Strategies for certificate requests, certificates and texts in place of a nonce,
//! honest and hostile, with the feature `proptest`. [`Nonce`] implements
//! [`Arbitrary`].
//!
//! The hostile values are mostly well-formed: lengths are correct, and the right
//! key has signed. Thus, each value reaches the rule that it breaks.
//!
//! # Examples
//! ```
//! use std::sync::Arc;
//! use liqo_auth::{
//!     crypto::{Csr, Entropy, KeyPair, SigningKey, Subject, strategy},
//!     policy::Policy,
//! };
//! use proptest::test_runner::TestRunner;
//!
//! let consumer = "cl-consumer".parse()?;
//! let key = Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([7; 32])));
//! let subject = Subject::control_plane(&consumer);
//! let honest = Csr::make(&subject, &*key)?.at_once()?;
//! TestRunner::default().run(&strategy::any_csr(key.clone(), &consumer), |pem| {
//!     // With Ed25519, only one request is valid.
//!     let verdict = Csr::verify(&pem, &subject, key.public_key(), &Policy::strict());
//!     assert_eq!(verdict.is_ok(), pem == honest.pem());
//!     Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

use std::sync::Arc;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use proptest::{
    collection::vec,
    option,
    prelude::{Arbitrary, Just, any},
    prop_oneof,
    sample::{Index, select},
    strategy::{BoxedStrategy, Strategy},
};

use super::{
    Authority, Entropy, Nonce, Payload, Purpose, SigningKey,
    der::{
        BIT_STRING, CONTEXT_0, INTEGER, OCTET_STRING, PRINTABLE_STRING, SEQUENCE, UTF8_STRING,
        bit_string, element,
    },
    name::relative_name,
    new_certificate::{VERSION_3, extension},
    pem_block,
};
use crate::model::{
    ClusterId,
    strategy::{any_text, matching},
};

/// A nonce as Liqo makes it.
impl Arbitrary for Nonce {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> BoxedStrategy<Self> {
        any::<[u8; 32]>()
            .prop_map(|bytes| Self::random(&Entropy::from_bytes(bytes)))
            .boxed()
    }
}

/// Texts that an attacker might give to a consumer in place of a nonce.
pub fn any_nonce_text() -> BoxedStrategy<Vec<u8>> {
    let text = |bytes: Vec<u8>| STANDARD.encode(bytes);
    let base64 = prop_oneof![
        4 => vec(any::<u8>(), 64).prop_map(text),
        2 => vec(any::<u8>(), 0..100).prop_map(text),
        1 => vec(any::<u8>(), 0..100).prop_map(|bytes| URL_SAFE.encode(bytes)),
        1 => (any::<u8>(), 0_usize..100).prop_map(move |(byte, n)| text(vec![byte; n])),
    ];
    let end = select(&["", "", "", "\n", "\r\n", " ", "=", "\0"][..]);
    prop_oneof![
        4 => (base64, end).prop_map(|(text, end)| (text + end).into_bytes()),
        1 => vec(any::<u8>(), 0..200),
        1 => matching("[A-Za-z0-9_-]{0,60}\\.[A-Za-z0-9_-]{0,60}").prop_map(String::into_bytes),
    ]
    .boxed()
}

/// Certificate requests in PEM that this key has signed: the honest one of this
/// consumer's control plane, and similar ones.
pub fn any_csr(key: Arc<dyn SigningKey>, consumer: &ClusterId) -> BoxedStrategy<Vec<u8>> {
    let spki = key.public_key().spki_der().to_vec();
    let version = mostly(vec![INTEGER, 1, 0], vec(any::<u8>(), 0..4));
    let attributes = mostly(vec![CONTEXT_0, 0], vec(any::<u8>(), 0..12));
    let parts = (
        version,
        any_name(consumer),
        mostly(spki, vec(any::<u8>(), 0..60)),
        attributes,
    );
    let request = (parts, wrong_algorithm(&*key), changes()).prop_map(
        move |((version, name, spki, attributes), algorithm, changes)| {
            let information = element(SEQUENCE, &[&version, &name, &spki, &attributes]);
            let payload = Payload::of(
                Purpose::CertificationRequest,
                &information,
                key.public_key(),
            );
            changed(signed(&*key, &payload, &algorithm), &changes)
        },
    );
    in_pem("CERTIFICATE REQUEST", request)
}

/// Client certificates in PEM that this authority has signed: an honest one for
/// this key and consumer, valid in November 2026, and similar ones.
pub fn any_certificate(
    authority: &Authority,
    authority_key: Arc<dyn SigningKey>,
    key: &dyn SigningKey,
    consumer: &ClusterId,
) -> BoxedStrategy<Vec<u8>> {
    let certificates = authority.ca_bundle().certificates();
    let issuer = certificates
        .first()
        .map(|certificate| certificate.subject.clone())
        .unwrap_or_default();
    let serial = mostly(vec![INTEGER, 1, 7], vec(any::<u8>(), 0..4));
    let time = |honest: &str| {
        let digits = mostly(
            honest.as_bytes().to_vec(),
            matching("[0-9]{10,14}Z?").prop_map(String::into_bytes),
        );
        (select(&[0x17, 0x17, 0x17, 0x18][..]), digits)
            .prop_map(|(tag, digits)| element(tag, &[&digits]))
    };
    let validity = (time("261101000000Z"), time("271101000000Z"))
        .prop_map(|(from, to)| element(SEQUENCE, &[&from, &to]));
    let parts = (
        serial,
        mostly(issuer, any_name(consumer)),
        validity,
        any_name(consumer),
        mostly(
            key.public_key().spki_der().to_vec(),
            vec(any::<u8>(), 0..60),
        ),
        any_extensions(),
    );
    let certificate = (parts, wrong_algorithm(&*authority_key), changes()).prop_map(
        move |((serial, issuer, validity, name, spki, extensions), algorithm, changes)| {
            let key = &*authority_key;
            let scheme = key.public_key().csr_scheme().identifier();
            let inner = [
                &VERSION_3,
                serial.as_slice(),
                scheme,
                &issuer,
                &validity,
                &name,
                &spki,
                &extensions,
            ];
            let information = element(SEQUENCE, &inner);
            let payload = Payload::of(Purpose::Certificate, &information, key.public_key());
            changed(signed(key, &payload, &algorithm), &changes)
        },
    );
    in_pem("CERTIFICATE", certificate)
}

/// The honest value in most cases, so that often several parts are honest together.
fn mostly<T: Clone + core::fmt::Debug + 'static>(
    honest: T,
    other: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![9 => Just(honest), 1 => other].boxed()
}

/// The subject of a consumer's control plane, and similar names.
fn any_name(consumer: &ClusterId) -> BoxedStrategy<Vec<u8>> {
    let part = |kind: u8, text: &str| relative_name(&[0x55, 4, kind], PRINTABLE_STRING, text);
    let honest = [part(10, "liqo.io"), part(3, consumer.as_str())].concat();
    let text = prop_oneof![
        Just("liqo.io".to_owned()),
        Just(consumer.to_string()),
        Just("system:masters".to_owned()),
        any_text(),
    ];
    let kind = prop_oneof![
        4 => select(&[[0x55, 4, 3], [0x55, 4, 10], [0x55, 4, 11], [0x55, 4, 5]][..]),
        1 => any::<[u8; 3]>(),
    ];
    let tag = prop_oneof![
        4 => Just(PRINTABLE_STRING),
        2 => Just(UTF8_STRING),
        1 => select(&[0x14, 0x16, 0x1e, 0x1c, OCTET_STRING, BIT_STRING][..]),
    ];
    let parts = vec((kind, tag, text), 0..4).prop_map(|parts| {
        let parts = parts.iter();
        let parts: Vec<Vec<u8>> = parts
            .map(|(kind, tag, text)| relative_name(kind, *tag, text))
            .collect();
        parts.concat()
    });
    mostly(honest, parts)
        .prop_map(|parts| element(SEQUENCE, &[&parts]))
        .boxed()
}

/// The extensions of a client's certificate, and others.
fn any_extensions() -> BoxedStrategy<Vec<u8>> {
    let for_clients = extension(37, false, &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2]);
    let known = select(vec![
        for_clients.clone(),
        // ExtendedKeyUsage: serverAuth.
        extension(37, false, &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1]),
        // KeyUsage: digitalSignature; keyCertSign.
        extension(15, false, &[BIT_STRING, 2, 7, 0x80]),
        extension(15, false, &[BIT_STRING, 2, 2, 4]),
        // BasicConstraints: CA:FALSE; CA:TRUE.
        extension(19, false, &[0x30, 0]),
        extension(19, false, &[0x30, 3, 1, 1, 0xff]),
        // SubjectAlternativeName: a.
        extension(17, false, &[0x30, 3, 0x82, 1, b'a']),
    ]);
    let other = (any::<u8>(), vec(any::<u8>(), 0..12))
        .prop_map(|(kind, value)| extension(kind & 0x7f, false, &value));
    let list = vec(prop_oneof![4 => known, 1 => other], 0..4).prop_map(|list| list.concat());
    mostly(for_clients, list)
        .prop_map(|list| element(0xa3, &[&element(SEQUENCE, &[&list])]))
        .boxed()
}

fn wrong_algorithm(key: &dyn SigningKey) -> BoxedStrategy<Vec<u8>> {
    let honest = key.public_key().csr_scheme().identifier().to_vec();
    mostly(honest, vec(any::<u8>(), 0..12))
}

/// The payload with its signature, in the form of X.509.
fn signed(key: &dyn SigningKey, payload: &Payload<'_>, algorithm: &[u8]) -> Vec<u8> {
    let signature = key
        .sign(payload)
        .ok()
        .and_then(|answer| answer.at_once().ok());
    let signature = signature.map(|signature| signature.0);
    let signature = bit_string(&signature.unwrap_or_default());
    element(SEQUENCE, &[payload.bytes(), algorithm, &signature])
}

/// A change of the signed bytes: the position, the number of removed bytes, and the
/// inserted bytes.
type Changes = Option<(Index, u8, Vec<u8>)>;

fn changes() -> BoxedStrategy<Changes> {
    let change = (any::<Index>(), 0_u8..4, vec(any::<u8>(), 0..4));
    prop_oneof![9 => Just(None), 1 => option::of(change)].boxed()
}

fn changed(bytes: Vec<u8>, changes: &Changes) -> Vec<u8> {
    let Some((at, removed, inserted)) = changes else {
        return bytes;
    };
    let at = at.index(bytes.len().max(1));
    let rest = bytes.iter().skip(at + usize::from(*removed));
    let kept = bytes.iter().take(at).chain(inserted).chain(rest);
    kept.copied().collect()
}

/// One PEM block, and similar framings.
fn in_pem(
    label: &'static str,
    der: impl Strategy<Value = Vec<u8>> + 'static,
) -> BoxedStrategy<Vec<u8>> {
    let framing = mostly(
        ("", ""),
        select(
            &[
                ("\n", ""),
                ("", "\n"),
                ("", " "),
                ("text\n", ""),
                ("", "-----BEGIN CERTIFICATE-----\n"),
            ][..],
        ),
    );
    let newline = mostly("\n", select(&["\r\n", "\r", "", "\n\n"][..]));
    (der, framing, newline)
        .prop_map(move |(der, (before, after), newline)| {
            let text = pem_block::write(label, &der).replace('\n', newline);
            [before, &text, after].concat().into_bytes()
        })
        .boxed()
}
