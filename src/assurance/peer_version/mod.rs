//! The version of Liqo that a peer runs, and the abilities of that version, as far
//! as the objects show them.
//!
//! Messages do not name a version, but their form may show it. An [`Evidence`]
//! contains the observations, what each of them shows, and the conclusion. It must
//! not decide about rights, since a peer can write anything into its messages. It
//! informs people, and it selects a way that the peer supports: how to renew a
//! certificate, or in which form to write a key.
//!
//! An object stays as it is when its writer is upgraded. If no single version of
//! Liqo can have written all objects, the latest version counts, and the
//! [`Evidence`] says that the observations differ.
//!
//! Two facts show nothing. One is a Tenant without a namespace: `liqoctl` prints
//! none, and for a stored Tenant this depends on this cluster's own version. The
//! other is the `apiVersion`, which the API server converts.

mod version;

use core::fmt;
use std::collections::BTreeMap;

pub use version::{LiqoVersion, PeerSoftware, VersionRange};
use version::{V0_2, V0_3, V0_11, V1_0, V1_0_2, V1_2};

use super::commitment::COMMITMENT_ANNOTATION;
use crate::{
    crypto::Nonce,
    error::Error,
    machine::{View, replication},
    model::{
        AuthStatus, ForeignCluster, Identity, Namespace, ObjectRef, Renew, Resource, Secret,
        ServiceAccount, Tenant, names,
    },
    policy::Policy,
};

/// A fact in the objects that shows which software the peer runs.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{object}, {field}: {found}: {shows}")]
pub struct Observation {
    /// The object.
    pub object: ObjectRef,
    /// The field's path.
    pub field: &'static str,
    /// The content of the field, such as `a public key in PEM`.
    pub found: &'static str,
    /// The software that the peer may run, given that the content was written by the
    /// peer or for the peer.
    pub shows: PeerSoftware,
}

/// The observations about a peer's version, and the conclusion from them.
///
/// # Examples
/// ```
/// use liqo_auth::{
///     assurance::peer_version::{self, Ability, LiqoVersion},
///     machine::Objects,
///     model::{Metadata, Tenant, TenantSpec},
/// };
///
/// let tenant = Tenant {
///     metadata: Metadata { name: "cl-a".into(), namespace: "liqo-tenant-cl-a".into(), ..Metadata::default() },
///     spec: TenantSpec {
///         cluster_id: "cl-a".into(),
///         public_key: b"-----BEGIN PUBLIC KEY-----".as_slice().into(),
///         ..TenantSpec::default()
///     },
///     ..Tenant::default()
/// };
/// let objects: Objects = [tenant.into()].into_iter().collect();
/// let evidence = peer_version::of_consumer(&objects.view(&"cl-a".parse()?))?;
/// assert_eq!(evidence.to_string(), "Liqo 1.0.2 or later, or this library");
/// assert_eq!(evidence.can(Ability::SignNonce), Some(true));
/// assert_eq!(evidence.can(Ability::RenewByChannel), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The observations.
    pub observations: Vec<Observation>,
    /// The software that the peer may run, according to all observations.
    pub peer: PeerSoftware,
    /// Whether no single version of Liqo can have written all observed content. If
    /// so, the peer was upgraded in between, or does not run Liqo, or somebody wrote
    /// false data.
    pub contradictory: bool,
}

/// An ability that only some versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ability {
    /// Authenticate by a shared token: Liqo 0.2 to 0.10, and this library.
    ExchangeTokens,
    /// Authenticate by a signed nonce: since 1.0.0-rc.1, which counts as 0.11 here.
    SignNonce,
    /// Use keys other than Ed25519, and read a public key in PEM: since 1.0.2.
    ReadPemKeys,
    /// Renew with a Renew that contains a request, as a consumer and as a provider:
    /// 1.0 and 1.1.
    RenewByRequest,
    /// Renew with a permanent Renew. The provider writes new certificates to its
    /// status without a request: since 1.2.
    RenewByChannel,
    /// Prove its own key as a provider, and read for which clusters a nonce was
    /// made: this library only.
    ProveKeys,
}

/// The form of the token protocol that a foreign cluster's answers have shown. It is
/// stored on the ForeignCluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenForm {
    /// The cluster gives service accounts: 0.2.
    Accounts,
    /// The cluster gives certificates: 0.3 or later.
    Certificates,
}

/// The evidence about a consumer in the provider's objects.
///
/// # Errors
/// [`LocalFault`](crate::error::LocalFault): an object that would be evidence cannot
/// be read, or exists twice.
pub fn of_consumer(view: &View<'_>) -> Result<Evidence, Error> {
    let mut observations = Vec::new();
    if let Some(tenant) = view.find_anywhere::<Tenant>(view.peer().as_str())? {
        observations.extend(of_public_key(tenant));
    }
    for renew in view.every::<Renew>()? {
        if replication::is_replica_of(&renew.metadata, view.peer()) {
            observations.push(of_replicated_renew(renew));
        }
    }
    let account = names::remote_account(view.peer());
    let accounts = view
        .every::<ServiceAccount>()?
        .filter(|found| found.metadata.name == account)
        .filter(|found| is_about(&found.metadata.labels, view));
    for found in accounts {
        observations.push(Observation::on(
            found,
            "metadata.labels[discovery.liqo.io/cluster-id]",
            "a service account of a home cluster",
            PeerSoftware::of(V0_2, Some(V0_3)),
        ));
    }
    observations.extend(of_token(view)?);
    Ok(Evidence::of(observations))
}

