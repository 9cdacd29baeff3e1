//! A state, and what leads to the next one.

use liqo_auth::machine::Side;

use crate::{
    calls::{At, Call},
    configurations::Left,
    deeds::{Deed, Plant},
    ghost::Broken,
};

/// A state: the bytes of both stores, the messages that were sent, the time, and
/// what is left of each bound. The numbers stand for values that are kept once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    pub provider: u32,
    pub consumer: u32,
    /// The set of all messages that were ever sent. None of them goes: a message
    /// can be late, come twice, come after a later one, or never.
    pub air: u32,
    pub ghost: u32,
    pub instant: u8,
    pub left: Left,
    pub replicas: [Option<Held>; 2],
    pub broken: Broken,
}

/// A step that a replica has made and not carried out yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// The store that the replica has seen.
    pub seen: u32,
    pub at: At,
    pub call: Call,
    pub instant: u8,
    /// How many effects are carried out.
    pub done: u8,
}

/// A transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A side makes a call and carries out the first effects. The others are lost in
    /// a crash, and so are the messages unless all effects were carried out.
    Make { at: At, call: Call, effects: u8 },
    /// A replica of the provider looks.
    Look { replica: u8, at: At, call: Call },
    /// A replica carries out its next effect.
    Apply { replica: u8 },
    /// A replica loses the rest of its step.
    Crash { replica: u8 },
    /// The controller manager signs what is approved.
    Sign,
    /// Liqo binds the groups of the NamespaceMaps at the provider.
    Offload,
    /// Slices and renewals are carried to a side.
    Replicate { to: Side, effects: u8 },
    /// Time passes.
    Wait,
    /// The hostile cluster does something.
    Do(Deed),
    /// The planted fault.
    Plant(Plant),
}
