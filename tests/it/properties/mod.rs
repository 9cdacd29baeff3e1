//! Properties that hold for any input and for any course of events.

mod backends;
mod crash_and_replay;
mod later_backends;
mod laws;
mod provider_life;
mod steps;
