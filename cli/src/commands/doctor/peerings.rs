//! What keeps a peering from working, from its state.

use liqo_auth::{
    machine::Remedy,
    model::{ObjectRef, Timestamp},
};

use super::Finding;
use crate::{
    failure::Failure,
    home::Home,
    output::{escaped, program},
    overview::{Certificate, Peering, Role, Waits},
    peering::provider_side::what_signer_needs,
    remedies::{self, authenticate_again},
};

/// What is refused or expired in a peering, or stays as it is until a person acts. An object that
/// cannot be read is a finding of its own.
pub(super) fn of(home: &Home, peering: &Peering, now: Timestamp) -> Vec<Finding> {
    let is_told = |id: &ObjectRef| home.unreadable().any(|found| found.id == *id);
    let mut findings = refused(peering, is_told);
    let expired = expired(home, peering, now);
    // What the signer needs is told with what has expired.
    let is_told = |waits: &&Waits| waits.is_for_the_signer() && !expired.is_empty();
    let waits = peering.waits_for.iter().filter(|waits| !is_told(waits));
    let waits = waits.filter_map(|waits| of_waits(home, peering, waits));
    let waits: Vec<Finding> = waits.collect();
    findings.extend(expired);
    findings.extend(waits);
    findings
}

/// What is refused or expired in a peering.
pub(in crate::commands) fn refused_or_expired(
    home: &Home,
    peering: &Peering,
    now: Timestamp,
) -> Vec<Finding> {
    let mut findings = refused(peering, |_| false);
    findings.extend(expired(home, peering, now));
    findings
}

/// What is refused in a peering, but for the objects that are told otherwise.
fn refused(peering: &Peering, is_told: impl Fn(&ObjectRef) -> bool) -> Vec<Finding> {
    let peer = &peering.peer;
    let failed = peering.failure.as_ref().and_then(Failure::wanted);
    let open = peering.refused.iter().filter(|refusal| {
        let wanted = refusal.unreadable().or(failed);
        !wanted.is_some_and(&is_told)
    });
    let findings = open.map(|refusal| {
        let what = match &refusal.refused {
            Some(refused) => refused.error.to_string(),
            None => refusal.text.clone(),
        };
        Finding::new(format!("{peer}: {what}"), &refusal.way_out)
    });
    findings.collect()
}

/// The expired certificates of a peering.
fn expired(home: &Home, peering: &Peering, now: Timestamp) -> Vec<Finding> {
    let own = peering.certificate.iter().map(|own| (None, own));
    let of_slices = peering.slices.iter().filter_map(|slice| {
        let certificate = slice.certificate.as_ref()?;
        Some((Some(slice.name.as_str()), certificate))
    });
    // A consumer refuses an expired certificate, which is told otherwise.
    if !peering.refused.is_empty() {
        return Vec::new();
    }
    let expired = own
        .chain(of_slices)
        .filter(|(_, certificate)| peering.has_expired(certificate, now));
    let findings =
        expired.map(|(slice, certificate)| expired_certificate(home, peering, slice, certificate));
    findings.collect()
}

/// What is wrong with a peering that waits for this. None if it waits for what comes by itself,
/// or is new.
pub(in crate::commands) fn of_waits(
    home: &Home,
    peering: &Peering,
    waits: &Waits,
) -> Option<Finding> {
    let what = match waits.is_for_the_signer() {
        true if !awaits_signer(peering) => None,
        true => Some(format!(
            "the request of {} waits for this cluster's signer",
            peering.peer
        )),
        false => ailment(waits.remedy.as_ref()?, &peering.peer),
    }?;
    let remedy = match &waits.command {
        _ if waits.remedy == Some(Remedy::AuthenticateAgain) => {
            authenticate_again(home, &peering.peer)
        }
        _ if waits.remedy == Some(Remedy::Release) => {
            let mut certificates = peering.certificates();
            let refused = certificates.find_map(|(_, certificate)| certificate.refused.as_ref());
            refused?.way_out.clone()
        }
        Some(command) => format!("{}. The command is {command}", waits.deed),
        None if waits.is_for_the_signer() => what_signer_needs(home, &peering.peer.parse().ok()?),
        None => waits.deed.clone(),
    };
    Some(Finding::new(what, remedy))
}

