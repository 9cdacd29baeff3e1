//! The output for people.

mod age;
mod amounts;
mod counted;
mod drawing;
mod printer;
mod program;
mod table;
mod tone;
mod tree;
mod width;
mod wrapped;
mod written;

pub(crate) use age::age;
pub(crate) use amounts::amounts;
pub(crate) use counted::counted;
pub(crate) use drawing::Drawing;
pub(crate) use printer::{Mark, Printer, Side, unwritten};
pub(crate) use program::program;
pub(crate) use table::{Cell, Table};
pub(crate) use tone::{ColorChoice, Tone};
pub(crate) use tree::Node;
pub(crate) use written::{escaped, masked, path, printable, quoted};
