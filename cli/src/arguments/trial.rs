//! The commands that `--dry-run` tries.

use super::{Command, Legacy};

impl Command {
    /// Whether the command can be tried with --dry-run. The others change nothing, or talk
    /// to other programs.
    pub(crate) const fn can_be_tried(&self) -> bool {
        match self {
            Self::Init(_)
            | Self::Authenticate(_)
            | Self::Create(_)
            | Self::Delete(_)
            | Self::Generate(_)
            | Self::Apply(_)
            | Self::Set(_)
            | Self::Rotate(_)
            | Self::Replicate(_)
            | Self::Renew(_)
            | Self::Cordon(_)
            | Self::Drain(_)
            | Self::Uncordon(_)
            | Self::Activate(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::SignAgain(_)
            | Self::Release(_)
            | Self::Unauthenticate(_)
            | Self::Legacy(Legacy::Set(_) | Legacy::Release { .. }) => true,
            Self::Get(_)
            | Self::Export(_)
            | Self::Inspect(_)
            | Self::Status(_)
            | Self::Doctor(_)
            | Self::Transcript(_)
            | Self::Audit(_)
            | Self::Run(_)
            | Self::Rbac(_)
            | Self::Legacy(_)
            | Self::Completion { .. }
            | Self::Version(_)
            | Self::Man { .. }
            | Self::Options => false,
        }
    }

    /// Whether the command writes and cannot be tried: it takes part in an exchange over HTTPS.
    pub(crate) const fn writes_untried(&self) -> bool {
        matches!(
            self,
            Self::Legacy(Legacy::Authenticate(_) | Legacy::Serve(_) | Legacy::Peer(_))
        )
    }
}
