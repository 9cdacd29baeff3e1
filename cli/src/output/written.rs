//! Escapes a peer's text, so that it cannot control a terminal.

/// At most 120 characters of a text. Control characters are escaped.
pub(crate) fn escaped(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_steered() {
        assert_eq!(
            escaped("cl-a\u{1b}[2J\n\u{202e}x"),
            "cl-a\\u{1b}[2J\\u{a}\\u{202e}x"
        );
        assert_eq!(escaped(&"a".repeat(500)).chars().count(), 121);
    }
}
