//! Verification alone: from objects as they came to values that cannot exist
//! otherwise.
//!
//! The verifier builds what must be there and compares. These calls keep
//! nothing and ask nobody: pins, used nonces and taken names are the machines'
//! to know ([`provider`](crate::provider), [`consumer`](crate::consumer)).

mod aws;
mod identity;
mod nonce;
mod resource_slice;
mod tenant;

pub use aws::AwsUser;
pub use identity::{
    Credentials, EndpointPins, IdentityExpectation, VerifiedIdentity, claimed_provider, identity,
    slice_identity,
};
pub use nonce::{NonceExpectation, nonce_to_sign};
pub use resource_slice::{ResourceSliceExpectation, VerifiedSlice, resource_slice};
pub use tenant::{TenantExpectation, VerifiedTenant, claimed_consumer, tenant};

pub(crate) use aws::user as aws_user;
pub(crate) use nonce::nonce_at;
pub(crate) use resource_slice::{slice_names, slice_request};
pub(crate) use tenant::{
    Known, claim, default_namespace, name_length, nonce_signature, proxy_url, tenant_names,
    without_status,
};

use crate::{
    error::{Error, PeerMisbehaved, shortened},
    model::{ClusterId, Metadata, ObjectRef, names},
};

/// Name and label are those of the cluster or peer that they stand for.
fn check_names(
    metadata: &Metadata,
    id: &ObjectRef,
    name: &str,
    labelled: &ClusterId,
) -> Result<(), Error> {
    check_name(&metadata.name, name, id, "metadata.name")?;
    let label = metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    check_name(
        label.map(String::as_str).unwrap_or_default(),
        labelled.as_str(),
        id,
        "metadata.labels[liqo.io/remote-cluster-id]",
    )
}

pub(crate) fn check_name(
    found: &str,
    expected: &str,
    id: &ObjectRef,
    field: &'static str,
) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::new(
        PeerMisbehaved::NameMismatch {
            expected: expected.to_owned(),
            found: shortened(found),
        },
        Some(id.clone()),
        field,
    ))
}