/// The evidence about a provider in the consumer's objects.
///
/// # Errors
/// As [`of_consumer`].
pub fn of_provider(view: &View<'_>) -> Result<Evidence, Error> {
    let mut observations = Vec::new();
    let namespace = Namespace::name_for(view.tenant_namespace()?, view.peer());
    if let Some(secret) = view.find::<Secret>(&namespace, names::SIGNED_NONCE_SECRET)? {
        observations.extend(of_nonce(secret));
    }
    let identity = view.find_anywhere::<Identity>(&names::identity_name(view.peer()))?;
    if let Some(identity) = identity {
        observations.push(of_identity(identity));
    }
    for renew in view.every::<Renew>()? {
        if replication::is_shared_with(&renew.metadata, view.peer()) {
            observations.extend(of_answered_renew(renew));
        }
    }
    for secret in view.every::<Secret>()? {
        let labels = &secret.metadata.labels;
        if labels.contains_key(names::REMOTE_IDENTITY_LABEL) && is_about(labels, view) {
            observations.push(Observation::on(
                secret,
                "metadata.labels[discovery.liqo.io/remote-identity]",
                "an identity that was given for a token",
                PeerSoftware::of(V0_2, Some(V0_11)),
            ));
        }
    }
    for foreign in view.every::<ForeignCluster>()? {
        if foreign.spec.cluster_identity.cluster_id == view.peer().as_str() {
            observations.extend(of_foreign_cluster(foreign));
            observations.extend(of_token_form(foreign));
        }
    }
    observations.extend(of_token(view)?);
    Ok(Evidence::of(observations))
}

/// The evidence about a consumer in its Renew.
pub(crate) fn of_renew(renew: &Renew) -> Evidence {
    Evidence::of(vec![of_replicated_renew(renew)])
}

/// The evidence about a provider in its answers to Renews.
pub(crate) fn of_answers<'o>(renews: impl IntoIterator<Item = &'o Renew>) -> Evidence {
    let answered = renews.into_iter().filter_map(of_answered_renew);
    Evidence::of(answered.collect())
}

impl TokenForm {
    /// The form that is stored on the ForeignCluster.
    pub(crate) fn shown_on(foreign: &ForeignCluster) -> Option<Self> {
        let noted = foreign.metadata.annotations.get(TOKEN_FORM_ANNOTATION)?;
        let forms = [Self::Accounts, Self::Certificates];
        forms.into_iter().find(|form| form.as_str() == noted)
    }

    /// Stores the form on the ForeignCluster, and moves the URL to the field that
    /// this form uses.
    #[cfg(feature = "legacy")]
    pub(crate) fn note(self, foreign: &mut ForeignCluster) {
        let annotations = &mut foreign.metadata.annotations;
        annotations.insert(TOKEN_FORM_ANNOTATION.to_owned(), self.as_str().to_owned());
        let spec = &mut foreign.spec;
        let (own, other) = match self {
            Self::Accounts => (&mut spec.auth_url, &mut spec.foreign_auth_url),
            Self::Certificates => (&mut spec.foreign_auth_url, &mut spec.auth_url),
        };
        let url = core::mem::take(other);
        if !url.is_empty() {
            *own = url;
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Accounts => "service-accounts",
            Self::Certificates => "certificates",
        }
    }
}

impl Observation {
    fn on(
        object: &impl Resource,
        field: &'static str,
        found: &'static str,
        shows: PeerSoftware,
    ) -> Self {
        Self {
            object: object.id(),
            field,
            found,
            shows,
        }
    }
}

impl Evidence {
    fn of(observations: Vec<Observation>) -> Self {
        let mut peer = PeerSoftware::of(V0_2, None);
        let mut contradictory = false;
        for Observation { shows, .. } in &observations {
            peer.this_library &= shows.this_library;
            peer.liqo = match (peer.liqo, shows.liqo) {
                (Some(one), Some(other)) => Some(one.and(other).unwrap_or_else(|| {
                    contradictory = true;
                    one.or_upgraded(other)
                })),
                _ => None,
            };
        }
        Self {
            observations,
            peer,
            contradictory,
        }
    }

    /// Whether the peer has the ability. None if that is not known.
    pub fn can(&self, ability: Ability) -> Option<bool> {
        let peer = self.peer;
        let by_liqo = peer.liqo.map(|liqo| ability.in_all_of(liqo));
        let by_library = peer.this_library.then_some(Some(true));
        match (by_liqo, by_library) {
            (Some(one), Some(other)) => (one == other).then_some(one).flatten(),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => None,
        }
    }
}

