//! Paths, as they are shown and typed.

use std::path::Path;

use liqo_auth_inspection::text::printable;

/// A path in one line of a message.
pub(crate) fn path(path: &Path) -> String {
    printable(&path.display().to_string()).replace('\n', "\\n")
}

/// A path as a shell takes it.
pub(crate) fn quoted(path: &Path) -> String {
    let value = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@=+,%~".contains(&byte);
    if !value.is_empty() && value.bytes().all(is_plain) {
        return value;
    }
    if self::path(path) == value {
        return format!("'{}'", value.replace('\'', "'\\''"));
    }
    // What a person cannot see is written in ASCII, as bash, zsh and POSIX read it.
    let quoted: String = value.bytes().map(quoted_byte).collect();
    format!("$'{quoted}'")
}

/// A byte between `$'` and `'`.
fn quoted_byte(byte: u8) -> String {
    match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_does_not_steer_a_terminal() {
        let (shown, escaped) = ("a\u{1b}[2J\n\u{202e}x…é", "a\\u{1b}[2J\\n\\u{202e}x…é");
        assert_eq!(path(Path::new(shown)), escaped);
    }
}
