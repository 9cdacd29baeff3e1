//! The output for people.

mod age;
mod amounts;
mod counted;
mod printer;
mod program;
mod table;
mod width;
mod wrapped;
mod written;

pub(crate) use age::age;
pub(crate) use amounts::amounts;
pub(crate) use counted::counted;
pub(crate) use printer::{Mark, Printer, Side};
pub(crate) use program::program;
pub(crate) use table::Table;
pub(crate) use written::escaped;
