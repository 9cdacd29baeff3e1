//! The observed objects of one home cluster, and the functions that both forms of
//! identity share.

use super::{claim::Claim, configuration::Configuration, observed::Observed};
use crate::{
    error::{Error, PolicyRefusal},
    legacy::{HttpResponse, IdentityRequest},
    machine,
    model::ClusterId,
    provider::{are_free_for, is_well_known},
    verify,
};

/// The plan of a call to the foreign cluster.
pub(super) type Plan<'a> = machine::plan::Plan<machine::record::OneRecord<'a, Claim>>;

/// The configuration, and the observed objects of one home cluster.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) observed: &'a Observed<'a>,
}

/// A form of identity: a certificate or a service account.
pub(super) trait Form {
    /// The state of the cluster ID.
    fn claim_state(&self) -> ClaimState;

    /// Records the claim to the cluster ID, and creates the objects that belong to
    /// it.
    fn claim(&self, plan: &mut Plan<'_>);

    /// Creates the identity and its rights. The response is sent only if no effect
    /// is left to apply.
    fn give(&self, plan: &mut Plan<'_>) -> Result<Option<HttpResponse>, Error>;
}

/// The state of a cluster ID. The request for it has shown a right token.
pub(super) enum ClaimState {
    /// The cluster ID has an identity. It does not get a second one.
    Taken,
    /// The identity of this cluster ID is being deleted.
    Leaving,
    /// The claim must be recorded.
    Unclaimed,
    /// The claim is recorded. The identity must be given.
    Claimed,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        let seal = self.configuration.claim_seal(self.peer());
        seal.plan(self.observed.claim.as_ref())
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    /// Records the claim to the cluster ID. It replaces an earlier claim.
    pub(super) fn record_claim(&self, request: &IdentityRequest, csr: &[u8], plan: &mut Plan<'_>) {
        let token = self.configuration.token_mac(request.token_bytes());
        let cluster = self.observed.foreign_cluster;
        let uid = cluster.map(|cluster| cluster.metadata.uid.clone());
        let claim = Claim {
            version: request.version,
            csr: csr.into(),
            token: token.as_slice().into(),
            account: String::new(),
            foreign_cluster: uid.unwrap_or_default(),
            is_delivered: false,
        };
        let record = &mut plan.records.peer;
        record.change_or_make(|| claim.clone(), |record| record.clone_from(&claim));
    }

    /// Checks that no principal has the cluster ID as its name (rule 7). False while
    /// the look-up of names has not answered.
    pub(super) fn names_are_free(&self) -> Result<bool, Error> {
        match are_free_for(&self.configuration.settings.principals, self.peer())? {
            None => Ok(false),
            Some(true) => Ok(true),
            Some(false) => Err(name_taken(self.peer())),
        }
    }
}

impl Configuration {
    /// Checks that a home cluster may have this ID.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        verify::name_length(peer, &self.settings.policy)?;
        // If a home cluster had this cluster's own name, it would get the rights
        // that others grant to this cluster.
        if *peer == self.cluster_id || is_well_known(peer.as_str()) {
            return Err(name_taken(peer));
        }
        Ok(())
    }
}

fn name_taken(peer: &ClusterId) -> Error {
    let name = peer.to_string();
    Error::new(PolicyRefusal::NameTaken { name }, None, "clusterID")
}
