//! Messages, steps and requests as data.

mod forms;
mod messages;
mod requests;
