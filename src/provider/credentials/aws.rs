//! Providers on EKS: an AWS user in place of a certificate.
//!
//! EKS does not sign client certificates for users. It authenticates IAM users, each
//! mapped to a Kubernetes user and its groups. The handshake is the same; only the
//! credential is different.

use serde::Serialize;

use super::{Credential, HolderContext};
use crate::{
    audit::Decision,
    crypto::{Answer, BoxError, RequestId, Subject},
    error::{ApiMisuse, Backend, Error, PolicyRefusal, shortened},
    machine::{Awaited, Holder},
    model::{AwsConfig, ClusterId},
    provider::records::Plan,
    verify,
};

/// Creates AWS users for peers. An implementation may be the embedder's IAM client,
/// or a person.
///
/// For each request, create an IAM user with an access key, and map the IAM user to
/// the request's user and group (in EKS: the ConfigMap `aws-auth`, or an access
/// entry). The provider asks only for requests whose proof is on record. It may ask
/// again for the same [`RequestId`], after a crash or while the answer is pending.
/// Store the answer by that ID, so that no request gets two keys: AWS shows the
/// secret part of a key only once.
///
/// The provider checks the form of the answer. It cannot check that the IAM user is
/// mapped only to the request's user and group. If two peers share an IAM user, the
/// API server cannot tell them apart.
///
/// This trait does not delete keys. The keys to delete are in
/// [`Wait::awaiting`](crate::machine::Wait::awaiting), as
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
/// /// The AWS users that a person has entered, by request.
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
    /// Returns the user with its access key. The answer may also be pending or
    /// denied.
    ///
    /// # Errors
    /// The reason why there is no answer. The step fails and can be tried again.
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError>;
}

/// A function makes the user.
impl<F> AwsIdentities for F
where
    F: Fn(&AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> + Send + Sync,
{
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
        self(request)
    }
}

/// A request for an AWS user. As data, it is the question `awsIdentity` of
/// [the JSON forms](crate::machine::json).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "awsIdentity")]
#[non_exhaustive]
pub struct AwsIdentityRequest {
    /// The ID of the request. It does not change while the request does not change.
    /// The next key of the same peer has another ID.
    pub id: RequestId,
    /// The peer that gets the AWS user.
    pub peer: ClusterId,
    /// The holder of the AWS user: the peer's control plane, or one of its slices.
    pub holder: Holder,
    /// The mapping of the IAM user: the common name is its Kubernetes user, the
    /// organization is its only group.
    pub subject: Subject,
}

/// The recorded AWS user for exactly this holder's request, if the record has one.
pub(super) fn in_force(context: &HolderContext<'_>) -> Option<Credential> {
    Credential::aws(context.key_held?.given_for(context.csr, context.uid)?)
}

/// The request for the holder's next AWS user.
pub(super) fn request(context: &HolderContext<'_>) -> AwsIdentityRequest {
    let earlier = context.key_held.map_or(0, |held| held.count);
    AwsIdentityRequest {
        id: RequestId::of_credential(DOMAIN, context.csr, context.uid, earlier),
        peer: context.look.peer().clone(),
        holder: context.holder.clone(),
        subject: context.subject.clone(),
    }
}

/// Asks the configured [`AwsIdentities`] for the AWS user. The holder's sealed
/// record keeps the user with the secret part of its key, so that the provider does
/// not ask for the user again. The peer's record keeps the public part of the key.
pub(super) fn ask(
    context: &HolderContext<'_>,
    request: &AwsIdentityRequest,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let limit = context.look.policy().limits.access_keys;
    let planned = plan.records.peer.planned();
    if planned.is_some_and(|record| record.aws.other_keys() >= limit) {
        context.refuse(PolicyRefusal::TooManyAccessKeys { limit }, plan);
        return Ok(());
    }
    let answer = match &context.look.configuration.aws {
        None => Ok(Answer::Pending),
        Some(identities) => plan.ask(|| identities.identity(request)),
    };
    match answer.map_err(|error| Error::backend(Backend::Credentials, error))? {
        Answer::Ready(config) => take(context, request, &config, plan)?,
        Answer::Pending => plan.await_for(Awaited::Credential(request.id)),
        Answer::Denied(reason) => {
            let reason = shortened(&reason);
            context.refuse(PolicyRefusal::CredentialDenied { reason }, plan);
        }
    }
    Ok(())
}

fn take(
    context: &HolderContext<'_>,
    request: &AwsIdentityRequest,
    config: &AwsConfig,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    verify::aws_user(config).map_err(|malformed| {
        let expected = malformed.expected;
        Error::new(ApiMisuse::CredentialForm { expected }, None, "")
    })?;
    let (csr, uid, now) = (context.csr, context.uid, context.look.now);
    let peer = &mut plan.records.peer;
    match &context.holder {
        Holder::ControlPlane => peer.change(|record| record.aws.take(csr, uid, config)),
        Holder::Slice(slice) => {
            peer.change(|record| record.aws.take_of_slice(slice, uid, config));
            plan.records.slice(slice).change(|record| {
                record.aws.take(csr, uid, config);
                record.authenticated.get_or_insert(now.unix());
            });
        }
    }
    let given = Decision::CredentialGiven {
        request: request.id,
        credential: config.aws_access_key_id.clone(),
    };
    context.tell(given, plan);
    Ok(())
}

/// The domain of the IDs of requests for AWS users.
const DOMAIN: &str = "liqo-auth AWS user request v1";
