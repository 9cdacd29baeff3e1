//! What the tool prints, for people, for programs and for shells.

mod answers;
mod colours;
mod columns;
mod completions;
mod consent;
mod deeds;
mod documented;
mod file_names;
mod glance;
mod habits;
mod inspections;
mod monitoring;
mod monitors;
mod output_formats;
mod secrets;
mod terminal;
mod tree;
mod words;
