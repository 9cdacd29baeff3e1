//! What goes in and out as data.

mod forms;
mod messages;
mod requests;
