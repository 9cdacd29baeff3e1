//! `rbac`: the least rights of the controllers.

use crate::{arguments::Rbac, context::Context, failure::Result};

pub(super) fn run(context: &Context, arguments: &Rbac) -> Result<()> {
    let mut manifests = vec![BOTH, POLICY];
    manifests.extend(arguments.watch_all_secrets.then_some(ALL_SECRETS));
    if arguments.sides.has_provider() {
        manifests.push(PROVIDER);
        manifests.extend(arguments.offloading.then_some(OFFLOADING_PROVIDER));
    }
    if arguments.sides.has_consumer() {
        manifests.push(CONSUMER);
        manifests.extend(arguments.offloading.then_some(OFFLOADING_CONSUMER));
        manifests.extend(arguments.replicate.then_some(REPLICATOR_CONSUMER));
    }
    context.printer.result(&manifests.join("---\n"))
}

// The manifests that a cluster installs.
const BOTH: &str = include_str!("../../../deploy/chart/rbac/both.yaml");
const POLICY: &str = include_str!("../../../deploy/chart/rbac/policy.yaml");
const ALL_SECRETS: &str = include_str!("../../../deploy/chart/rbac/all-secrets/both.yaml");
const PROVIDER: &str = include_str!("../../../deploy/chart/rbac/provider.yaml");
const CONSUMER: &str = include_str!("../../../deploy/chart/rbac/consumer.yaml");
const OFFLOADING_PROVIDER: &str =
    include_str!("../../../deploy/chart/rbac/offloading/provider.yaml");
const OFFLOADING_CONSUMER: &str =
    include_str!("../../../deploy/chart/rbac/offloading/consumer.yaml");
const REPLICATOR_CONSUMER: &str =
    include_str!("../../../deploy/chart/rbac/replicator/consumer.yaml");
