//! What has happened on the way to a state, as far as an invariant needs it, and
//! the judgement on each transition.

use std::collections::BTreeSet;

use liqo_auth::machine::Holder;
use sha2::{Digest, Sha256};

use crate::{
    cast::{Cast, LIFETIME, Name},
    facts::{Claim, PeerFacts},
    instants::INSTANTS,
    witness::Asked,
};

/// What has happened, by peer of the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    peers: [PeerGhost; 2],
    pub consumer: ConsumerGhost,
}

/// What has happened with the consumers' keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ConsumerGhost {
    /// The cluster's key has signed a nonce of the hostile provider, or was in its kubeconfig,
    /// before this provider was a consumer as well.
    pub began_with_cluster_key: bool,
    /// The administrator has requested the slice.
    pub has_requested_slice: bool,
}

/// What has happened with one peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct PeerGhost {
    /// The administrator has invited the peer, and has not ended the peering since.
    pub invited: bool,
    /// A crash cut an end short. The administrator may repeat it or not.
    pub is_cut_short: bool,
    /// The nonces that the provider made, the latest last.
    pub offers: Vec<Vec<u8>>,
    /// Tenants, and the nonces that they were let in by.
    pub served: BTreeSet<(String, Vec<u8>)>,
    /// The nonce and the request of the latest proof, while the nonce may serve again.
    pub again: Option<(Vec<u8>, String)>,
    /// The condition that the administrator has set.
    pub condition: u8,
    /// What was signed: what it was signed for, and the instant.
    pub signed: Vec<([u8; 32], u8)>,
}

/// An invariant of transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    ProvenKeyAndSubject,
    OneCertificate,
    Invitation,
    NonceServesOnce,
    NoRightsAfterEnd,
    ConditionByAdministrator,
    SignsOwnNonces,
    SignsOwnRequests,
    StoresVerified,
    KeepsClusterKey,
}

/// The invariants that were broken on the way: a bit for each [`Rule`].
pub type Broken = u16;

impl Rule {
    pub const fn bit(self) -> Broken {
        1 << self as u16
    }
}

/// An administrator's word, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Invited,
    Ended,
    EndedForGood,
    Condition(u8),
}

/// A transition at the provider, with what the signer was asked.
pub struct Transition<'a> {
    pub cast: &'a Cast,
    pub peer: Name,
    pub before: &'a PeerFacts,
    pub after: &'a PeerFacts,
    /// The word of the administrator, if there was one, and whether all of it was
    /// carried out.
    pub word: Option<(Word, bool)>,
    pub asked: &'a [Asked],
    /// The Tenants in the air.
    pub claims: &'a [Claim],
    pub instant: u8,
    /// Whether the effects may be older than the administrator's word.
    pub may_be_stale: bool,
}

impl Ghost {
    pub fn of(&self, peer: Name) -> &PeerGhost {
        &self.peers[index(peer)]
    }

    /// Takes note of a transition, and says which invariants it breaks.
    pub fn observe(&mut self, transition: &Transition<'_>) -> Broken {
        self.peers[index(transition.peer)].observe(transition)
    }
}

fn index(peer: Name) -> usize {
    usize::from(peer == Name::Hostile)
}

