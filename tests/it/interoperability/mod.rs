//! This library reads what other programs wrote, and other programs read what
//! this library writes.

#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod judge;
mod kubectl;
mod liqo;
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod login;
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod openssl;
