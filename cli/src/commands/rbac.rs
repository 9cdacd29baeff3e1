//! `rbac`: the least rights of the controllers.

use crate::{arguments::Sides, context::Context, failure::Result};

pub(super) fn run(context: &Context, sides: &Sides) -> Result<()> {
    let mut manifests = vec![BOTH];
    if sides.has_provider() {
        manifests.push(PROVIDER);
    }
    if sides.has_consumer() {
        manifests.push(CONSUMER);
    }
    context.printer.result(&manifests.join("---\n"))
}

// The manifests that a cluster installs.
const BOTH: &str = include_str!("../../../deploy/chart/rbac/both.yaml");
const PROVIDER: &str = include_str!("../../../deploy/chart/rbac/provider.yaml");
const CONSUMER: &str = include_str!("../../../deploy/chart/rbac/consumer.yaml");
