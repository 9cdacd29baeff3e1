//! Messages, steps and requests as data.

mod configuration;
mod forms;
mod messages;
mod questions;
mod requests;
