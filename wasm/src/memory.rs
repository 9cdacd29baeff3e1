//! The memory of the module. It is wiped when it is given back, so that no secret of a call
//! stays in an instance that waits for the next call. The values of a request are many, and
//! most of their types wipe nothing. A C program keeps its own allocator.
//!
//! Most values are small and live for one call. So the places for them are of a few sizes, and
//! a place that is given back is the next one of its size. The system has the other ones: it
//! joins neighbours and looks for what fits best, which took a tenth of a handshake.
#![allow(unsafe_code)]

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr,
};

use crate::border::wipe;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static MEMORY: Pool<std::alloc::System> = Pool::new(std::alloc::System);

// SAFETY: a module without atomics has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl Sync for Pool<std::alloc::System> {}

/// Small places, of blocks of the system. The blocks are never given back.
struct Pool<A> {
    system: A,
    places: UnsafeCell<Places>,
}

struct Places {
    /// The places of each size that are free. Each begins with the address of the next one.
    free: [*mut u8; SIZES],
    /// The part of the last block that was never a place.
    rest: *mut u8,
    left: usize,
}

/// The sizes are multiples of this. It is also the alignment.
const UNIT: usize = 16;
const SIZES: usize = 64;
const BLOCK: usize = 32 * 1024;

/// The number of the size for a layout; `None` if the place is the system's.
const fn number_of(layout: Layout) -> Option<usize> {
    let number = layout.size().saturating_sub(1) / UNIT;
    match number < SIZES && layout.align() <= UNIT {
        true => Some(number),
        false => None,
    }
}

const fn size_of_number(number: usize) -> usize {
    (number + 1) * UNIT
}

impl<A> Pool<A> {
    const fn new(system: A) -> Self {
        let places = Places {
            free: [ptr::null_mut(); SIZES],
            rest: ptr::null_mut(),
            left: 0,
        };
        Self {
            system,
            places: UnsafeCell::new(places),
        }
    }
}

impl Places {
    /// Takes a free place.
    ///
    /// # Safety
    /// Nobody has changed the free places.
    unsafe fn take(&mut self, number: usize) -> Option<*mut u8> {
        let first = self.free.get_mut(number)?;
        let place = *first;
        if place.is_null() {
            return None;
        }
        // SAFETY: a free place begins with the address of the next one.
        *first = unsafe { place.cast::<*mut u8>().read() };
        Some(place)
    }

    /// Makes a place free.
    ///
    /// # Safety
    /// The place has this size, is aligned, and belongs to nobody else.
    unsafe fn put(&mut self, number: usize, place: *mut u8) {
        if let Some(first) = self.free.get_mut(number) {
            // SAFETY: each size has room for an address.
            unsafe { place.cast::<*mut u8>().write(*first) };
            *first = place;
        }
    }

    /// Makes a new place; null if the system has no memory.
    ///
    /// # Safety
    /// The system is that of the pool.
    unsafe fn carve(&mut self, number: usize, system: &impl GlobalAlloc) -> *mut u8 {
        let size = size_of_number(number);
        if self.left < size {
            if let Some(number) = (self.left / UNIT).checked_sub(1) {
                // SAFETY: the rest is less than the largest size, and is a multiple of the unit.
                unsafe { self.put(number, self.rest) };
            }
            // SAFETY: the block has a size, and the alignment is a power of two.
            let block = unsafe {
                let layout = Layout::from_size_align_unchecked(BLOCK, UNIT);
                system.alloc(layout)
            };
            (self.rest, self.left) = (block, if block.is_null() { 0 } else { BLOCK });
            if block.is_null() {
                return block;
            }
        }
        let place = self.rest;
        self.left -= size;
        // SAFETY: the rest had at least this size.
        self.rest = unsafe { place.add(size) };
        place
    }
}

