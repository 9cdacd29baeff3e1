//! What is due in a home, in the words of its cause: what is missing there, or has changed.

use liqo_auth::model::{ClusterId, Kind, ObjectRef, Timestamp, names};

use super::{Finding, lost::kubeconfig};
use crate::{
    commands::get,
    home::Home,
    output::{escaped, program},
    overview::{Peering, Waits},
    peering::provider_side::nonce_secret,
};

/// What is due in a home: nobody does it but a person. On a cluster, the controllers do.
pub(super) fn of(home: &Home, peering: &Peering, now: Timestamp) -> Option<Finding> {
    let is_due = peering.waits_for.iter().any(Waits::is_for_a_run);
    // An expired certificate is told with the same remedy.
    let mut certificates = peering.certificates();
    let is_told = certificates.any(|(_, certificate)| peering.has_expired(certificate, now));
    if !is_due || is_told {
        return None;
    }
    let peer: ClusterId = peering.peer.parse().ok()?;
    let what = cause(home, peering, &peer).unwrap_or_else(|| {
        format!(
            "this side has not done what is due in the peering with {peer}, which is in the phase {}",
            peering.phase
        )
    });
    let (program, options) = (program(), home.site().options());
    let invite = match has_lapsed(home, peering, &peer) {
        true => format!(
            ". To invite {peer} again: {program} create nonce {options} --remote-cluster-id {peer}"
        ),
        false => String::new(),
    };
    Some(Finding::new(
        what,
        format!("{program} renew {options}{invite}"),
    ))
}

fn cause(home: &Home, peering: &Peering, peer: &ClusterId) -> Option<String> {
    match peering.phase {
        "NeedsKubeconfig" => Some(match kubeconfig(home, peer.as_str()) {
            None => format!("the kubeconfig for {peer} is missing"),
            Some(secret) => format!("the kubeconfig for {peer} is out of date: {secret}"),
        }),
        "NeedsRights" => Some(unfinished(home, peer)),
        "NeedsNonce" => Some(format!(
            "the nonce is missing that {peer} is invited to sign"
        )),
        "Ended" if has_lapsed(home, peering, peer) => Some(format!(
            "the nonce for {peer} has expired, and the invitation with it"
        )),
        _ => {
            let mut slices = peering.slices.iter();
            let slice = slices.find(|slice| slice.phase == "NeedsKubeconfig")?;
            Some(format!(
                "the kubeconfig for the slice {} of {peer} is missing or out of date",
                escaped(&slice.name)
            ))
        }
    }
}

/// Whether an invitation has ended with its nonce.
fn has_lapsed(home: &Home, peering: &Peering, peer: &ClusterId) -> bool {
    peering.phase == "Ended" && nonce_secret(home, peer).is_some()
}

/// What a consumer with a certificate lacks.
fn unfinished(home: &Home, peer: &ClusterId) -> String {
    let namespace = names::tenant_namespace(peer);
    let secret = ObjectRef::new(Kind::Secret, namespace, names::ISSUED_CERTIFICATE_SECRET);
    if !home.objects().any(|object| object.id() == secret) {
        return format!("the certificate of {peer} is missing: {secret}");
    }
    let answer = get::tenant_of(home, peer).and_then(|it| it.status.auth_params.as_ref());
    let present = &home.settings.api_server;
    match answer.filter(|answer| answer.api_server != present.as_str()) {
        Some(answer) => format!(
            "this side's API server has changed from {} to {present}, and the answer to {peer} has the earlier one",
            escaped(&answer.api_server)
        ),
        None => format!("the rights of {peer}, or the answer to it, are missing or out of date"),
    }
}
