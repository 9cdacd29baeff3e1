//! Certificates that end soon, for monitoring.

use std::time::Duration;

use liqo_auth::model::Timestamp;

use crate::{
    context::Context,
    output::{age, counted},
    overview::Peering,
};

/// Warns of each certificate that ends within this time, or has ended, and tells their number.
pub(super) fn told(
    context: &Context,
    peerings: &[Peering],
    within: Duration,
    now: Timestamp,
) -> Option<String> {
    let mut number = 0_usize;
    for (name, certificate) in peerings.iter().flat_map(Peering::certificates) {
        if certificate.ends > now + within {
            continue;
        }
        number += 1;
        let when = match certificate.ends < now {
            true => format!("ended {} ago", age(now.since(certificate.ends))),
            false => format!("ends in {}", age(certificate.ends.since(now))),
        };
        context.printer.warning(&format!("the {name} {when}"));
    }
    (number > 0).then(|| {
        let certificates = counted(number, "certificate");
        format!("at most {} left: {certificates}", age(within))
    })
}
