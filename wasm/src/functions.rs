//! Verification alone, and the functions of Liqo's package `authentication`.

use std::sync::Arc;

use liqo_auth::{
    crypto::{Csr, ExternalKey, KeyError, Nonce, PublicKey, Subject},
    error::{Fault, PeerMisbehaved},
    machine::Holder,
    model::{
        Bytes, ClusterId, Metadata, Object, Resource, ResourceSlice, ResourceSliceSpec, Tenant,
    },
    policy::Policy,
    verify::{self, ResourceSliceExpectation, TenantExpectation},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    desk::{Answered, Desk, DeskKey},
    failure::Failure,
    json::written,
};

/// Verifies a Tenant for the expected consumer and nonce.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyTenant {
    tenant: Value,
    /// The expected consumer; the one that the Tenant names if left out.
    consumer: Option<ClusterId>,
    nonce: Bytes,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn verify_tenant(request: VerifyTenant) -> Result<Vec<u8>, Failure> {
    let VerifyTenant {
        tenant,
        consumer,
        nonce,
        policy,
    } = request;
    let object = Object::from_value(tenant);
    let Some(tenant) = Tenant::from_object(&object) else {
        let reason = object.as_unreadable().map(|found| found.reason.to_string());
        return Err(Failure::of_part(
            "tenant",
            reason.unwrap_or_else(|| "found an object of another kind".to_owned()),
        ));
    };
    let nonce = Nonce::parse(nonce.as_slice(), &policy)
        .map_err(|error| Failure::of_peer(PeerMisbehaved::NonceForm(error)))?;
    let consumer = match consumer {
        Some(consumer) => consumer,
        None => verify::claimed_consumer(tenant)?,
    };
    let expectation = TenantExpectation {
        consumer: &consumer,
        nonce: &nonce,
    };
    let verified = verify::tenant(tenant, &expectation, &policy)?;
    Ok(written(&json!({
        "clusterID": verified.cluster_id.as_str(),
        "publicKey": Bytes::from(verified.public_key.spki_der()),
        "csr": Bytes::from(verified.csr.pem()),
        "proxyURL": verified.proxy_url.as_ref().map(ToString::to_string),
    })))
}

/// Verifies the request of a resource slice.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyResourceSlice {
    name: String,
    consumer: String,
    csr: Bytes,
    /// `spec.publicKey` of the Tenant. Without this field, the request may carry any
    /// key, and its signature is verified with that key.
    tenant_key: Option<Bytes>,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn verify_resource_slice(request: VerifyResourceSlice) -> Result<Vec<u8>, Failure> {
    let consumer = cluster_id(&request.consumer)?;
    let policy = &request.policy;
    let tenant_key = request
        .tenant_key
        .map(|key| public_key(PublicKey::from_tenant_field(key.as_slice(), policy)))
        .transpose()?;
    // Only the request is verified, so every other field is as it must be.
    let label = liqo_auth::model::names::REMOTE_CLUSTER_ID_LABEL.to_owned();
    let slice = ResourceSlice {
        metadata: Metadata {
            name: request.name,
            labels: [(label, request.consumer.clone())].into(),
            ..Metadata::default()
        },
        spec: ResourceSliceSpec {
            consumer_cluster_id: Some(request.consumer),
            csr: request.csr,
            ..ResourceSliceSpec::default()
        },
        ..ResourceSlice::default()
    };
    let expectation = ResourceSliceExpectation {
        consumer: &consumer,
        provider: None,
        namespace: None,
        tenant_key: tenant_key.as_ref(),
    };
    let verified = verify::resource_slice(&slice, &expectation, policy)?;
    let der = Bytes::from(verified.public_key.spki_der());
    Ok(written(&json!({ "publicKey": der })))
}

