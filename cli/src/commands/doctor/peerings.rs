//! What keeps a peering from working, from its state.

use liqo_auth::{
    machine::Remedy,
    model::{ObjectRef, Timestamp},
};

use super::Finding;
use crate::{
    failure::Failure,
    home::Home,
    output::program,
    overview::{Certificate, Peering, Role, Waits},
    remedies::authenticate_again,
};

/// What is refused or expired in a peering, or stays as it is until a person acts. An object that
/// cannot be read is a finding of its own.
pub(super) fn of(home: &Home, peering: &Peering, now: Timestamp) -> Vec<Finding> {
    let is_told = |id: &ObjectRef| home.unreadable().any(|found| found.id == *id);
    let mut findings = refused(peering, is_told);
    findings.extend(expired(home, peering, now));
    let waits = peering.waits_for.iter();
    findings.extend(waits.filter_map(|waits| of_waits(peering, waits)));
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
    let own = peering.certificate.iter().map(|own| (String::new(), own));
    let of_slices = peering.slices.iter().filter_map(|slice| {
        let certificate = slice.certificate.as_ref()?;
        Some((format!(" for slice {}", slice.name), certificate))
    });
    // A consumer refuses an expired certificate, which is told otherwise. A drained peer gets none.
    if !peering.refused.is_empty() || peering.is_drained() {
        return Vec::new();
    }
    let expired = own
        .chain(of_slices)
        .filter(|(_, certificate)| certificate.ends < now);
    let findings =
        expired.map(|(whose, certificate)| expired_certificate(home, peering, &whose, certificate));
    findings.collect()
}

/// What is wrong with a peering that waits for this. None if it waits for what comes by itself,
/// or is new.
pub(in crate::commands) fn of_waits(peering: &Peering, waits: &Waits) -> Option<Finding> {
    let what = ailment(waits.remedy.as_ref()?, &peering.peer)?;
    Some(match &waits.command {
        None => Finding::new(what, &waits.deed),
        Some(command) => Finding::new(what, format!("{}. The command is {command}", waits.deed)),
    })
}

/// What is due in a home: nobody does it but a person. On a cluster, the controllers do.
pub(super) fn due(home: &Home, peering: &Peering, now: Timestamp) -> Option<Finding> {
    let is_due = peering.waits_for.iter().any(Waits::is_for_a_run);
    // An expired certificate is told with the same remedy.
    let mut certificates = peering.certificates();
    let is_told = certificates.any(|(_, certificate)| certificate.ends < now);
    (is_due && !is_told).then(|| {
        Finding::new(
            format!(
                "this side has not done what is due in the peering with {}, which is in the phase {}",
                peering.peer, peering.phase
            ),
            format!("{} renew {}", program(), home.site().options()),
        )
    })
}

fn expired_certificate(
    home: &Home,
    peering: &Peering,
    whose: &str,
    certificate: &Certificate,
) -> Finding {
    let (peer, until) = (&peering.peer, &certificate.until);
    let (program, options) = (program(), home.site().options());
    match peering.role {
        Role::Consumer => Finding::new(
            format!("the certificate of {peer}{whose} ended at {until}"),
            format!(
                "`{program} renew {options}` signs the next one. Then {peer} has to get it: by replication, or by its Identity (`{program} generate identity {options} --remote-cluster-id {peer}`)."
            ),
        ),
        Role::Provider => Finding::new(
            format!("the certificate from {peer}{whose} ended at {until}"),
            authenticate_again(home, peer),
        ),
    }
}

/// What is wrong with a peering that waits for this remedy. A peering that waits for an
/// invitation or a decision is new.
fn ailment(remedy: &Remedy, peer: &str) -> Option<String> {
    match remedy {
        Remedy::LiftCondition { condition } => Some(format!(
            "{peer} stays {condition:?}: this cluster's record holds it, although the Tenant no longer says so"
        )),
        Remedy::CreateClusterRole { .. } => Some(format!(
            "{peer} has a certificate and no rights, for want of a ClusterRole"
        )),
        Remedy::CarryIdentity => Some(format!(
            "the next certificate in the peering with {peer} is due, and nothing carries it"
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
        | Remedy::AuthenticateAgain
        | Remedy::Release
        | Remedy::SignAgain { .. }
        | Remedy::RequestSlice { .. }
        | Remedy::DeleteSlice { .. } => None,
    }
}
