//! What can be told from a store without the library's own judgement.

use liqo_auth::{
    crypto::{CertificateChain, ClientKey, KeyPair, PublicKey, SigningKey, Subject},
    model::{ClusterId, Kind, Object, ObjectRef, Resource, Secret, Tenant, names},
    policy::Policy,
};
use serde_json::Value;

use crate::{
    calls::SLICE,
    instants::instant,
    offloading::{OFFLOADED, bound},
    store::Store,
};

/// What the provider's store holds about one peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerFacts {
    /// The bytes of the nonce in the peer's nonce Secret.
    pub nonce: Option<Vec<u8>>,
    pub has_record: bool,
    /// Whether the record names a nonce on offer.
    pub has_offer: bool,
    /// The condition on record, the mildest first.
    pub condition: u8,
    pub proof: Option<ProofFacts>,
    /// Whether the peer's Tenant is being deleted.
    pub is_ending: bool,
    /// The number of bindings that came with the peer's credential.
    pub bindings: usize,
    /// The number of bindings that give the peer rights in an offloaded namespace.
    pub offloaded: usize,
    /// The number of slices that were granted resources.
    pub granted_slices: usize,
    /// The UIDs of the peer's slices.
    pub slices: Vec<String>,
    /// The Tenants of the peer's name.
    pub tenants: Vec<Claim>,
}

/// The proof on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofFacts {
    pub tenant: String,
    pub nonce: Vec<u8>,
    pub csr: String,
}

/// A key, and what it has signed in place of a nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub cluster: String,
    pub key: Vec<u8>,
    pub signature: Vec<u8>,
}

impl PeerFacts {
    pub fn of(store: &Store, peer: &ClusterId, namespace: &str) -> Self {
        let secret = |namespace: &str, name: &str| {
            let object = store.get(&ObjectRef::new(Kind::Secret, namespace, name))?;
            Secret::from_object(object)
        };
        let nonce = secret(namespace, names::NONCE_SECRET)
            .and_then(|secret| secret.get(names::NONCE))
            .filter(|text| !text.is_empty())
            .map(from_base64);
        let record_name = format!("liqo-auth-provider-{peer}");
        let record = secret(names::LIQO_NAMESPACE, &record_name).and_then(record_of);
        let mut facts = Self {
            nonce,
            has_record: record.is_some(),
            offloaded: bound(store, peer.as_str()),
            ..Self::default()
        };
        if let Some(record) = record {
            facts.has_offer = !record["offered"].is_null();
            facts.condition = match record["condition"].as_str() {
                None => 0,
                Some("Cordoned") => 1,
                Some(_) => 2,
            };
            facts.proof = record.get("proof").map(|proof| ProofFacts {
                tenant: text(&proof["tenantUid"]),
                nonce: from_base64(&from_base64(text(&proof["nonce"]).as_bytes())),
                csr: text(&proof["csr"]),
            });
        }
        for object in store.objects() {
            if is_tenant_of_another(store, peer, object) {
                continue;
            }
            let labels = &object.metadata().labels;
            let is_peers = labels.get(names::REMOTE_CLUSTER_ID_LABEL) == Some(&peer.to_string());
            match object {
                Object::Unreadable(unreadable)
                    if unreadable.id.kind == Kind::Tenant
                        && unreadable.id.name == peer.as_str() =>
                {
                    facts.is_ending |= unreadable.metadata.deletion_timestamp.is_some();
                }
                Object::RoleBinding(binding) if binding.metadata.namespace == OFFLOADED => {}
                Object::RoleBinding(_) | Object::ClusterRoleBinding(_) if is_peers => {
                    facts.bindings += 1;
                }
                Object::Tenant(tenant) if tenant.metadata.name == peer.as_str() => {
                    facts.tenants.push(Claim::of(tenant));
                    facts.is_ending |= tenant.metadata.deletion_timestamp.is_some();
                }
                Object::ResourceSlice(slice) if slice.metadata.namespace == namespace => {
                    let is_granted = !slice.status.resources.is_empty();
                    facts.granted_slices += usize::from(is_granted);
                    facts.slices.push(slice.metadata.uid.clone());
                }
                _ => {}
            }
        }
        facts
    }
}

