//! `rbac`: the least rights of the controllers, or of a guard.

use crate::{arguments::Rbac, context::Context, failure::Result};

pub(super) fn run(context: &Context, arguments: &Rbac) -> Result<()> {
    let mut manifests = vec![BOTH];
    manifests.push(if arguments.guard {
        GUARD_TENANT
    } else {
        TENANT
    });
    manifests.push(POLICY);
    manifests.extend(arguments.watch_all_secrets.then_some(ALL_SECRETS));
    manifests.extend(match arguments.guard {
        true => of_guard(arguments),
        false => of_controllers(arguments),
    });
    context.printer.result(&manifests.join("---\n"))
}

fn of_controllers(arguments: &Rbac) -> Vec<&'static str> {
    let mut manifests = Vec::new();
    if arguments.sides.has_provider() {
        manifests.push(PROVIDER);
        manifests.extend(arguments.offloading.then_some(OFFLOADING_PROVIDER));
    }
    if arguments.sides.has_consumer() {
        manifests.push(CONSUMER);
        manifests.extend(arguments.offloading.then_some(OFFLOADING_CONSUMER));
        manifests.extend(arguments.replicate.then_some(REPLICATOR_CONSUMER));
    }
    manifests
}

fn of_guard(arguments: &Rbac) -> Vec<&'static str> {
    let mut manifests = vec![GUARD_BOTH];
    manifests.extend(arguments.sides.has_provider().then_some(GUARD_PROVIDER));
    manifests.extend(arguments.sides.has_consumer().then_some(GUARD_CONSUMER));
    manifests
}

// The manifests that a cluster installs.
const BOTH: &str = include_str!("rbac/both.yaml");
const TENANT: &str = include_str!("rbac/tenant.yaml");
const POLICY: &str = include_str!("rbac/policy.yaml");
const ALL_SECRETS: &str = include_str!("rbac/all-secrets/both.yaml");
const PROVIDER: &str = include_str!("rbac/provider.yaml");
const CONSUMER: &str = include_str!("rbac/consumer.yaml");
const OFFLOADING_PROVIDER: &str = include_str!("rbac/offloading/provider.yaml");
const OFFLOADING_CONSUMER: &str = include_str!("rbac/offloading/consumer.yaml");
const REPLICATOR_CONSUMER: &str = include_str!("rbac/replicator/consumer.yaml");
const GUARD_TENANT: &str = include_str!("rbac/guard/tenant.yaml");
const GUARD_BOTH: &str = include_str!("rbac/guard/both.yaml");
const GUARD_PROVIDER: &str = include_str!("rbac/guard/provider.yaml");
const GUARD_CONSUMER: &str = include_str!("rbac/guard/consumer.yaml");