// SAFETY: a place belongs to one owner, from `alloc` to `dealloc`: a free one leaves its list,
// and a new one leaves the rest. It has at least the layout's size and alignment. All others
// are the system's, with the same layout. A pool is shared by one thread alone, and no method
// calls another one while it has the places.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Pool<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(number) = number_of(layout) else {
            // SAFETY: the caller keeps the contract of the system, which is the same.
            return unsafe { self.system.alloc(layout) };
        };
        // SAFETY: nobody else has the places now, and the system is that of the pool.
        unsafe {
            let places = &mut *self.places.get();
            match places.take(number) {
                Some(place) => place,
                None => places.carve(number, &self.system),
            }
        }
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        let Some(number) = number_of(layout) else {
            // SAFETY: the bytes come from `alloc` with this layout, and nobody uses them any
            // more. So all of them can be written.
            unsafe {
                wipe(bytes, layout.size());
                self.system.dealloc(bytes, layout);
            }
            return;
        };
        // SAFETY: as above. The whole place is wiped, since `realloc` may have left bytes at
        // its end.
        unsafe {
            wipe(bytes, size_of_number(number));
            (*self.places.get()).put(number, bytes);
        }
    }

    unsafe fn realloc(&self, bytes: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that fits the alignment.
        let other = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if number_of(layout).is_some() && number_of(layout) == number_of(other) {
            return bytes;
        }
        // The bytes are moved here, since the system would not wipe those that it moves.
        // SAFETY: both places have these layouts, and belong to different owners.
        unsafe {
            let moved = self.alloc(other);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(bytes, moved, layout.size().min(size));
                self.dealloc(bytes, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use core::{cell::Cell, slice};
    use std::alloc::System;

    use super::*;

    /// A system that counts what belongs to its users. It refuses beyond a number of places.
    struct Counted {
        places: Cell<usize>,
        most: usize,
    }

    // SAFETY: every method hands over to `System`, or refuses.
    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if self.places.get() == self.most {
                return ptr::null_mut();
            }
            self.places.set(self.places.get() + 1);
            // SAFETY: the caller keeps the contract.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
            self.places.set(self.places.get() - 1);
            // SAFETY: the caller keeps the contract.
            unsafe { System.dealloc(bytes, layout) }
        }
    }

    const fn pool(most: usize) -> Pool<Counted> {
        let places = Cell::new(0);
        Pool::new(Counted { places, most })
    }

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap_or(Layout::new::<u8>())
    }

    /// The bytes of a place of a pool, which stay readable when the place is free.
    fn bytes(place: *const u8, size: usize) -> Vec<u8> {
        // SAFETY: the callers have places of this size.
        unsafe { slice::from_raw_parts(place, size) }.to_vec()
    }

    #[test]
    fn each_small_layout_has_the_least_size_that_fits() {
        for (size, number) in [(1, 0), (16, 0), (17, 1), (1009, 63), (1024, 63)] {
            assert_eq!(number_of(layout(size, 16)), Some(number));
            assert!(size_of_number(number) >= size && size_of_number(number) < size + UNIT);
        }
        assert_eq!(number_of(layout(1025, 1)), None);
        assert_eq!(number_of(layout(64, 32)), None);
    }

    #[test]
    fn a_place_that_is_given_back_is_wiped_and_comes_next() {
        let pool = pool(1);
        // SAFETY: each place is used between its `alloc` and its `dealloc`.
        unsafe {
            let first = pool.alloc(layout(40, 8));
            let second = pool.alloc(layout(40, 8));
            first.write_bytes(7, 40);
            second.write_bytes(9, 40);
            pool.dealloc(first, layout(40, 8));
            // A free place begins with an address.
            assert_eq!(bytes(first.add(8), 40), [0; 40]);
            assert_eq!(bytes(second, 40), [9; 40]);
            assert_eq!(pool.alloc(layout(33, 1)), first);
            assert_ne!(pool.alloc(layout(40, 8)), second);
        }
    }

    #[test]
    fn zeros_are_zeros_in_a_place_that_was_used() {
        let pool = pool(1);
        // SAFETY: as above.
        unsafe {
            let first = pool.alloc(layout(32, 8));
            let second = pool.alloc(layout(32, 8));
            pool.dealloc(second, layout(32, 8));
            pool.dealloc(first, layout(32, 8));
            // It began with the address of the second one.
            assert_eq!(pool.alloc_zeroed(layout(32, 8)), first);
            assert_eq!(bytes(first, 32), [0; 32]);
        }
    }

    #[test]
    fn places_keep_their_bytes_beside_each_other() {
        let pool = pool(usize::MAX);
        let mut kept: Vec<(*mut u8, usize, u8)> = Vec::new();
        let mut number = 1_usize;
        for turn in 0..20_000_usize {
            number = number.wrapping_mul(6_364_136_223_846_793_005) ^ turn;
            let size = 1 + (number >> 7) % 1100;
            // SAFETY: as above.
            unsafe {
                if kept.len() == 300 {
                    let (place, size, byte) = kept.swap_remove((number >> 20) % 300);
                    assert_eq!(bytes(place, size), vec![byte; size]);
                    pool.dealloc(place, layout(size, 16));
                }
                let place = pool.alloc(layout(size, 16));
                assert_eq!(place.align_offset(16), 0);
                let byte = u8::try_from(turn % 256).unwrap_or_default();
                place.write_bytes(byte, size);
                kept.push((place, size, byte));
            }
        }
        for (place, size, byte) in kept {
            assert_eq!(bytes(place, size), vec![byte; size]);
            // SAFETY: as above.
            unsafe { pool.dealloc(place, layout(size, 16)) };
        }
        // The large ones are given back. 300 small ones have at most 300 kB at a time.
        assert!(
            pool.system.places.get() < 64,
            "{}",
            pool.system.places.get()
        );
    }

    #[test]
    fn the_end_of_a_block_becomes_a_place() {
        let pool = pool(2);
        // SAFETY: as above.
        unsafe {
            let first = pool.alloc(layout(1008, 8));
            for _ in 1..BLOCK / 1008 {
                pool.alloc(layout(1008, 8));
            }
            let used = BLOCK / 1008 * 1008;
            pool.alloc(layout(1008, 8));
            assert_eq!(pool.system.places.get(), 2);
            assert_eq!(pool.alloc(layout(BLOCK - used, 8)), first.add(used));
        }
    }

    #[test]
    fn a_place_grows_and_shrinks_within_its_size_and_is_wiped_as_a_whole() {
        let pool = pool(2);
        // SAFETY: as above.
        unsafe {
            let place = pool.alloc(layout(60, 8));
            place.write_bytes(7, 60);
            let shrunk = pool.realloc(place, layout(60, 8), 50);
            assert_eq!(shrunk, place);
            let moved = pool.realloc(place, layout(50, 8), 2000);
            assert_ne!(moved, place);
            assert_eq!(bytes(moved, 50), [7; 50]);
            assert_eq!(bytes(place.add(8), 56), [0; 56]);
            let again = pool.realloc(moved, layout(2000, 8), 60);
            assert_eq!((again, bytes(again, 50)), (place, vec![7; 50]));
            assert_eq!(pool.system.places.get(), 1);
        }
    }

    #[test]
    fn without_memory_there_is_no_place() {
        let pool = pool(1);
        // SAFETY: as above.
        unsafe {
            let place = pool.alloc(layout(64, 8));
            place.write_bytes(7, 64);
            assert!(pool.alloc(layout(2000, 8)).is_null());
            assert!(pool.realloc(place, layout(64, 8), 2000).is_null());
            assert_eq!(bytes(place, 64), [7; 64]);
            for _ in 1..BLOCK / 64 {
                assert!(!pool.alloc(layout(64, 8)).is_null());
            }
            assert!(pool.alloc(layout(64, 8)).is_null());
            assert!(pool.alloc(layout(64, 8)).is_null());
        }
    }
}
