//! The token protocol of older Liqo, over HTTPS on this machine.

mod certificate;
mod limits;
mod load;
mod replay;
mod tokens;
