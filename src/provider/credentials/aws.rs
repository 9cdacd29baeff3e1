//! Providers on EKS: an AWS user in place of a certificate.
//!
//! EKS signs no client certificates for users. What it knows are IAM users,
//! each mapped to a Kubernetes user and its groups. The handshake is the same;
//! only what the peer is given after it differs.

use super::credential::Credential;
use crate::{
    audit::{Decision, Event},
    crypto::{BoxError, PublicKey, RequestId, Subject},
    error::{ApiMisuse, Backend, Error, PolicyRefusal, shortened},
    machine::{Awaited, Step},
    model::{AwsConfig, ClusterId, ObjectRef, Resource, Tenant},
    provider::{Provider, observed::Observed, rights::condition},
    verify::{self, VerifiedTenant},
};

/// Makes AWS users for peers: an IAM client of the embedder's, or a person.
///
/// For a request it makes an IAM user with an access key, and maps it to the
/// request's user and group (in EKS: the ConfigMap `aws-auth`, or an access
/// entry). It is called only for requests whose proof is on record. It may be
/// called again for the same [`RequestId`], after a crash or while the answer
/// is pending: one that answers from what it has for that ID never makes two
/// keys. It cannot ask AWS instead, which shows the secret part of a key once.
///
/// The form of what it gives is checked; that the user is mapped to nothing but
/// the request's user and group is not, and cannot be here. A user that two
/// peers share is the same user to the API server.
///
/// Nothing is asked of it in order to end a key: which ones are to be deleted is
/// in [`Wait::awaiting`](crate::machine::Wait::awaiting), as
/// [`Awaited::AwsRevocation`].
///
/// Source: Liqo `identitymanager.iamIdentityProvider`.
///
/// # Examples
/// ```
/// use std::{collections::BTreeMap, sync::Mutex};
/// use liqo_auth::{
///     crypto::BoxError,
///     model::AwsConfig,
///     provider::{AwsAnswer, AwsIdentities, AwsIdentityRequest, RequestId},
/// };
///
/// /// What a person has entered, by the request.
/// #[derive(Default)]
/// struct Entered(Mutex<BTreeMap<RequestId, AwsConfig>>);
///
/// impl AwsIdentities for Entered {
///     fn identity(&self, request: &AwsIdentityRequest) -> Result<AwsAnswer, BoxError> {
///         let entered = self.0.lock().map_err(|_| "another thread has failed")?;
///         Ok(match entered.get(&request.id) {
///             Some(config) => AwsAnswer::Ready(config.clone()),
///             None => AwsAnswer::Pending,
///         })
///     }
/// }
/// ```
pub trait AwsIdentities: Send + Sync {
    /// Gives the user with its access key, or says when or why not.
    ///
    /// # Errors
    /// Whatever keeps it from an answer; the step fails and can be tried again.
    fn identity(&self, request: &AwsIdentityRequest) -> Result<AwsAnswer, BoxError>;
}

/// The answer to a request for an AWS user.
#[derive(Debug, Clone)]
pub enum AwsAnswer {
    /// The user and its access key, mapped to the request's user and group.
    Ready(AwsConfig),
    /// It will come: look again when it has.
    Pending,
    /// It will not come, for this reason.
    Denied(String),
}

/// A request for an AWS user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AwsIdentityRequest {
    /// Names the request: the same as long as nothing about it changes, and
    /// another one for the next key of the same peer.
    pub id: RequestId,
    /// The peer that it is for.
    pub peer: ClusterId,
    /// The peer's resource slice that it is for; none for its control plane.
    pub slice: Option<String>,
    /// Whom the IAM user has to be mapped to: the common name is the Kubernetes
    /// user, the organization its only group.
    pub subject: Subject,
}

/// The request is verified, its proof is on record, and there is no AWS user
/// for it.
#[derive(Clone)]
pub struct NeedsAwsIdentity<'o> {
    provider: Provider,
    observed: Observed<'o>,
    tenant: &'o Tenant,
    verified: VerifiedTenant,
    request: AwsIdentityRequest,
}

