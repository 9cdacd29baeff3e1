//! Verification without state. Each function turns a received object into a
//! verified value. Only these functions make verified values.
//!
//! The verifier builds the expected object and compares it with the received one.
//! These functions call no backend. Pins, used nonces and taken names are checked by
//! the machines ([`provider`](crate::provider), [`consumer`](crate::consumer)).

mod aws;
mod endpoint;
mod identity;
mod nonce;
mod resource_slice;
mod tenant;

pub use aws::AwsUser;
pub use endpoint::EndpointPins;
pub use identity::{Credentials, IdentityExpectation, VerifiedIdentity, identity};
pub use nonce::{NonceExpectation, nonce_to_sign};
pub use resource_slice::{ResourceSliceExpectation, VerifiedSlice, resource_slice};
pub use tenant::{TenantExpectation, VerifiedTenant, claimed_consumer, tenant};

pub(crate) use aws::user as aws_user;
pub(crate) use endpoint::{EndpointExpectation, endpoint};
pub(crate) use nonce::nonce_at;
pub(crate) use resource_slice::{slice_names, slice_request};
pub(crate) use tenant::{
    Claimed, Known, claim, default_namespace, form as tenant_form, name_length, nonce_signature,
    pinned_key, proxy_url, tenant_names, without_status,
};

use crate::{
    error::{Error, PeerIncompatible, shortened},
    model::{ClusterId, Resource, names},
};

/// Checks an object's name, and the cluster ID in its label.
fn check_names(object: &impl Resource, name: &str, labelled: &ClusterId) -> Result<(), Error> {
    check_name(&object.metadata().name, name, object, "metadata.name")?;
    check_label(object, labelled)
}

/// Checks the cluster ID in an object's label.
fn check_label(object: &impl Resource, labelled: &ClusterId) -> Result<(), Error> {
    let label = object.metadata().label(names::REMOTE_CLUSTER_ID_LABEL);
    let field = "metadata.labels[liqo.io/remote-cluster-id]";
    check_name(label.unwrap_or_default(), labelled.as_str(), object, field)
}

pub(crate) fn check_name(
    found: &str,
    expected: &str,
    object: &impl Resource,
    field: &'static str,
) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let (expected, found) = (expected.to_owned(), shortened(found));
    let fault = PeerIncompatible::NameMismatch { expected, found };
    Err(Error::found_in(object, field, fault))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Identity, Metadata};

    #[test]
    fn an_object_has_its_name_and_the_label_of_its_cluster() {
        let provider: ClusterId = "cl-provider".parse().unwrap();
        let checked = |name: &str, label: &str| {
            let labels = [(names::REMOTE_CLUSTER_ID_LABEL, label)];
            let identity = Identity {
                metadata: Metadata::labelled(name, "", labels),
                ..Identity::default()
            };
            check_names(&identity, "expected", &provider).map_err(|error| error.at().field)
        };
        assert_eq!(checked("expected", "cl-provider"), Ok(()));
        assert_eq!(checked("other", "cl-provider"), Err("metadata.name"));
        let label = "metadata.labels[liqo.io/remote-cluster-id]";
        assert_eq!(checked("expected", "cl-other"), Err(label));
    }
}
