//! What a run has made of a certificate, for people and for programs.

use liqo_auth::model::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    commands::status::renewed,
    home::Home,
    overview::{Certificate, Peering, Renewal, Role},
};

/// What a run has made of a certificate.
pub(super) struct Outcome<'p> {
    pub(super) peering: &'p Peering,
    pub(super) certificate: &'p Certificate,
    /// Whether this run has renewed it.
    pub(super) is_new: bool,
    pub(super) now: Timestamp,
}

impl Outcome<'_> {
    /// For people: that it was renewed, when it will be, or why it is not.
    pub(super) fn said(&self) -> String {
        let until = &self.certificate.until;
        if self.is_new {
            return format!("renewed, until {until}");
        }
        if let Some(why) = self.refused() {
            return format!("until {until}, refused: {why}");
        }
        match &self.certificate.renewal {
            Renewal::NotBefore(due) => {
                let left = renewed(Some(self.certificate), self.now);
                format!("until {until}, renewal from {due} on ({left})")
            }
            Renewal::Awaited => format!("until {until}, the next one is awaited"),
            Renewal::ByHand => {
                format!("until {until}, not renewed: an administrator has made the kubeconfig")
            }
            _ if self.is_due() => format!("until {until}, due now"),
            _ => format!("until {until}"),
        }
    }

    /// The same for programs.
    pub(super) fn told(&self, home: &Home) -> Value {
        let renewal = match &self.certificate.renewal {
            _ if self.is_new => "renewed",
            _ if self.refused().is_some() => "refused",
            Renewal::NotBefore(_) => "notDue",
            Renewal::Awaited => "awaited",
            Renewal::ByHand => "byHand",
            _ if self.is_due() => "due",
            _ => "none",
        };
        json!(Told {
            cluster_id: home.cluster_id().as_str(),
            peer: &self.peering.peer,
            role: self.peering.role,
            slice: self.peering.slice_of(self.certificate),
            renewal,
            certificate: self.certificate,
        })
    }

    /// Why this side does not take the next one.
    fn refused(&self) -> Option<String> {
        let refusal = self.peering.refusal_of(self.certificate);
        let refusal = refusal.or(self.certificate.refused.as_deref())?;
        Some(refusal.refused.as_ref()?.error.to_string())
    }

    fn is_due(&self) -> bool {
        self.peering.owes(self.certificate, self.now)
    }
}

/// A certificate for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'p> {
    #[serde(rename = "clusterID")]
    cluster_id: &'p str,
    peer: &'p str,
    /// The role of the peer.
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    slice: Option<&'p str>,
    renewal: &'static str,
    certificate: &'p Certificate,
}
