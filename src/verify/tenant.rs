//! Verifying a Tenant for the expected cluster and nonce.

use super::{check_label, check_name};
use crate::{
    crypto::{Csr, Fingerprint, Nonce, PublicKey, Subject},
    error::{Error, Fault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    model::{AuthzPolicy, ClusterId, Metadata, NamespaceName, ProxyUrl, Tenant, names},
    policy::{Limits, Policy},
};

/// The expected content of a Tenant.
#[derive(Debug, Clone, Copy)]
pub struct TenantExpectation<'a> {
    /// The consumer that the Tenant has to name.
    pub consumer: &'a ClusterId,
    /// The nonce that the Tenant's key has to sign.
    pub nonce: &'a Nonce,
}

/// A verified Tenant: its names, key, request and signature are right. Only
/// verification makes one. A value with a changed field is not verified any more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedTenant {
    /// The consumer.
    pub cluster_id: ClusterId,
    /// The consumer's key.
    pub public_key: PublicKey,
    /// The consumer's request.
    pub csr: Csr,
    /// The proxy that the consumer asks for in its Identity.
    pub proxy_url: Option<ProxyUrl>,
}

/// Verifies a Tenant: its names, its key (rule 3), its request (rules 1 and
/// 2), and its signature over the nonce.
///
/// The caller checks that the nonce is fresh and made by this provider, and that
/// no other principal has the cluster ID as its name. Source: Liqo
/// `CheckCSRForControlPlane`, `VerifyNonce`.
///
/// # Errors
/// [`PeerMisbehaved`] or [`PolicyRefusal`], at the field that is wrong.
pub fn tenant(
    tenant: &Tenant,
    expectation: &TenantExpectation<'_>,
    policy: &Policy,
) -> Result<VerifiedTenant, Error> {
    let claimed = Claimed::by(expectation.consumer);
    let verified = claim(tenant, claimed, None, policy)?;
    nonce_signature(tenant, &verified, expectation.nonce, policy)?;
    Ok(verified)
}

/// The consumer that a Tenant names. Only the form of the name is verified. Use the
/// [`View`](crate::machine::View) of this consumer.
///
/// # Errors
/// [`PeerMisbehaved::ClusterId`] if the name is not a cluster ID.
pub fn claimed_consumer(tenant: &Tenant) -> Result<ClusterId, Error> {
    tenant.spec.cluster_id.parse().map_err(|error| {
        Error::found_in(tenant, "spec.clusterID", PeerMisbehaved::ClusterId(error))
    })
}

/// Facts that were verified earlier.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    /// The pinned key, or the key of a refused Tenant that was tested before. The key
    /// is only compared, since it has passed the rules for keys before.
    pub(crate) public_key: &'a PublicKey,
    /// SHA-256 of the request that this key signed, in DER.
    pub(crate) csr: Option<&'a [u8; 32]>,
}

/// The names that a Tenant has to have.
#[derive(Clone, Copy)]
pub(crate) struct Claimed<'a> {
    /// The consumer, which the label and the spec name.
    pub(crate) consumer: &'a ClusterId,
    /// The name of the object.
    pub(crate) name: &'a str,
    /// Whether the label is put right, whatever it says.
    pub(crate) gets_label: bool,
}

impl<'a> Claimed<'a> {
    /// The names of a Tenant that a consumer makes.
    pub(crate) fn by(consumer: &'a ClusterId) -> Self {
        Self {
            consumer,
            name: consumer.as_str(),
            gets_label: false,
        }
    }
}

/// Verifies everything except the signature over the nonce.
pub(crate) fn claim(
    tenant: &Tenant,
    claimed: Claimed<'_>,
    known: Option<Known<'_>>,
    policy: &Policy,
) -> Result<VerifiedTenant, Error> {
    let proxy_url = form(tenant, claimed, policy)?;
    let consumer = claimed.consumer;
    let public_key = public_key(tenant, known.map(|known| known.public_key), policy)?;
    let pem = tenant.spec.csr.as_slice();
    let recognized = known
        .and_then(|known| known.csr)
        .and_then(|digest| Csr::recognize(pem, digest, policy));
    let csr = match recognized {
        Some(csr) => csr,
        None => Csr::verify(pem, &Subject::control_plane(consumer), &public_key, policy)
            .map_err(|error| Error::found_in(tenant, "spec.csr", error))?,
    };
    Ok(VerifiedTenant {
        cluster_id: consumer.clone(),
        public_key,
        csr,
        proxy_url,
    })
}

