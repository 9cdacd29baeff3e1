//! Verifying a ResourceSlice for the expected consumer and key.

use super::check_name;
use crate::{
    crypto::{Csr, PublicKey, Subject},
    error::{Error, PeerMisbehaved, PolicyRefusal, shortened},
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
/// makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedSlice {
    consumer: ClusterId,
    name: String,
    public_key: PublicKey,
    csr: Csr,
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
///         labels: [("liqo.io/remote-cluster-id".into(), "cl-consumer".into())].into(),
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
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The key of the request.
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The request.
    pub fn csr(&self) -> &Csr {
        &self.csr
    }

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
    let consumer = expectation.consumer.as_str();
    slice_name(slice, policy)?;
    if let Some(expected) = expectation.namespace
        && slice.metadata.namespace != expected
    {
        return Err(Error::found_in(
            slice,
            "metadata.namespace",
            PolicyRefusal::UnexpectedNamespace {
                expected: expected.to_owned(),
                found: shortened(&slice.metadata.namespace),
            },
        ));
    }
    let labels = &slice.metadata.labels;
    let label = |name: &str| labels.get(name).map(String::as_str);
    check_name(
        label(names::REMOTE_CLUSTER_ID_LABEL).unwrap_or_default(),
        consumer,
        slice,
        "metadata.labels[liqo.io/remote-cluster-id]",
    )?;
    check_name(
        label(names::REPLICATION_ORIGIN_LABEL).unwrap_or(consumer),
        consumer,
        slice,
        "metadata.labels[liqo.io/originID]",
    )?;
    check_name(
        slice
            .spec
            .consumer_cluster_id
            .as_deref()
            .unwrap_or_default(),
        consumer,
        slice,
        "spec.consumerClusterID",
    )?;
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
    let at = |error| Error::found_in(slice, "spec.csr", PeerMisbehaved::Csr(error));
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
    let (found, limit) = (name.len(), policy.limits.resource_slice_name);
    if found > limit {
        return Err(Error::found_in(
            slice,
            "metadata.name",
            PolicyRefusal::SliceNameTooLong { found, limit },
        ));
    }
    if is_dns_subdomain(name) {
        return Ok(());
    }
    Err(Error::found_in(
        slice,
        "metadata.name",
        PeerMisbehaved::SliceName {
            found: shortened(name),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{CsrError, Entropy, KeyPair, SigningKey},
        error::{Fault, Rule},
        model::{Metadata, ResourceSliceSpec},
    };

    fn consumer() -> ClusterId {
        "cl-consumer".parse().unwrap()
    }

    fn key(number: u8) -> KeyPair {
        KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
    }

    fn slice(name: &str) -> ResourceSlice {
        let subject = Subject::resource_slice(name, &consumer());
        ResourceSlice {
            metadata: Metadata {
                name: name.to_owned(),
                namespace: "liqo-tenant-cl-consumer".to_owned(),
                labels: [("liqo.io/remote-cluster-id".into(), "cl-consumer".into())].into(),
                ..Metadata::default()
            },
            spec: ResourceSliceSpec {
                consumer_cluster_id: Some("cl-consumer".to_owned()),
                provider_cluster_id: Some("cl-provider".to_owned()),
                csr: Csr::make(&subject, &key(1))
                    .unwrap()
                    .at_once()
                    .unwrap()
                    .pem()
                    .into(),
                ..ResourceSliceSpec::default()
            },
            ..ResourceSlice::default()
        }
    }

    fn judged(slice: &ResourceSlice, key: Option<&PublicKey>) -> Result<VerifiedSlice, Error> {
        let (consumer, provider) = (consumer(), "cl-provider".parse().unwrap());
        let expectation = ResourceSliceExpectation {
            consumer: &consumer,
            provider: Some(&provider),
            namespace: Some("liqo-tenant-cl-consumer"),
            tenant_key: key,
        };
        resource_slice(slice, &expectation, &Policy::strict())
    }

    #[test]
    fn a_slice_speaks_for_the_tenants_key_or_for_its_own() {
        let key = key(1);
        let verified = judged(&slice("mypool"), Some(key.public_key())).unwrap();
        assert_eq!(verified.name(), "mypool");
        let verified = judged(&slice("my.pool"), None).unwrap();
        assert_eq!(verified.public_key(), key.public_key());
        assert_eq!(
            verified.subject().common_name(),
            Subject::resource_slice("my.pool", &consumer()).common_name()
        );
    }

    #[test]
    fn each_name_has_to_be_right() {
        let key = key(1);
        let refused = |edit: fn(&mut ResourceSlice)| {
            let mut slice = slice("mypool");
            edit(&mut slice);
            let error = judged(&slice, Some(key.public_key())).unwrap_err();
            (error.fault().clone(), error.at().field)
        };
        let mismatch = |expected: &str, found: &str| -> Fault {
            PeerMisbehaved::NameMismatch {
                expected: expected.to_owned(),
                found: found.to_owned(),
            }
            .into()
        };
        assert_eq!(
            refused(|slice| slice.spec.consumer_cluster_id = Some("victim".into())),
            (mismatch("cl-consumer", "victim"), "spec.consumerClusterID")
        );
        assert_eq!(
            refused(|slice| slice.spec.consumer_cluster_id = None),
            (mismatch("cl-consumer", ""), "spec.consumerClusterID")
        );
        assert_eq!(
            refused(|slice| slice.spec.provider_cluster_id = Some("other".into())),
            (mismatch("cl-provider", "other"), "spec.providerClusterID")
        );
        assert_eq!(
            refused(|slice| slice.metadata.labels.clear()),
            (
                mismatch("cl-consumer", ""),
                "metadata.labels[liqo.io/remote-cluster-id]"
            )
        );
        assert_eq!(
            refused(|slice| {
                let labels = &mut slice.metadata.labels;
                labels.insert("liqo.io/originID".into(), "victim".into());
            }),
            (
                mismatch("cl-consumer", "victim"),
                "metadata.labels[liqo.io/originID]"
            )
        );
        assert_eq!(
            refused(|slice| slice.metadata.namespace = "liqo-tenant-victim".into()),
            (
                PolicyRefusal::UnexpectedNamespace {
                    expected: "liqo-tenant-cl-consumer".into(),
                    found: "liqo-tenant-victim".into(),
                }
                .into(),
                "metadata.namespace"
            )
        );
    }

    #[test]
    fn the_request_is_for_this_name_and_key() {
        let (own, other) = (key(1), key(2));
        let mut renamed = slice("mypool");
        renamed.metadata.name = "victimpool".into();
        let error = judged(&renamed, Some(own.public_key())).unwrap_err();
        assert!(matches!(
            error.fault(),
            Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Subject { .. }))
        ));
        let error = judged(&slice("mypool"), Some(other.public_key())).unwrap_err();
        assert!(matches!(
            error.fault(),
            Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Key { .. }))
        ));
        assert_eq!(error.rule().map(Rule::number), Some(2));
    }

    #[test]
    fn a_name_is_an_objects_and_leaves_room_for_the_hash() {
        let key = key(1);
        let longest = "a".repeat(51);
        assert!(judged(&slice(&longest), Some(key.public_key())).is_ok());
        let error = judged(&slice(&"a".repeat(52)), Some(key.public_key())).unwrap_err();
        assert_eq!(
            error.fault(),
            &PolicyRefusal::SliceNameTooLong {
                found: 52,
                limit: 51
            }
            .into()
        );
        for name in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a/b", "a b"] {
            let error = judged(&slice(name), Some(key.public_key())).unwrap_err();
            let found = name.to_owned();
            assert_eq!(
                error.fault(),
                &PeerMisbehaved::SliceName { found }.into(),
                "{name:?}"
            );
        }
    }
}
