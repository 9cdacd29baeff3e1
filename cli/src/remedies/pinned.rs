//! An address that differs from the pinned one: both are named, so that a person can ask the
//! provider's administrator about them.

use liqo_auth::{
    crypto::CaBundle,
    error::{Error, Fault, PeerIncompatible},
    model::{
        AuthParams, ClusterId, Identity, Kind, Kubeconfig, ObjectRef, Renew, ResourceSlice, Secret,
        names,
    },
    policy::Policy,
};

use crate::{home::Home, output::escaped};

/// What this side has pinned, and what the refused object says instead, if the home has both.
/// None if something else is wrong.
pub(crate) fn pinned(home: &Home, provider: &ClusterId, error: &Error) -> Option<String> {
    let changed = Fault::PeerIncompatible(PeerIncompatible::EndpointChanged);
    if *error.fault() != changed {
        return None;
    }
    let place = error.at();
    let answer = place.object.as_ref().and_then(|id| answer(home, id));
    let kubeconfig = kubeconfig(home, provider)?;
    let (what, pinned, said) = match place.field.ends_with(".ca") {
        true => (
            "CA",
            authorities(kubeconfig.certificate_authority.as_slice()),
            answer.map(|answer| authorities(answer.ca.as_slice())),
        ),
        false => (
            "URL",
            escaped(&kubeconfig.server),
            answer.map(|answer| escaped(&answer.api_server)),
        ),
    };
    Some(match said.filter(|said| *said != pinned) {
        Some(said) => {
            format!("This side has pinned the {what} {pinned}, and the answer has {said}.")
        }
        None => format!("This side has pinned the {what} {pinned}."),
    })
}

/// What the provider says in a stored object.
fn answer<'h>(home: &'h Home, id: &ObjectRef) -> Option<&'h AuthParams> {
    let (namespace, name) = (id.namespace.as_str(), id.name.as_str());
    match id.kind {
        Kind::Identity => {
            let identity: &Identity = home.get(namespace, name)?;
            Some(&identity.spec.auth_params)
        }
        Kind::ResourceSlice => {
            let slice: &ResourceSlice = home.get(namespace, name)?;
            slice.status.auth_params.as_ref()
        }
        Kind::Renew => {
            let renew: &Renew = home.get(namespace, name)?;
            renew.status.auth_params.as_ref()
        }
        _ => None,
    }
}

/// The kubeconfig of the control plane, which is made of what is pinned.
fn kubeconfig(home: &Home, provider: &ClusterId) -> Option<Kubeconfig> {
    let name = names::kubeconfig_secret(&names::identity_name(provider));
    let mut secrets = home.all::<Secret>();
    let secret = secrets.find(|secret| secret.metadata.name == name)?;
    let text = std::str::from_utf8(secret.get(names::KUBECONFIG)?).ok()?;
    Kubeconfig::parse(text).ok()
}

/// The fingerprints of a CA's certificates.
fn authorities(pem: &[u8]) -> String {
    let bundle = CaBundle::from_pem(pem, &Policy::compatible());
    let certificates = bundle.iter().flat_map(CaBundle::certificates);
    let fingerprints = certificates.map(|certificate| certificate.fingerprint().to_string());
    let fingerprints: Vec<String> = fingerprints.take(MOST_SHOWN).collect();
    match fingerprints.is_empty() {
        true => "none".to_owned(),
        false => fingerprints.join(", "),
    }
}

/// The most certificates of a CA that are named.
const MOST_SHOWN: usize = 3;
