//! A key that counts as pinned while its Tenant is not stored yet.

use core::time::Duration;

use super::{Offer, Record};
use crate::{
    crypto::{Nonce, PublicKey},
    model::Timestamp,
};

impl Record {
    /// Pins a first key for a Tenant that may still be refused by others. `offered` is the nonce
    /// that its key has signed, if it is given back with the key.
    pub(crate) fn reserve(&mut self, offered: Option<&Nonce>, now: Timestamp) {
        self.reserved_until = Some((now + RESERVATION).unix());
        self.offered = offered.map(Offer::of);
    }

    /// The Tenant is stored: its key is pinned for good, and its nonce is used.
    pub(crate) fn confirm(&mut self) {
        self.reserved_until = None;
        let is_used = |offer: &mut Offer| self.used.iter().any(|used| offer.is(used));
        self.offered.take_if(is_used);
    }

    /// Whether the key that was pinned for a Tenant is to be given back, since the Tenant is not
    /// stored: the same key claims again, or the time is over.
    pub(crate) fn is_lapsed(&self, claimed: Option<&[u8]>, now: Timestamp) -> bool {
        let pinned = self.public_key.as_ref().map(PublicKey::spki_der);
        self.reserved_until
            .is_some_and(|until| until <= now.unix() || claimed == pinned)
    }

    /// As it was before the key was pinned, and its nonce used.
    pub(crate) fn give_back(&mut self) {
        if let Some(proof) = self.proof.take() {
            self.forget_use(&proof.nonce);
        }
        self.public_key = None;
        self.other_name = None;
        self.reserved_until = None;
    }
}

/// An API server stores an object within this time after its review.
const RESERVATION: Duration = Duration::from_secs(60);
