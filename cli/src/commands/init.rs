//! `init`: makes a home.

use std::path::Path;

use liqo_auth::{
    crypto::{Algorithm, SigningKey},
    model::{ApiServerUrl, ClusterId},
};

use liqo_auth_inspection::refusal_of_name;

use super::endpoint;
use crate::{
    arguments::{Init, Making},
    context::Context,
    failure::{Failure, Result},
    home::{self, Blueprint, GivenAuthority, Home, Signer, Use},
    input,
};

pub(super) fn run(context: &Context, arguments: &Init) -> Result<()> {
    let path = &*context.folder()?;
    let takes_no_key = match arguments.signer {
        Signer::Home => None,
        Signer::Kubernetes => {
            Some("kubernetes does not take --ca-key: the cluster's own signer has the key")
        }
        Signer::Aws => Some("aws does not take --ca-key: AWS users take the place of certificates"),
    };
    if let Some(reason) = takes_no_key.filter(|_| arguments.ca_key.is_some()) {
        return Err(Failure::usage(format!("--signer {reason}")));
    }
    let authority = match (&arguments.ca_cert, &arguments.ca_key) {
        (Some(certificate), Some(key)) => Some(GivenAuthority {
            certificate: input::read(certificate)?.to_vec(),
            key: input::read(key)?,
        }),
        _ => None,
    };
    let api_server_ca = match &arguments.api_server_ca {
        None => None,
        Some(file) => {
            let text = String::from_utf8(input::read(file)?.to_vec());
            Some(text.map_err(|_| Failure::usage("--api-server-ca: the file is not text"))?)
        }
    };
    let blueprint = Blueprint {
        authority,
        api_server_ca,
        require_approval: arguments.require_approval,
        signer: arguments.signer,
        key_per_provider: arguments.key_per_provider,
        // The key of a CA comes from a real cluster, and so does a signer.
        for_cluster: arguments.for_cluster
            || arguments.ca_key.is_some()
            || arguments.signer != Signer::Home,
        ..blueprint(
            context,
            path,
            arguments.cluster_id.as_ref(),
            &arguments.making,
            &arguments.making.api_server,
        )?
    };
    if !create(context, path, &blueprint)? {
        return Err(Failure::usage(format!(
            "{} is a home already, and stays as it is",
            path.display()
        )));
    }
    if context.trial().is_some() {
        return Ok(());
    }
    let home = Home::open_folder(path, Use::Read)?;
    let key = home.key()?;
    let (algorithm, fingerprint) = (key.public_key().algorithm(), key.public_key().fingerprint());
    context.printer.lines(&format!(
        "Made {}: the home of cluster {}\n  key         {algorithm}, {fingerprint}\n  API server  {}\n",
        path.display(),
        home.cluster_id(),
        home.settings.api_server,
    ))?;
    if matches!(algorithm, Algorithm::Rsa { .. }) {
        context.printer.warning(RSA_NEEDS);
    }
    if home.settings.signer != Signer::Home && home.settings.api_server_ca.is_none() {
        context.printer.warning(
            "Without --api-server-ca, peers are told that the API server's certificate is publicly trusted.",
        );
    }
    if let Some(warning) = endpoint::loopback(&home) {
        context.printer.warning(&warning);
    }
    Ok(())
}

/// What an RSA key asks of the other side.
const RSA_NEEDS: &str =
    "Liqo before 1.0.2 cannot read RSA keys: the peers need Liqo 1.0.2 or later, or this tool.";

/// The properties of a new home, without those that only `init` has options for.
pub(super) fn blueprint(
    context: &Context,
    path: &Path,
    cluster_id: Option<&ClusterId>,
    making: &Making,
    api_server: &ApiServerUrl,
) -> Result<Blueprint> {
    let cluster_id = match cluster_id {
        Some(given) => given.clone(),
        None => named_by(path)?,
    };
    let refusal = refusal_of_name(&cluster_id, &context.policy, context.clock.now()?);
    if let Some(error) = refusal {
        // The library's advice is for a cluster that exists.
        let rule = error.rule().map(|rule| format!(" ({rule})"));
        return Err(Failure::usage(format!(
            "no provider accepts a cluster with the ID {cluster_id}: {error}{}. Choose another ID with --cluster-id",
            rule.unwrap_or_default()
        )));
    }
    Ok(Blueprint {
        cluster_id,
        algorithm: making.key_algorithm.algorithm(),
        api_server: api_server.clone(),
        api_server_ca: None,
        require_approval: false,
        signer: Signer::Home,
        for_cluster: false,
        key_per_provider: false,
        authority: None,
        now: context.clock.now()?,
    })
}

/// Creates a home. A trial only notes the files. Returns false if the home exists
/// already.
pub(super) fn create(context: &Context, path: &Path, blueprint: &Blueprint) -> Result<bool> {
    match context.trial() {
        None => home::create(path, blueprint),
        Some(trial) => home::try_to_create(path, blueprint, trial),
    }
}

fn named_by(path: &Path) -> Result<ClusterId> {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    name.parse().map_err(|_| {
        Failure::usage(format!(
            "the folder's name {name:?} is not a cluster ID; give one with --cluster-id (lower-case letters, digits and '-')"
        ))
    })
}
