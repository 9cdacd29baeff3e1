//! `transcript`: the code that two administrators compare.

use liqo_auth::assurance::transcript::Transcript;
use serde_json::json;

use crate::{
    arguments::transcript::TranscriptOf,
    context::Context,
    failure::{Code, Failure, Result},
    home::Use,
    peering::{consumer_side::ConsumerSide, provider_side::ProviderSide},
};

pub(super) fn run(context: &Context, arguments: &TranscriptOf) -> Result<()> {
    let peer = &arguments.remote_cluster_id;
    let mut home = context.open(Use::Read)?;
    let own = home.cluster_id().clone();
    let provider = ProviderSide::new(&mut home, peer, &context.policy, context.clock)?;
    let as_provider = provider.transcript()?;
    let consumer = ConsumerSide::new(&mut home, peer, &context.policy, context.clock)?;
    let as_consumer = consumer.transcript()?;
    let found: Vec<(String, Transcript)> = [
        (format!("{own} -> {peer}"), as_consumer),
        (format!("{peer} -> {own}"), as_provider),
    ]
    .into_iter()
    .filter_map(|(direction, transcript)| Some((direction, transcript?)))
    .collect();
    if found.is_empty() {
        return Err(Failure::waiting(format!(
            "there is nothing to compare with {peer} yet: authenticate first"
        )));
    }
    if let Some(output) = &arguments.output {
        let codes = found.iter().map(|(direction, transcript)| {
            json!({
                "direction": direction,
                "code": transcript.code().to_string(),
                "text": arguments.text.then(|| transcript.text()),
            })
        });
        let all = json!({ "transcripts": codes.collect::<Vec<_>>() });
        context.document(&all, output)?;
        return expect(arguments, &found);
    }
    for (direction, transcript) in &found {
        let text = if arguments.text {
            transcript.text().to_owned()
        } else {
            String::new()
        };
        let code = transcript.code();
        context
            .printer
            .result(&format!("{text}{direction}  {code}\n"))?;
    }
    expect(arguments, &found)
}

/// Fails if another code is expected.
fn expect(arguments: &TranscriptOf, found: &[(String, Transcript)]) -> Result<()> {
    let Some(expected) = arguments.expect else {
        return Ok(());
    };
    if found
        .iter()
        .any(|(_, transcript)| transcript.code() == expected)
    {
        return Ok(());
    }
    Err(Failure::new(
        Code::Refused,
        format!(
            "the code is not {expected}. Compare the lines of `liqo-auth transcript --text` on both sides: they show the difference. Unless a new nonce was made since, a file was changed in transit: do not use the kubeconfig any more."
        ),
    ))
}