/// A renewed certificate that a person carries. Whether the peer has it is not known here.
pub(super) fn by_hand(home: &Home, peering: &Peering) -> Option<String> {
    let peer = &peering.peer;
    peering.is_carried_by_hand.then(|| {
        format!(
            "The certificate of {peer} was renewed, and a person carries it, since {peer} has no Renew here. If {peer} does not have it: {}, and there {} apply -f FILE.",
            generate(home, peer, None),
            program()
        )
    })
}

/// Whether a request is made, and waits for its signer.
fn awaits_signer(peering: &Peering) -> bool {
    let mut waits = peering.waits_for.iter();
    waits.clone().any(Waits::is_for_the_signer) && !waits.any(Waits::is_for_a_run)
}

fn expired_certificate(
    home: &Home,
    peering: &Peering,
    slice: Option<&str>,
    certificate: &Certificate,
) -> Finding {
    let (peer, until) = (&peering.peer, &certificate.until);
    let whose = slice.map_or_else(String::new, |slice| format!(" for slice {slice}"));
    match peering.role {
        Role::Consumer => Finding::new(
            format!("the certificate of {peer}{whose} ended at {until}"),
            format!(
                "{} Then {peer} has to get it: by replication, or by files (`{}`).",
                signs_next(home, peering),
                generate(home, peer, slice)
            ),
        ),
        Role::Provider => Finding::new(
            format!("the certificate from {peer}{whose} ended at {until}"),
            authenticate_again(home, peer),
        ),
    }
}

/// What has the next certificate of a consumer signed.
fn signs_next(home: &Home, peering: &Peering) -> String {
    let renew = format!("`{} renew {}`", program(), home.site().options());
    let mut waits = peering.waits_for.iter();
    let approval = waits.find(|waits| waits.remedy == Some(Remedy::Approve));
    if let Some(command) = approval.and_then(|waits| waits.command.as_ref()) {
        return format!("The request waits for an approval: `{command}`.");
    }
    if !home.is_signed_elsewhere() {
        return format!("{renew} signs the next one.");
    }
    match peering.peer.parse() {
        Ok(peer) if awaits_signer(peering) => format!(
            "The request waits for the cluster's signer: `{}`.",
            what_signer_needs(home, &peer)
        ),
        _ => format!(
            "{renew} makes the request for the next one, and says what the cluster's signer needs."
        ),
    }
}

/// The command that prints what has the next certificate of a consumer.
fn generate(home: &Home, consumer: &str, slice: Option<&str>) -> String {
    let what = match slice {
        None => remedies::carrier(home, consumer, Role::Consumer),
        Some(slice) => format!("resourceslice {}", escaped(slice)),
    };
    format!(
        "{} generate {what} {} --remote-cluster-id {consumer}",
        program(),
        home.site().options()
    )
}

/// What is wrong with a peering that waits for this remedy. A peering that waits for an
/// invitation or a decision is new.
fn ailment(remedy: &Remedy, peer: &str) -> Option<String> {
    match remedy {
        Remedy::LiftCondition { condition } => Some(format!(
            "{peer} stays {condition:?}: this cluster's record holds it, although the Tenant no longer says so"
        )),
        Remedy::CreateClusterRole { .. } => Some(format!(
            "{peer} has a certificate but no rights, for want of a ClusterRole"
        )),
        Remedy::CarryIdentity | Remedy::CarryAnswer { .. } => Some(format!(
            "the next certificate in the peering with {peer} is due, and nothing carries it"
        )),
        Remedy::AuthenticateAgain => {
            Some(format!("the next certificate from {peer} does not come"))
        }
        Remedy::Release => Some(format!(
            "the next certificate from {peer} is refused: it leads to another address or CA than what is pinned"
        )),
        Remedy::DeleteAccessKey { access_key_id, .. } => Some(format!(
            "the access key {access_key_id} of {peer} is still valid at AWS"
        )),
        Remedy::NameKubeconfig { .. } => Some(format!(
            "the kubeconfig that somebody has made for {peer} does not count: the settings do not name its digest"
        )),
        Remedy::Invite
        | Remedy::Approve
        | Remedy::AnswerRequest { .. }
        | Remedy::DecideResources { .. }
        | Remedy::ConfirmGrant { .. }
        | Remedy::UncordonSlice { .. }
        | Remedy::CompareFingerprint { .. }
        | Remedy::ReplaceNonce
        | Remedy::CarryNonce
        | Remedy::CarryRequest { .. }
        | Remedy::SignAgain { .. }
        | Remedy::RequestSlice { .. }
        | Remedy::DeleteSlice { .. } => None,
    }
}
