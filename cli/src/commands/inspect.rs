//! `inspect`: explains an object: its content, what is verified, and what is wrong.

mod as_home;

use liqo_auth::{
    crypto::{KeyPair, Nonce, SigningKey},
    policy::Policy,
};
use liqo_auth_inspection::{Cluster, Companions, Input, Inspection, Report, Verdict};
use serde_json::json;

use self::as_home::AsHome;
use crate::{
    arguments::Inspect,
    context::Context,
    failure::{Code, Failure, Result},
    home::Use,
    input,
    output::{Printer, counted},
};

pub(super) fn run(context: &Context, arguments: &Inspect) -> Result<()> {
    let inputs: Vec<Input> = arguments
        .all_files()
        .map(|file| {
            Input::read(input::name(file), input::read(file)?)
                .map_err(|message| Failure::new(Code::Refused, message))
        })
        .collect::<Result<_>>()?;
    let reports = reports(context, arguments, &inputs)?;
    let verdict = Verdict::of(&reports);
    match &arguments.output {
        Some(output) => {
            let reports: Vec<_> = reports.iter().map(Report::to_json).collect();
            let all = json!({ "objects": reports, "verdict": verdict.to_json() });
            context.document(&all, output)?;
        }
        None => {
            let texts = reports.iter().map(|report| text(report, context.printer));
            let texts: Vec<String> = texts.chain(sentences(&verdict, context.printer)).collect();
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

fn reports(context: &Context, arguments: &Inspect, inputs: &[Input]) -> Result<Vec<Report>> {
    let home = context
        .optional_site()
        .map(|_| context.open(Use::Read))
        .transpose()?;
    let home = home.map(|home| AsHome { home, context });
    let cluster: Option<&dyn Cluster<Failure>> = match &home {
        Some(home) => Some(home),
        None => None,
    };
    let inspection = Inspection {
        policy: &context.policy,
        remote_cluster_id: arguments.remote_cluster_id.as_ref(),
        nonce: &|| given_nonce(context, arguments),
        cluster,
        public_key: |pem| {
            let key = KeyPair::from_pkcs8_pem(pem, &Policy::compatible())?;
            Ok(key.public_key().clone())
        },
        companions: Companions::of(inputs),
        now: context.clock.now()?,
    };
    let mut reports = Vec::new();
    for input in inputs {
        reports.extend(inspection.reports(input)?);
    }
    Ok(reports)
}

fn given_nonce(context: &Context, arguments: &Inspect) -> Result<Option<Nonce>> {
    let Some(argument) = &arguments.nonce else {
        return Ok(None);
    };
    let text = input::nonce(argument)?;
    Nonce::parse(&text, &context.policy)
        .map(Some)
        .map_err(|error| Failure::usage(format!("--nonce: {error}")))
}

fn text(report: &Report, printer: Printer) -> String {
    let mut text = format!("{}\n", report.title);
    for (what, line) in &report.facts {
        text.push_str(&printer.field(what, line));
    }
    for (mark, line) in report.marked() {
        text.push_str(&printer.marked(mark, line));
    }
    text
}

/// Fingerprints have lines of their own, to compare and to copy. None for no verdict.
fn sentences(verdict: &Verdict, printer: Printer) -> Option<String> {
    let sentences = verdict.sentences();
    let texts = sentences.iter().map(|(sentence, fingerprint)| {
        let below = fingerprint.map(|fingerprint| format!("{fingerprint}\n"));
        format!("{}{}", printer.prose(sentence), below.unwrap_or_default())
    });
    (!sentences.is_empty()).then(|| texts.collect())
}
