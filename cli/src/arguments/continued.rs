//! Commands in examples, continued on further lines as a shell reads them.

/// The text with each command in lines of at most 80 characters. An option stays beside
/// its value.
pub(super) fn continued(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(continued_line).collect();
    lines.join("\n")
}

fn continued_line(line: &str) -> String {
    let command = line.trim_start();
    let indent = line.len() - command.len();
    let fits = line.chars().count() <= WIDTH;
    if fits || indent == 0 {
        return line.to_owned();
    }
    let mut lines = " ".repeat(indent);
    let mut used = indent;
    for (number, part) in parts(command).iter().enumerate() {
        let length = part.chars().count();
        // A blank and a backslash end the line.
        if number > 0 && used + 1 + length + 2 > WIDTH {
            lines.push_str(" \\\n");
            lines.push_str(&" ".repeat(indent + INDENT));
            used = indent + INDENT;
        } else if number > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(part);
        used += length;
    }
    lines
}

/// The parts of a command that stay on one line: words, and options with their values.
fn parts(command: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut takes_value = false;
    for word in command.split(' ') {
        let is_option = word.starts_with('-') && word != "-";
        let is_sign = ["|", ">", "<"].contains(&word);
        match parts.last_mut() {
            Some(part) if takes_value && !is_option && !is_sign => {
                part.push(' ');
                part.push_str(word);
                // A quoted value has several words.
                takes_value = part.matches('\'').count() % 2 == 1;
            }
            _ => {
                parts.push(word.to_owned());
                takes_value = is_option || is_sign;
            }
        }
    }
    parts
}

const WIDTH: usize = 80;
const INDENT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_continued_at_its_options() {
        let text = "Examples:\n  liqo-auth get nonce --home ./cl-provider --remote-cluster-id cl-consumer > nonce.txt\n  short";
        assert_eq!(
            continued(text),
            "Examples:\n  liqo-auth get nonce --home ./cl-provider --remote-cluster-id cl-consumer \\\n      > nonce.txt\n  short"
        );
        let quoted = "  liqo-auth deny tenant cl-consumer --home ./cl-provider --reason 'nobody asked for it'";
        assert_eq!(
            continued(quoted),
            "  liqo-auth deny tenant cl-consumer --home ./cl-provider \\\n      --reason 'nobody asked for it'"
        );
    }
}
