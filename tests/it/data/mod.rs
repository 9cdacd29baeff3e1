//! What goes in and out as data.

mod messages;
mod requests;
