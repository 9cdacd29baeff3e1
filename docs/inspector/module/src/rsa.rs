//! Private RSA keys.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero};
use p256::pkcs8::{
    PrivateKeyInfoRef,
    der::{self, Decode, Reader, SliceReader, asn1::UintRef},
};

/// The public key (DER) of a private RSA key in PKCS #8, whose numbers belong together.
pub(crate) fn public_key(der: &[u8]) -> Option<Vec<u8>> {
    let information = PrivateKeyInfoRef::try_from(der).ok()?;
    let mut reader = SliceReader::new(information.private_key.as_bytes()).ok()?;
    // RFC 8017, A.1.2: version, modulus, both exponents, both primes, and what speeds up.
    let numbers: [&[u8]; 9] = reader
        .sequence(|reader| {
            let mut numbers = [[].as_slice(); 9];
            for number in &mut numbers {
                *number = UintRef::decode(reader)?.as_bytes();
            }
            Ok::<_, der::Error>(numbers)
        })
        .ok()?;
    let [_, modulus, public, private, first, second, ..] = numbers;
    let exponents = number(public).concatenating_mul(&number(private));
    let belong_together = number(first).concatenating_mul(&number(second)) == number(modulus)
        && is_one_modulo(&exponents, first)?
        && is_one_modulo(&exponents, second)?;
    belong_together.then(|| information_of(modulus, public))
}

fn number(bytes: &[u8]) -> BoxedUint {
    BoxedUint::from_be_slice_vartime(bytes)
}

/// Whether a number leaves 1 when it is divided by one less than this prime.
fn is_one_modulo(product: &BoxedUint, prime: &[u8]) -> Option<bool> {
    let divisor = number(prime).wrapping_sub(BoxedUint::one());
    let divisor = NonZero::new(divisor).into_option()?;
    Some(product.rem_vartime(&divisor) == BoxedUint::one())
}

/// A SubjectPublicKeyInfo (RFC 3279, 2.3.1).
fn information_of(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let key = block(SEQUENCE, &[&integer(modulus), &integer(exponent)]);
    block(
        SEQUENCE,
        &[RSA_ENCRYPTION, &block(BIT_STRING, &[&[0], &key])],
    )
}

fn integer(bytes: &[u8]) -> Vec<u8> {
    let is_high = bytes.first().is_some_and(|byte| *byte >= 0x80);
    block(INTEGER, &[if is_high { &[0] } else { &[] }, bytes])
}

fn block(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len().to_be_bytes();
    let bytes = length
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(length.len());
    let length = length.get(bytes..).unwrap_or_default();
    let mut block = vec![tag];
    if content.len() >= 0x80 {
        block.push(0x80 | u8::try_from(length.len()).unwrap_or_default());
    }
    block.extend_from_slice(length);
    block.extend_from_slice(&content);
    block
}

/// The AlgorithmIdentifier.
const RSA_ENCRYPTION: &[u8] = &[
    0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0,
];
const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