/// Verifies the request of a consumer's control plane.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyRequest {
    csr: Bytes,
    consumer: String,
    public_key: Bytes,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn verify_request(request: VerifyRequest) -> Result<Vec<u8>, Failure> {
    let subject = Subject::control_plane(&cluster_id(&request.consumer)?);
    let policy = &request.policy;
    let key = public_key(PublicKey::from_spki_der(
        request.public_key.as_slice(),
        policy,
    ))?;
    Csr::verify(request.csr.as_slice(), &subject, &key, policy).map_err(Fault::from)?;
    Ok(written(&()))
}

/// Verifies a signature over a nonce.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifySignature {
    public_key: Bytes,
    nonce: Bytes,
    signature: Bytes,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn verify_signature(request: VerifySignature) -> Result<Vec<u8>, Failure> {
    let policy = &request.policy;
    let key = public_key(PublicKey::from_spki_der(
        request.public_key.as_slice(),
        policy,
    ))?;
    let nonce = request.nonce.as_slice();
    let (scheme, signature) = (key.nonce_scheme(), request.signature.as_slice());
    let verified =
        Nonce::parse(nonce, policy).is_ok() && key.verify(scheme, nonce, signature, policy).is_ok();
    Ok(written(&json!({ "verified": verified })))
}

/// Checks that a text has the form of a nonce.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckNonce {
    nonce: Bytes,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn check_nonce(request: CheckNonce) -> Result<Vec<u8>, Failure> {
    Nonce::parse(request.nonce.as_slice(), &request.policy)
        .map_err(|error| Failure::of_peer(PeerMisbehaved::NonceForm(error)))?;
    Ok(written(&()))
}

/// Reads `spec.publicKey` of a Tenant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadPublicKey {
    public_key: Bytes,
    #[serde(default)]
    policy: Policy,
}

pub(crate) fn read_public_key(request: ReadPublicKey) -> Result<Vec<u8>, Failure> {
    let field = request.public_key.as_slice();
    let key = public_key(PublicKey::from_tenant_field(field, &request.policy))?;
    let der = Bytes::from(key.spki_der());
    Ok(written(&json!({ "publicKey": der })))
}

/// Makes a certificate signing request. The first call asks for a signature, and the
/// second one brings it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MakeRequest {
    subject: RequestSubject,
    consumer: String,
    key: ExternalKey,
    #[serde(default)]
    answers: Vec<Answered>,
}

/// The party that a request is for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum RequestSubject {
    ControlPlane,
    /// The slice's name.
    ResourceSlice(String),
    /// 16 random bytes.
    PeeringUser(Bytes),
}

pub(crate) fn make_request(request: MakeRequest) -> Result<Vec<u8>, Failure> {
    let consumer = cluster_id(&request.consumer)?;
    let subject = match request.subject {
        RequestSubject::ControlPlane => Holder::ControlPlane.subject(&consumer),
        RequestSubject::ResourceSlice(name) => Holder::Slice(name).subject(&consumer),
        RequestSubject::PeeringUser(suffix) => {
            let suffix = suffix.as_slice().try_into();
            let suffix = suffix.map_err(|error| Failure::of_part("suffix", error))?;
            Subject::peering_user(&consumer, suffix)
        }
    };
    let desk = Desk::new(request.answers);
    let key = DeskKey {
        key: request.key,
        desk: Arc::clone(&desk),
    };
    let made = Csr::make(&subject, &key).map_err(|error| Failure::of_part("key", error))?;
    let csr = made.at_once().ok().map(|csr| Bytes::from(csr.pem()));
    Ok(written(&json!({
        "commonName": subject.common_name(),
        "csr": csr,
        "questions": desk.open(),
    })))
}

fn cluster_id(name: &str) -> Result<ClusterId, Failure> {
    name.parse()
        .map_err(|error| Failure::of_peer(PeerMisbehaved::ClusterId(error)))
}

fn public_key(read: Result<PublicKey, KeyError>) -> Result<PublicKey, Failure> {
    read.map_err(|error| Failure::of_peer(PeerMisbehaved::PublicKey(error)))
}
