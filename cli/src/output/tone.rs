//! Colours, by what a text tells.

use clap::{
    ValueEnum,
    builder::styling::{AnsiColor, Color, Style},
};

/// Where texts have colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    Always,
    Never,
}

/// What a text tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Progress,
    Good,
    /// A person has to look, or to act.
    Attention,
    /// Something is refused, expired or not known.
    Bad,
}

/// Paints texts, or leaves them as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Paint {
    has_colors: bool,
}

impl Tone {
    const fn style(self) -> Style {
        Style::new().fg_color(Some(match self {
            Self::Progress => Color::Ansi(AnsiColor::Cyan),
            Self::Good => Color::Ansi(AnsiColor::Green),
            Self::Attention => Color::Ansi(AnsiColor::Yellow),
            Self::Bad => Color::Ansi(AnsiColor::Red),
        }))
    }
}

impl Paint {
    pub(super) const fn new(has_colors: bool) -> Self {
        Self { has_colors }
    }

    /// A text in the colour of its tone.
    pub(super) fn apply(self, tone: Option<Tone>, text: &str) -> String {
        match tone.filter(|_| self.has_colors) {
            None => text.to_owned(),
            Some(tone) => {
                let style = tone.style();
                format!("{style}{text}{style:#}")
            }
        }
    }
}

/// The columns that a text takes on a terminal. The escapes of colours take none.
pub(super) fn columns(text: &str) -> usize {
    let mut is_escape = false;
    let mut count = 0;
    for character in text.chars() {
        match character {
            '\u{1b}' => is_escape = true,
            'm' if is_escape => is_escape = false,
            _ if is_escape => {}
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_terminals_and_take_no_columns() {
        for (tone, escape) in [
            (Tone::Progress, "36"),
            (Tone::Good, "32"),
            (Tone::Attention, "33"),
            (Tone::Bad, "31"),
        ] {
            let painted = Paint::new(true).apply(Some(tone), "some");
            assert_eq!(painted, format!("\u{1b}[{escape}msome\u{1b}[0m"));
            assert_eq!(columns(&painted), 4);
        }
        assert_eq!(Paint::new(true).apply(None, "some"), "some");
        assert_eq!(Paint::default().apply(Some(Tone::Bad), "some"), "some");
    }
}
