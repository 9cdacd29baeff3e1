//! How far something is verified.

/// How far something is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is verified.
    Verified,
    /// It is not verified, and not wrong.
    Unverified,
    /// It is wrong.
    Wrong,
}

impl Mark {
    /// The words before a line.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Verified => "Verified",
            Self::Unverified => "Not verified",
            Self::Wrong => "Wrong",
        }
    }
}
