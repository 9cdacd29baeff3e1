//! Quoted text, with the escape sequences of Go.

/// The content of a quoted text. None if an escape sequence is wrong.
pub(super) fn unquoted(content: &str, quote: char) -> Option<String> {
    if !content.contains('\\') && !content.contains(quote) {
        return Some(content.to_owned());
    }
    let mut bytes = Vec::with_capacity(content.len());
    let mut rest = content.chars();
    while let Some(next) = rest.next() {
        if next == quote {
            return None;
        }
        if next != '\\' {
            bytes.extend(next.to_string().into_bytes());
            continue;
        }
        let simple = match rest.next()? {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            'x' => u8::try_from(number(&mut rest, 2, 16)?).ok()?,
            'u' => {
                bytes.extend(character(number(&mut rest, 4, 16)?)?);
                continue;
            }
            'U' => {
                bytes.extend(character(number(&mut rest, 8, 16)?)?);
                continue;
            }
            digit @ '0'..='7' => {
                let high = digit.to_digit(8)?;
                u8::try_from(high * 64 + number(&mut rest, 2, 8)?).ok()?
            }
            escaped if escaped == quote => u8::try_from(escaped).ok()?,
            _ => return None,
        };
        bytes.push(simple);
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number that the next digits say.
fn number(rest: &mut std::str::Chars<'_>, digits: usize, radix: u32) -> Option<u32> {
    (0..digits).try_fold(0_u32, |number, _| {
        let digit = rest.next()?.to_digit(radix)?;
        number.checked_mul(radix)?.checked_add(digit)
    })
}

fn character(number: u32) -> Option<Vec<u8>> {
    char::from_u32(number).map(|character| character.to_string().into_bytes())
}
