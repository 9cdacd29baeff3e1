//! A home in the place of one that is lost.

use liqo_auth::{
    crypto::{Algorithm, PublicKey, SigningKey},
    model::Identity,
    policy::Policy,
};
use serde_json::{Value, to_value};

use crate::{
    home::{Home, Settings, Signer, certified_spki},
    values::key_algorithm::KeyAlgorithm,
};

/// The options of `init` that make a home with the settings of this one.
pub(super) fn options(home: &Home) -> String {
    let settings = &home.settings;
    let signer = match settings.signer {
        Signer::Home if settings.for_cluster => " --for-cluster",
        Signer::Home => "",
        Signer::Kubernetes => " --signer kubernetes",
        Signer::Aws => " --signer aws",
    };
    let ca = match settings.api_server_ca {
        Some(_) => " --api-server-ca FILE",
        None => "",
    };
    let approval = match settings.require_approval {
        true => " --require-approval",
        false => "",
    };
    let own_keys = match settings.key_per_provider {
        Some(true) => " --key-per-provider",
        Some(false) | None => "",
    };
    let key = algorithm(home)
        .filter(|algorithm| *algorithm != Algorithm::Ed25519)
        .and_then(KeyAlgorithm::name_of)
        .map(|name| format!(" --key-algorithm {name}"))
        .unwrap_or_default();
    format!(
        "{} --cluster-id {} --api-server {}{signer}{ca}{approval}{own_keys}{key}",
        home.site().options(),
        settings.cluster_id,
        settings.api_server
    )
}

/// What else a person copies, if there is anything: no option of `init` sets it.
pub(super) fn other_settings(settings: &Settings) -> Option<&'static str> {
    let Ok(Value::Object(settings)) = to_value(settings) else {
        return None;
    };
    let mut names = settings.keys();
    names
        .any(|name| !OPTIONS.contains(&name.as_str()))
        .then_some(" Copy the other settings from the home.yaml of the folder that you moved away.")
}

/// The settings that the options of `init` set.
const OPTIONS: [&str; 7] = [
    "clusterID",
    "apiServer",
    "apiServerCA",
    "requireApproval",
    "signer",
    "forCluster",
    "keyPerProvider",
];

/// The algorithm of the cluster's key, or of the key in a certificate that it got.
fn algorithm(home: &Home) -> Option<Algorithm> {
    if let Ok(key) = home.key() {
        return Some(key.public_key().algorithm());
    }
    let identities = home.all::<Identity>();
    let mut certified = identities.filter_map(|it| certified_spki(&it.spec.auth_params));
    let key = PublicKey::from_spki_der(&certified.next()?, &Policy::compatible()).ok()?;
    Some(key.algorithm())
}
