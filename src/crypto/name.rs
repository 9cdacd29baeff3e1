//! Distinguished names (RFC 5280 section 4.1.2.4) with their encoding.

use core::fmt::Write;

use super::der::{
    DerError, DottedOid, OBJECT_IDENTIFIER, PRINTABLE_STRING, Reader, SEQUENCE, SET, UTF8_STRING,
    element,
};

/// id-at-organizationName, 2.5.4.10.
pub(super) const ORGANIZATION: &[u8] = &[0x55, 4, 10];
/// id-at-commonName, 2.5.4.3.
pub(super) const COMMON_NAME: &[u8] = &[0x55, 4, 3];

const NUMERIC_STRING: u8 = 0x12;
const T61_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const BMP_STRING: u8 = 0x1e;

/// The relative distinguished names (RDNs) in their order, each with its attributes.
pub(super) struct Name<'a>(Vec<Vec<Attribute<'a>>>);

/// One attribute, such as `CN=cl-consumer`.
pub(super) struct Attribute<'a> {
    pub(super) kind: &'a [u8],
    pub(super) tag: u8,
    pub(super) value: &'a [u8],
}

impl<'a> Name<'a> {
    /// Reads the content of a `Name`.
    pub(super) fn read(content: &'a [u8]) -> Result<Self, DerError> {
        let mut relative_names = Vec::new();
        let mut names = Reader::new(content);
        while !names.is_empty() {
            let mut attributes = Vec::new();
            let mut set = Reader::new(names.expect(SET)?);
            while !set.is_empty() {
                let mut attribute = Reader::new(set.expect(SEQUENCE)?);
                let kind = attribute.expect(OBJECT_IDENTIFIER)?;
                let value = attribute.next()?;
                attribute.end()?;
                attributes.push(Attribute {
                    kind,
                    tag: value.tag,
                    value: value.content,
                });
            }
            relative_names.push(attributes);
        }
        Ok(Self(relative_names))
    }

    pub(super) fn attributes(&self) -> impl Iterator<Item = &Attribute<'a>> {
        self.0.iter().flatten()
    }

    /// Whether each attribute has a type and a value that every X.509 reader accepts.
    pub(super) fn is_well_formed(&self) -> bool {
        self.attributes().all(Attribute::is_well_formed)
    }

    pub(super) fn has_multiple_values(&self) -> bool {
        self.0.iter().any(|attributes| attributes.len() != 1)
    }

    /// The name as text. Misleading characters are escaped, and a long text is
    /// shortened.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for attributes in &self.0 {
            let mut separator = if text.is_empty() { "" } else { ", " };
            for attribute in attributes {
                text.push_str(separator);
                separator = " + ";
                attribute.write(&mut text);
                if text.len() > TEXT_LIMIT {
                    text.push('…');
                    return text;
                }
            }
        }
        text
    }
}

impl Attribute<'_> {
    fn is_well_formed(&self) -> bool {
        let is_printable =
            |byte: &u8| byte.is_ascii_alphanumeric() || b" '()*+,-./:=?&".contains(byte);
        let value = self.value;
        is_object_identifier(self.kind)
            && match self.tag {
                UTF8_STRING => core::str::from_utf8(value).is_ok(),
                PRINTABLE_STRING => value.iter().all(is_printable),
                NUMERIC_STRING => value.iter().all(|byte| b" 0123456789".contains(byte)),
                IA5_STRING => value.is_ascii(),
                BMP_STRING => value.len().is_multiple_of(2),
                T61_STRING => true,
                _ => false,
            }
    }

    /// Whether the value is exactly this text, as PrintableString or UTF8String.
    pub(super) fn is_text(&self, expected: &str) -> bool {
        matches!(self.tag, PRINTABLE_STRING | UTF8_STRING) && self.value == expected.as_bytes()
    }

    /// The text of the value, for any string type. Only messages use it.
    pub(super) fn text_for_messages(&self) -> Vec<u8> {
        // A BMPString has two bytes for each character.
        match self.tag {
            BMP_STRING => self
                .value
                .chunks(2)
                .map(|pair| match pair {
                    [high, low] => u16::from_be_bytes([*high, *low]),
                    _ => 0xfffd,
                })
                .map(|unit| char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER))
                .take(TEXT_LIMIT)
                .collect::<String>()
                .into_bytes(),
            _ => self.value.to_vec(),
        }
    }

    fn write(&self, text: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self.kind {
            COMMON_NAME => write!(text, "CN="),
            ORGANIZATION => write!(text, "O="),
            [0x55, 4, 11] => write!(text, "OU="),
            [0x55, 4, 6] => write!(text, "C="),
            [0x55, 4, 7] => write!(text, "L="),
            [0x55, 4, 8] => write!(text, "ST="),
            [0x55, 4, 5] => write!(text, "serialNumber="),
            kind => write!(text, "{}=", DottedOid(kind)),
        };
        text.push_str(&escape_bounded(&self.text_for_messages()));
    }
}

