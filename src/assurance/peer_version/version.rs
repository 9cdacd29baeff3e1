//! Versions of Liqo, and the software that a peer may run.

use core::fmt;

use serde::{Serialize, Serializer};

/// A version of Liqo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{_0}.{_1}.{_2}")]
pub struct LiqoVersion(pub u16, pub u16, pub u16);

/// A range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct VersionRange {
    /// The first version of the range.
    pub from: LiqoVersion,
    /// The first version after the range. None if the range has no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<LiqoVersion>,
}

/// The software that a peer may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PeerSoftware {
    /// The versions of Liqo that the peer may run. None if it does not run Liqo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liqo: Option<VersionRange>,
    /// Whether the peer may run this library.
    pub this_library: bool,
}

impl PeerSoftware {
    pub(super) const THIS_LIBRARY: Self = Self {
        liqo: None,
        this_library: true,
    };

    /// Liqo of these versions, or this library, which behaves like them.
    pub(super) const fn of(from: LiqoVersion, before: Option<LiqoVersion>) -> Self {
        Self {
            liqo: Some(VersionRange { from, before }),
            this_library: true,
        }
    }
}

/// The text, such as `1.0.2`.
impl Serialize for LiqoVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl VersionRange {
    pub(super) fn and(self, other: Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let before = match (self.before, other.before) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        before
            .is_none_or(|before| from < before)
            .then_some(Self { from, before })
    }

    pub(super) fn is_within(self, other: Self) -> bool {
        self.and(other) == Some(self)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before {
            None => write!(formatter, "{} or later", self.from),
            Some(before) => write!(formatter, "{} or later, before {before}", self.from),
        }
    }
}

/// For example: `Liqo 1.0.2 or later, or this library`.
impl fmt::Display for PeerSoftware {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.liqo, self.this_library) {
            (Some(liqo), true) => write!(formatter, "Liqo {liqo}, or this library"),
            (Some(liqo), false) => write!(formatter, "Liqo {liqo}"),
            (None, true) => formatter.write_str("this library"),
            (None, false) => formatter.write_str("neither Liqo nor this library"),
        }
    }
}

pub(super) const V0_2: LiqoVersion = LiqoVersion(0, 2, 0);
pub(super) const V0_3: LiqoVersion = LiqoVersion(0, 3, 0);
pub(super) const V0_11: LiqoVersion = LiqoVersion(0, 11, 0);
pub(super) const V1_0: LiqoVersion = LiqoVersion(1, 0, 0);
pub(super) const V1_0_2: LiqoVersion = LiqoVersion(1, 0, 2);
pub(super) const V1_2: LiqoVersion = LiqoVersion(1, 2, 0);
