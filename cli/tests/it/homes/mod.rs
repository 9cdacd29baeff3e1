//! What is in a home, what changes it, and what does not.

mod bad_inputs;
mod beside;
mod beside_liqo;
mod blame;
mod broken_files;
mod broken_records;
mod by_hand;
mod changed_providers;
mod expired_by_files;
mod files;
mod findings;
mod followed;
mod leaks;
mod lost_parts;
mod made_anew;
mod manifests;
mod origins;
mod peers_words;
mod previews;
mod refusals;
mod replaced_nonces;
mod restored;
mod trials;
mod turns;
mod ways_out;
