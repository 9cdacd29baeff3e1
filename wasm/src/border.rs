//! The border to the caller: the C ABI of `wasm/liqo_auth.h`. Beside it, only `comparison`,
//! `host` and `memory` have `unsafe`.
//!
//! A panic aborts the process. In a WebAssembly module, a panic traps and ends only
//! that call.
#![allow(unsafe_code)]

use core::{mem::MaybeUninit, ptr, slice};

/// Memory for a request. It contains zeros. Give it back with
/// [`liqo_auth_release`], and with the same length.
// Reason for the attribute: an exported name has to be unique in the program. Each
// name here begins with the library's name.
#[unsafe(no_mangle)]
pub extern "C" fn liqo_auth_allocate(length: usize) -> *mut u8 {
    let memory: Box<[u8]> = vec![0; length].into_boxed_slice();
    Box::into_raw(memory).cast()
}

/// Wipes a request or an answer, and gives its memory back. Null has no effect.
///
/// # Safety
/// `bytes` is null, or `bytes` and `length` come from one call of
/// [`liqo_auth_allocate`] or [`liqo_auth_call`], and nobody uses the bytes any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn liqo_auth_release(bytes: *mut u8, length: usize) {
    if bytes.is_null() {
        return;
    }
    // SAFETY: both functions returned a `Box<[u8]>` of this length, and the caller
    // promises that it is not used any more. So this is the only owner.
    let mut bytes = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, length)) };
    // SAFETY: the box has this length.
    unsafe { wipe(bytes.as_mut_ptr(), length) };
}

/// Answers a request. Returns the answer, and writes its length to `answer_length`.
/// Give the answer back with [`liqo_auth_release`]. The request still belongs to the
/// caller.
///
/// # Safety
/// `request` points to `length` bytes, which nobody changes during the call, and
/// `answer_length` to a `usize` that nobody else uses. If `length` is 0, `request` is
/// not read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn liqo_auth_call(
    request: *const u8,
    length: usize,
    answer_length: *mut usize,
) -> *mut u8 {
    let request = if length == 0 {
        &[]
    } else {
        // SAFETY: the caller promises `length` bytes that do not change.
        unsafe { slice::from_raw_parts(request, length) }
    };
    #[cfg(liqo_auth_ed25519_of_host)]
    liqo_auth::crypto::set_host_arithmetic(crate::host::ARITHMETIC);
    let answer = answered(request);
    wipe_stack();
    // SAFETY: the caller promises a `usize` that nobody else uses.
    unsafe { answer_length.write(answer.len()) };
    Box::into_raw(answer).cast()
}

/// Answers a request in a frame of its own. [`wipe_stack`] wipes that frame, since both
/// functions begin at the same place of the stack.
#[inline(never)]
fn answered(request: &[u8]) -> Box<[u8]> {
    crate::answer(request).into_boxed_slice()
}

/// Wipes the part of the stack that a call has used. Moved values leave copies there,
/// such as those of the record key and the entropy.
#[inline(never)]
fn wipe_stack() {
    let mut used = MaybeUninit::<[u8; STACK]>::uninit();
    // SAFETY: the array has this length.
    unsafe { wipe(used.as_mut_ptr().cast(), STACK) };
}

/// The part of the stack that a call may use, in bytes.
const STACK: usize = 128 * 1024;

/// Writes zeros. The compiler keeps volatile writes, and the call of a function that it
/// cannot know.
///
/// A few bytes are written word by word. Many bytes are written as a block: byte by byte, the
/// stack would take as long as the verification of a signature. In a module, the host writes
/// them: the module's instruction for blocks copies bytes that are zero already, which takes
/// five times as long.
///
/// # Safety
/// `bytes` points to `length` bytes that nobody else uses.
#[inline]
pub(crate) unsafe fn wipe(bytes: *mut u8, length: usize) {
    if length > FEW || !bytes.cast::<u64>().is_aligned() {
        // SAFETY: the caller promises it.
        unsafe { wipe_block(bytes, length) };
        return;
    }
    let pairs = length - length % PAIR;
    let mut written = 0;
    while written < pairs {
        // SAFETY: both words are aligned, and lie within the bytes. In a module, the second
        // write need not look at the memory's end, since the first one lies behind it.
        unsafe {
            let words = bytes.add(written).cast::<u64>();
            words.add(1).write_volatile(0);
            words.write_volatile(0);
        }
        written += PAIR;
    }
    for byte in pairs..length {
        // SAFETY: the byte lies within the bytes.
        unsafe { bytes.add(byte).write_volatile(0) };
    }
}

#[cfg(liqo_auth_ed25519_of_host)]
use crate::host::wipe as wipe_block;

/// Writes zeros.
///
/// # Safety
/// That of [`wipe`].
#[cfg(not(liqo_auth_ed25519_of_host))]
unsafe fn wipe_block(bytes: *mut u8, length: usize) {
    let fill: unsafe fn(*mut u8, u8, usize) = ptr::write_bytes;
    // SAFETY: the pointer is that of a function above.
    let fill = unsafe { ptr::read_volatile(&raw const fill) };
    // SAFETY: the caller promises it.
    unsafe { fill(bytes, 0, length) };
}

/// The bytes of two words.
const PAIR: usize = 2 * size_of::<u64>();
/// So many bytes are written word by word.
const FEW: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// The functions with the types that the header gives them.
    const ALLOCATE: extern "C" fn(usize) -> *mut u8 = liqo_auth_allocate;
    const RELEASE: unsafe extern "C" fn(*mut u8, usize) = liqo_auth_release;
    const CALL: unsafe extern "C" fn(*const u8, usize, *mut usize) -> *mut u8 = liqo_auth_call;

    #[test]
    fn the_header_declares_these_functions() {
        let header = include_str!("../liqo_auth.h");
        let declared: Vec<&str> = header
            .lines()
            .filter(|line| line.contains("liqo_auth_") && line.ends_with(';'))
            .collect();
        assert_eq!(
            declared,
            [
                "uint8_t *liqo_auth_allocate(size_t length);",
                "void liqo_auth_release(uint8_t *bytes, size_t length);",
                "uint8_t *liqo_auth_call(const uint8_t *request, size_t length, size_t *answer_length);",
            ]
        );
    }

    #[test]
    fn wiped_bytes_are_zeros() {
        let mut memory = vec![0_u8; FEW + 64];
        for (start, length) in [(0, 4), (0, 16), (0, 21), (3, 40), (0, FEW), (0, FEW + 1)] {
            memory.fill(7);
            let Some(bytes) = memory.get_mut(start..start + length) else {
                continue;
            };
            // SAFETY: the slice has this length.
            unsafe { wipe(bytes.as_mut_ptr(), length) };
            assert!(bytes.iter().all(|byte| *byte == 0), "{length}");
            let others = memory.iter().filter(|byte| **byte == 7).count();
            assert_eq!(others + length, memory.len());
        }
    }

    #[test]
    fn null_is_released_without_effect() {
        // SAFETY: null is allowed.
        unsafe { RELEASE(ptr::null_mut(), 0) };
    }

    #[test]
    fn an_answer_comes_with_its_length() {
        let request = ALLOCATE(3);
        let mut length = 0;
        // SAFETY: the request has three bytes, and nobody else uses the length.
        let answer = unsafe { CALL(request, 3, &raw mut length) };
        // SAFETY: the answer has that length.
        let text = unsafe { slice::from_raw_parts(answer, length) };
        assert!(text.starts_with(br#"{"error":{"#));
        // SAFETY: both come from these functions, and are not used again.
        unsafe {
            RELEASE(answer, length);
            RELEASE(request, 3);
        }
    }
}
