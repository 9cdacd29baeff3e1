//! Whether a monitor reads what the command prints, as of a Nagios plugin.

use std::ffi::OsString;

use super::{Command, StatusFormat, output_format::Output};

impl Command {
    /// Whether the command has the line and the exit codes of a plugin.
    pub(crate) fn is_plugin(&self) -> bool {
        match self {
            Self::Status(status) => status.output == Some(Output::Format(StatusFormat::Nagios)),
            _ => false,
        }
    }
}

/// Whether the words of a command line that cannot be read ask for that.
pub(crate) fn asks_for_a_plugin(words: impl Iterator<Item = OsString>) -> bool {
    let (mut is_status, mut is_output, mut asks) = (false, false, false);
    for word in words {
        let word = word.to_string_lossy();
        is_status |= word == "status";
        asks |= is_output && word == "nagios";
        asks |= JOINED.contains(&word.as_ref());
        is_output = matches!(word.as_ref(), "-o" | "--output");
    }
    is_status && asks
}

const JOINED: [&str; 3] = ["-onagios", "-o=nagios", "--output=nagios"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_asked_for_by_its_output() {
        let asks = |line: &str| asks_for_a_plugin(line.split(' ').map(OsString::from));
        for line in [
            "status -o nagios --bad",
            "--home x status -onagios",
            "status -o=nagios",
            "status --output nagios",
            "status --output=nagios",
        ] {
            assert!(asks(line), "{line}");
        }
        for line in ["status -o json nagios", "doctor -o nagios", "status nagios"] {
            assert!(!asks(line), "{line}");
        }
    }
}
