//! One look at one home cluster, and the course of its request.

use super::{
    account::AccountForm,
    certificate::CertificateForm,
    claim::Claim,
    configuration::Configuration,
    observed::Observed,
    own_token::Admission,
    reply::{Reply, forbidden},
};
use crate::{
    crypto::Answer,
    error::{Backend, Error, Fault, PolicyRefusal},
    legacy::{HttpResponse, IdentityRequest, Outcome, record::Records},
    machine::{self, Awaited, Env},
    model::{ClusterId, ProtocolVersion},
    provider::{Claimant, PrincipalName, is_well_known},
    verify,
};

/// What a call at the foreign cluster changes.
pub(super) type Plan<'a> = machine::plan::Plan<Records<'a, Claim>>;

/// The configuration, and what was observed of one home cluster.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) observed: &'a Observed<'a>,
}

/// One form in which identities are given: a certificate or a service account.
pub(super) trait Form {
    /// Where the cluster ID stands.
    fn standing(&self) -> Standing;

    /// Records the claim to the cluster ID, with what belongs to it.
    fn claim(&self, plan: &mut Plan<'_>);

    /// Makes the identity and its rights. The response counts once nothing of
    /// them is missing.
    fn give(&self, plan: &mut Plan<'_>) -> Result<Option<HttpResponse>, Error>;
}

/// Where a cluster ID stands when a right token is shown for it.
pub(super) enum Standing {
    /// The cluster ID has an identity: no second one is given.
    Taken,
    /// The identity of this cluster ID is being deleted.
    Leaving,
    /// The claim is to be recorded.
    Unclaimed,
    /// The claim is on record: the identity is to be given.
    Claimed,
}

impl<'a> Look<'a> {
    /// A plan that changes nothing yet.
    pub(super) fn plan(&self) -> Plan<'a> {
        let seal = self.configuration.claim_seal(self.peer());
        Plan::new(Records::of(seal, self.observed.claim.as_ref()))
    }

    pub(super) fn peer(&self) -> &'a ClusterId {
        &self.observed.peer
    }

    /// Goes on with a request.
    ///
    /// # Errors
    /// What is wrong on this side. What the peer did wrong is in the reply.
    pub(super) fn reply(&self, request: &IdentityRequest, env: &Env) -> Result<Reply, Error> {
        let admission = self.admission(request.token_bytes(), env.now)?;
        if matches!(admission, Admission::No) {
            return Ok(Reply::wrong_token(request));
        }
        self.choose_form(request, &admission, env)
            .or_else(|error| refuse(request, error))
    }

    fn choose_form(
        &self,
        request: &IdentityRequest,
        admission: &Admission<'_>,
        env: &Env,
    ) -> Result<Reply, Error> {
        self.configuration.check_peer(self.peer())?;
        let form: &dyn Form = match (
            request.version,
            &self.configuration.settings.service_accounts,
        ) {
            (ProtocolVersion::V0_2, Some(namespace)) => {
                &AccountForm::of(*self, request, namespace)?
            }
            // Such a request is not read then.
            (ProtocolVersion::V0_2, None) => return Ok(Reply::second_identity(request)),
            (ProtocolVersion::V0_3 | ProtocolVersion::V0_4, _) => {
                &CertificateForm::of(*self, request, env.now)?
            }
        };
        self.advance(request, form, admission, env)
    }

    fn advance(
        &self,
        request: &IdentityRequest,
        form: &dyn Form,
        admission: &Admission<'_>,
        env: &Env,
    ) -> Result<Reply, Error> {
        let mut plan = self.plan();
        let standing = form.standing();
        match standing {
            Standing::Taken => return Ok(Reply::second_identity(request)),
            Standing::Leaving => return Ok(HttpResponse::unavailable().into()),
            Standing::Unclaimed if !self.names_are_free()? => {
                plan.await_for(Awaited::Names);
                return Ok(Reply::later(plan.finish()));
            }
            Standing::Unclaimed | Standing::Claimed => {}
        }
        if let Admission::Once(secret) = admission {
            // In a step of its own, before anything else: another home cluster
            // that shows the same token at the same time must leave no claim.
            let configuration = self.configuration;
            let next = configuration.next_token(self.peer(), request.token_bytes(), env);
            plan.put(Some(secret), next);
            return Ok(Reply::later(plan.finish()));
        }
        let response = match standing {
            Standing::Claimed => form.give(&mut plan)?,
            _ => {
                form.claim(&mut plan);
                None
            }
        };
        let step = plan.finish();
        Ok(match response.filter(|_| step.is_settled()) {
            Some(response) => Reply::issued(request, response),
            None => Reply::later(step),
        })
    }

    /// Records the claim to the cluster ID, in the place of an earlier one.
    pub(super) fn record_claim(&self, request: &IdentityRequest, csr: &[u8], plan: &mut Plan<'_>) {
        let token = self.configuration.token_mac(request.token_bytes());
        let cluster = self.observed.foreign_cluster;
        let uid = cluster.map(|cluster| cluster.metadata.uid.clone());
        let claim = Claim::new(request.version, csr, &token, uid.unwrap_or_default());
        let record = &mut plan.records.peer;
        record.change_or_make(|| claim.clone(), |record| record.clone_from(&claim));
    }

    /// That the cluster ID belongs to no principal (rule 7); false while the
    /// look-up of names has not answered.
    fn names_are_free(&self) -> Result<bool, Error> {
        let peer = self.peer();
        for name in [
            PrincipalName::user(peer.as_str()),
            PrincipalName::group(peer.as_str()),
        ] {
            let principals = &self.configuration.settings.principals;
            let taken = principals.is_taken(&name, Claimant::ControlPlane(peer));
            match taken.map_err(|error| Error::backend(Backend::Principals, error))? {
                Answer::Ready(false) => {}
                Answer::Pending => return Ok(false),
                Answer::Ready(true) | Answer::Denied(_) => return Err(name_taken(peer)),
            }
        }
        Ok(true)
    }
}

impl Configuration {
    /// That a home cluster may have this ID at all.
    pub(super) fn check_peer(&self, peer: &ClusterId) -> Result<(), Error> {
        verify::name_length(peer, &self.settings.policy)?;
        // A home cluster of this cluster's own name would have the rights that
        // others give to this cluster.
        if *peer == self.cluster_id || is_well_known(peer.as_str()) {
            return Err(name_taken(peer));
        }
        Ok(())
    }
}

/// The peer's faults are answered; this side's are not told to the peer.
fn refuse(request: &IdentityRequest, error: Error) -> Result<Reply, Error> {
    let response = match error.fault() {
        Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_) => return Err(error),
        Fault::PeerMisbehaved(_) | Fault::PeerIncompatible(_) => {
            HttpResponse::error(400, &error.to_string())
        }
        Fault::Policy(_) => forbidden(request.version),
    };
    let peer = request.peer.clone();
    Ok(Reply::of(response, Outcome::Refused { peer, error }))
}

fn name_taken(peer: &ClusterId) -> Error {
    let name = peer.to_string();
    Error::new(PolicyRefusal::NameTaken { name }, None, "clusterID")
}
