//! Writing a text as a YAML scalar.

use core::fmt;

/// A text as a YAML scalar. The scalar is plain if every reader reads it as that text.
/// Otherwise, the scalar is quoted as in JSON, except for characters above U+FFFF: JSON
/// writes them as surrogates, and YAML does not accept surrogates.
pub(crate) struct Scalar<'t>(pub(in crate::model) &'t str);

impl Scalar<'_> {
    /// Whether the text may be written without quotes. This check is stricter than
    /// YAML, and as strict as Liqo's writer for names and URLs.
    pub(crate) fn is_plain(&self) -> bool {
        let text = self.0;
        let may_begin = text.bytes().next().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'+' | b'_')
        });
        may_begin
            && !text.ends_with(':')
            && text.bytes().all(|byte| {
                // A colon or a bracket is plain inside a word. This check allows
                // neither spaces nor commas, so every colon and bracket is inside a
                // word.
                byte.is_ascii_alphanumeric()
                    || matches!(
                        byte,
                        b'/' | b'.' | b'+' | b'-' | b'_' | b'=' | b':' | b'@' | b'[' | b']'
                    )
            })
            && !is_word(text)
            && !is_number(text)
            && !is_date(text)
    }
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_plain() {
            return formatter.write_str(self.0);
        }
        // The escapes of JSON, also for characters that end a line in YAML.
        formatter.write_str("\"")?;
        for character in self.0.chars() {
            match character {
                '"' => formatter.write_str("\\\"")?,
                '\\' => formatter.write_str("\\\\")?,
                '\n' => formatter.write_str("\\n")?,
                ' '..='~' => write!(formatter, "{character}")?,
                // YAML 1.2 does not accept surrogates.
                character => match u32::from(character) {
                    code @ ..0x1_0000 => write!(formatter, "\\u{code:04x}")?,
                    code => write!(formatter, "\\U{code:08x}")?,
                },
            }
        }
        formatter.write_str("\"")
    }
}

/// Whether YAML 1.1 reads the text as a value of another type, such as a boolean.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 13] = [
        "y", "n", "yes", "no", "true", "false", "on", "off", "null", ".nan", ".inf", "+.inf", "=",
    ];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a reader of YAML 1.1 or 1.2 may read the text as a number.
fn is_number(text: &str) -> bool {
    // Most texts have a letter that no number has.
    let may_be_in_a_number = |byte: u8| {
        byte.is_ascii_hexdigit()
            || matches!(
                byte,
                b'x' | b'X' | b'o' | b'O' | b'_' | b'.' | b':' | b'+' | b'-'
            )
    };
    if !text.bytes().all(may_be_in_a_number) {
        return false;
    }
    let digits = text.trim_start_matches(['+', '-']).replace('_', "");
    let lower = digits.to_ascii_lowercase();
    let based = [("0x", 16), ("0o", 8), ("0b", 2)]
        .iter()
        .any(|(prefix, radix)| {
            lower.strip_prefix(prefix).is_some_and(|rest| {
                !rest.is_empty() && rest.chars().all(|digit| digit.is_digit(*radix))
            })
        });
    // Sexagesimal, such as 1:30.
    let is_base_60 = digits.contains(':')
        && digits
            .chars()
            .all(|character| character.is_ascii_digit() || matches!(character, ':' | '.'));
    let is_decimal = lower
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit() || byte == b'.')
        && (lower == "." || lower.parse::<f64>().is_ok());
    based || is_base_60 || is_decimal
}

/// Whether the text begins with a date, such as 2026-11-20.
fn is_date(text: &str) -> bool {
    if text.as_bytes().get(4) != Some(&b'-') {
        return false;
    }
    let mut parts = text.splitn(3, '-');
    let is_digits = |part: Option<&str>, length: core::ops::RangeInclusive<usize>| {
        part.is_some_and(|part| {
            length.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if !is_digits(parts.next(), 4..=4) || !is_digits(parts.next(), 1..=2) {
        return false;
    }
    let day = parts.next().and_then(|rest| rest.split(['T', 't']).next());
    is_digits(day, 1..=2)
}

#[cfg(test)]
mod tests;