/// Verifies the fields that need no cryptography: names, policy and proxy. Returns
/// the proxy that the Tenant asks for.
pub(crate) fn form(
    tenant: &Tenant,
    claimed: Claimed<'_>,
    policy: &Policy,
) -> Result<Option<ProxyUrl>, Error> {
    tenant_names(tenant, claimed, policy)?;
    if tenant.spec.authz_policy == Some(AuthzPolicy::TolerateNoHandshake) {
        let fault = PolicyRefusal::SelfDeclaredPolicy;
        return Err(Error::found_in(tenant, "spec.authzPolicy", fault));
    }
    proxy_url(tenant)
}

/// Checks that the names of a Tenant are those of this consumer.
pub(crate) fn tenant_names(
    tenant: &Tenant,
    claimed: Claimed<'_>,
    policy: &Policy,
) -> Result<(), Error> {
    let consumer = claimed.consumer;
    name_length(consumer, policy)?;
    check_name(&tenant.metadata.name, claimed.name, tenant, "metadata.name")?;
    if !claimed.gets_label {
        check_label(tenant, consumer)?;
    }
    let (found, expected) = (&tenant.spec.cluster_id, consumer.as_str());
    check_name(found, expected, tenant, "spec.clusterID")
}

/// The proxy that the Tenant asks for.
pub(crate) fn proxy_url(tenant: &Tenant) -> Result<Option<ProxyUrl>, Error> {
    let url = tenant.spec.proxy_url.as_deref();
    let url = url.filter(|url| !url.is_empty()).map(str::parse);
    url.transpose()
        .map_err(|error| Error::found_in(tenant, "spec.proxyURL", PeerMisbehaved::Url(error)))
}

pub(crate) fn nonce_signature(
    tenant: &Tenant,
    verified: &VerifiedTenant,
    nonce: &Nonce,
    policy: &Policy,
) -> Result<(), Error> {
    let key = &verified.public_key;
    let signature = tenant.spec.signature.as_slice();
    key.verify(key.nonce_scheme(), nonce.as_bytes(), signature, policy)
        .map_err(PeerIncompatible::NonceSignature)
        .map_err(|fault| Error::found_in(tenant, "spec.signature", fault))
}

pub(crate) fn name_length(name: &ClusterId, policy: &Policy) -> Result<(), Error> {
    let (found, limit) = (name.as_str().len(), policy.limits.cluster_id);
    if found <= limit {
        return Ok(());
    }
    let refusal = PolicyRefusal::ClusterIdTooLong { found, limit };
    Err(Error::new(refusal, None, "spec.clusterID"))
}

/// The name of the tenant namespace that is made for a peer.
pub(crate) fn default_namespace(peer: &ClusterId) -> Result<NamespaceName, Error> {
    names::tenant_namespace(peer).parse().map_err(|_| {
        let (found, limit) = (peer.as_str().len(), Limits::default().cluster_id);
        let refusal = PolicyRefusal::ClusterIdTooLong { found, limit };
        Error::new(refusal, None, "spec.clusterID")
    })
}

/// The part of a received Tenant that is stored: its name, its label and its spec.
/// This side sets the policy and the condition, whatever the peer sent.
pub(crate) fn without_status(received: &Tenant, peer: &ClusterId, namespace: String) -> Tenant {
    let mut spec = received.spec.clone();
    spec.authz_policy = Some(AuthzPolicy::KeysExchange);
    spec.tenant_condition = None;
    Tenant {
        metadata: Metadata::labelled(
            peer.as_str(),
            namespace,
            [(names::REMOTE_CLUSTER_ID_LABEL, peer.as_str())],
        ),
        spec,
        ..Tenant::default()
    }
}

fn public_key(
    tenant: &Tenant,
    pinned: Option<&PublicKey>,
    policy: &Policy,
) -> Result<PublicKey, Error> {
    let field = tenant.spec.public_key.as_slice();
    let at = |fault: Fault| Error::found_in(tenant, "spec.publicKey", fault);
    let malformed = |error| at(PeerMisbehaved::PublicKey(error).into());
    let Some(pinned) = pinned else {
        return PublicKey::from_tenant_field(field, policy).map_err(malformed);
    };
    pinned_key(field, pinned, policy).map_err(at)?;
    Ok(pinned.clone())
}

/// Checks that a field contains the pinned key. Only bytes are compared, so that an
/// unknown key does not cause cryptographic work.
pub(crate) fn pinned_key(field: &[u8], pinned: &PublicKey, policy: &Policy) -> Result<(), Fault> {
    let claimed = PublicKey::claimed_spki_der(field, policy).map_err(PeerMisbehaved::PublicKey)?;
    if claimed == pinned.spki_der() {
        return Ok(());
    }
    Err(PeerIncompatible::KeyChanged {
        pinned: pinned.fingerprint().to_string(),
        found: Fingerprint::of(&claimed).to_string(),
    }
    .into())
}
