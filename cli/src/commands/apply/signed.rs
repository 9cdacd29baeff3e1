//! A request that the signer of the real cluster has answered: a person brings it back to
//! the home that represents the cluster.

use liqo_auth::{
    machine::{Effect, Part},
    model::{CertificateSigningRequest, ClusterId, Resource, names},
};
use serde_json::json;

use crate::{
    context::Context,
    failure::{Code, Failure, Result},
    home::Home,
    output::program,
    peering::{
        provider_side::{ProviderSide, ProviderStand, refused, unsigned},
        signer::version_of,
    },
};

/// The peer whose request it is. It is this home's own request, since another one proves
/// nothing.
pub(super) fn peer(home: &Home, request: &CertificateSigningRequest) -> Result<ClusterId> {
    if !home.is_signed_elsewhere() {
        return Err(Failure::usage(format!(
            "{} does not take signed requests: its signer is at hand. `init --signer kubernetes` makes a home that does",
            home.site()
        )));
    }
    let own = own(home, request)?;
    let label = own.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    let peer = label.and_then(|label| label.parse().ok());
    peer.ok_or_else(|| Failure::at_odds(format!("{}: it does not name a peer", own.id())))
}

/// Takes the answer over in memory, if the library accepts it.
pub(super) fn receive(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    request: &CertificateSigningRequest,
    subject: &str,
) -> Result<()> {
    let own = own(home, request)?;
    let is_decided = |kind: &str| {
        let mut conditions = request.status.conditions.iter();
        conditions.any(|condition| condition.condition_type == kind)
    };
    let has_answer =
        !request.status.certificate.is_empty() || is_decided("Denied") || is_decided("Failed");
    if !has_answer {
        return Err(Failure::waiting(format!(
            "{subject}: the signer has not answered. Approve the request first: kubectl certificate approve {}",
            own.metadata.name
        )));
    }
    if own.status == request.status {
        return Ok(());
    }
    let take = Effect::Patch {
        id: own.id(),
        version: version_of(&own.metadata),
        part: Part::Status,
        patch: json!({ "status": request.status }),
    };
    let now = context.clock.now()?;
    let judged = home.rehearse(|home| {
        home.apply(&take, now)?;
        let provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
        Ok(provider.look().map(|_| ()))
    })?;
    // A certificate that does not fit its request is no step. A denial is one.
    judged.map_err(|failure| Failure::new(Code::Refused, format!("{subject}: {failure}")))?;
    home.apply(&take, now)
}

/// Continues with the answer, and prints the result.
pub(super) fn settle(
    context: &Context,
    home: &mut Home,
    peer: &ClusterId,
    name: &str,
    verb: &str,
) -> Result<()> {
    let mut provider = ProviderSide::new(home, peer, &context.policy, context.clock)?;
    let stand = provider.settle()?;
    context.printer.result(&format!(
        "certificatesigningrequest.certificates.k8s.io/{name} {verb}\n"
    ))?;
    match stand {
        ProviderStand::Authenticated => {
            context.printer.message(&format!(
                "{peer} is authenticated. Now generate its Identity: {} generate identity {} --remote-cluster-id {peer}",
                program(),
                home.site().options()
            ));
            Ok(())
        }
        ProviderStand::AwaitsCertificate => Err(unsigned(home, peer)),
        ProviderStand::Refused(error) => Err(refused(home, peer, &error)),
        _ => Ok(()),
    }
}

/// The home's own request of that name, if it asks for the same.
fn own<'h>(
    home: &'h Home,
    request: &CertificateSigningRequest,
) -> Result<&'h CertificateSigningRequest> {
    let name = &request.metadata.name;
    let own: &CertificateSigningRequest = home.get("", name).ok_or_else(|| {
        Failure::waiting(format!("there is no request {name} in {}", home.site()))
    })?;
    let (asked, answered) = (&own.spec, &request.spec);
    if asked.request != answered.request || asked.signer_name != answered.signer_name {
        return Err(Failure::new(
            Code::Refused,
            format!(
                "{}: it is not the request that {} has made under this name. Export it again, and have it signed.",
                own.id(),
                home.site()
            ),
        ));
    }
    Ok(own)
}
