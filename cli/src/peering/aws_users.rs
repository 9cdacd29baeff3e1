//! AWS users in place of certificates: a person makes each at AWS, and enters it.

use liqo_auth::{
    crypto::{Answer, BoxError},
    machine::Holder,
    model::AwsConfig,
    provider::{AwsIdentities, AwsIdentityRequest},
};

/// The AWS user that a person enters now, if any. The provider's record keeps those that
/// were entered before.
#[derive(Default)]
pub(crate) struct AwsUsers(pub(crate) Option<(Holder, AwsConfig)>);

impl AwsIdentities for AwsUsers {
    fn identity(&self, request: &AwsIdentityRequest) -> Result<Answer<AwsConfig>, BoxError> {
        Ok(match &self.0 {
            Some((holder, user)) if *holder == request.holder => Answer::Ready(user.clone()),
            _ => Answer::Pending,
        })
    }
}
