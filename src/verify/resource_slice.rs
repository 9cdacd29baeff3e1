//! Verifying a ResourceSlice for the expected consumer and key.

use super::check_name;
use crate::{
    crypto::{Csr, PublicKey, Subject},
    error::{Error, Fault, PeerMisbehaved, PolicyRefusal, shortened},
    model::{ClusterId, ResourceSlice, is_dns_subdomain, names},
    policy::Policy,
};

/// The expected content of a ResourceSlice.
#[derive(Debug, Clone, Copy)]
pub struct ResourceSliceExpectation<'a> {
    /// The consumer that the slice has to name.
    pub consumer: &'a ClusterId,
    /// The provider that the slice may name. `None` accepts any.
    pub provider: Option<&'a ClusterId>,
    /// The tenant namespace of the slice. `None` accepts any.
    pub namespace: Option<&'a str>,
    /// The key of the consumer's Tenant. With `None`, the request may carry any key,
    /// as for peers without a handshake.
    pub tenant_key: Option<&'a PublicKey>,
}

/// A verified ResourceSlice: its names, key and request are right. Only verification
/// makes one. A value with a changed field is not verified any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSlice {
    consumer: ClusterId,
    pub(crate) name: String,
    /// The key of the request.
    pub public_key: PublicKey,
    /// The request.
    pub csr: Csr,
}

/// Verifies a ResourceSlice: its names, its key (rule 3), and its request
/// (rules 1 and 2), whose subject is `O=<consumer>, CN=<slice>-<12 hex>`.
///
/// The caller checks that no other principal has the user name. Source: Liqo
/// `CheckCSRForResourceSlice`.
///
/// # Errors
/// [`PeerMisbehaved`] or [`PolicyRefusal`], at the field that is wrong.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     crypto::{Csr, Entropy, KeyPair, SigningKey, Subject},
///     model::{Metadata, ResourceSlice, ResourceSliceSpec},
///     policy::Policy,
///     verify::{ResourceSliceExpectation, resource_slice},
/// };
///
/// let consumer = "cl-consumer".parse()?;
/// let key = KeyPair::from_entropy(&Entropy::from_bytes([7; 32]));
/// let subject = Subject::resource_slice("mypool", &consumer);
/// let slice = ResourceSlice {
///     metadata: Metadata {
///         name: "mypool".into(),
///         labels: [("liqo.io/remote-cluster-id", "cl-consumer")].into(),
///         ..Metadata::default()
///     },
///     spec: ResourceSliceSpec {
///         consumer_cluster_id: Some("cl-consumer".into()),
///         csr: Csr::make(&subject, &key)?.at_once()?.pem().into(),
///         ..ResourceSliceSpec::default()
///     },
///     ..ResourceSlice::default()
/// };
/// let expectation = ResourceSliceExpectation {
///     consumer: &consumer,
///     provider: None,
///     namespace: None,
///     tenant_key: Some(key.public_key()),
/// };
/// let verified = resource_slice(&slice, &expectation, &Policy::strict())?;
/// assert_eq!(verified.subject().common_name(), subject.common_name());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn resource_slice(
    slice: &ResourceSlice,
    expectation: &ResourceSliceExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedSlice, Error> {
    slice_names(slice, expectation, policy)?;
    slice_request(slice, expectation, None, policy)
}

impl VerifiedSlice {
    /// The subject of the certificate.
    pub fn subject(&self) -> Subject {
        Subject::resource_slice(&self.name, &self.consumer)
    }
}

/// Checks that the slice names the consumer, and that its own name is well formed.
pub(crate) fn slice_names(
    slice: &ResourceSlice,
    expectation: &ResourceSliceExpectation<'_>,
    policy: &Policy,
) -> Result<(), Error> {
    let metadata = &slice.metadata;
    slice_name(slice, policy)?;
    if let Some(expected) = expectation.namespace
        && metadata.namespace != expected
    {
        let (expected, found) = (expected.to_owned(), shortened(&metadata.namespace));
        let refusal = PolicyRefusal::UnexpectedNamespace { expected, found };
        return Err(Error::found_in(slice, "metadata.namespace", refusal));
    }
    let consumer = expectation.consumer.as_str();
    let check = |found: &str, field| check_name(found, consumer, slice, field);
    let labelled = metadata.label(names::REMOTE_CLUSTER_ID_LABEL);
    let labelled = labelled.unwrap_or_default();
    check(labelled, "metadata.labels[liqo.io/remote-cluster-id]")?;
    let origin = metadata.label(names::REPLICATION_ORIGIN_LABEL);
    let origin = origin.unwrap_or(consumer);
    check(origin, "metadata.labels[liqo.io/originID]")?;
    let named = slice.spec.consumer_cluster_id.as_deref();
    check(named.unwrap_or_default(), "spec.consumerClusterID")?;
    if let (Some(found), Some(provider)) = (&slice.spec.provider_cluster_id, expectation.provider) {
        check_name(found, provider.as_str(), slice, "spec.providerClusterID")?;
    }
    Ok(())
}

/// Verifies the request of the slice. A request that was verified earlier is
/// recognised by its digest.
pub(crate) fn slice_request(
    slice: &ResourceSlice,
    expectation: &ResourceSliceExpectation<'_>,
    known: Option<&[u8; 32]>,
    policy: &Policy,
) -> Result<VerifiedSlice, Error> {
    let at = |error| Error::found_in(slice, "spec.csr", error);
    let pem = slice.spec.csr.as_slice();
    let recognized = known.and_then(|digest| Csr::recognize(pem, digest, policy));
    let public_key = match expectation.tenant_key {
        Some(key) => key.clone(),
        None => Csr::claimed_key(pem, recognized.is_some(), policy).map_err(at)?,
    };
    let name = slice.metadata.name.clone();
    let subject = Subject::resource_slice(&name, expectation.consumer);
    let csr = match recognized {
        Some(csr) => csr,
        None => Csr::verify(pem, &subject, &public_key, policy).map_err(at)?,
    };
    Ok(VerifiedSlice {
        consumer: expectation.consumer.clone(),
        name,
        public_key,
        csr,
    })
}

/// Checks that the name is the name of an object (RFC 1123 subdomain), and leaves
/// room for the hash in the common name.
fn slice_name(slice: &ResourceSlice, policy: &Policy) -> Result<(), Error> {
    let name = &slice.metadata.name;
    let wrong = |fault: Fault| Err(Error::found_in(slice, "metadata.name", fault));
    let (found, limit) = (name.len(), policy.limits.resource_slice_name);
    if found > limit {
        return wrong(PolicyRefusal::SliceNameTooLong { found, limit }.into());
    }
    if !is_dns_subdomain(name) {
        let found = shortened(name);
        return wrong(PeerMisbehaved::SliceName { found }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
