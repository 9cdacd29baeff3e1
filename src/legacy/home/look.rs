//! The observed objects of one foreign cluster, and the functions that the other
//! modules share.

use std::sync::Arc;

use super::{configuration::Configuration, observed::Observed, record::HomeRecord};
use crate::{
    assurance::peer_version::TokenForm,
    crypto::SigningKey,
    error::{Backend, Error, PolicyRefusal},
    machine,
    model::{AuthStatus, ClusterId, ProtocolVersion, Resource, Timestamp},
    policy::{Forms, Policy},
};

/// The plan of a call to the home cluster.
pub(super) type Plan<'a> = machine::plan::Plan<machine::record::OneRecord<'a, HomeRecord>>;

/// The configuration, and the observed objects of one foreign cluster.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) observed: &'a Observed<'a>,
    pub(super) now: Timestamp,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        let seal = self.configuration.record_seal(self.peer());
        seal.plan(self.observed.record.as_ref())
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    pub(super) fn policy(&self) -> &'a Policy {
        &self.configuration.settings.policy
    }

    /// Writes the outcome to the ForeignCluster, if it differs.
    pub(super) fn set_status(&self, outcome: AuthStatus, plan: &mut Plan<'_>) {
        if let Some(cluster) = self.observed.foreign_cluster {
            // If the policy refuses the peer's form, the status uses the form of
            // 0.4.
            let version = self.version().ok().flatten().flatten();
            let version = version.unwrap_or(ProtocolVersion::V0_4);
            plan.edit(cluster, |cluster| {
                if cluster.status.auth_status() != outcome {
                    cluster.status.set_auth_status(outcome, version, self.now);
                }
            });
        }
    }

    /// This cluster's own key, if the key store has it already.
    pub(super) fn find_key(&self) -> Result<Option<Arc<dyn SigningKey>>, Error> {
        let found = self.configuration.keys.find(self.peer());
        let found = found.map_err(|error| Error::backend(Backend::Keys, error))?;
        Ok(found.at_once().ok())
    }

    /// The form of the request, if it is known. The form is either configured, or
    /// shown by the peer. The inner `None` is a form that 0.3 and all later versions
    /// can read.
    #[expect(clippy::option_option, reason = "unknown, and a form for several")]
    pub(super) fn version(&self) -> Result<Option<Option<ProtocolVersion>>, Error> {
        let configured = self.configuration.settings.peer_versions.get(self.peer());
        let shown = self.observed.foreign_cluster.and_then(TokenForm::shown_on);
        let version = match (configured, shown) {
            (Some(version), _) => Some(*version),
            (None, None) => return Ok(None),
            (None, Some(TokenForm::Accounts)) => Some(ProtocolVersion::V0_2),
            (None, Some(TokenForm::Certificates)) => None,
        };
        if let Some(found @ ProtocolVersion::V0_2) = version
            && self.policy().forms == Forms::Canonical
        {
            let id = self.observed.foreign_cluster.map(Resource::id);
            let refusal = PolicyRefusal::TokenProtocolVersion { found };
            return Err(Error::new(refusal, id, ""));
        }
        Ok(Some(version))
    }
}
