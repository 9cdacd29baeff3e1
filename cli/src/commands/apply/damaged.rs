//! An object that cannot be read as it was carried.

use liqo_auth::model::{Kind, ObjectRef};

use crate::output::{escaped, program};

/// The command that prints such an object again, in a sentence. None if the kind is not known.
pub(super) fn printed_by(id: &ObjectRef) -> Option<String> {
    let what = match id.kind {
        Kind::Tenant => "tenant".to_owned(),
        Kind::Identity => "identity".to_owned(),
        Kind::ResourceSlice => format!("resourceslice {}", escaped(&id.name)),
        Kind::Renew => format!("renew {}", escaped(&id.name)),
        _ => return None,
    };
    Some(format!(
        " The command is {} generate {what} --remote-cluster-id ID, with the ID of this cluster.",
        program()
    ))
}
