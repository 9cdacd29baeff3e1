//! An inspection of files: what each report follows from.

use liqo_auth::{
    crypto::{Certificate, KeyPairError, Nonce, PublicKey},
    model::{ClusterId, Timestamp},
    policy::Policy,
};

use crate::{
    age, cluster::Cluster, companions::Companions, consumer_name, paragraph::paragraph,
    report::Report,
};

/// What the reports follow from, beside the files. `F` is why a cluster cannot judge.
pub struct Inspection<'a, F> {
    /// What a peer may send.
    pub policy: &'a Policy,
    /// The cluster that an object must belong to, if it is not the one that the object names.
    pub remote_cluster_id: Option<&'a ClusterId>,
    /// The nonce that a Tenant must be signed with, if one is given.
    pub nonce: &'a dyn Fn() -> Result<Option<Nonce>, F>,
    /// The cluster as which a person inspects, if there is one.
    pub cluster: Option<&'a dyn Cluster<F>>,
    /// Reads a private key in PKCS #8. Returns its public key.
    pub public_key: fn(&[u8]) -> Result<PublicKey, KeyPairError>,
    /// What the files say about each other.
    pub companions: Companions,
    /// The present time.
    pub now: Timestamp,
}

impl<F> Inspection<'_, F> {
    /// The cluster as which a person inspects, unless it is this one.
    pub(crate) fn peer_of(&self, other: &ClusterId) -> Option<&dyn Cluster<F>> {
        self.cluster.filter(|cluster| cluster.id() != other)
    }

    /// Notes in the report that every provider refuses a consumer of this name, if so.
    pub(crate) fn judge_name(&self, consumer: &ClusterId, report: &mut Report) -> bool {
        let refusal = consumer_name::refusal(consumer, self.policy, self.now);
        if let Some(error) = &refusal {
            report.wrong(format!("the consumer {consumer}: {}", paragraph(error)));
        }
        refusal.is_none()
    }

    /// The dates of a certificate, for people.
    pub(crate) fn dates(&self, certificate: &Certificate) -> String {
        let (from, until) = (certificate.not_before, certificate.not_after);
        let state = if self.now > until {
            format!("expired {} ago", age(self.now.since(until)))
        } else if self.now < from {
            format!("begins in {}", age(from.since(self.now)))
        } else {
            format!("ends in {}", age(until.since(self.now)))
        };
        format!("{from} to {until} ({state})")
    }
}