/// Whether these bytes are the content of an OBJECT IDENTIFIER: the last byte ends
/// an arc, and no arc begins with a padding byte.
fn is_object_identifier(content: &[u8]) -> bool {
    const CONTINUES: u8 = 0x80;
    let ends = |byte: &u8| byte & CONTINUES == 0;
    content.last().is_some_and(ends)
        && content
            .split_inclusive(ends)
            .all(|number| number.first() != Some(&CONTINUES))
}

/// A relative distinguished name with one attribute, in DER.
pub(super) fn relative_name(kind: &[u8], tag: u8, value: &str) -> Vec<u8> {
    let kind = element(OBJECT_IDENTIFIER, &[kind]);
    let value = element(tag, &[value.as_bytes()]);
    element(SET, &[&element(SEQUENCE, &[&kind, &value])])
}

/// The name of a string type of ASN.1.
pub(super) const fn string_type(tag: u8) -> &'static str {
    match tag {
        PRINTABLE_STRING => "PrintableString",
        UTF8_STRING => "UTF8String",
        T61_STRING => "T61String",
        IA5_STRING => "IA5String",
        0x1c => "UniversalString",
        BMP_STRING => "BMPString",
        _ => "another type",
    }
}

/// Untrusted text for a message. Only printable ASCII is kept: other characters and
/// the separators of names are escaped. A long text is shortened.
pub(super) fn escape_bounded(bytes: &[u8]) -> String {
    let mut out = String::new();
    let head = bytes.get(..TEXT_LIMIT).unwrap_or(bytes);
    for character in String::from_utf8_lossy(head).chars() {
        match character {
            ',' | '+' | '"' | '\\' | '=' => {
                out.push('\\');
                out.push(character);
            }
            ' '..='~' => out.push(character),
            _ => out.extend(character.escape_unicode()),
        }
        if out.len() > TEXT_LIMIT {
            break;
        }
    }
    if out.len() > TEXT_LIMIT || head.len() < bytes.len() {
        out.push('…');
    }
    out
}

const TEXT_LIMIT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_structure_and_hides_nothing() {
        let attribute = |kind: &[u8], tag, value: &[u8]| {
            let kind = element(OBJECT_IDENTIFIER, &[kind]);
            element(SEQUENCE, &[&kind, &element(tag, &[value])])
        };
        let first = attribute(ORGANIZATION, PRINTABLE_STRING, b"liqo.io");
        let second = attribute(COMMON_NAME, UTF8_STRING, "a, CN=ć\0".as_bytes());
        let third = attribute(COMMON_NAME, 0x1e, &[0, b'x', 0x04, 0x41]);
        let name = [element(SET, &[&first]), element(SET, &[&second, &third])].concat();
        let name = Name::read(&name).unwrap();
        assert_eq!(
            name.to_text(),
            r"O=liqo.io, CN=a\, CN\=\u{107}\u{0} + CN=x\u{441}"
        );
        assert!(name.has_multiple_values());
    }

    #[test]
    fn messages_stay_short() {
        assert!(escape_bounded(&[0; 100_000]).len() < 160);
        assert!(escape_bounded(&[b'a'; 100_000]).len() < 160);
    }

    #[test]
    fn a_text_of_the_longest_length_is_whole_and_a_shortened_one_is_marked() {
        let longest = "a".repeat(TEXT_LIMIT);
        assert_eq!(escape_bounded(longest.as_bytes()), longest);
        let longer = longest.clone() + "a";
        assert_eq!(escape_bounded(longer.as_bytes()), longest + "…");
        // With its escapes, this text is longer.
        assert!(escape_bounded(&[b','; 100]).ends_with('…'));

        let name = |value: &str| relative_name(COMMON_NAME, UTF8_STRING, value);
        let text = |names: &[u8]| Name::read(names).unwrap().to_text();
        let value = "a".repeat(TEXT_LIMIT - "CN=".len());
        assert_eq!(text(&name(&value)), format!("CN={value}"));
        let shortened = text(&name("a").repeat(100));
        assert!(
            shortened.ends_with('…') && shortened.len() < 160,
            "{shortened}"
        );
    }
}