impl Ability {
    /// Whether these versions have the ability. None if only some of them have it.
    fn in_all_of(self, versions: VersionRange) -> Option<bool> {
        let (from, before) = match self {
            Self::ExchangeTokens => (V0_2, Some(V0_11)),
            Self::SignNonce => (V0_11, None),
            Self::ReadPemKeys => (V1_0_2, None),
            Self::RenewByRequest => (V1_0, Some(V1_2)),
            Self::RenewByChannel => (V1_2, None),
            Self::ProveKeys => return Some(false),
        };
        let having = VersionRange { from, before };
        if versions.is_within(having) {
            return Some(true);
        }
        versions.and(having).is_none().then_some(false)
    }
}

fn of_public_key(tenant: &Tenant) -> Option<Observation> {
    let key = tenant.spec.public_key.as_slice();
    let (found, shows) = if key.len() == 32 {
        let shows = PeerSoftware::of(V0_11, Some(V1_0_2));
        ("a public key of 32 raw bytes", shows)
    } else if key.starts_with(b"-----BEGIN ") {
        ("a public key in PEM", PeerSoftware::of(V1_0_2, None))
    } else {
        return None;
    };
    Some(Observation::on(tenant, "spec.publicKey", found, shows))
}

/// The observation of a Renew that a consumer wrote.
fn of_replicated_renew(renew: &Renew) -> Observation {
    let (found, shows) = if renew.spec.csr.is_empty() {
        ("a Renew without a request", PeerSoftware::of(V1_2, None))
    } else {
        ("a Renew with a request", PeerSoftware::of(V1_0, Some(V1_2)))
    };
    Observation::on(renew, "spec.csr", found, shows)
}

/// The observation of a Renew that a provider answered. Liqo 1.0 and 1.1 do not
/// answer a Renew without a request. Liqo 1.2 answers both kinds.
fn of_answered_renew(renew: &Renew) -> Option<Observation> {
    renew.status.auth_params.as_ref()?;
    let (found, from) = if renew.spec.csr.is_empty() {
        ("an answer to a Renew without a request", V1_2)
    } else {
        ("an answer to a Renew with a request", V1_0)
    };
    Some(Observation::on(
        renew,
        "status.authParams",
        found,
        PeerSoftware::of(from, None),
    ))
}

fn of_nonce(secret: &Secret) -> Option<Observation> {
    let nonce = Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()?;
    let (found, shows) = match nonce.structured() {
        Some(_) => (
            "a nonce that names its clusters",
            PeerSoftware::THIS_LIBRARY,
        ),
        // This library also keeps using a nonce that Liqo made.
        None => ("a nonce of random bytes", PeerSoftware::of(V0_11, None)),
    };
    Some(Observation::on(secret, "data.nonce", found, shows))
}

fn of_identity(identity: &Identity) -> Observation {
    let annotations = &identity.metadata.annotations;
    if annotations.contains_key(COMMITMENT_ANNOTATION) {
        return Observation::on(
            identity,
            "metadata.annotations[liqo-auth/commitment]",
            "a commitment of the provider",
            PeerSoftware::THIS_LIBRARY,
        );
    }
    Observation::on(
        identity,
        "metadata.name",
        "an Identity",
        PeerSoftware::of(V0_11, None),
    )
}

fn of_foreign_cluster(foreign: &ForeignCluster) -> Option<Observation> {
    let accepted = foreign.status.auth_status == Some(AuthStatus::Accepted);
    accepted.then(|| {
        Observation::on(
            foreign,
            "status.authStatus",
            "an identity that was given for a token",
            PeerSoftware::of(V0_2, Some(V0_11)),
        )
    })
}

fn of_token_form(foreign: &ForeignCluster) -> Option<Observation> {
    let (found, shows) = match TokenForm::shown_on(foreign)? {
        TokenForm::Accounts => (
            "a foreign cluster that gives service accounts",
            PeerSoftware::of(V0_2, Some(V0_3)),
        ),
        TokenForm::Certificates => (
            "a foreign cluster that gives certificates",
            PeerSoftware::of(V0_3, Some(V0_11)),
        ),
    };
    Some(Observation::on(
        foreign,
        "metadata.annotations[liqo-auth/token-protocol]",
        found,
        shows,
    ))
}

/// The observation of the peer's token. The peer or an administrator provided the
/// token.
fn of_token(view: &View<'_>) -> Result<Option<Observation>, Error> {
    let name = names::remote_token_secret(view.peer());
    let secret = view
        .every::<Secret>()?
        .find(|secret| secret.metadata.name == name && is_about(&secret.metadata.labels, view));
    Ok(secret.map(|secret| {
        let shows = PeerSoftware::of(V0_2, Some(V0_11));
        Observation::on(secret, "metadata.name", "a token of the peer", shows)
    }))
}

fn is_about(labels: &BTreeMap<String, String>, view: &View<'_>) -> bool {
    let peer = labels.get(names::DISCOVERY_CLUSTER_ID_LABEL);
    peer.map(String::as_str) == Some(view.peer().as_str())
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.peer, formatter)?;
        if self.contradictory {
            formatter.write_str("; the observations differ, as after an upgrade")?;
        }
        Ok(())
    }
}

const TOKEN_FORM_ANNOTATION: &str = "liqo-auth/token-protocol";
