//! The forms of what a person may act on, each with the remedy.

use serde::{Serialize, Serializer};

use crate::machine::{Awaited, Notice, Party, Remedy};

/// The JSON form of what is awaited: with the party that acts, and the remedy.
pub(in crate::machine) fn awaited_with_remedies<S: Serializer>(
    awaiting: &[Awaited],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(awaiting.iter().map(|awaited| WithRemedy {
        what: awaited,
        from: Some(awaited.party()),
        remedy: awaited.remedy(),
    }))
}

/// The JSON form of notices: with the remedy.
pub(in crate::machine) fn notices_with_remedies<S: Serializer>(
    notices: &[Notice],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(notices.iter().map(|notice| WithRemedy {
        what: notice,
        from: None,
        remedy: notice.remedy(),
    }))
}

#[derive(Serialize)]
struct WithRemedy<'a, T: Serialize> {
    #[serde(flatten)]
    what: &'a T,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Party>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<Remedy>,
}
