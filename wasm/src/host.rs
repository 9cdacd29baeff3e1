//! The border to the host: the functions that the module imports. They read and write only what
//! their arguments point to. The arithmetic and the wiping keep nothing. A backend's answer is
//! kept until it is taken.
#![allow(unsafe_code)]

#[cfg(liqo_auth_ed25519_of_host)]
pub(crate) use imports::{ARITHMETIC, wipe};

/// Asks the host of the module for a backend's answer to a question. Both are JSON, and have
/// the forms of a request's `answers`. Elsewhere, each question stays open.
pub(crate) fn ask(question: &[u8]) -> Option<Vec<u8>> {
    #[cfg(liqo_auth_ed25519_of_host)]
    return imports::ask(question);
    #[cfg(not(liqo_auth_ed25519_of_host))]
    {
        let _ = question;
        None
    }
}

#[cfg(liqo_auth_ed25519_of_host)]
mod imports {
    use liqo_auth::crypto::HostArithmetic;

    #[link(wasm_import_module = "liqo_auth_host")]
    unsafe extern "C" {
        fn ed25519_is_point(point: *const u8) -> u32;
        fn ed25519_has_prime_order(point: *const u8) -> u32;
        fn ed25519_verify(
            key: *const u8,
            message: *const u8,
            length: usize,
            signature: *const u8,
        ) -> u32;
        fn backend_ask(question: *const u8, length: usize) -> usize;
        fn backend_answer(answer: *mut u8, length: usize);
        fn memory_wipe(bytes: *mut u8, length: usize);
    }

    /// Writes zeros.
    ///
    /// # Safety
    /// `bytes` points to `length` bytes that nobody else uses.
    pub(crate) unsafe fn wipe(bytes: *mut u8, length: usize) {
        // SAFETY: the host writes these bytes alone.
        unsafe { memory_wipe(bytes, length) };
    }

    /// Asks a backend, and returns its answer. Without one, the question stays open.
    pub(super) fn ask(question: &[u8]) -> Option<Vec<u8>> {
        // SAFETY: the host reads as many bytes of the question as it has.
        let length = unsafe { backend_ask(question.as_ptr(), question.len()) };
        if length == 0 {
            return None;
        }
        let mut answer = vec![0; length];
        // SAFETY: the host does not write more bytes than the answer has.
        unsafe { backend_answer(answer.as_mut_ptr(), length) };
        Some(answer)
    }

    pub(crate) const ARITHMETIC: HostArithmetic = HostArithmetic {
        // SAFETY: the host reads the 32 bytes of the reference.
        is_point: |point| unsafe { ed25519_is_point(point.as_ptr()) } == 1,
        // SAFETY: as above.
        has_prime_order: |point| unsafe { ed25519_has_prime_order(point.as_ptr()) } == 1,
        verify: |key, message, signature| {
            let (start, length) = (message.as_ptr(), message.len());
            // SAFETY: the host reads the 32 bytes of the key, the 64 bytes of the
            // signature, and as many bytes of the message as it has.
            let verdict =
                unsafe { ed25519_verify(key.as_ptr(), start, length, signature.as_ptr()) };
            verdict == 1
        },
    };
}
