//! Tests whether an RSA modulus is composite.

#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
use crypto_bigint::{
    BoxedUint, Odd,
    modular::{BoxedMontyForm, BoxedMontyParams},
};

#[cfg(not(any(feature = "rsa", feature = "rustcrypto")))]
pub(super) const fn is_composite(_modulus: &[u8]) -> bool {
    true
}

/// Whether the odd number in big-endian bytes is certainly composite.
///
/// Anyone can compute roots modulo a prime, so anyone can sign for a key with a
/// prime modulus. Every prime n passes Fermat's test to base 2: 2^(n-1) is 1 modulo
/// n. So one round of the test finds all primes. It also refuses the few composite
/// numbers that pass the test. An honestly generated key practically never has such
/// a modulus.
///
/// With base 2, a step of the exponentiation is a squaring and at most one
/// doubling. The number is public, so the time may depend on its bits.
#[cfg(any(feature = "rsa", feature = "rustcrypto"))]
pub(super) fn is_composite(modulus: &[u8]) -> bool {
    #[cfg(test)]
    TESTED.set(TESTED.get() + 1);
    let bits = u32::try_from(8 * modulus.len()).unwrap_or(0);
    let Ok(number) = BoxedUint::from_be_slice(modulus, bits) else {
        return false;
    };
    let Some(odd) = Option::<Odd<BoxedUint>>::from(Odd::new(number)) else {
        return false;
    };
    let exponent = odd.as_ref().wrapping_sub(BoxedUint::one());
    let one = BoxedMontyForm::one(&BoxedMontyParams::new_vartime(odd));
    let mut power = one.clone();
    for bit in (0..exponent.bits_vartime()).rev() {
        power = power.square();
        if exponent.bit_vartime(bit) {
            power = power.double();
        }
    }
    power != one
}

#[cfg(all(test, any(feature = "rsa", feature = "rustcrypto")))]
std::thread_local! {
    /// How many numbers this thread has tested.
    pub(crate) static TESTED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

#[cfg(all(test, any(feature = "rsa", feature = "rustcrypto")))]
mod tests {
    use super::*;

    #[test]
    fn primes_are_found() {
        for (number, composite) in [
            (&[1, 1][..], false), // 257
            (&[1, 0, 1], false),  // 65537
            (&[1, 3], true),      // 259 = 7 * 37
            (&[0xff, 0xff, 0xff, 0xff], true),
        ] {
            assert_eq!(is_composite(number), composite, "{number:?}");
        }
        // 2^127 - 1 is prime, 257 times it is not.
        let mut mersenne = [0xff; 16];
        mersenne[0] = 0x7f;
        assert!(!is_composite(&mersenne));
        let product = [&[0x80, 0x7f][..], &[0xff; 13], &[0xfe, 0xff]].concat();
        assert!(is_composite(&product));
    }
}
