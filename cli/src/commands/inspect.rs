//! `inspect`: explains an object: its content, what is verified, and what is wrong.

mod identity;
mod renew;
mod resource_slice;
mod rights;
mod secret;
mod signing_request;
mod slice_identity;
mod surroundings;
mod tenant;

use liqo_auth::{
    crypto::{Certificate, Nonce},
    error::Error,
    model::{Object, Timestamp, manifest},
    policy::Limits,
};

use crate::{
    arguments::Inspect,
    context::Context,
    failure::{Code, Failure, Result, paragraph},
    home::{Home, Use},
    input,
    output::{age, escaped},
};

pub(super) fn run(context: &Context, arguments: &Inspect) -> Result<()> {
    let text = input::read(&arguments.file)?;
    let file = input::name(&arguments.file);
    let objects = manifest::read(&text, &Limits::default()).map_err(|error| {
        Failure::new(Code::Refused, format!("{file} is not a manifest: {error}"))
    })?;
    let home = context
        .optional_site()
        .map(|_| context.open(Use::Read))
        .transpose()?;
    let inspection = Inspection {
        context,
        arguments,
        home: home.as_ref(),
        now: context.clock.now()?,
    };
    let mut reports = Vec::new();
    for object in &objects {
        reports.push(match object {
            Object::Tenant(tenant) => tenant::inspect(&inspection, tenant)?,
            Object::Identity(identity) => identity::inspect(&inspection, identity)?,
            Object::ResourceSlice(slice) => resource_slice::inspect(&inspection, slice)?,
            Object::Renew(renew) => renew::inspect(&inspection, renew),
            Object::CertificateSigningRequest(request) => {
                signing_request::inspect(&inspection, request)
            }
            Object::Secret(secret) => secret::inspect(&inspection, secret),
            Object::Namespace(namespace) => surroundings::namespace(namespace),
            Object::ConfigMap(config_map) => surroundings::config_map(config_map),
            Object::ForeignCluster(cluster) => surroundings::foreign_cluster(cluster),
            Object::RoleBinding(binding) => rights::role_binding(binding),
            Object::ClusterRoleBinding(binding) => rights::cluster_role_binding(binding),
            Object::Role(role) => rights::role(role),
            Object::ClusterRole(role) => rights::cluster_role(role),
            Object::ServiceAccount(account) => rights::service_account(account),
            Object::Unreadable(unreadable) => {
                let mut report = Report::new(&unreadable.id.to_string());
                report.wrong(format!(
                    "{}. Ask its sender to generate it again, and pass it on unchanged.",
                    unreadable.reason
                ));
                report
            }
            other => {
                let mut report = Report::new(&other.id().to_string());
                report.say("Kind", "a kind that `inspect` does not explain");
                report
            }
        });
    }
    if reports.is_empty() {
        return Err(Failure::new(
            Code::Refused,
            format!("{file} holds no object"),
        ));
    }
    let texts: Vec<String> = reports
        .iter()
        .map(|report| report.to_text(context))
        .collect();
    context.printer.result(&texts.join("\n"))?;
    let wrong: usize = reports.iter().map(|report| report.wrong.len()).sum();
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::new(
            Code::Refused,
            format!("{file} would be refused, for the reasons above"),
        )),
    }
}

/// The context of an inspection.
struct Inspection<'a> {
    context: &'a Context,
    arguments: &'a Inspect,
    home: Option<&'a Home>,
    now: Timestamp,
}

/// The report about one object.
struct Report {
    title: String,
    lines: Vec<(&'static str, String)>,
    verified: Vec<String>,
    unverified: Vec<String>,
    wrong: Vec<String>,
}

impl Inspection<'_> {
    fn given_nonce(&self) -> Result<Option<Nonce>> {
        let Some(argument) = &self.arguments.nonce else {
            return Ok(None);
        };
        let text = input::nonce(argument)?;
        Nonce::parse(&text, &self.context.policy)
            .map(Some)
            .map_err(|error| Failure::usage(format!("--nonce: {error}")))
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

impl Report {
    fn new(title: &str) -> Self {
        Self {
            title: escaped(title),
            lines: Vec::new(),
            verified: Vec::new(),
            unverified: Vec::new(),
            wrong: Vec::new(),
        }
    }

    fn say(&mut self, what: &'static str, text: impl AsRef<str>) {
        self.lines.push((what, text.as_ref().to_owned()));
    }

    fn verified(&mut self, what: impl Into<String>) {
        self.verified.push(what.into());
    }

    fn unverified(&mut self, what: impl Into<String>) {
        self.unverified.push(what.into());
    }

    fn wrong(&mut self, what: String) {
        self.wrong.push(what);
    }

    fn error(&mut self, error: &Error) {
        self.wrong.push(paragraph(error));
    }

    fn to_text(&self, context: &Context) -> String {
        let mut text = format!("{}\n", self.title);
        for (what, line) in &self.lines {
            text.push_str(&format!("  {what:<16}{line}\n"));
        }
        let verdicts = [
            (true, "Verified", &self.verified),
            (true, "Not verified", &self.unverified),
            (false, "Wrong", &self.wrong),
        ];
        for (good, word, lines) in verdicts {
            for line in lines {
                let padded = format!("{word:<16}");
                text.push_str(&format!(
                    "  {}{line}\n",
                    context.printer.verdict(good, &padded)
                ));
            }
        }
        text
    }
}
