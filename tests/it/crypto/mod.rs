//! Keys, requests, signatures, certificates and nonces.

mod certificates;
mod defects;
mod vectors;
mod wycheproof;
