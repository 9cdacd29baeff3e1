//! Text in lines that fit the terminal.

use super::{program::program, tone::columns};

/// The text in lines of at most `width` characters, broken at spaces. Lines after the
/// first begin with `indent` spaces. A word that is too long keeps a line of its own, and so
/// does a command: it is never broken. Without a width, the text stays one line.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else {
        return text.to_owned();
    };
    let start = text.len() - text.trim_start_matches(' ').len();
    let (start, text) = text.split_at(start);
    let mut lines = start.to_owned();
    let mut used = start.len();
    let program = program();
    let words = units(text, program);
    let words = words.into_iter().flat_map(|word| parts(word, width));
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
            // What follows a command at a smaller indent does not go on there.
            used = match is_long && word.contains(' ') {
                true => width,
                false => indent,
            };
        } else if number > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

/// The words of a text. A command is one word: between backticks, or from the name of a program
/// to the end of the clause.
fn units<'t>(text: &'t str, program: &str) -> Vec<&'t str> {
    let mut units = Vec::new();
    let mut rest = text;
    loop {
        let length = match command(rest, program) {
            Some(length) => length,
            None => rest.find(' ').unwrap_or(rest.len()),
        };
        let (unit, after) = rest.split_at(length);
        units.push(unit);
        match after.strip_prefix(' ') {
            None => return units,
            Some(after) => rest = after,
        }
    }
}

/// The length of the command at the beginning of a text, with what is attached to it.
fn command(text: &str, program: &str) -> Option<usize> {
    let begin = text.strip_prefix('(').unwrap_or(text);
    if let Some(quoted) = begin.strip_prefix('`') {
        let (_, after) = quoted.split_once('`')?;
        let attached = after.find(' ').unwrap_or(after.len());
        return Some(text.len() - after.len() + attached);
    }
    let is_called = |name: &str| {
        let after = begin.strip_prefix(name);
        after.is_some_and(|after| after.starts_with(' '))
    };
    if !is_called(program) && !OTHERS.into_iter().any(is_called) {
        return None;
    }
    let mut end = 0;
    for word in text.split(' ') {
        end += word.len();
        let is_value = word.chars().all(|it| it == '.');
        if word.contains('\n') || word.ends_with(ENDS) && !is_value {
            return Some(end);
        }
        end += 1;
    }
    Some(text.len())
}

/// The programs, beside this one, that messages call.
const OTHERS: [&str; 3] = ["chmod", "kubectl", "mv"];
/// What ends the clause of a command.
const ENDS: [char; 5] = ['.', ',', ';', ':', ')'];

/// A word, or its name and its fingerprint if a line cannot hold both.
fn parts(word: &str, width: usize) -> Vec<&str> {
    let is_long = SMALL + columns(word) > width;
    match word
        .find("=SHA256:")
        .filter(|_| is_long && !word.contains(' '))
    {
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

    #[test]
    fn a_command_is_one_word() {
        for (text, expected) in [
            ("run `a b --c`, or d", &["run", "`a b --c`,", "or", "d"][..]),
            ("run (`a b`) now", &["run", "(`a b`)", "now"]),
            ("an open ` tick", &["an", "open", "`", "tick"]),
            (
                "run it get x --home y. Then z",
                &["run", "it get x --home y.", "Then", "z"],
            ),
            (
                "(it get x), it set y; z",
                &["(it get x),", "it set y;", "z"],
            ),
            ("it get --home . -o x", &["it get --home . -o x"]),
            (
                "with: kubectl get -f -\nOr, it",
                &["with:", "kubectl get -f -\nOr,", "it"],
            ),
            ("chmod go= -- a", &["chmod go= -- a"]),
            ("mv -- a DIR. No", &["mv -- a DIR.", "No"]),
            ("say it", &["say", "it"]),
            ("items of it: a  b", &["items", "of", "it:", "a", "", "b"]),
        ] {
            assert_eq!(units(text, "it"), expected, "{text}");
        }
        let text = "Remedy Run `kubectl get x --home y=SHA256:0` and see.";
        assert_eq!(
            wrapped(text, Some(20), 6),
            "Remedy Run\n    `kubectl get x --home y=SHA256:0`\n      and see."
        );
        assert_eq!(
            wrapped("Run `kubectl x` a b", Some(16), 6),
            "Run `kubectl x`\n      a b"
        );
        assert_eq!(
            wrapped("So run `kubectl x` a b", Some(17), 8),
            "So run\n    `kubectl x`\n        a b"
        );
    }
}
