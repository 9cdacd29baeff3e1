//! What a run that renews has left: the certificates that are due, and what is refused.

use liqo_auth::{
    machine::Remedy,
    model::{ClusterId, Timestamp},
};

use super::doctor;
use crate::{
    failure::{Failure, Result},
    home::Home,
    overview::Peering,
    peering::provider_side::unsigned,
};

/// What a run has left in peerings.
#[derive(Default)]
pub(super) struct Left {
    /// The certificates that are due, and were not renewed.
    names: Vec<String>,
    /// The first thing that is refused.
    refused: Option<Failure>,
    /// What the next certificate waits for on this side, or what this side has lost of it.
    waits: Option<String>,
}

impl Left {
    pub(super) fn of(home: &Home, peering: &Peering, now: Timestamp) -> Self {
        let certificates = peering.certificates();
        let owed = certificates.filter(|(_, certificate)| peering.owes(certificate, now));
        let names: Vec<String> = owed.map(|(name, _)| name).collect();
        Self {
            refused: refused(peering),
            waits: waits(home, peering, !names.is_empty())
                .or_else(|| lost(home, peering, now))
                .or_else(|| doctor::kept::of_peering(home, peering).map(sentence)),
            names,
        }
    }

    /// The slices of a provider that a run finds lost, before it deletes what is left of them.
    pub(super) fn of_lost_slices(home: &Home, provider: &ClusterId) -> Self {
        let lost = match home.is_live() {
            true => Vec::new(),
            false => doctor::lost::slices(home, provider),
        };
        let lost: Vec<String> = lost.into_iter().map(sentence).collect();
        Self {
            waits: (!lost.is_empty()).then(|| lost.join(" ")),
            ..Self::default()
        }
    }

    /// What waits for this.
    pub(super) fn waiting(why: String) -> Self {
        Self {
            waits: Some(why),
            ..Self::default()
        }
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        Self {
            names: self.names,
            refused: self.refused.or(other.refused),
            waits: self.waits.or(other.waits),
        }
    }

    /// Fails if something is left.
    pub(super) fn judge(self) -> Result<()> {
        let due =
            (!self.names.is_empty()).then(|| format!("not renewed: {}", self.names.join(", ")));
        let waits = self.waits.map(Failure::waiting);
        match (due, self.refused.or(waits)) {
            (None, None) => Ok(()),
            (None, Some(why)) => Err(why),
            (Some(due), None) => Err(Failure::waiting(due)),
            (Some(due), Some(why)) => Err(Failure::new(why.code, format!("{due}. {why}"))),
        }
    }
}

/// What is refused of the peering, with the way out.
fn refused(peering: &Peering) -> Option<Failure> {
    let peer = &peering.peer;
    let renewals = peering.certificates();
    let mut renewals = renewals.filter_map(|(_, certificate)| certificate.refused.as_deref());
    let refusal = peering.refused_answers().next().or(renewals.next())?;
    let error = &refusal.refused.as_ref()?.error;
    Some(Failure::with_way_out(peer, error, &refusal.way_out))
}

/// The Identity that this side has lost: it has no certificate to renew.
fn lost(home: &Home, peering: &Peering, now: Timestamp) -> Option<String> {
    doctor::lost::identity(home, peering, now)?
        .ok()
        .map(sentence)
}

fn sentence(finding: doctor::Finding) -> String {
    format!("{}. {}", finding.what, finding.remedy)
}

/// What the next certificate waits for on this side. A new peer may wait for its approval.
fn waits(home: &Home, peering: &Peering, is_due: bool) -> Option<String> {
    let peer: ClusterId = peering.peer.parse().ok()?;
    peering.waits_for.iter().find_map(|waits| {
        if waits.is_for_the_signer() {
            return Some(unsigned(home, &peer).to_string());
        }
        let command = waits.command.as_ref()?;
        let is_for_approval = waits.remedy == Some(Remedy::Approve);
        (is_due && is_for_approval)
            .then(|| format!("{peer} waits for its approval. The command is {command}."))
    })
}