impl Claim {
    pub fn of(tenant: &Tenant) -> Self {
        Self {
            cluster: tenant.spec.cluster_id.clone(),
            key: tenant.spec.public_key.as_slice().to_vec(),
            signature: tenant.spec.signature.as_slice().to_vec(),
        }
    }

    /// Whether this key has signed this nonce.
    pub fn proves(&self, peer: &ClusterId, key: &PublicKey, nonce: &[u8]) -> bool {
        let policy = Policy::compatible();
        let named = PublicKey::from_tenant_field(&self.key, &policy);
        self.cluster == peer.as_str()
            && named.as_ref() == Ok(key)
            && key
                .verify(key.nonce_scheme(), nonce, &self.signature, &policy)
                .is_ok()
    }
}

/// Whether this Tenant lies in the tenant namespace of another peer.
fn is_tenant_of_another(store: &Store, peer: &ClusterId, object: &Object) -> bool {
    let id = object.id();
    let place = ObjectRef::new(Kind::Namespace, "", &id.namespace);
    let owner = store.get(&place).map(Object::metadata);
    let owner = owner.and_then(|it| it.labels.get(names::REMOTE_CLUSTER_ID_LABEL));
    id.kind == Kind::Tenant && owner.is_some_and(|owner| owner != peer.as_str())
}

/// Whether a kubeconfig has this private key.
pub fn has_key(kubeconfig: &Secret, key: &KeyPair) -> bool {
    let ClientKey::Pem(pem) = key.client_key() else {
        return false;
    };
    let data = format!(
        "client-key-data: {}",
        crate::base64(pem.expose().as_bytes())
    );
    let text = kubeconfig.get(names::KUBECONFIG).unwrap_or_default();
    String::from_utf8_lossy(text).contains(&data)
}

/// What a consumer may store of a provider: the kubeconfig and the Identity.
/// Judged from the outside: a certificate for this consumer's key and name, that is
/// valid at present, and a URL that may be connected to.
pub fn is_sound(object: &Object, consumer: &ClusterId, keys: &[PublicKey], now: u8) -> bool {
    let certificate_and_url = match object {
        Object::Secret(secret) if secret.metadata.name.starts_with("kubeconfig-") => {
            of_kubeconfig(secret)
        }
        Object::Identity(identity) => {
            let parameters = &identity.spec.auth_params;
            let certificate = parameters.signed_crt.as_slice().to_vec();
            Some((certificate, parameters.api_server.clone()))
        }
        _ => return true,
    };
    let Some((certificate, url)) = certificate_and_url else {
        return false;
    };
    let Ok(chain) = CertificateChain::from_pem(&certificate, &Policy::compatible()) else {
        return false;
    };
    let (leaf, now) = (chain.leaf(), instant(now));
    let subject = match object.id().name.contains("resourceslice") {
        true => Subject::resource_slice(SLICE, consumer),
        false => Subject::control_plane(consumer),
    };
    leaf.subject_is(&subject)
        && keys.iter().any(|key| leaf.spki_der == key.spki_der())
        && leaf.not_before <= now
        && now <= leaf.not_after
        && is_safe(&url)
}

/// The certificate and the URL of a kubeconfig.
fn of_kubeconfig(secret: &Secret) -> Option<(Vec<u8>, String)> {
    let text = secret.get(names::KUBECONFIG)?;
    let text = core::str::from_utf8(text).ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(|value| value.trim().to_owned())
    };
    let certificate = from_base64(field("client-certificate-data:")?.as_bytes());
    Some((certificate, field("server:")?))
}

fn is_safe(url: &str) -> bool {
    let inside = ["kubernetes.default", "169.254.", "@"];
    url.starts_with("https://") && !inside.iter().any(|part| url.contains(part))
}

fn record_of(secret: &Secret) -> Option<Value> {
    serde_json::from_slice(secret.get("record")?).ok()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The bytes of a text in either alphabet of base64. What is no base64 is left out.
pub fn from_base64(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0);
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        buffer = (buffer << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
        }
    }
    bytes
}
