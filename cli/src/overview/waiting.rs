//! Describes what a step waits for, and from whom.

use liqo_auth::{
    machine::{Awaited, Notice, Step},
    model::ClusterId,
};

use crate::{
    failure::paragraph,
    home::{Home, Signer},
    output::amounts,
};

/// What a step waits for, without duplicates.
pub(super) fn waits_for(step: &Step, peer: &ClusterId, home: &Home) -> Vec<String> {
    let (signer, signed_elsewhere) = (home.settings.signer, home.is_signed_elsewhere());
    let mut waits: Vec<String> = Vec::new();
    if !step.effects.is_empty() {
        waits.push("this side: run `liqo-auth renew`".to_owned());
    }
    for awaited in &step.wait.awaiting {
        let words = match awaited {
            Awaited::Credential(_) if signer == Signer::Aws => {
                "this side: run `set aws-user`".to_owned()
            }
            Awaited::Credential(_) if signed_elsewhere => {
                "this cluster's signer: `export` prints the request".to_owned()
            }
            _ => words(awaited, peer),
        };
        if !waits.contains(&words) {
            waits.push(words);
        }
    }
    for notice in &step.notices {
        if let Notice::GrantUnconfirmed { slice, resources } = notice {
            waits.push(format!(
                "this side: run `approve resourceslice {}` to grant {} again, as Liqo has",
                slice.name,
                amounts(resources)
            ));
        }
    }
    waits
}

/// The refusals of a step, each as one paragraph.
pub(super) fn refused(step: &Step) -> Vec<String> {
    step.refused
        .iter()
        .map(|refused| paragraph(&refused.error))
        .collect()
}

fn words(awaited: &Awaited, peer: &ClusterId) -> String {
    match awaited {
        Awaited::Invitation => "this side: `create nonce` invites the peer".to_owned(),
        Awaited::Approval => format!("this side: run `approve tenant {peer}`"),
        Awaited::Nonce => format!("{peer}: its nonce"),
        Awaited::Tenant => format!("{peer}: its Tenant"),
        Awaited::Credential(_) => "this side: `renew` signs the request".to_owned(),
        Awaited::AwsRevocation { access_key_id, .. } => format!(
            "this side: delete the access key {access_key_id} at AWS, and then run `delete aws-key`"
        ),
        Awaited::Identity => format!("{peer}: its Identity"),
        Awaited::SliceDecision(slice) => format!("{peer}: its decision on {}", slice.name),
        Awaited::Renewal(identity) => format!("{peer}: a new certificate for {}", identity.name),
        Awaited::End(object) => format!("{peer}: the end of {object}, which is being deleted"),
        Awaited::OwnKey => "this side: its key".to_owned(),
        Awaited::Signature(_) => "this side: a signature by its key".to_owned(),
        Awaited::SliceRequest(slice) => format!("{peer}: the request in {}", slice.name),
        Awaited::Resources(slice) => format!("this side: the decision on {}", slice.name),
        Awaited::Uid(object) => format!("the store: the UID of {object}"),
        Awaited::Token(object) => format!("the token in {object}"),
        _ => "something that this version does not know".to_owned(),
    }
}
