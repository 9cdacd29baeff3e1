//! The border to the page. Beside it, only `memory` has `unsafe`.
//!
//! A panic traps: the page then says that the module has failed.
#![allow(unsafe_code)]

use core::{ptr, slice};

/// Memory for a request. It contains zeros. Give it back with [`inspector_release`].
// Reason for the attribute: the page finds the function by this name.
#[unsafe(no_mangle)]
pub extern "C" fn inspector_allocate(length: usize) -> *mut u8 {
    let memory: Box<[u8]> = vec![0; length].into_boxed_slice();
    Box::into_raw(memory).cast()
}

/// Gives the memory of a request or an answer back. The allocator wipes it.
///
/// # Safety
/// `bytes` and `length` come from one call of [`inspector_allocate`] or [`inspector_explain`],
/// and nobody uses the bytes any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inspector_release(bytes: *mut u8, length: usize) {
    // SAFETY: both functions returned a `Box<[u8]>` of this length, and the caller promises that
    // it is not used any more. So this is the only owner.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, length)) });
}

/// Answers a request. Returns the answer, and writes its length to `answer_length`.
///
/// # Safety
/// `request` points to `length` bytes of [`inspector_allocate`], and `answer_length` to an
/// `usize`, aligned or not, that nobody else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn inspector_explain(
    request: *const u8,
    length: usize,
    answer_length: *mut usize,
) -> *mut u8 {
    // SAFETY: the caller promises `length` bytes that do not change.
    let request = unsafe { slice::from_raw_parts(request, length) };
    let answer = crate::answer(request).into_boxed_slice();
    // SAFETY: the caller promises a `usize` that nobody else uses.
    unsafe { answer_length.write_unaligned(answer.len()) };
    Box::into_raw(answer).cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_with_its_length() {
        let request = inspector_allocate(3);
        let mut length = 0;
        // SAFETY: the request has three bytes, and nobody else uses the length.
        let answer = unsafe { inspector_explain(request, 3, &raw mut length) };
        // SAFETY: the answer has that length.
        let text = unsafe { slice::from_raw_parts(answer, length) };
        assert!(text.starts_with(br#"{"failure":"#));
        // SAFETY: both come from these functions, and are not used again.
        unsafe {
            inspector_release(answer, length);
            inspector_release(request, 3);
        }
    }
}
