//! What other programs left is read, and other programs read what we write.

#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod judge;
mod kubectl;
mod liqo;
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod login;
#[cfg(all(feature = "rsa", feature = "ecdsa"))]
mod openssl;
