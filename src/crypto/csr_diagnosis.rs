//! Finds the difference between a refused request and the expected one. The result
//! is only for messages, never for a decision.

use super::{
    CsrError, DerError, Fingerprint, PublicKey, SignatureScheme, Subject,
    der::{
        CONTEXT_0, DottedOid, INTEGER, OBJECT_IDENTIFIER, Reader, SEQUENCE, check_lengths, single,
    },
    name::{Name, ORGANIZATION, string_type},
};

/// Why a CertificationRequestInfo is not one of those expected for the subject and
/// key.
pub(super) fn of_information(found: &[u8], subject: &Subject, key: &PublicKey) -> CsrError {
    diagnose(found, subject, key).unwrap_or_else(CsrError::Der)
}

/// Why the content of an AlgorithmIdentifier is not that of the scheme.
pub(super) fn of_algorithm(content: &[u8], expected: SignatureScheme) -> CsrError {
    match Reader::new(content).expect(OBJECT_IDENTIFIER) {
        Ok(oid) => CsrError::SignatureAlgorithm {
            found: DottedOid(oid).to_string(),
            expected,
        },
        Err(error) => CsrError::Der(error),
    }
}

fn diagnose(found: &[u8], subject: &Subject, key: &PublicKey) -> Result<CsrError, DerError> {
    check_lengths(found, MAX_DEPTH)?;
    let mut information = Reader::new(single(found, SEQUENCE)?);
    if information.expect(INTEGER)? != [0] {
        return Ok(CsrError::Version);
    }
    let name = Name::read(information.expect(SEQUENCE)?)?;
    if let Some(error) = of_name(&name, subject) {
        return Ok(error);
    }
    let spki = information.next()?.raw;
    if spki != key.spki_der() {
        let (expected, found) = (key.fingerprint(), Fingerprint::of(spki));
        return Ok(CsrError::Key { expected, found });
    }
    if information.is_empty() {
        return Ok(CsrError::AttributesMissing);
    }
    let mut attributes = Reader::new(information.expect(CONTEXT_0)?);
    information.end()?;
    let mut found = Vec::new();
    while !attributes.is_empty() && found.len() < 8 {
        let mut attribute = Reader::new(attributes.expect(SEQUENCE)?);
        found.push(DottedOid(attribute.expect(OBJECT_IDENTIFIER)?).to_string());
    }
    if !found.is_empty() {
        return Ok(CsrError::Attributes {
            found: found.join(", "),
        });
    }
    of_form(&name).ok_or(DerError::Content)
}

fn of_name(name: &Name<'_>, subject: &Subject) -> Option<CsrError> {
    if subject.matches_name(name) {
        return None;
    }
    // The right text in a string type that no policy accepts.
    if let Some(error) = of_string_type(name)
        && !name.has_multiple_values()
        && subject.to_string() == name.to_text()
    {
        return Some(error);
    }
    Some(CsrError::Subject {
        expected: subject.to_string(),
        found: name.to_text(),
    })
}

/// Why the strict policy refuses a name with the right text: the order or a string
/// type.
fn of_form(name: &Name<'_>) -> Option<CsrError> {
    let first = name.attributes().next()?;
    if first.kind != ORGANIZATION {
        return Some(CsrError::SubjectOrder);
    }
    of_string_type(name)
}

/// The first string type other than PrintableString.
fn of_string_type(name: &Name<'_>) -> Option<CsrError> {
    let mut types = name
        .attributes()
        .map(|attribute| string_type(attribute.tag));
    let found = types.find(|found| *found != "PrintableString")?;
    Some(CsrError::StringType {
        expected: "PrintableString",
        found,
    })
}

const MAX_DEPTH: usize = 8;
