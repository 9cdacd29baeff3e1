//! `inspect`: explains an object: its content, what is verified, and what is wrong.

mod bare_file;
mod companions;
mod identity;
mod kubeconfig;
mod other_kinds;
mod renew;
mod report;
mod resource_slice;
mod rights;
mod secret;
mod signing_request;
mod slice_identity;
mod surroundings;
mod tenant;
mod verdict;

use std::path::Path;

use liqo_auth::{
    crypto::{Certificate, Nonce},
    error::Error,
    model::{ClusterId, Object, Timestamp, manifest},
    policy::Limits,
};
use serde_json::json;
use zeroize::Zeroizing;

use self::{companions::Companions, report::Report, verdict::Verdict};
use super::consumer_name;
use crate::{
    arguments::Inspect,
    context::Context,
    failure::{Code, Failure, Result, paragraph, with_code},
    home::{Home, Use},
    input,
    output::{age, counted},
    recognition::{self, Recognised},
    remedies::{Role, way_out},
};

pub(super) fn run(context: &Context, arguments: &Inspect) -> Result<()> {
    let inputs: Vec<Input> = arguments
        .all_files()
        .map(Input::read)
        .collect::<Result<_>>()?;
    let home = context
        .optional_site()
        .map(|_| context.open(Use::Read))
        .transpose()?;
    let inspection = Inspection {
        context,
        arguments,
        home: home.as_ref(),
        companions: Companions::of(&inputs),
        now: context.clock.now()?,
    };
    let mut reports = Vec::new();
    for input in &inputs {
        reports.extend(inspection.reports(input)?);
    }
    let verdict = Verdict::of(&reports);
    match &arguments.output {
        Some(output) => {
            let reports: Vec<_> = reports.iter().map(Report::to_json).collect();
            let all = json!({ "objects": reports, "verdict": verdict.to_json() });
            context.document(&all, output)?;
        }
        None => {
            let texts = reports.iter().map(|report| report.to_text(context.printer));
            let texts: Vec<String> = texts.chain(verdict.to_text(context.printer)).collect();
            context.printer.result(&texts.join("\n"))?;
        }
    }
    let files: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let files = files.join(", ");
    if reports.iter().any(|report| !report.wrong.is_empty()) {
        return Err(Failure::new(
            Code::Refused,
            format!("{files} would be refused, for the reasons above"),
        ));
    }
    let open: usize = reports.iter().map(|report| report.unverified.len()).sum();
    if arguments.strict && open > 0 {
        return Err(Failure::new(
            Code::Refused,
            format!(
                "{files}: {} above not verified (--strict)",
                counted(open, "point")
            ),
        ));
    }
    Ok(())
}

/// A file, with its objects.
struct Input {
    name: String,
    text: Zeroizing<Vec<u8>>,
    objects: Vec<Object>,
    /// What the file is, if it is no manifest.
    bare: Option<Recognised>,
}

impl Input {
    fn read(file: &Path) -> Result<Self> {
        let text = input::read(file)?;
        let name = input::name(file);
        let bare = Recognised::of(&text);
        let objects = match bare {
            Some(Recognised::Utf16 | Recognised::Tab { .. }) => {
                let hint = recognition::hint(&text);
                return Err(Failure::new(
                    Code::Refused,
                    format!("{name} cannot be read.{hint}"),
                ));
            }
            Some(Recognised::Empty) => Vec::new(),
            Some(_) => {
                return Ok(Self {
                    name,
                    text,
                    objects: Vec::new(),
                    bare,
                });
            }
            None => manifest::read(&text, &Limits::default()).map_err(|error| {
                Failure::new(Code::Refused, format!("{name} is not a manifest: {error}"))
            })?,
        };
        if objects.is_empty() {
            return Err(Failure::new(
                Code::Refused,
                format!("{name} does not contain an object"),
            ));
        }
        Ok(Self {
            name,
            text,
            objects,
            bare: None,
        })
    }
}

/// The context of an inspection.
struct Inspection<'a> {
    context: &'a Context,
    arguments: &'a Inspect,
    home: Option<&'a Home>,
    /// The files of the same call.
    companions: Companions,
    now: Timestamp,
}

impl Inspection<'_> {
    fn reports(&self, input: &Input) -> Result<Vec<Report>> {
        if let Some(bare) = input.bare {
            return Ok(bare_file::inspect(self, input, bare));
        }
        let objects = input.objects.iter();
        objects.map(|object| self.report(input, object)).collect()
    }

    fn report(&self, input: &Input, object: &Object) -> Result<Report> {
        Ok(match object {
            Object::Tenant(tenant) => tenant::inspect(self, tenant)?,
            Object::Identity(identity) => identity::inspect(self, identity)?,
            Object::ResourceSlice(slice) => resource_slice::inspect(self, slice)?,
            Object::Renew(renew) => renew::inspect(self, renew)?,
            Object::CertificateSigningRequest(request) => signing_request::inspect(self, request)?,
            Object::Secret(secret) => secret::inspect(self, secret),
            Object::Namespace(namespace) => surroundings::namespace(namespace),
            Object::ConfigMap(config_map) => surroundings::config_map(config_map),
            Object::ForeignCluster(cluster) => surroundings::foreign_cluster(cluster),
            Object::RoleBinding(binding) => rights::role_binding(binding),
            Object::ClusterRoleBinding(binding) => rights::cluster_role_binding(binding),
            Object::Role(role) => rights::role(role),
            Object::ClusterRole(role) => rights::cluster_role(role),
            Object::ServiceAccount(account) => rights::service_account(account),
            Object::Unreadable(unreadable) => other_kinds::inspect(unreadable, &input.text),
            other => other_kinds::unexplained(&other.id().to_string()),
        })
    }

    fn given_nonce(&self) -> Result<Option<Nonce>> {
        let Some(argument) = &self.arguments.nonce else {
            return Ok(None);
        };
        let text = input::nonce(argument)?;
        Nonce::parse(&text, &self.context.policy)
            .map(Some)
            .map_err(|error| Failure::usage(format!("--nonce: {error}")))
    }

    /// Notes in the report what is wrong, with the commands on the home that was given.
    fn refused(&self, peer: &ClusterId, role: Role, error: &Error, report: &mut Report) {
        match self.home.filter(|home| home.cluster_id() != peer) {
            None => report.error(error),
            Some(home) => {
                let way_out = way_out(home, peer, role, error);
                report.wrong(format!("{}. {way_out}", with_code(error)));
            }
        }
    }

    /// Notes in the report that every provider refuses a consumer of this name, if so.
    fn judge_name(&self, consumer: &ClusterId, report: &mut Report) -> Result<bool> {
        let context = self.context;
        let refusal = consumer_name::refusal(consumer, &context.policy, context.clock)?;
        if let Some(error) = &refusal {
            report.wrong(format!("the consumer {consumer}: {}", paragraph(error)));
        }
        Ok(refusal.is_none())
    }

    /// The dates of a certificate, for people.
    fn dates(&self, certificate: &Certificate) -> String {
        let (from, until) = (certificate.not_before, certificate.not_after);
        let state = if self.now > until {
            format!("expired {} ago", age(self.now.since(until)))
        } else if self.now < from {
            format!("begins in {}", age(from.since(self.now)))
        } else {
            format!("ends in {}", age(until.since(self.now)))
        };
        format!("{from} to {until} ({state})")
    }
}
