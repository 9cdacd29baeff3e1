//! How a fair run ends.

/// The end of a fair run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// How many rounds it took until nothing changed; none if that never happened.
    pub rounds: Option<u8>,
    /// The phases at the end, and the codes of refusals.
    pub provider: (&'static str, Option<&'static str>),
    pub consumer: (&'static str, Option<&'static str>),
    /// The provider's store at the end.
    pub store: u32,
    /// Whether both sides compute the same transcript, where both do.
    pub agree: Option<bool>,
    /// Whether the kubeconfig of each stored Identity has the consumer's own key.
    pub has_own_kubeconfigs: bool,
}
