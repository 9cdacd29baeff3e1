//! `set`: changes how peers reach the API server of this cluster, and how certificates are
//! renewed.

use clap::{ValueEnum, builder::PossibleValue};
use liqo_auth::{
    crypto::CaBundle,
    model::{AuthParams, ClusterId, Tenant},
    policy::Policy,
};

use super::{aws, endpoint};
use crate::{
    arguments::Set,
    context::{Context, load},
    failure::{Failure, Result},
    home::{Home, Use},
    input,
    overview::{self, Role},
    peering::provider_side::check_other,
    values::renewal_name::RenewalName,
};

pub(super) fn run(context: &Context, command: &Set) -> Result<()> {
    match command {
        Set::ApiServer { url, ca } => set_endpoint(context, |home| {
            home.settings.api_server = url.clone();
            home.settings.is_internal = false;
            if let Some(file) = ca {
                home.settings.api_server_ca = Some(bundle(file)?);
            }
            Ok(format!("API server  {url}\n"))
        }),
        Set::Ca {
            file: Some(file), ..
        } => set_endpoint(context, |home| {
            let bundle = bundle(file)?;
            let fingerprint = fingerprints(&bundle);
            home.settings.api_server_ca = Some(bundle);
            Ok(format!("CA  {fingerprint}\n"))
        }),
        Set::Ca {
            file: None,
            default: false,
        } => Err(Failure::usage(
            "name the file with the CA certificates, or give --default",
        )),
        Set::Ca { file: None, .. } => set_endpoint(context, |home| {
            home.settings.api_server_ca = None;
            Ok("CA  the default\n".to_owned())
        }),
        Set::AwsUser(arguments) => aws::set_user(context, arguments),
        Set::Renewal {
            scheme,
            remote_cluster_id,
        } => set_renewal(context, *scheme, remote_cluster_id),
    }
}

/// Changes how peers reach the API server. `change` returns the line to print.
fn set_endpoint(context: &Context, change: impl FnOnce(&mut Home) -> Result<String>) -> Result<()> {
    // Not all is loaded yet: a cluster's unusable settings would prevent that.
    let mut home = context.open_unloaded(Use::Write)?;
    context.try_out(&mut home)?;
    let line = change(&mut home)?;
    home.save()?;
    load(&mut home)?;
    context.printer.result(&line)?;
    if let Some(warning) = endpoint::loopback(&home) {
        context.printer.warning(&warning);
    }
    let consumers = with_earlier_endpoint(&home)?;
    if !consumers.is_empty() {
        context.printer.message(&format!(
            "Generate the Identities of these consumers again, and send them: {}. A consumer that has pinned another API server or CA takes them after its administrator has run `release`.",
            consumers.join(", ")
        ));
    }
    Ok(())
}

/// The consumers that were given another endpoint than the present one.
fn with_earlier_endpoint(home: &Home) -> Result<Vec<&str>> {
    let ca = home.ca_bundle(&home.settings)?;
    let ca = ca.as_ref().map_or(&[][..], CaBundle::pem);
    let is_earlier = |given: &AuthParams| {
        given.api_server != home.settings.api_server.as_str() || given.ca.as_slice() != ca
    };
    let tenants = home.all::<Tenant>().filter(|tenant| {
        let given = tenant.status.auth_params.as_ref();
        given.is_some_and(is_earlier)
    });
    Ok(tenants
        .map(|tenant| tenant.spec.cluster_id.as_str())
        .collect())
}

fn set_renewal(context: &Context, scheme: RenewalName, provider: &ClusterId) -> Result<()> {
    let mut home = context.open(Use::Write)?;
    check_other(&home, provider)?;
    if !overview::peers(&home).contains(&(provider.clone(), Role::Provider)) {
        return Err(Failure::waiting(format!(
            "{} has no provider {provider}: set the renewal after the Tenant for it is generated",
            home.site()
        )));
    }
    home.peer_mut(provider).renewal = scheme;
    home.save()?;
    let name = scheme.to_possible_value();
    let name = name.as_ref().map_or("", PossibleValue::get_name);
    let line = format!("Renewal of the certificates from {provider}  {name}\n");
    context.printer.result(&line)
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
