//! Inputs of an attacker who wants a verification to take long: the largest and
//! deepest inputs within the limits.

mod identities;
mod manifests;
mod tenants;
mod x509;

use super::clock::Stage;

pub(crate) fn stages() -> Vec<Stage> {
    let all = [tenants::stages, identities::stages, manifests::stages];
    all.into_iter().flat_map(|stages| stages()).collect()
}
