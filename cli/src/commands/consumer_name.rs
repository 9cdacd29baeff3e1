//! The names that every provider refuses for a consumer.

use std::sync::Arc;

use anyhow::Context as _;
use getrandom::SysRng;
use liqo_auth::{
    crypto::RecordKey,
    error::Error,
    machine::View,
    model::{ApiServerUrl, ClusterId, Object},
    policy::Policy,
    provider::{Endpoint, NameTable, Provider},
};

use crate::{environment::Clock, failure::Result};

/// The error with which every provider refuses a consumer of this name: it is a
/// well-known principal, or too long. None if the name is good. A provider also knows
/// the principals of its own cluster.
pub(super) fn refusal(
    consumer: &ClusterId,
    policy: &Policy,
    clock: Clock,
) -> Result<Option<Error>> {
    let name = match consumer.as_str() {
        "provider" => "another-provider",
        _ => "provider",
    };
    let name: ClusterId = name.parse().context("the name of a provider")?;
    let api_server: ApiServerUrl = "https://127.0.0.1".parse().context("a URL")?;
    let record_key = RecordKey::draw(&mut SysRng).context("a record key")?;
    let provider = Provider::builder(name, Endpoint::new(api_server, None), record_key)
        .principals(Arc::new(NameTable::default()))
        .configure(|config| config.policy = policy.clone())
        .build();
    let nothing: [Object; 0] = [];
    let invited = provider.invite(&View::of(consumer, &nothing), clock.env()?);
    Ok(invited.err())
}
