//! Characters to draw with, by the locale.

use std::env;

/// What lines are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    Lines,
    Ascii,
}

impl Drawing {
    /// Line characters if the locale's encoding is UTF-8, and else ASCII. The variables count in
    /// the order of POSIX, and an empty one does not count.
    pub(crate) fn of_locale() -> Self {
        Self::of(|name| env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut said = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .filter_map(variable);
        let locale = said.find(|value| !value.is_empty()).unwrap_or_default();
        let encoding = locale.to_lowercase().replace('-', "");
        match encoding.contains("utf8") {
            true => Self::Lines,
            false => Self::Ascii,
        }
    }

    /// What leads to an entry of a tree. All are equally wide.
    pub(super) const fn branch(self, is_last: bool) -> &'static str {
        match (self, is_last) {
            (Self::Lines, false) => "├─ ",
            (Self::Lines, true) => "└─ ",
            (Self::Ascii, false) => "|- ",
            (Self::Ascii, true) => "`- ",
        }
    }

    /// What leads past an entry to those below it.
    pub(super) const fn past(self) -> &'static str {
        match self {
            Self::Lines => "│  ",
            Self::Ascii => "|  ",
        }
    }

    /// The begin, the inside and the end of a line of time.
    pub(crate) const fn line(self) -> [char; 3] {
        match self {
            Self::Lines => ['├', '─', '┤'],
            Self::Ascii => ['|', '-', '|'],
        }
    }

    /// The mark of the present time.
    pub(crate) const fn now(self) -> char {
        match self {
            Self::Lines => '●',
            Self::Ascii => '*',
        }
    }

    /// The mark of the time of the renewal.
    pub(crate) const fn due(self) -> char {
        match self {
            Self::Lines => '◆',
            Self::Ascii => '+',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_what_is_drawn_with() {
        let of = |set: &[(&str, &str)]| {
            Drawing::of(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        for (set, drawing) in [
            (&[][..], Drawing::Ascii),
            (&[("LANG", "C")], Drawing::Ascii),
            (&[("LANG", "C.UTF-8")], Drawing::Lines),
            (&[("LC_CTYPE", "de_DE.utf8")], Drawing::Lines),
            (&[("LC_ALL", ""), ("LANG", "en_US.UTF-8")], Drawing::Lines),
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], Drawing::Ascii),
            (
                &[("LC_CTYPE", "C"), ("LANG", "en_US.UTF-8")],
                Drawing::Ascii,
            ),
        ] {
            assert_eq!(of(set), drawing, "{set:?}");
        }
    }
}
