//! The names that every provider refuses for a consumer.

use std::sync::Arc;

use liqo_auth::{
    crypto::{Entropy, RecordKey},
    error::Error,
    machine::{Env, View},
    model::{ClusterId, Object, Timestamp},
    policy::Policy,
    provider::{Endpoint, NameTable, Provider},
};

/// The error with which every provider refuses a consumer of this name: it is a
/// well-known principal, or too long. None if the name is good. A provider also knows
/// the principals of its own cluster.
pub fn refusal(consumer: &ClusterId, policy: &Policy, now: Timestamp) -> Option<Error> {
    let name = match consumer.as_str() {
        "provider" => "another-provider",
        _ => "provider",
    };
    let api_server = "https://127.0.0.1".parse().ok()?;
    // What this provider would write is never seen, so that nothing of it is secret.
    let record_key = RecordKey::new([1; 32]).ok()?;
    let provider = Provider::builder(
        name.parse().ok()?,
        Endpoint::new(api_server, None),
        record_key,
    )
    .principals(Arc::new(NameTable::default()))
    .configure(|config| config.policy = policy.clone())
    .build();
    let nothing: [Object; 0] = [];
    let env = Env {
        now,
        entropy: Entropy::from_bytes([1; 32]),
    };
    provider.invite(&View::of(consumer, &nothing), env).err()
}
