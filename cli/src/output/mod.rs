//! The output for people.

mod age;
mod printer;
mod table;
mod written;

pub(crate) use age::age;
pub(crate) use printer::{Printer, Side};
pub(crate) use table::Table;
pub(crate) use written::escaped;
