//! The names of resource slices.

use crate::{
    error::{Error, LocalFault, shortened},
    model::{ObjectRef, is_dns_subdomain},
};

/// Checks the name of a slice. It is the name of an object, and becomes the value of a
/// label of the Identity.
pub(super) fn check_name(name: &str, longest: usize, id: ObjectRef) -> Result<(), Error> {
    if name.len() <= longest && is_dns_subdomain(name) {
        return Ok(());
    }
    let found = shortened(name);
    Err(Error::new(
        LocalFault::SliceName { found },
        Some(id),
        "metadata.name",
    ))
}
