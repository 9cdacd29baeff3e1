//! Wipes memory when it is freed, since the files may have private keys.
#![allow(unsafe_code)]

use core::ptr;
use std::alloc::{GlobalAlloc, Layout, System};

struct Wiping;

#[global_allocator]
static MEMORY: Wiping = Wiping;

// SAFETY: `System` does all but the wiping, which stays within the memory that is freed. To
// enlarge memory, the trait's own function allocates, copies and frees.
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let fill: unsafe fn(*mut u8, u8, usize) = ptr::write_bytes;
        // SAFETY: the pointer is that of the function above. The compiler keeps a call that it
        // cannot know.
        let fill = unsafe { ptr::read_volatile(&raw const fill) };
        // SAFETY: the caller promises that the memory has this length, and is not used any more.
        unsafe {
            fill(memory, 0, layout.size());
            System.dealloc(memory, layout);
        }
    }
}
