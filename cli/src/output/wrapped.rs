//! Text in lines that fit the terminal.

/// The text in lines of at most `width` characters, broken at spaces. Lines after the
/// first begin with `indent` spaces. A word that is too long keeps a line of its own.
/// Without a width, the text stays one line.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let start = text.len() - text.trim_start_matches(' ').len();
    let (start, text) = text.split_at(start);
    let mut lines = start.to_owned();
    let mut used = start.len();
    for (number, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && used + 1 + length > width {
            lines.push('\n');
            // A fingerprint fits a line with a small indent.
            let is_long = indent + length > width;
            let indent = if is_long { indent.min(4) } else { indent };
            lines.push_str(&" ".repeat(indent));
            used = indent;
        } else if number > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words() {
        let text = "  Wrong  one two threefourfivesix seven";
        assert_eq!(
            wrapped(text, Some(16), 4),
            "  Wrong  one two\n    threefourfivesix\n    seven"
        );
        assert_eq!(wrapped(text, None, 4), text);
    }
}
