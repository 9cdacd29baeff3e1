//! What to do about a file of a home that cannot be read, or has another content than this side
//! has sealed.

use std::path::Path;

use liqo_auth::model::{Kind, ObjectRef};

use super::run;
use crate::{home::Home, output::quoted};

/// How to go on if this object cannot be read. None on a cluster.
pub(crate) fn unread(home: &Home, id: &ObjectRef) -> Option<String> {
    let renew = run(home)?;
    let restored = || {
        let file = home.site_of(id);
        format!("Restore {file} from a backup. Then the command is {renew}.")
    };
    Some(without_slice_record(home, id).unwrap_or_else(restored))
}

/// The same about the record of a slice. It is made again: the slice still has its request.
pub(crate) fn without_slice_record(home: &Home, id: &ObjectRef) -> Option<String> {
    let renew = run(home)?;
    let is_record = id.kind == Kind::Secret && id.name.starts_with(SLICE_RECORD_PREFIX);
    is_record.then(|| {
        let file = home.site_of(id);
        format!(
            "Restore {file} from a backup. Without one, delete it: rm -- {}. What was decided on the slice is lost then, a cordon too, and is decided again. Then the command is {renew}.",
            quoted(Path::new(&file))
        )
    })
}

/// The name of a slice's record begins with this.
const SLICE_RECORD_PREFIX: &str = "liqo-auth-slice-";
