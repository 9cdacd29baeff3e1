//! The error of an object that cannot be read.

use super::{Error, LocalFault};
use crate::model::Unreadable;

impl Unreadable {
    /// The error that the object exists but cannot be read.
    pub(crate) fn error(&self) -> Error {
        let reason = self.reason.to_string();
        Error::new(LocalFault::Unreadable { reason }, Some(self.id.clone()), "")
    }
}
