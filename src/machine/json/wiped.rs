//! JSON as bytes that are wiped.

use std::io;

use serde_json::Value;

use crate::model::{SecretBytes, wipe};

/// The compact text of a value. The value's strings are wiped, and the text is
/// written once, into room of its exact size, so that no copy of it stays behind.
pub(in crate::machine) fn written(mut value: Value) -> SecretBytes {
    let mut size = Size(0);
    // Neither a count nor a vector can fail, and each key is text.
    let _ = serde_json::to_writer(&mut size, &value);
    let mut text = Vec::with_capacity(size.0);
    let _ = serde_json::to_writer(&mut text, &value);
    wipe(&mut value);
    SecretBytes::from(text)
}

struct Size(usize);

impl io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
