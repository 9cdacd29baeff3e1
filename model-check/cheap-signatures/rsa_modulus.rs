//! Verdicts on RSA moduli without arithmetic, for fuzzers and model checks. Never use
//! them for anything else: anyone can find a prime that they let pass.
//!
//! The real test of a modulus takes as long as hundreds of runs of a fuzzer, and a fuzzer
//! finds no primes. Under `--cfg liqo_auth_cheap_signatures`, this file replaces
//! `src/crypto/rsa_modulus.rs`, and the SHA-256 of the modulus decides. Both verdicts occur, and
//! each depends only on the modulus.

use sha2::{Digest, Sha256};

/// Whether the number counts as composite. Fifteen of sixteen numbers do.
pub(super) fn is_composite(modulus: &[u8]) -> bool {
    #[cfg(all(test, any(feature = "rsa", feature = "rustcrypto")))]
    TESTED.set(TESTED.get() + 1);
    let hash: [u8; 32] = Sha256::digest(modulus).into();
    hash.first().is_some_and(|byte| byte & 15 > 0)
}

#[cfg(all(test, any(feature = "rsa", feature = "rustcrypto")))]
std::thread_local! {
    /// How many numbers this thread has tested.
    pub(crate) static TESTED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}
