//! Certificates that end soon, for monitoring.

use std::time::Duration;

use liqo_auth::model::Timestamp;

use crate::{
    context::Context,
    output::{age, counted, escaped},
    overview::{Certificate, Peering, Role},
};

/// Warns of each certificate that ends within this time, or has ended, and tells their number.
pub(super) fn told(
    context: &Context,
    peerings: &[Peering],
    within: Duration,
    now: Timestamp,
) -> Option<String> {
    let mut number = 0_usize;
    for (name, certificate) in certificates(peerings) {
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

pub(super) fn certificates(peerings: &[Peering]) -> impl Iterator<Item = (String, &Certificate)> {
    peerings.iter().flat_map(|peering| {
        let whose = match peering.role {
            Role::Consumer => format!("certificate of {}", peering.peer),
            Role::Provider => format!("certificate from {}", peering.peer),
        };
        let own = peering.certificate.iter();
        let own = own.map({
            let whose = whose.clone();
            move |certificate| (whose.clone(), certificate)
        });
        let slices = peering.slices.iter().filter_map(move |slice| {
            let name = format!("{whose} for slice {}", escaped(&slice.name));
            Some((name, slice.certificate.as_ref()?))
        });
        own.chain(slices)
    })
}
