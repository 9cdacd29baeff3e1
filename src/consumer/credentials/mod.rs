//! The identity from the provider: its verification, its storage, its renewal and
//! its kubeconfig. In its place, a kubeconfig that an administrator has made.

pub(super) mod by_hand;
pub(super) mod holder_context;
pub(super) mod identity_state;
pub(super) mod kubeconfig;
pub(super) mod offered;
pub(super) mod renewal;
pub(super) mod stored_identity;
