//! `set`: changes how peers reach the API server of this cluster.

use liqo_auth::{crypto::CaBundle, policy::Policy};

use super::endpoint;
use crate::{
    arguments::Set,
    context::{Context, load},
    failure::{Failure, Result},
    home::Use,
    input,
    overview::{self, Role},
};

pub(super) fn run(context: &Context, command: &Set) -> Result<()> {
    // Not all is loaded yet: a cluster's unusable settings would prevent that.
    let mut home = context.open_unloaded(Use::Write)?;
    context.try_out(&mut home);
    let line = match command {
        Set::ApiServer { url, ca } => {
            home.settings.api_server = url.clone();
            home.settings.is_internal = false;
            if let Some(file) = ca {
                home.settings.api_server_ca = Some(bundle(file)?);
            }
            format!("API server  {url}\n")
        }
        Set::Ca {
            file: Some(file), ..
        } => {
            let bundle = bundle(file)?;
            let fingerprint = fingerprints(&bundle);
            home.settings.api_server_ca = Some(bundle);
            format!("CA  {fingerprint}\n")
        }
        Set::Ca { file: None, .. } => {
            home.settings.api_server_ca = None;
            "CA  the default\n".to_owned()
        }
    };
    home.save()?;
    load(&mut home)?;
    context.printer.result(&line)?;
    if let Some(warning) = endpoint::loopback(&home) {
        context.printer.warning(&warning);
    }
    let peers = overview::peers(&home);
    let consumers = peers.iter().filter(|(_, role)| *role == Role::Consumer);
    let consumers: Vec<&str> = consumers.map(|(peer, _)| peer.as_str()).collect();
    if !consumers.is_empty() {
        context.printer.message(&format!(
            "Generate the Identities of these consumers again, and send them: {}. Each has pinned the earlier API server and CA, and takes the new ones after its administrator has run `release`.",
            consumers.join(", ")
        ));
    }
    Ok(())
}

/// The CA certificates in a file.
fn bundle(file: &std::path::Path) -> Result<String> {
    let text = input::read(file)?;
    let name = input::name(file);
    CaBundle::from_pem(&text, &Policy::compatible())
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    String::from_utf8(text.to_vec())
        .map_err(|_| Failure::usage(format!("{name}: the file is not text")))
}

fn fingerprints(bundle: &str) -> String {
    let bundle = CaBundle::from_pem(bundle.as_bytes(), &Policy::compatible());
    let certificates = bundle.iter().flat_map(CaBundle::certificates);
    let fingerprints: Vec<String> = certificates
        .map(|certificate| certificate.fingerprint().to_string())
        .collect();
    fingerprints.join(" ")
}