impl PeerGhost {
    fn observe(&mut self, transition: &Transition<'_>) -> Broken {
        let Transition { before, after, .. } = transition;
        // A milder word counts from its first effect on, a stricter one after its last.
        match transition.word {
            // Nobody is invited while the Tenant is being deleted.
            Some((Word::Invited, whole)) if !before.is_ending => {
                self.invited |= whole || after.has_offer;
            }
            // What has begun by an invitation may begin again.
            Some((Word::Ended, true)) => self.invited = self.again.is_some(),
            Some((Word::EndedForGood, whole)) => {
                self.again = None;
                self.invited &= !whole;
                self.is_cut_short |= !whole;
            }
            Some((Word::Ended, false)) => self.is_cut_short = true,
            Some((Word::Condition(condition), whole)) if whole || condition < self.condition => {
                self.condition = condition;
            }
            _ => {}
        }
        if matches!(
            transition.word,
            Some((Word::Invited, _) | (Word::Ended | Word::EndedForGood, true))
        ) {
            self.is_cut_short = false;
        }
        if self.condition == DRAINED || after.condition == DRAINED {
            self.again = None;
        }
        let mut broken = 0;
        if after.nonce != before.nonce
            && let Some(nonce) = &after.nonce
            && self.offers.last() != Some(nonce)
        {
            self.offers.push(nonce.clone());
        }
        let grants = after.bindings > before.bindings;
        let offers = after.has_offer && !before.has_offer;
        let asks = transition.asked.iter().any(|asked| asked.is_new);
        let is_invitation = matches!(transition.word, Some((Word::Invited, _)));
        if !self.invited && !is_invitation && !transition.may_be_stale && (grants || offers || asks)
        {
            broken |= Rule::Invitation.bit();
        }
        if self.condition == DRAINED && !transition.may_be_stale && grants {
            broken |= Rule::NoRightsAfterEnd.bit();
        }
        if after.has_record && after.condition < self.condition {
            broken |= Rule::ConditionByAdministrator.bit();
        }
        broken |= self.observe_proof(transition);
        for asked in transition.asked {
            broken |= self.observe_signature(asked, transition);
        }
        broken
    }

    fn observe_proof(&mut self, transition: &Transition<'_>) -> Broken {
        let Some(proof) = &transition.after.proof else {
            return 0;
        };
        if transition.before.proof.as_ref() == Some(proof) {
            return 0;
        }
        let served = (proof.tenant.clone(), proof.nonce.clone());
        if !self.served.insert(served) {
            return 0;
        }
        let times = self
            .served
            .iter()
            .filter(|(_, nonce)| *nonce == proof.nonce);
        let is_first = times.count() == 1;
        let is_latest = self.offers.last() == Some(&proof.nonce);
        let proven = (proof.nonce.clone(), proof.csr.clone());
        let serves_again = self.again.as_ref() == Some(&proven);
        if (is_first || serves_again) && is_latest {
            self.again = transition.cast.peer_again.then_some(proven);
            0
        } else {
            Rule::NonceServesOnce.bit()
        }
    }

    fn observe_signature(&mut self, asked: &Asked, transition: &Transition<'_>) -> Broken {
        let mut broken = 0;
        let (cast, leaf) = (transition.cast, asked.chain.leaf());
        let peer = cast.id(transition.peer);
        let subject = asked.holder.subject(peer);
        let nonces = self.offers.iter().map(|nonce| crate::base64(nonce));
        let tenants = || transition.claims.iter().chain(&transition.after.tenants);
        let is_proven = nonces
            .into_iter()
            .any(|nonce| tenants().any(|claim| claim.proves(peer, &asked.key, nonce.as_bytes())));
        let is_for_peer = asked.peer == *peer
            && asked.subject == subject
            && leaf.subject_is(&subject)
            && leaf.spki_der == asked.key.spki_der();
        if !is_proven || !is_for_peer {
            broken |= Rule::ProvenKeyAndSubject.bit();
        }
        if asked.is_new {
            broken |= self.observe_new_signature(asked, transition);
        }
        broken
    }

    /// A request has one certificate at a time, until that one is due.
    fn observe_new_signature(&mut self, asked: &Asked, transition: &Transition<'_>) -> Broken {
        // What a control plane's request is about is its proof; a slice's is the slice.
        let about = match &asked.holder {
            Holder::Slice(_) => format!("{:?}", transition.before.slices),
            _ => format!("{:?}", transition.before.proof),
        };
        let mut basis = Sha256::new();
        basis.update(format!("{:?}{about}", asked.holder));
        basis.update(asked.csr);
        let basis: [u8; 32] = basis.finalize().into();
        let due = |instant: u8| INSTANTS[usize::from(instant)] + LIFETIME.as_secs() / 3 * 2;
        let now = INSTANTS[usize::from(transition.instant)];
        let is_second = self
            .signed
            .iter()
            .any(|(earlier, instant)| *earlier == basis && now < due(*instant));
        self.signed.push((basis, transition.instant));
        if is_second {
            Rule::OneCertificate.bit()
        } else {
            0
        }
    }
}

pub const DRAINED: u8 = 2;
