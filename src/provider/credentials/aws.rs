//! Providers on EKS: an AWS user in place of a certificate.
//!
//! EKS signs no client certificates for users. What it knows are IAM users,
//! each mapped to a Kubernetes user and its groups. The handshake is the same;
//! only what the holder is given after it differs.

use super::{Credential, Holding};
use crate::{
    audit::{Decision, Event},
    crypto::{Answer, BoxError, RequestId, Subject},
    error::{ApiMisuse, Backend, Error, PolicyRefusal, shortened},
    machine::{Awaited, Holder},
    model::{AwsConfig, ClusterId},
    provider::record::Plan,
    verify,
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
///     crypto::{Answer, BoxError, RequestId},
///     model::AwsConfig,
///     provider::{AwsIdentities, AwsIdentityRequest},
/// };
///
/// /// What a person has entered, by the request.
/// #[derive(Default)]
/// struct Entered(Mutex<BTreeMap<RequestId, AwsConfig>>);
///
/// impl AwsIdentities for Entered {
///     fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
///         let entered = self.0.lock().map_err(|_| "another thread has failed")?;
///         Ok(match entered.get(&request.id) {
///             Some(config) => Answer::Ready(config.clone()),
///             None => Answer::Pending,
///         })
///     }
/// }
/// ```
pub trait AwsIdentities: Send + Sync {
    /// Gives the user with its access key, or says when or why not.
    ///
    /// # Errors
    /// Whatever keeps it from an answer; the step fails and can be tried again.
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError>;
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
    /// Whose AWS user it is to be: the peer's control plane's, or that of one of
    /// its slices.
    pub holder: Holder,
    /// Whom the IAM user has to be mapped to: the common name is the Kubernetes
    /// user, the organization its only group.
    pub subject: Subject,
}

/// The AWS user that was given for exactly this holder's request, if there is
/// one on record.
pub(super) fn in_force(holding: &Holding<'_>) -> Option<Credential> {
    let held = &holding.held?.aws;
    Credential::aws(held.given_for(holding.csr, holding.uid)?)
}

/// The request for the holder's next AWS user.
pub(super) fn request(holding: &Holding<'_>) -> AwsIdentityRequest {
    let earlier = holding.held.map_or(0, |held| held.aws.count());
    AwsIdentityRequest {
        id: RequestId::of_credential(DOMAIN, holding.csr, holding.uid, earlier),
        peer: holding.look.peer().clone(),
        holder: holding.holder.clone(),
        subject: holding.subject.clone(),
    }
}

/// Asks whoever makes AWS users, if there is anyone. What comes is kept in the
/// sealed record with the secret part of its key, so that none has to be asked
/// for again; the peer's record remembers the public part.
pub(super) fn ask(
    holding: &Holding<'_>,
    request: &AwsIdentityRequest,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let answer = match &holding.look.configuration.aws {
        None => Ok(Answer::Pending),
        Some(identities) => identities.identity(request),
    };
    match answer.map_err(|error| Error::backend(Backend::Credentials, error))? {
        Answer::Ready(config) => take(holding, request, &config, plan),
        Answer::Pending => {
            plan.await_for(Awaited::Credential(request.id));
            Ok(())
        }
        Answer::Denied(reason) => {
            let reason = shortened(&reason);
            let refusal = PolicyRefusal::CredentialDenied { reason };
            plan.refuse(Error::new(refusal, Some(holding.about.clone()), "spec.csr"));
            Ok(())
        }
    }
}

fn take(
    holding: &Holding<'_>,
    request: &AwsIdentityRequest,
    config: &AwsConfig,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    verify::aws_user(config).map_err(|malformed| {
        let expected = malformed.expected;
        Error::new(ApiMisuse::CredentialForm { expected }, None, "")
    })?;
    let (csr, uid, now) = (holding.csr, holding.uid, holding.look.now);
    plan.records
        .peer
        .change(|record| record.remember_key(&holding.holder, csr, uid, config));
    if let Holder::Slice(slice) = &holding.holder {
        plan.records.slice(slice).change(|record| {
            record.held.aws.take(csr, uid, config);
            record.authenticated.get_or_insert(now.unix());
        });
    }
    let given = Decision::CredentialGiven {
        request: request.id,
        credential: config.aws_access_key_id.clone(),
    };
    plan.tell(
        Event::new(&request.peer, given)
            .about(holding.about.clone())
            .by_key(holding.key.fingerprint()),
    );
    Ok(())
}

/// What the names of requests for AWS users are for.
const DOMAIN: &str = "liqo-auth AWS user request v1";
