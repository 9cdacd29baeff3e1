//! What a person does next, who carries a renewal by hand. On clusters, the controllers do it.

use liqo_auth::error::{Fault, PeerIncompatible};

use crate::{
    home::Home,
    output::{Side, escaped, program},
    overview::{Certificate, Peering, Refusal, Renewal, Role},
    remedies,
};

/// The commands on both sides, the first ones first.
pub(super) fn of(home: &Home, peering: &Peering, is_renewed: bool, side: Side) -> Option<String> {
    if side != Side::Only || home.is_live() {
        return None;
    }
    let (program, options, own) = (program(), home.site().options(), home.cluster_id());
    let peer = &peering.peer;
    match peering.role {
        Role::Consumer => is_renewed.then(|| {
            let of_peer = format!("{options} --remote-cluster-id {peer}");
            let generate = generate(home, peering, |_| true, &of_peer).join(", and ");
            format!(
                "{peer} has to get what is renewed: by replication, or by files. Here: {generate}\nThen on {peer}: {program} apply -f FILE"
            )
        }),
        Role::Provider => {
            let of_own = format!("--remote-cluster-id {own}");
            let is_awaited = |it: &Certificate| is_awaited(peering, it);
            let generate = generate(home, peering, is_awaited, &of_own);
            (!generate.is_empty()).then(|| {
                let generate = generate.join(", and ");
                format!(
                    "{peer} has to sign the next certificate. On {peer}: {program} renew, and then {generate}\nThen here: {program} apply -f FILE {options}"
                )
            })
        }
    }
}

/// Whether the next certificate has to come from the provider, and this side has refused none.
fn is_awaited(peering: &Peering, certificate: &Certificate) -> bool {
    let is_unanswered = |refusal: &Refusal| {
        let fault = refusal.refused.as_ref().map(|it| it.error.fault());
        matches!(
            fault,
            Some(Fault::PeerIncompatible(
                PeerIncompatible::RenewalUnanswered { .. }
            ))
        )
    };
    let refused = certificate.refused.as_deref();
    let is_awaited = certificate.renewal == Renewal::Awaited || refused.is_some_and(is_unanswered);
    is_awaited && peering.refusal_of(certificate).is_none()
}

/// The commands of a provider that print what has these certificates.
fn generate(
    home: &Home,
    peering: &Peering,
    is_such: impl Fn(&Certificate) -> bool,
    options: &str,
) -> Vec<String> {
    let of = |certificate: &Option<Certificate>| certificate.as_ref().is_some_and(&is_such);
    let program = program();
    let own = of(&peering.certificate).then(|| {
        let what = remedies::carrier(home, &peering.peer, peering.role);
        format!("{program} generate {what} {options}")
    });
    let slices = peering.slices.iter().filter(|slice| of(&slice.certificate));
    let slices = slices.map(|slice| {
        format!(
            "{program} generate resourceslice {} {options}",
            escaped(&slice.name)
        )
    });
    own.into_iter().chain(slices).collect()
}
