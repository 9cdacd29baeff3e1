//! Text in lines that fit the terminal.

use super::tone::columns;

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
    let words = text.split(' ').flat_map(|word| parts(word, width));
    for (number, word) in words.enumerate() {
        let length = columns(word);
        if number > 0 && used + 1 + length > width {
            // The blanks that fill a cell are not needed at the end of a line.
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            // A fingerprint fits a line with a small indent.
            let is_long = indent + length > width;
            let indent = if is_long { indent.min(SMALL) } else { indent };
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

/// A word, or its name and its fingerprint if a line cannot hold both.
fn parts(word: &str, width: usize) -> Vec<&str> {
    let is_long = SMALL + columns(word) > width;
    match word.find("=SHA256:").filter(|_| is_long) {
        None => vec![word],
        Some(sign) => {
            let (name, fingerprint) = word.split_at(sign + 1);
            vec![name, fingerprint]
        }
    }
}

/// The indent of a line with a long word.
const SMALL: usize = 4;

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
        assert_eq!(wrapped("one    two", Some(6), 2), "one\n  two");
        assert_eq!(
            wrapped("one name=SHA256:0123 two", Some(17), 6),
            "one name=\n      SHA256:0123\n      two"
        );
        assert_eq!(
            wrapped("\u{1b}[31mone two\u{1b}[0m three", Some(7), 0),
            "\u{1b}[31mone two\u{1b}[0m\nthree"
        );
        assert_eq!(wrapped("name=SHA256:0123", Some(20), 6), "name=SHA256:0123");
    }
}
