//! Excerpts of untrusted text for error messages.

use core::fmt;

/// A text for an error: escaped, and shortened if it is long.
pub(crate) struct Excerpt<'t>(pub(crate) &'t str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for character in rest.by_ref().take(LENGTH) {
            write!(formatter, "{}", character.escape_debug())?;
        }
        if rest.next().is_some() {
            formatter.write_str("…")?;
        }
        Ok(())
    }
}

/// The longest excerpt, in characters. The name of a namespace always fits.
const LENGTH: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_escaped_and_cut() {
        assert_eq!(Excerpt("cl\nname: x\0").to_string(), "cl\\nname: x\\0");
        assert_eq!(
            Excerpt(&"a".repeat(81)).to_string(),
            format!("{}…", "a".repeat(80))
        );
    }
}
