//! A peer's text, so that it cannot steer a terminal.

/// At most 120 characters of a text, its control characters escaped.
pub(crate) fn escaped(text: &str) -> String {
    const SHOWN: usize = 120;
    let escape = |character: char| match character {
        // Letters and signs stay; what is invisible or turns the line round
        // does not.
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
