//! The content of one certificate (RFC 5280).

mod known;

use x509_parser::{
    extensions::ParsedExtension,
    prelude::{FromDer, X509Certificate, X509Version},
};

use super::{
    CertificateError, Fingerprint, Subject,
    certificate_frame::is_framed,
    der::{Reader, SEQUENCE, single},
    name::Name,
    pem_block,
};
use crate::{
    model::{Hex, Timestamp},
    policy::Forms,
};

/// The content of one certificate. Nothing in it is trusted.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug(
    "Certificate {{ subject: {:?}, issuer: {:?}, not_after: {not_after:?}, fingerprint: {:?}, .. }}",
    self.subject(),
    self.issuer(),
    self.fingerprint()
)]
#[non_exhaustive]
pub struct Certificate {
    /// The certificate in DER.
    pub der: Vec<u8>,
    /// The SubjectPublicKeyInfo in DER. It is not checked as a
    /// [`PublicKey`](super::PublicKey) is.
    pub spki_der: Vec<u8>,
    /// The first second in which the certificate is valid.
    pub not_before: Timestamp,
    /// The last second in which the certificate is valid.
    pub not_after: Timestamp,
    pub(super) subject: Vec<u8>,
    pub(super) issuer: Vec<u8>,
    serial: Vec<u8>,
    // The following fields come from the extensions. An `Option` is `None` if its
    // extension is missing.
    /// Whether BasicConstraints names a CA, in a certificate of version 3.
    pub(super) is_authority: bool,
    pub(super) client_authentication: bool,
    /// Whether the KeyUsage allows digital signatures; true without a KeyUsage.
    pub(super) digital_signature: bool,
    pub(super) subject_key_identifier: Option<Vec<u8>>,
    pub(super) authority_key_identifier: Option<Vec<u8>>,
}

impl Certificate {
    /// Whether the subject is exactly this one: one O, one CN and nothing else, in
    /// PrintableString or UTF8String.
    pub fn subject_is(&self, subject: &Subject) -> bool {
        name(&self.subject).is_some_and(|name| subject.matches_name(&name))
    }

    /// The subject as text, escaped and shortened.
    pub fn subject(&self) -> String {
        text(&self.subject)
    }

    /// The issuer as text, escaped and shortened.
    pub fn issuer(&self) -> String {
        text(&self.issuer)
    }

    /// The serial number in lower-case hexadecimal.
    pub fn serial(&self) -> String {
        Hex(&self.serial).to_string()
    }

    /// The SHA-256 of the certificate in DER.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.der)
    }

    /// Reads the certificates of a text in PEM: at least one, and at most `limit`.
    pub(super) fn read_many(
        pem: &[u8],
        forms: Forms,
        limit: usize,
    ) -> Result<Vec<Self>, CertificateError> {
        let blocks = pem_block::read_many(pem, LABEL, forms, limit);
        let blocks = blocks.map_err(CertificateError::Pem)?;
        if blocks.len() > limit {
            return Err(CertificateError::TooMany { limit });
        }
        let read = |(index, der)| Self::read(der).ok_or(CertificateError::Unreadable { index });
        blocks.into_iter().enumerate().map(read).collect()
    }

    /// Reads a certificate. `None` if the bytes are not a certificate, if bytes
    /// follow it, if its structure is not that of RFC 5280, if an extension is
    /// unreadable, or if a name is malformed.
    pub(super) fn read(der: Vec<u8>) -> Option<Self> {
        known::certificate(der, Self::read_anew)
    }

    fn read_anew(der: Vec<u8>) -> Option<Self> {
        if !is_framed(&der) {
            return None;
        }
        let (rest, parsed) = X509Certificate::from_der(&der).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let usages = parsed.extended_key_usage().ok()?;
        let constraints = parsed.basic_constraints().ok()?;
        let key_usage = parsed.key_usage().ok()?;
        let mut subject_key_identifier = None;
        let mut authority_key_identifier = None;
        for extension in parsed.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectKeyIdentifier(identifier) => {
                    subject_key_identifier = Some(identifier.0.to_vec());
                }
                ParsedExtension::AuthorityKeyIdentifier(identifier) => {
                    authority_key_identifier = identifier
                        .key_identifier
                        .as_ref()
                        .map(|identifier| identifier.0.to_vec());
                }
                ParsedExtension::ParseError { .. } => return None,
                _ => {}
            }
        }
        for raw in [parsed.subject().as_raw(), parsed.issuer().as_raw()] {
            name(raw).filter(Name::is_well_formed)?;
        }
        let validity = parsed.validity();
        let certificate = Self {
            subject: parsed.subject().as_raw().to_vec(),
            issuer: parsed.issuer().as_raw().to_vec(),
            spki_der: parsed.public_key().raw.to_vec(),
            serial: parsed.raw_serial().to_vec(),
            not_before: Timestamp::from_unix(validity.not_before.timestamp()).ok()?,
            not_after: Timestamp::from_unix(validity.not_after.timestamp()).ok()?,
            is_authority: parsed.version() == X509Version::V3
                && constraints.is_some_and(|constraints| constraints.value.ca),
            client_authentication: usages.is_some_and(|usages| usages.value.client_auth),
            digital_signature: key_usage.is_none_or(|usage| usage.value.digital_signature()),
            subject_key_identifier,
            authority_key_identifier,
            der: Vec::new(),
        };
        Some(Self { der, ..certificate })
    }

    /// The signed part, the content of the AlgorithmIdentifier, and the signature.
    pub(super) fn signed(&self) -> Option<(&[u8], &[u8], &[u8])> {
        let mut parts = Reader::new(single(&self.der, SEQUENCE).ok()?);
        let signed = parts.next().ok()?.raw;
        let algorithm = parts.expect(SEQUENCE).ok()?;
        let signature = parts.bit_string().ok()?;
        parts.end().ok()?;
        Some((signed, algorithm, signature))
    }
}

pub(super) const LABEL: &str = "CERTIFICATE";

fn text(raw: &[u8]) -> String {
    name(raw).map(|name| name.to_text()).unwrap_or_default()
}

fn name(raw: &[u8]) -> Option<Name<'_>> {
    Name::read(single(raw, SEQUENCE).ok()?).ok()
}
