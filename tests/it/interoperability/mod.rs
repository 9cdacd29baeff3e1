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

/// A test is not run without its program. Where `CI` is set, the program has to be
/// there.
fn not_run(program: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "there is no {program} on the path"
    );
    println!("not run: there is no {program} on the path");
}
