//! A tree with line characters.

use std::io;

use liqo_auth_inspection::text::printable;

use super::{
    Drawing,
    tone::{Paint, Tone},
    width::width,
    wrapped::wrapped,
};

/// An entry of a tree: its lines, and the entries below it.
#[derive(Debug, Default)]
pub(crate) struct Node {
    lines: Vec<Line>,
    below: Vec<Node>,
}

/// How a tree is drawn.
struct Pen {
    drawing: Drawing,
    width: usize,
    paint: Paint,
}

#[derive(Debug)]
enum Line {
    /// Breaks at words.
    Prose(String, Option<Tone>),
    /// Stays as it is.
    Drawn(String),
}

impl Node {
    /// An entry with a text, which may have several lines.
    pub(crate) fn new(text: &str) -> Self {
        Self::toned(text, None)
    }

    /// The same, with what the text tells.
    pub(crate) fn toned(text: &str, tone: Option<Tone>) -> Self {
        let lines = text.lines();
        let lines = lines.map(|line| Line::Prose(printable(line), tone));
        Self {
            lines: lines.collect(),
            below: Vec::new(),
        }
    }

    /// The same entry with a line of prose below its text.
    pub(crate) fn with_prose(mut self, text: &str) -> Self {
        let lines = text.lines();
        let lines = lines.map(|line| Line::Prose(printable(line), None));
        self.lines.extend(lines);
        self
    }

    /// The same entry with a line that does not break.
    pub(crate) fn with_drawn(mut self, line: String) -> Self {
        self.lines.push(Line::Drawn(line));
        self
    }

    /// The same entry with these below it.
    pub(crate) fn with(mut self, below: impl IntoIterator<Item = Self>) -> Self {
        self.below.extend(below);
        self
    }

    /// Whether nothing is below it.
    pub(crate) const fn is_alone(&self) -> bool {
        self.below.is_empty()
    }

    /// The tree in lines that fit the terminal, and have at most 80 columns. A word that is
    /// longer keeps a line of its own.
    pub(crate) fn drawn(&self, drawing: Drawing, paint: Paint) -> String {
        let width = width(&io::stdout()).map_or(WIDEST, |width| width.min(WIDEST));
        self.drawn_by(&Pen {
            drawing,
            width,
            paint,
        })
    }

    fn drawn_by(&self, pen: &Pen) -> String {
        let mut text = String::new();
        self.draw(pen, "", "", &mut text);
        text
    }

    /// `first` leads to the first line of the entry, and `rest` to what is below it.
    fn draw(&self, pen: &Pen, first: &str, rest: &str, text: &mut String) {
        let Pen {
            drawing,
            width,
            paint,
        } = *pen;
        let past = if self.is_alone() { "" } else { drawing.past() };
        let mut lead = first.to_owned();
        for line in &self.lines {
            let room = width.saturating_sub(rest.chars().count() + past.chars().count());
            let (line, tone) = match line {
                Line::Drawn(line) => (line.clone(), None),
                Line::Prose(prose, tone) => (wrapped(prose, Some(room), INDENT), *tone),
            };
            for line in line.lines() {
                let line = paint.apply(tone, line);
                text.push_str(&format!("{lead}{line}\n"));
                lead = format!("{rest}{past}");
            }
        }
        let count = self.below.len();
        for (number, node) in self.below.iter().enumerate() {
            let is_last = number + 1 == count;
            let after = if is_last { BLANK } else { drawing.past() };
            let first = format!("{rest}{}", drawing.branch(is_last));
            node.draw(pen, &first, &format!("{rest}{after}"), text);
        }
    }
}

/// More columns are harder to read, and a terminal often has no more.
const WIDEST: usize = 80;
/// The indent of what a line continues.
const INDENT: usize = 2;
/// What is before the entries below the last one.
const BLANK: &str = "   ";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(node: &Node, drawing: Drawing, width: usize) -> String {
        node.drawn_by(&Pen {
            drawing,
            width,
            paint: Paint::new(true),
        })
    }

    #[test]
    fn lines_lead_to_each_entry() {
        let inner = Node::new("b")
            .with_drawn("=".repeat(30))
            .with([Node::new("c")]);
        let tree = Node::new("root").with([
            Node::new("a").with_prose("one two three four"),
            inner,
            Node::new("d").with([Node::new("e\nf")]),
        ]);
        assert_eq!(
            text(&tree, Drawing::Lines, 16),
            "root\n├─ a\n│  one two three\n│    four\n├─ b\n\
             │  │  ==============================\n│  └─ c\n└─ d\n   └─ e\n      f\n"
        );
        assert_eq!(
            text(&tree, Drawing::Ascii, 80),
            "root\n|- a\n|  one two three four\n|- b\n\
             |  |  ==============================\n|  `- c\n`- d\n   `- e\n      f\n"
        );
        let toned = Node::new("a").with([Node::toned("b c", Some(Tone::Bad))]);
        assert_eq!(
            text(&toned, Drawing::Ascii, 4),
            "a\n`- \u{1b}[31mb\u{1b}[0m\n   \u{1b}[31m  c\u{1b}[0m\n"
        );
        assert!(Node::new("a").is_alone() && !tree.is_alone());
    }
}
