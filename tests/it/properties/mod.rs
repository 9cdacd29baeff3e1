//! What holds for any input, and for any course of events.

mod crash_and_replay;
mod laws;
