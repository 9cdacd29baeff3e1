//! Values on the heap that are wiped on drop.

// The allocator is that of the Go package's module (`wasm/src/memory.rs`).
#[cfg(all(liqo_auth_wiping_allocator, not(target_arch = "wasm32")))]
compile_error!("the allocator of this program wipes nothing");

#[cfg(liqo_auth_wiping_allocator)]
pub(crate) use by_allocator::Wiped;
#[cfg(not(liqo_auth_wiping_allocator))]
pub(crate) use zeroize::Zeroizing as Wiped;

/// Whether the allocator wipes all memory that is given back to it, as that of the Go
/// package's module does. To wipe a value before that would do the same work twice.
pub(crate) const BY_ALLOCATOR: bool = cfg!(liqo_auth_wiping_allocator);

#[cfg(liqo_auth_wiping_allocator)]
mod by_allocator {
    use zeroize::Zeroizing;

    /// A value whose memory the allocator wipes on drop.
    #[derive(
        Clone, Default, PartialEq, Eq, derive_more::Deref, derive_more::DerefMut, derive_more::From,
    )]
    pub(crate) struct Wiped<T>(T);

    impl<T> Wiped<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(value)
        }
    }

    impl From<Zeroizing<Vec<u8>>> for Wiped<Vec<u8>> {
        fn from(mut bytes: Zeroizing<Vec<u8>>) -> Self {
            Self(core::mem::take(&mut *bytes))
        }
    }
}
