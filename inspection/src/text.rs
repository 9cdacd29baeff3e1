//! Escapes texts of others, so that they cannot control a terminal.

/// At most 120 characters of a text. Control characters are escaped.
pub fn escaped(text: &str) -> String {
    const SHOWN: usize = 120;
    let escape = |character: char| match character {
        // Printable ASCII characters and all letters and digits stay. Other
        // characters may be invisible, or reverse the direction of the line.
        ' '..='~' => character.to_string(),
        character if character.is_alphanumeric() => character.to_string(),
        character => character.escape_unicode().to_string(),
    };
    let shown: String = text.chars().take(SHOWN).map(escape).collect();
    if text.chars().nth(SHOWN).is_some() {
        format!("{shown}…")
    } else {
        shown
    }
}

/// A URL of others, without the user and the password in it.
pub fn masked(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    match rest.rsplit_once('@') {
        None => url.to_owned(),
        Some((_, place)) => format!("{scheme}***@{place}"),
    }
}

/// A text of any length, in which nothing but the ends of its lines controls a terminal.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => character.to_string(),
            character if is_unseen(character) => character.escape_unicode().to_string(),
            character => character.to_string(),
        })
        .collect()
}

/// Whether a character controls a terminal, is invisible, or reverses the direction of the line.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_user_and_password() {
        for (url, shown) in [
            ("https://a:Sesame@host:6443/x", "https://***@host:6443/x"),
            ("a:Sesame@host", "***@host"),
            // Such a password makes it no URL.
            ("https://a:Ses/ame@1@host", "https://***@host"),
            ("https://host:6443/x", "https://host:6443/x"),
            ("host", "host"),
        ] {
            assert_eq!(masked(url), shown);
        }
    }

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(
            escaped("cl-a\u{1b}[2J\n\u{202e}x"),
            "cl-a\\u{1b}[2J\\u{a}\\u{202e}x"
        );
        assert_eq!(
            printable("a\u{1b}[2J\n\u{202e}x…é"),
            "a\\u{1b}[2J\n\\u{202e}x…é"
        );
        for unseen in [
            '\u{7f}', '\u{9b}', '\r', '\t', '\u{200b}', '\u{2066}', '\u{feff}',
        ] {
            let shown = printable(&unseen.to_string());
            assert_eq!(shown, unseen.escape_unicode().to_string());
        }
        assert_eq!(escaped(&"a".repeat(500)).chars().count(), 121);
    }
}
