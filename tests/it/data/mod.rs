//! What goes in and out as data.

mod requests;