impl<'o> NeedsAwsIdentity<'o> {
    pub(in crate::provider) fn new(
        provider: &Provider,
        observed: Observed<'o>,
        tenant: &'o Tenant,
        verified: VerifiedTenant,
    ) -> Self {
        let earlier = observed
            .record
            .as_ref()
            .map_or(0, |(_, record)| record.aws.held.count());
        let request = AwsIdentityRequest {
            id: RequestId::of_aws_user(verified.csr(), &tenant.metadata.uid, earlier),
            peer: observed.peer.clone(),
            slice: None,
            subject: Subject::control_plane(&observed.peer),
        };
        Self {
            provider: provider.clone(),
            observed,
            tenant,
            verified,
            request,
        }
    }

    /// Whom an AWS user is wanted for.
    pub fn request(&self) -> &AwsIdentityRequest {
        &self.request
    }

    /// Goes on with the user that was made: keeps it, and the secret part of its
    /// key, in the sealed record, so that none has to be asked for again.
    ///
    /// # Errors
    /// [`ApiMisuse::AwsUser`] if a field has not the form that AWS gives it.
    pub fn continue_with(&self, config: &AwsConfig) -> Result<Step, Error> {
        check_answer(config)?;
        let mut step = Step::default();
        if let Some((_, record)) = &self.observed.record {
            let mut record = record.clone();
            let tightened = condition::tighten(&mut record, &self.observed.peer, self.tenant);
            step.events.extend(tightened);
            let uid = &self.tenant.metadata.uid;
            record.aws.take(self.verified.csr(), uid, config);
            step.effects
                .push(self.provider.write_record(&self.observed, &record));
        }
        let key = self.verified.public_key();
        step.events
            .push(event(&self.request, self.tenant.id(), key, config));
        Ok(step)
    }

    /// Says that there will be none.
    pub fn deny(&self, reason: &str) -> Step {
        denied(self.tenant.id(), reason)
    }

    pub(in crate::provider) fn ask(&self) -> Result<Step, Error> {
        self.provider.ask_aws(
            &self.request,
            |config| self.continue_with(config),
            |reason| self.deny(reason),
        )
    }
}

impl Provider {
    /// Asks whoever makes AWS users, if there is anyone, and goes on with the
    /// answer.
    pub(in crate::provider) fn ask_aws(
        &self,
        request: &AwsIdentityRequest,
        continue_with: impl FnOnce(&AwsConfig) -> Result<Step, Error>,
        deny: impl FnOnce(&str) -> Step,
    ) -> Result<Step, Error> {
        let pending = || Step::awaiting(Awaited::AwsIdentity(request.id));
        let Some(identities) = &self.0.aws else {
            return Ok(pending());
        };
        let answer = identities.identity(request);
        match answer.map_err(|error| Error::backend(Backend::AwsIdentities, &*error))? {
            AwsAnswer::Ready(config) => continue_with(&config),
            AwsAnswer::Pending => Ok(pending()),
            AwsAnswer::Denied(reason) => Ok(deny(&reason)),
        }
    }
}

/// That each field of the answer has its form.
pub(in crate::provider) fn check_answer(config: &AwsConfig) -> Result<(), Error> {
    let user = verify::aws_user(config);
    user.map(drop).map_err(|malformed| {
        let expected = malformed.expected;
        Error::new(ApiMisuse::AwsUser { expected }, None, "")
    })
}

/// That a key was given, for the audit.
pub(in crate::provider) fn event(
    request: &AwsIdentityRequest,
    about: ObjectRef,
    key: &PublicKey,
    config: &AwsConfig,
) -> Event {
    let given = Decision::AwsKeyGiven {
        request: request.id,
        access_key_id: config.aws_access_key_id.clone(),
    };
    Event::new(&request.peer, given)
        .about(about)
        .by_key(key.fingerprint())
}

/// That there is no AWS user for the request in this object.
pub(in crate::provider) fn denied(id: ObjectRef, reason: &str) -> Step {
    let reason = shortened(reason);
    Step::refuse(Error::new(
        PolicyRefusal::AwsDenied { reason },
        Some(id),
        "spec.csr",
    ))
}

/// The AWS user that was given for exactly this Tenant's request, if there is
/// one on record.
pub(in crate::provider) fn in_force(
    observed: &Observed<'_>,
    tenant: &Tenant,
    verified: &VerifiedTenant,
) -> Option<Credential> {
    let (_, record) = observed.record.as_ref()?;
    let uid = &tenant.metadata.uid;
    Credential::aws(record.aws.held.given_for(verified.csr(), uid)?)
}
