//! The comparison of bytes in the module. The names and labels of one peer's objects begin alike,
//! and the compiler's own function for WebAssembly goes byte by byte.
#![allow(unsafe_code)]

use core::cmp::Ordering;

/// Compares bytes, as in C. The compiler's own function gives way to it.
///
/// # Safety
/// Both addresses point to `length` bytes that nobody changes meanwhile.
#[cfg(target_arch = "wasm32")]
#[inline(never)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    // SAFETY: the caller promises it.
    match unsafe { compared(one, other, length) } {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

/// How the first bytes that differ compare. It reads word by word, up to the words that differ.
///
/// # Safety
/// Both addresses point to `length` bytes that nobody changes meanwhile.
unsafe fn compared(one: *const u8, other: *const u8, length: usize) -> Ordering {
    let words = length - length % WORD;
    let mut at = 0;
    while at < words {
        // SAFETY: both words lie within the bytes, and need no alignment.
        let (left, right) = unsafe {
            let left = one.add(at).cast::<u64>().read_unaligned();
            (left, other.add(at).cast::<u64>().read_unaligned())
        };
        if left != right {
            // The first byte counts most.
            return u64::from_be(left).cmp(&u64::from_be(right));
        }
        at += WORD;
    }
    while at < length {
        // SAFETY: both bytes lie within the bytes.
        let (left, right) = unsafe { (one.add(at).read(), other.add(at).read()) };
        if left != right {
            return left.cmp(&right);
        }
        at += 1;
    }
    Ordering::Equal
}

const WORD: usize = size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::*;

    /// How two slices of one length compare.
    fn order(one: &[u8], other: &[u8]) -> Ordering {
        assert_eq!(one.len(), other.len());
        // SAFETY: both have this length.
        unsafe { compared(one.as_ptr(), other.as_ptr(), one.len()) }
    }

    #[test]
    fn the_first_bytes_that_differ_decide() {
        let bytes: Vec<u8> = (0..40).map(|number| number * 6).collect();
        for (start, length) in [
            (0, 0),
            (0, 1),
            (0, 7),
            (0, 8),
            (1, 8),
            (3, 17),
            (5, 32),
            (0, 40),
        ] {
            let part = bytes.get(start..start + length).unwrap_or_default();
            assert_eq!(order(part, part), Ordering::Equal);
            for at in 0..length {
                for later in at..length {
                    let mut changed = part.to_vec();
                    // The byte at `at` is larger, and the one at `later` smaller.
                    for (place, byte) in [(later, 0), (at, 255)] {
                        if let Some(found) = changed.get_mut(place) {
                            *found = byte;
                        }
                    }
                    assert_eq!(
                        order(&changed, part),
                        changed.as_slice().cmp(part),
                        "{at} {later}"
                    );
                    assert_eq!(order(part, &changed), part.cmp(&changed), "{at} {later}");
                }
            }
        }
    }
}
