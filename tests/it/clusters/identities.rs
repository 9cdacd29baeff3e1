//! What a consumer's Identities have, beside what their provider has granted.

use liqo_auth::{
    crypto::CertificateChain,
    machine::Objects,
    model::{
        AuthParams, Identity, IdentityType, Resource, ResourceSlice, Tenant, Timestamp, names,
    },
    policy::Policy,
};

/// As Liqo's test `verifycertrenewal` has it: each Identity has the parameters of the Tenant or
/// the slice at the provider, and no certificate has expired. Returns the differences.
pub(crate) fn differing_identities(
    at_consumer: &Objects,
    at_provider: &Objects,
    now: Timestamp,
) -> Vec<String> {
    let mut found = Vec::new();
    let identities: Vec<&Identity> = at_consumer
        .iter()
        .filter_map(Identity::from_object)
        .collect();
    assert!(!identities.is_empty());
    for identity in identities {
        let name = &identity.metadata.name;
        let held = &identity.spec.auth_params;
        let granted = granted_to(identity, at_provider);
        let granted = granted.unwrap_or_else(|| panic!("{name}: nothing is granted"));
        let address =
            |of: &AuthParams| (of.api_server.clone(), of.ca.clone(), of.proxy_url.clone());
        if address(held) != address(&granted) || held.signed_crt != granted.signed_crt {
            found.push(format!("{name}: other parameters"));
        }
        let chain = CertificateChain::from_pem(held.signed_crt.as_slice(), &Policy::compatible());
        if chain.unwrap().leaf().not_after < now {
            found.push(format!("{name}: expired"));
        }
    }
    found
}

/// What the provider has granted in the object that an Identity stands for.
fn granted_to(identity: &Identity, at_provider: &Objects) -> Option<AuthParams> {
    let slice = identity
        .metadata
        .labels
        .get(names::RESOURCE_SLICE_NAME_LABEL);
    match identity.spec.identity_type {
        IdentityType::ResourceSlice => {
            let mut slices = at_provider.iter().filter_map(ResourceSlice::from_object);
            let found = slices.find(|found| Some(&found.metadata.name) == slice);
            found.and_then(|found| found.status.auth_params.clone())
        }
        _ => {
            let mut tenants = at_provider.iter().filter_map(Tenant::from_object);
            tenants.next()?.status.auth_params.clone()
        }
    }
}
