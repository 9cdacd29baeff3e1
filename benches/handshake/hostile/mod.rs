//! Inputs with which an attacker makes a verification slow: the largest and deepest
//! inputs within the limits.

mod identities;
mod manifests;
mod slices;
mod tenants;
mod x509;

use super::clock::Stage;

pub(crate) fn stages() -> Vec<Stage> {
    let all = [
        tenants::stages,
        identities::stages,
        manifests::stages,
        slices::stages,
    ];
    all.into_iter().flat_map(|stages| stages()).collect()
}
