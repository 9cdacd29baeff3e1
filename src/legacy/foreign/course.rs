//! The steps that answer a home cluster's request.

use super::{
    account::AccountForm,
    certificate::CertificateForm,
    look::{ClaimState, Form, Look},
    own_token::Admission,
    reply::{Reply, forbidden},
};
use crate::{
    error::{Error, Fault},
    legacy::{HttpResponse, IdentityRequest, Outcome},
    machine::{Awaited, Env},
    model::ProtocolVersion,
};

impl Look<'_> {
    /// Makes the next step for a request.
    ///
    /// # Errors
    /// A fault on this side. A fault of the peer is in the reply.
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
            // `Foreign::read` already refuses such a request.
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
        let claim_state = form.claim_state();
        match claim_state {
            ClaimState::Taken => return Ok(Reply::second_identity(request)),
            ClaimState::Leaving => return Ok(HttpResponse::unavailable().into()),
            ClaimState::Unclaimed if !self.names_are_free()? => {
                plan.await_for(Awaited::Names);
                return Ok(Reply::later(plan.finish()));
            }
            ClaimState::Unclaimed | ClaimState::Claimed => {}
        }
        if let Admission::Once(secret) = admission {
            // The token is replaced first, in a step of its own. Another home cluster
            // that shows the same token at the same time must not leave a claim.
            let configuration = self.configuration;
            let next = configuration.next_token(self.peer(), request.token_bytes(), env);
            plan.put(Some(secret), next);
            return Ok(Reply::later(plan.finish()));
        }
        let response = match claim_state {
            ClaimState::Claimed => form.give(&mut plan)?,
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
}

/// Turns a fault of the peer into a response. A fault on this side stays an error,
/// so that the peer learns nothing about it.
fn refuse(request: &IdentityRequest, error: Error) -> Result<Reply, Error> {
    let error = error.of_the_peer()?;
    let response = match error.fault() {
        Fault::Policy(_) => forbidden(request.version),
        _ => HttpResponse::error(400, &error.to_string()),
    };
    let peer = request.peer.clone();
    Ok(Reply::of(response, Outcome::Refused { peer, error }))
}
