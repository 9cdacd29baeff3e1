//! Keys, requests, signatures, certificates and nonces.

mod defects;
mod vectors;
mod wycheproof;
