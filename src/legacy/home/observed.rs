//! What counts of a view, for a home cluster.

use super::{configuration::Configuration, record::HomeRecord};
use crate::{
    error::Error,
    legacy::{
        objects::{foreign_cluster, is_of, only},
        record::origin_token_name,
    },
    machine::View,
    model::{ClusterId, ForeignCluster, ProtocolVersion, Secret, names},
};

/// One foreign cluster's objects by the parts that they play.
pub(super) struct Observed<'o> {
    pub(super) peer: ClusterId,
    pub(super) foreign_cluster: Option<&'o ForeignCluster>,
    pub(super) identity: Option<&'o Secret>,
    pub(super) remote_token: Option<&'o Secret>,
    pub(super) own_token: Option<&'o Secret>,
    pub(super) origin_token: Option<&'o Secret>,
    pub(super) record: Option<(&'o Secret, HomeRecord)>,
}

/// What a peer's answers have shown of the form that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    Nothing,
    /// The peer gives service accounts: 0.2.
    Accounts,
    /// The peer gives certificates: 0.3 or later.
    Certificates,
}

impl<'o> Observed<'o> {
    pub(super) fn of(configuration: &Configuration, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let own = configuration.namespace.as_str();
        let origin_token = view.find::<Secret>(own, &origin_token_name(peer))?;
        if let Some(secret) = origin_token {
            configuration.origin_token_seal(peer).check(secret)?;
        }
        let mut identities = labelled(view, own, names::REMOTE_IDENTITY_LABEL)?;
        let remote_token = match view.find(own, &names::remote_token_secret(peer))? {
            None => only(labelled(view, own, names::AUTH_TOKEN_LABEL)?)?,
            found => found,
        };
        Ok(Self {
            peer: peer.clone(),
            foreign_cluster: foreign_cluster(view)?,
            identity: identities.next(),
            remote_token,
            own_token: view.find(own, names::AUTH_TOKEN_SECRET)?,
            origin_token,
            record: configuration.record_seal(peer).find(view)?,
        })
    }

    pub(super) fn record(&self) -> Option<&HomeRecord> {
        self.record.as_ref().map(|(_, record)| record)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let annotation = self
            .foreign_cluster
            .and_then(|cluster| cluster.metadata.annotations.get(EVIDENCE_ANNOTATION));
        match annotation.map(String::as_str) {
            Some(ACCOUNTS) => Evidence::Accounts,
            Some(CERTIFICATES) => Evidence::Certificates,
            _ => Evidence::Nothing,
        }
    }
}

/// The peer's Secrets with this label in the namespace.
fn labelled<'o, 'v>(
    view: &'v View<'o>,
    namespace: &'v str,
    label: &'v str,
) -> Result<impl Iterator<Item = &'o Secret> + use<'o, 'v>, Error> {
    Ok(view.every::<Secret>()?.filter(move |secret| {
        secret.metadata.namespace == namespace
            && is_of(&secret.metadata, view.peer())
            && secret.metadata.labels.contains_key(label)
    }))
}

impl Evidence {
    /// Shows the evidence on the ForeignCluster.
    pub(super) fn show(self, cluster: &mut ForeignCluster) {
        let text = match self {
            Self::Nothing => return,
            Self::Accounts => ACCOUNTS,
            Self::Certificates => CERTIFICATES,
        };
        let annotations = &mut cluster.metadata.annotations;
        annotations.insert(EVIDENCE_ANNOTATION.to_owned(), text.to_owned());
    }

    /// The form to ask in; `None` for one that 0.3 and later read alike.
    pub(super) fn version(self) -> Option<ProtocolVersion> {
        (self == Self::Accounts).then_some(ProtocolVersion::V0_2)
    }
}

/// On the ForeignCluster: what the peer's own answers have shown.
const EVIDENCE_ANNOTATION: &str = "liqo-auth/token-protocol";
const ACCOUNTS: &str = "service-accounts";
const CERTIFICATES: &str = "certificates";
