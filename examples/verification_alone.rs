//! Verification without a machine: does this Tenant belong to that cluster, and
//! did that cluster sign that nonce?
//!
//! The files have the form of `tests/vectors/corpus`: each has a nonce and a
//! Tenant. Without arguments, the example judges an honest Tenant and three
//! hostile ones.
//!
//! ```sh
//! cargo run --example verification_alone [FILE...]
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "an embedder has files and arguments"
)]

use std::fs;

use liqo_auth::{
    crypto::{BoxError, Nonce},
    model::{Object, Resource, Tenant},
    policy::Policy,
    verify::{self, TenantExpectation},
};
use serde_json::Value;

fn main() -> Result<(), BoxError> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let files = if named.is_empty() {
        BUNDLED.map(str::to_owned).to_vec()
    } else {
        named
    };
    for file in files {
        let case: Value = serde_json::from_slice(&fs::read(&file)?)?;
        println!("{file}\n  {}", judge(&case)?);
    }
    Ok(())
}

fn judge(case: &Value) -> Result<String, BoxError> {
    let policy = Policy::strict();
    let nonce = case["nonce"].as_str().unwrap_or_default();
    let nonce = Nonce::parse(nonce.as_bytes(), &policy)?;
    let object = Object::from_value(case["tenant"].clone());
    let tenant = Tenant::from_object(&object).ok_or("there is no Tenant in the file")?;

    // An administrator knows which consumer to expect. This example accepts the
    // ID that the Tenant claims.
    let verdict = verify::claimed_consumer(tenant).and_then(|consumer| {
        let expectation = TenantExpectation {
            consumer: &consumer,
            nonce: &nonce,
        };
        verify::tenant(tenant, &expectation, &policy)
    });
    Ok(match verdict {
        Ok(verified) => {
            let (consumer, key) = (&verified.cluster_id, &verified.public_key);
            format!(
                "accepted: {consumer}, {}, {}",
                key.algorithm(),
                key.fingerprint()
            )
        }
        Err(error) => format!("refused: {error}\n  {}", error.advice()),
    })
}

const BUNDLED: [&str; 4] = [
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/tenants/T000-honest-ed25519.json"
    ),
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/tenants/T010-O-kubeadm-admins.json"
    ),
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/tenants/T122-ed-small-order-6.json"
    ),
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/tenants/T063-selfsig-other-key.json"
    ),
];
