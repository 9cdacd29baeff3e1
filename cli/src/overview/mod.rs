//! An overview of a home: its peerings, with their certificates and slices, and
//! what each peering waits for.

mod owed;
mod peering;
mod waiting;

use std::collections::BTreeSet;

use liqo_auth::{
    assurance::peer_version::Evidence,
    machine::peers_of,
    model::{ClusterId, IdentityType, Kind, Resource, Tenant, TenantCondition, Timestamp, names},
};
use serde::Serialize;

use crate::{
    context::Context,
    failure::{Code, Failure, Result},
    home::Home,
    output::escaped,
};
pub(crate) use waiting::{Refusal, Waits};

pub(crate) use crate::remedies::Role;

/// One peering, from this home's side.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Peering {
    pub(crate) peer: String,
    /// The role of the peer.
    pub(crate) role: Role,
    pub(crate) phase: &'static str,
    #[serde(skip)]
    pub(crate) is_refused: bool,
    /// Whether the peer has access without a handshake.
    #[serde(skip)]
    pub(crate) is_tolerated: bool,
    /// The condition in force, on the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) condition: Option<TenantCondition>,
    /// Whether the record holds the condition, and not the Tenant.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) condition_held: bool,
    /// When the nonce that is awaited or to be signed ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nonce_until: Option<Timestamp>,
    /// The software that the peer may run, according to its objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peer_version: Option<Evidence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<Certificate>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) slices: Vec<Slice>,
    /// What this peering waits for, and from whom.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waits_for: Vec<Waits>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<Refusal>,
    /// Whether the peer's versions of Liqo read Ed25519 keys only.
    #[serde(skip)]
    pub(crate) reads_only_ed25519: bool,
    /// Whether the consumer's next certificates are carried by a person.
    #[serde(skip)]
    pub(crate) is_carried_by_hand: bool,
    /// Why nothing is known of the peering.
    #[serde(skip)]
    pub(crate) failure: Option<Failure>,
}

impl Peering {
    /// Whether the peer is drained, so that it does not get a certificate.
    pub(crate) fn is_drained(&self) -> bool {
        self.condition == Some(TenantCondition::Drained)
    }
}

/// One resource slice of a peering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Slice {
    pub(crate) name: String,
    pub(crate) phase: &'static str,
    pub(crate) authentication: String,
    pub(crate) resources: String,
    pub(crate) cordoned: bool,
    /// Whether the provider denies its request or its resources.
    #[serde(skip)]
    pub(crate) denied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<Certificate>,
}

/// The end and the renewal of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Certificate {
    pub(crate) fingerprint: String,
    pub(crate) until: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<String>,
    /// Why the next one does not come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<Box<Refusal>>,
    #[serde(skip)]
    pub(crate) begins: Timestamp,
    #[serde(skip)]
    pub(crate) ends: Timestamp,
    #[serde(skip)]
    pub(crate) renewal: Renewal,
}

/// Where the renewal of a certificate stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Renewal {
    NotBefore(Timestamp),
    Due,
    /// The next certificate must come from the peer.
    Awaited,
    /// An administrator has made the kubeconfig, and makes the next one.
    ByHand,
    /// The next certificate does not come, or its answer is refused: `refused` says why.
    Cannot,
    /// The end of the certificate is not known.
    None,
}

impl Renewal {
    /// Whether the next certificate is due, and is not there.
    pub(crate) const fn is_owed(&self) -> bool {
        match self {
            Self::Cannot | Self::Due | Self::Awaited => true,
            Self::NotBefore(_) | Self::ByHand | Self::None => false,
        }
    }
}

/// All peerings of a home, sorted by the peers' IDs.
pub(crate) fn peerings(context: &Context, home: &mut Home) -> Result<Vec<Peering>> {
    let mut found = Vec::new();
    for (peer, role) in peers(home) {
        let peering = match role {
            Role::Consumer => peering::with_consumer(context, home, &peer),
            Role::Provider => peering::with_provider(context, home, &peer),
        };
        // One peering that cannot be judged does not hide the others.
        found.push(peering.unwrap_or_else(|failure| Peering::unknown(&peer, role, failure)));
    }
    Ok(found)
}

