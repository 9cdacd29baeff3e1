//! JSON as bytes that are wiped on drop.

use serde::Serialize;

use crate::{machine::sealed::to_text, model::SecretBytes};

/// The compact text of a form. The result has a buffer of the text's exact size. Every
/// other buffer is wiped, so that no copy stays in memory.
pub(crate) fn written(form: &impl Serialize) -> SecretBytes {
    // The serialization of the library's forms cannot fail.
    let text = to_text(form).unwrap_or_default();
    SecretBytes::from(text)
}
