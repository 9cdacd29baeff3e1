//! Whether an RSA modulus is composite.

use crypto_bigint::{BoxedUint, Odd};
use crypto_primes::hazmat::{MillerRabin, Primality};

/// Whether the odd number in big-endian bytes is certainly composite.
///
/// Anyone can take roots modulo a prime: a key with a prime modulus is a key
/// for everybody. A prime passes the Miller-Rabin test with every base, so that
/// one round to base 2 finds all of them. It also finds the composites that
/// pass as well, which nobody meets without looking for them.
pub(super) fn is_composite(modulus: &[u8]) -> bool {
    let bits = u32::try_from(8 * modulus.len()).unwrap_or(0);
    let Ok(number) = BoxedUint::from_be_slice(modulus, bits) else {
        return false;
    };
    match Option::<Odd<BoxedUint>>::from(Odd::new(number)) {
        Some(odd) => MillerRabin::new(odd).test_base_two() == Primality::Composite,
        None => false,
    }
}

#[cfg(test)]
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
