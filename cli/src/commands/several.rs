//! The same for several tenants, as kubectl takes several names.

use liqo_auth::model::ClusterId;

use crate::{
    context::Context,
    failure::{Code, Failure, Result},
    output::counted,
};

/// Does something with each of these tenants. A failure holds up no other tenant, unless the
/// command line itself is wrong. Each failure is told, and the exit code is that of the first one.
pub(super) fn each(
    context: &Context,
    tenants: &[ClusterId],
    mut act: impl FnMut(&ClusterId) -> Result<()>,
) -> Result<()> {
    if let [tenant] = tenants {
        return act(tenant);
    }
    let mut first = None;
    let mut names = Vec::new();
    for tenant in tenants {
        let Err(failure) = act(tenant) else {
            continue;
        };
        if failure.code == Code::Usage || !failure.is_told() {
            return Err(failure);
        }
        first.get_or_insert(failure.code);
        names.push(tenant.as_str());
        context
            .printer
            .error(&failure.about(tenant.as_str()).to_string());
    }
    match first {
        None => Ok(()),
        Some(code) => Err(Failure::new(
            code,
            format!(
                "{} of {} failed: {}",
                names.len(),
                counted(tenants.len(), "tenant"),
                names.join(", ")
            ),
        )),
    }
}
