//! The width of the output.

use std::{env, io::IsTerminal, os::fd::AsFd};

/// The number of columns of the terminal that is standard output or standard error.
/// `COLUMNS` counts before it. None if nobody reads along: then no line is broken.
pub(crate) fn width(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let of_terminal = || {
        let size = stream
            .is_terminal()
            .then(|| rustix::termios::tcgetwinsize(stream));
        let columns = size?.ok()?.ws_col;
        Some(if columns == 0 {
            USUAL
        } else {
            usize::from(columns)
        })
    };
    said.or_else(of_terminal)
        .map(|columns| columns.max(NARROWEST))
}

/// A terminal that does not know its size.
const USUAL: usize = 80;
/// Narrower output is not readable.
const NARROWEST: usize = 40;
