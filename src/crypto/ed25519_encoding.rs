//! The rules for points of Ed25519 that need no arithmetic.

/// RFC 8032 section 5.1.3: y is less than p = 2^255 - 19, and the sign bit is zero
/// if x is zero. x is zero for y = 1 and y = -1.
pub(super) fn is_canonical(bytes: &[u8; 32]) -> bool {
    let [low, middle @ .., high] = bytes;
    let y_high = high & 0x7f;
    let ones = y_high == 0x7f && middle.iter().all(|byte| *byte == 0xff);
    let zeros = y_high == 0 && middle.iter().all(|byte| *byte == 0);
    let y_is_reduced = !(ones && *low >= 0xed);
    let x_is_zero = (ones && *low == 0xec) || (zeros && *low == 1);
    y_is_reduced && !(x_is_zero && *high & 0x80 != 0)
}

/// Whether a point has an order of 1, 2, 4 or 8, in any encoding.
///
/// Such a point is told by its y. Of their values, only 0 and 1 are so small that
/// p + y has an encoding, too.
pub(super) fn has_small_order(bytes: &[u8; 32]) -> bool {
    let mut y = *bytes;
    y[31] &= 0x7f;
    SMALL_ORDER.contains(&y)
}

/// The point (0, 1).
pub(super) const IDENTITY: [u8; 32] = y(1, 0, 0);

/// Every encoding of y of the points of small order.
const SMALL_ORDER: [[u8; 32]; 7] = [
    IDENTITY,
    // Order 2: y is -1.
    y(0xec, 0xff, 0x7f),
    // Order 4: y is 0.
    y(0, 0, 0),
    // Order 8.
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    // p and p + 1.
    y(0xed, 0xff, 0x7f),
    y(0xee, 0xff, 0x7f),
];

const fn y(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut bytes = [middle; 32];
    bytes[0] = first;
    bytes[31] = last;
    bytes
}
