//! The output for people.

mod amounts;
mod drawing;
mod printer;
mod program;
mod table;
mod tone;
mod tree;
mod width;
mod wrapped;
mod written;

pub(crate) use liqo_auth_inspection::{
    Mark, age, counted,
    text::{escaped, masked, printable},
};

pub(crate) use amounts::amounts;
pub(crate) use drawing::Drawing;
pub(crate) use printer::{Printer, Side, unwritten};
pub(crate) use program::program;
pub(crate) use table::{Cell, Table};
pub(crate) use tone::{ColorChoice, Tone};
pub(crate) use tree::Node;
pub(crate) use written::{path, quoted};
