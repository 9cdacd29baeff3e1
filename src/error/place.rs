//! Where a fault was found.

use core::fmt;

use crate::model::ObjectRef;

/// Where a fault was found: an object, and a field in it.
///
/// `Display` is the beginning of a message, such as `Tenant ns/name, spec.csr: `.
/// It is empty if neither an object nor a field is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The object, if the fault concerns one.
    pub object: Option<ObjectRef>,
    /// The field's path, such as `spec.csr`; empty for the object as a whole.
    pub field: &'static str,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.object, self.field) {
            (None, "") => Ok(()),
            (None, field) => write!(formatter, "{field}: "),
            (Some(object), "") => write!(formatter, "{object}: "),
            (Some(object), field) => write!(formatter, "{object}, {field}: "),
        }
    }
}
