//! An AWS user for a slice, where the provider runs on EKS.

use super::Slice;
use crate::{
    crypto::RequestId,
    error::Error,
    machine::Step,
    model::{AwsConfig, Resource},
    provider::{
        AwsIdentityRequest,
        credentials::{aws, credential::Credential},
    },
    verify::VerifiedSlice,
};

/// The slice's request is on record, and there is no AWS user for it.
#[derive(Clone)]
pub struct NeedsSliceAwsIdentity<'o> {
    slice: Slice<'o>,
    verified: VerifiedSlice,
    request: AwsIdentityRequest,
}

impl<'o> NeedsSliceAwsIdentity<'o> {
    pub(super) fn new(slice: Slice<'o>, verified: VerifiedSlice) -> Self {
        let earlier = slice.record().map_or(0, |record| record.aws.count());
        let uid = &slice.object.metadata.uid;
        let request = AwsIdentityRequest {
            id: RequestId::of_aws_user(verified.csr(), uid, earlier),
            peer: slice.peer.clone(),
            slice: Some(verified.name().to_owned()),
            subject: verified.subject(),
        };
        Self {
            slice,
            verified,
            request,
        }
    }

    /// Whom an AWS user is wanted for.
    pub fn request(&self) -> &AwsIdentityRequest {
        &self.request
    }

    /// Goes on with the user that was made: notes in the peer's record that
    /// there is such a key, and keeps it, with its secret part, in the slice's.
    ///
    /// # Errors
    /// [`ApiMisuse::AwsUser`](crate::error::ApiMisuse::AwsUser) if a field has
    /// not the form that AWS gives it.
    pub fn continue_with(&self, config: &AwsConfig) -> Result<Step, Error> {
        aws::check_answer(config)?;
        let slice = &self.slice;
        let (name, uid) = (self.verified.name(), &slice.object.metadata.uid);
        let mut step = Step::default();
        step.effects.extend(slice.remembered(|record| {
            record.aws.take_of_slice(name, uid, config);
        }));
        if let Some(record) = slice.record() {
            let mut record = record.clone();
            record.aws.take(self.verified.csr(), uid, config);
            record.authenticated.get_or_insert(slice.now.unix());
            step.effects.push(slice.write_record(&record));
        }
        let key = self.verified.public_key();
        let event = aws::event(&self.request, slice.object.id(), key, config);
        step.events.push(event);
        Ok(step)
    }

    /// Says that there will be none.
    pub fn deny(&self, reason: &str) -> Step {
        aws::denied(self.slice.object.id(), reason)
    }

    pub(super) fn ask(&self) -> Result<Step, Error> {
        self.slice.provider.ask_aws(
            &self.request,
            |config| self.continue_with(config),
            |reason| self.deny(reason),
        )
    }
}

/// The AWS user that was given for exactly this replica's request, if there is
/// one on record.
pub(super) fn in_force(slice: &Slice<'_>, verified: &VerifiedSlice) -> Option<Credential> {
    let uid = &slice.object.metadata.uid;
    Credential::aws(slice.record()?.aws.given_for(verified.csr(), uid)?)
}
