//! The names of resource slices.

use crate::{
    error::{Error, LocalFault, shortened},
    model::ObjectRef,
};

/// Checks the name of a slice. The name becomes the value of a label of the
/// Identity.
pub(super) fn check_name(name: &str, longest: usize, id: ObjectRef) -> Result<(), Error> {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first_and_last = name.bytes().next().zip(name.bytes().last());
    if name.len() <= longest
        && first_and_last.is_some_and(|(first, last)| inner(first) && inner(last))
        && name
            .bytes()
            .all(|byte| inner(byte) || byte == b'-' || byte == b'.')
    {
        return Ok(());
    }
    let found = shortened(name);
    Err(Error::new(
        LocalFault::SliceName { found },
        Some(id),
        "metadata.name",
    ))
}
