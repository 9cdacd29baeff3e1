//! What counts of a view, for a home cluster.

use super::Home;
use crate::{
    error::{Error, LocalFault},
    legacy::{
        AuthToken,
        foreign::{foreign_cluster, is_of},
        record::{Sealed, home_record_name, origin_token_name},
    },
    machine::View,
    model::{ForeignCluster, ProtocolVersion, Resource, Secret, names},
};

/// One foreign cluster's objects by the parts that they play.
#[derive(Clone)]
pub(super) struct Seen<'o> {
    pub(super) foreign_cluster: Option<&'o ForeignCluster>,
    pub(super) identity: Option<&'o Secret>,
    pub(super) remote_token: Option<&'o Secret>,
    pub(super) own_token: Option<&'o Secret>,
    pub(super) origin_token: Option<&'o Secret>,
    pub(super) record: Option<&'o Secret>,
}

/// What a peer's answers have shown of the form that it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    Nothing,
    /// It gives service accounts: 0.2.
    Accounts,
    /// It gives certificates: 0.3 or later.
    Certificates,
}

impl<'o> Seen<'o> {
    pub(super) fn select(home: &Home, view: &View<'o>) -> Result<Self, Error> {
        let peer = view.peer();
        let own = home.0.namespace.as_str();
        let mut identities = view.every::<Secret>()?.filter(|secret| {
            secret.metadata.namespace == own
                && is_of(&secret.metadata, peer)
                && secret
                    .metadata
                    .labels
                    .contains_key(names::REMOTE_IDENTITY_LABEL)
        });
        let record = view.find::<Secret>(own, &home_record_name(peer))?;
        if let Some(record) = record {
            sealed(home, &home_record_name(peer)).check(record)?;
        }
        let origin_token = view.find::<Secret>(own, &origin_token_name(peer))?;
        if let Some(secret) = origin_token {
            sealed(home, &origin_token_name(peer)).check(secret)?;
        }
        Ok(Self {
            foreign_cluster: foreign_cluster(view)?,
            identity: identities.next(),
            remote_token: remote_token(home, view)?,
            own_token: view.find(own, names::AUTH_TOKEN_SECRET)?,
            origin_token,
            record,
        })
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

    /// The peer's token that an administrator put here.
    pub(super) fn token(&self, home: &Home, view: &View<'_>) -> Result<Option<AuthToken>, Error> {
        let Some(secret) = self.remote_token else {
            return Ok(None);
        };
        let token = secret.get(names::TOKEN).unwrap_or_default();
        AuthToken::parse(token, home.policy(view.peer()))
            .map(Some)
            .map_err(|error| {
                let id = Some(secret.id());
                Error::new(LocalFault::Token(error), id, "data.token")
            })
    }
}

/// The Secret of that name, or else the only one with the two labels.
fn remote_token<'o>(home: &Home, view: &View<'o>) -> Result<Option<&'o Secret>, Error> {
    let peer = view.peer();
    let own = home.0.namespace.as_str();
    if let Some(secret) = view.find::<Secret>(own, &names::remote_token_secret(peer))? {
        return Ok(Some(secret));
    }
    let mut found = view.every::<Secret>()?.filter(|secret| {
        secret.metadata.namespace == own
            && is_of(&secret.metadata, peer)
            && secret.metadata.labels.contains_key(names::AUTH_TOKEN_LABEL)
    });
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => {
            let other = other.id().to_string();
            let id = Some(one.id());
            Err(Error::new(LocalFault::Ambiguous { other }, id, ""))
        }
        (found, _) => Ok(found),
    }
}

pub(super) fn sealed<'a>(home: &'a Home, name: &'a str) -> Sealed<'a> {
    Sealed {
        key: &home.0.record_key,
        cluster: &home.0.cluster_id,
        namespace: &home.0.namespace,
        name,
    }
}

impl Evidence {
    pub(super) fn annotation(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Accounts => ACCOUNTS,
            Self::Certificates => CERTIFICATES,
        }
    }

    /// The form to ask in; `None` for one that 0.3 and later read alike.
    pub(super) fn version(self) -> Option<ProtocolVersion> {
        (self == Self::Accounts).then_some(ProtocolVersion::V0_2)
    }
}

/// On the ForeignCluster: what the peer's own answers have shown.
pub(super) const EVIDENCE_ANNOTATION: &str = "liqo-auth/token-protocol";
const ACCOUNTS: &str = "service-accounts";
const CERTIFICATES: &str = "certificates";
