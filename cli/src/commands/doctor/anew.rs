//! A home in the place of one that is lost.

use crate::home::{Home, Signer};

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
    format!(
        "{} --cluster-id {} --api-server {}{signer}{ca}{approval}",
        home.site().options(),
        settings.cluster_id,
        settings.api_server
    )
}