/// The peers of a home, with the roles that their objects show. An object that a peer wrote in
/// its own namespace does not make a peer of another name.
pub(crate) fn peers(home: &Home) -> BTreeSet<(ClusterId, Role)> {
    let known = peers_of(home.objects());
    let mut peers = BTreeSet::new();
    let mut add = |name: &str, role: Role| {
        if let Ok(peer) = name.parse::<ClusterId>()
            && peer != *home.cluster_id()
            && known.contains(&peer)
        {
            peers.insert((peer, role));
        }
    };
    let of_control_plane = IdentityType::ControlPlane.to_string();
    for object in home.objects() {
        let (id, metadata) = (object.id(), object.metadata());
        let label = |key: &str| metadata.labels.get(key).map(String::as_str);
        let peer = label(names::REMOTE_CLUSTER_ID_LABEL);
        match id.kind {
            Kind::Tenant => {
                add(&id.name, Role::Consumer);
                // It may have any name, before there is a record as well. What cannot be read is
                // there all the same.
                let is_said = |peer: &&str| {
                    Tenant::from_object(object).is_none_or(|it| it.spec.cluster_id == *peer)
                };
                if let Some(peer) = peer.filter(is_said) {
                    add(peer, Role::Consumer);
                }
            }
            Kind::Identity => {
                if let Some(peer) = id.name.strip_prefix(names::CONTROL_PLANE_IDENTITY_PREFIX) {
                    add(peer, Role::Provider);
                }
            }
            Kind::ResourceSlice => match label(names::REPLICATION_ORIGIN_LABEL) {
                Some(origin) => add(origin, Role::Consumer),
                None => {
                    if let Some(peer) = label(names::REPLICATION_DESTINATION_LABEL) {
                        add(peer, Role::Provider);
                    }
                }
            },
            Kind::Secret => {
                // What a consumer has pinned of a provider is no peering: it outlives each of
                // them.
                if let Some(peer) = id.name.strip_prefix(names::PROVIDER_RECORD_PREFIX) {
                    add(peer, Role::Consumer);
                }
                match (id.name.as_str(), peer) {
                    (names::NONCE_SECRET, Some(peer)) => add(peer, Role::Consumer),
                    (names::SIGNED_NONCE_SECRET, Some(peer)) => add(peer, Role::Provider),
                    // Its kubeconfig may be one that a person has made.
                    (_, Some(peer))
                        if label(names::IDENTITY_TYPE_LABEL) == Some(&of_control_plane) =>
                    {
                        add(peer, Role::Provider);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    peers
}

impl Peering {
    /// Its certificates, each with its name for messages.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = (String, &Certificate)> {
        let whose = match self.role {
            Role::Consumer => format!("certificate of {}", self.peer),
            Role::Provider => format!("certificate from {}", self.peer),
        };
        let own = self.certificate.iter();
        let own = own.map({
            let whose = whose.clone();
            move |certificate| (whose.clone(), certificate)
        });
        let slices = self.slices.iter().filter_map(move |slice| {
            let name = format!("{whose} for slice {}", escaped(&slice.name));
            Some((name, slice.certificate.as_ref()?))
        });
        own.chain(slices)
    }

    fn unknown(peer: &ClusterId, role: Role, failure: Failure) -> Self {
        Self {
            peer: peer.to_string(),
            role,
            phase: "Unknown",
            is_refused: false,
            is_tolerated: false,
            condition: None,
            condition_held: false,
            nonce_until: None,
            peer_version: None,
            certificate: None,
            slices: Vec::new(),
            waits_for: Vec::new(),
            refused: vec![Refusal {
                refused: None,
                command: None,
                way_out: "Mend what the message names: until then, nothing else is known of this peering.".to_owned(),
                text: failure.to_string(),
            }],
            reads_only_ed25519: false,
            is_carried_by_hand: false,
            failure: Some(failure),
        }
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// The failure for the peerings that could not be judged. `done` says what became of the
/// others.
pub(crate) fn all_known<'p>(
    peerings: impl IntoIterator<Item = &'p Peering>,
    done: &str,
) -> Result<()> {
    let unknown = peerings.into_iter().filter_map(|peering| {
        let failure = peering.failure.as_ref()?;
        Some((peering.peer.as_str(), failure.code))
    });
    let (peers, codes): (Vec<&str>, Vec<Code>) = unknown.unzip();
    match codes.first() {
        None => Ok(()),
        Some(code) => Err(Failure::new(
            *code,
            format!(
                "nothing is known of the peering with {}; {done}",
                peers.join(", ")
            ),
        )),
    }
}

impl Certificate {
    pub(crate) fn new(certificate: &liqo_auth::crypto::Certificate, renewal: Renewal) -> Self {
        let ends = certificate.not_after;
        Self {
            fingerprint: certificate.fingerprint().to_string(),
            until: ends.to_string(),
            due: match &renewal {
                Renewal::NotBefore(due) => Some(due.to_string()),
                _ => None,
            },
            refused: None,
            begins: certificate.not_before,
            ends,
            renewal,
        }
    }
}
