//! The version of Liqo that a peer runs, and the abilities of that version, as far
//! as the objects show them.
//!
//! Messages do not name a version, but their form may show the version. An
//! [`Evidence`] contains the observations, the software that each of them shows, and
//! the conclusion. No right may depend on an [`Evidence`], since a peer can write
//! anything into its messages. An [`Evidence`] informs people, and selects a way that
//! the peer supports: how to renew a certificate, or in which form to write a key.
//!
//! This library writes what versions of Liqo write that differ from each other: a raw
//! key as before 1.0.2, and a Renew without a request as since 1.2. So a peer that
//! shows both runs this library, or a Liqo that was upgraded in between: an object stays
//! as it is when its writer is upgraded. For such a Liqo, the latest version counts.
//! The objects of the token protocol and those of the nonce protocol do not stay side by
//! side, whatever the peer runs. The [`Evidence`] then says that the observations differ.
//!
//! Two facts show nothing. The first is the namespace of a Tenant: `liqoctl` prints a
//! Tenant without a namespace, and whether a stored Tenant has a namespace depends on
//! this cluster's own version of Liqo. The second is the `apiVersion`, which the API
//! server converts.

mod version;

use core::fmt;

use serde::Serialize;

pub use version::{LiqoVersion, PeerSoftware, VersionRange};
use version::{V0_2, V0_3, V0_11, V1_0, V1_0_2, V1_2};

use super::commitment::COMMITMENT_ANNOTATION;
use crate::{
    crypto::Nonce,
    error::Error,
    machine::{View, replication},
    model::{
        AuthStatus, ForeignCluster, Identity, Metadata, Namespace, ObjectRef, Renew, Resource,
        Secret, ServiceAccount, Tenant, names,
    },
    policy::Policy,
};

/// A fact in the objects that shows which software the peer runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, derive_more::Display)]
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
///     crypto::Entropy,
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
/// let mut objects = Objects::new(&Entropy::from_bytes([7; 32]));
/// objects.insert(tenant.into());
/// let evidence = peer_version::of_consumer(&objects.view(&"cl-a".parse()?))?;
/// assert_eq!(evidence.to_string(), "Liqo 1.0.2 or later, or this library");
/// assert_eq!(evidence.can(Ability::SignNonce), Some(true));
/// assert_eq!(evidence.can(Ability::RenewByChannel), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The observations.
    pub observations: Vec<Observation>,
    /// The software that the peer may run, according to all observations.
    pub peer: PeerSoftware,
    /// Whether no single version of Liqo writes all observed content. If it runs Liqo,
    /// the peer was upgraded in between. This library may have written all of it.
    pub mixed: bool,
    /// Whether some content belongs to the token protocol, and other content to the
    /// nonce protocol. If so, the peer went from one to the other, or somebody wrote
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
    /// Renew with a permanent Renew, to whose status the provider writes new
    /// certificates without a request: since 1.2.
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
    let tenant = view.find_anywhere::<Tenant>(view.peer().as_str())?;
    observations.extend(tenant.and_then(of_public_key));
    let renews = view.every::<Renew>()?;
    let received = renews.filter(|it| replication::is_replica_of(&it.metadata, view.peer()));
    observations.extend(received.map(of_replicated_renew));
    let account = names::remote_account(view.peer());
    let accounts = view.every::<ServiceAccount>()?;
    let accounts = accounts.filter(|found| found.metadata.name == account);
    let of_peer = accounts.filter(|found| is_about(&found.metadata, view));
    observations.extend(of_peer.map(|found| ACCOUNT.on(found)));
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
    let nonce = view.find::<Secret>(&namespace, names::SIGNED_NONCE_SECRET)?;
    observations.extend(nonce.and_then(of_nonce));
    let identity = view.find_anywhere::<Identity>(&names::identity_name(view.peer()))?;
    observations.extend(identity.map(of_identity));
    let renews = view.every::<Renew>()?;
    let sent = renews.filter(|it| replication::is_shared_with(&it.metadata, view.peer()));
    observations.extend(sent.filter_map(of_answered_renew));
    let secrets = view.every::<Secret>()?;
    let of_peer = secrets.filter(|secret| is_about(&secret.metadata, view));
    let label = names::REMOTE_IDENTITY_LABEL;
    let given = of_peer.filter(|secret| secret.metadata.labels.contains_key(label));
    observations.extend(given.map(|secret| GIVEN_IDENTITY.on(secret)));
    for foreign in view.every::<ForeignCluster>()? {
        if foreign.spec.cluster_identity.cluster_id == view.peer().as_str() {
            let is_accepted = foreign.status.auth_status == Some(AuthStatus::Accepted);
            observations.extend(is_accepted.then(|| ACCEPTED.on(foreign)));
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

/// A content that shows which software the peer may run.
struct Sign {
    field: &'static str,
    found: &'static str,
    shows: PeerSoftware,
}

impl Sign {
    fn on(&self, object: &impl Resource) -> Observation {
        Observation {
            object: object.id(),
            field: self.field,
            found: self.found,
            shows: self.shows,
        }
    }
}

/// The signs, one a line: the field, its content, and the software that may have
/// written this content.
macro_rules! signs {
    ($($Sign:ident = $field:literal, $found:literal: $shows:expr;)*) => {$(
        const $Sign: Sign = Sign { field: $field, found: $found, shows: $shows };
    )*};
}

signs! {
    RAW_KEY = "spec.publicKey", "a public key of 32 raw bytes": liqo(V0_11, Some(V1_0_2));
    PEM_KEY = "spec.publicKey", "a public key in PEM": liqo(V1_0_2, None);
    EMPTY_RENEW = "spec.csr", "a Renew without a request": liqo(V1_2, None);
    RENEW = "spec.csr", "a Renew with a request": liqo(V1_0, Some(V1_2));
    // Liqo 1.0 and 1.1 do not answer a Renew without a request. Liqo 1.2 answers both
    // kinds.
    ANSWER_TO_EMPTY = "status.authParams", "an answer to a Renew without a request": liqo(V1_2, None);
    ANSWER = "status.authParams", "an answer to a Renew with a request": liqo(V1_0, None);
    OWN_NONCE = "data.nonce", "a nonce that names its clusters": PeerSoftware::THIS_LIBRARY;
    // This library also keeps using a nonce that Liqo made.
    NONCE = "data.nonce", "a nonce of random bytes": liqo(V0_11, None);
    COMMITMENT = "metadata.annotations[liqo-auth/commitment]", "a commitment of the provider": PeerSoftware::THIS_LIBRARY;
    IDENTITY = "metadata.name", "an Identity": liqo(V0_11, None);
    ACCOUNT = "metadata.labels[discovery.liqo.io/cluster-id]", "a service account of a home cluster": liqo(V0_2, Some(V0_3));
    GIVEN_IDENTITY = "metadata.labels[discovery.liqo.io/remote-identity]", "an identity that was given for a token": liqo(V0_2, Some(V0_11));
    ACCEPTED = "status.authStatus", "an identity that was given for a token": liqo(V0_2, Some(V0_11));
    GIVES_ACCOUNTS = "metadata.annotations[liqo-auth/token-protocol]", "a foreign cluster that gives service accounts": liqo(V0_2, Some(V0_3));
    GIVES_CERTIFICATES = "metadata.annotations[liqo-auth/token-protocol]", "a foreign cluster that gives certificates": liqo(V0_3, Some(V0_11));
    // The peer or an administrator provided the token.
    TOKEN = "metadata.name", "a token of the peer": liqo(V0_2, Some(V0_11));
}

impl Evidence {
    fn of(observations: Vec<Observation>) -> Self {
        let mut peer = PeerSoftware::of(V0_2, None);
        let (mut mixed, mut contradictory) = (false, false);
        for Observation { shows, .. } in &observations {
            peer.this_library &= shows.this_library;
            peer.liqo = match (peer.liqo, shows.liqo) {
                (Some(one), Some(other)) => Some(one.and(other).unwrap_or_else(|| {
                    let mut both = [one, other];
                    both.sort_by_key(|versions| versions.from);
                    let [earlier, later] = both;
                    mixed = true;
                    contradictory |= earlier.from < V0_11 && later.from >= V0_11;
                    later
                })),
                _ => None,
            };
        }
        Self {
            observations,
            peer,
            mixed,
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
    match tenant.spec.public_key.as_slice() {
        key if key.len() == 32 => Some(RAW_KEY.on(tenant)),
        key if key.starts_with(b"-----BEGIN ") => Some(PEM_KEY.on(tenant)),
        _ => None,
    }
}

/// The observation of a Renew that a consumer wrote.
fn of_replicated_renew(renew: &Renew) -> Observation {
    match renew.spec.csr.is_empty() {
        true => EMPTY_RENEW.on(renew),
        false => RENEW.on(renew),
    }
}

/// The observation of a Renew that a provider answered.
fn of_answered_renew(renew: &Renew) -> Option<Observation> {
    renew.status.auth_params.as_ref()?;
    Some(match renew.spec.csr.is_empty() {
        true => ANSWER_TO_EMPTY.on(renew),
        false => ANSWER.on(renew),
    })
}

fn of_nonce(secret: &Secret) -> Option<Observation> {
    let nonce = Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()?;
    Some(match nonce.structured() {
        Some(_) => OWN_NONCE.on(secret),
        None => NONCE.on(secret),
    })
}

fn of_identity(identity: &Identity) -> Observation {
    let annotations = &identity.metadata.annotations;
    match annotations.contains_key(COMMITMENT_ANNOTATION) {
        true => COMMITMENT.on(identity),
        false => IDENTITY.on(identity),
    }
}

fn of_token_form(foreign: &ForeignCluster) -> Option<Observation> {
    Some(match TokenForm::shown_on(foreign)? {
        TokenForm::Accounts => GIVES_ACCOUNTS.on(foreign),
        TokenForm::Certificates => GIVES_CERTIFICATES.on(foreign),
    })
}

fn of_token(view: &View<'_>) -> Result<Option<Observation>, Error> {
    let name = names::remote_token_secret(view.peer());
    let mut secrets = view.every::<Secret>()?;
    let secret = secrets.find(|it| it.metadata.name == name && is_about(&it.metadata, view));
    Ok(secret.map(|secret| TOKEN.on(secret)))
}

fn is_about(metadata: &Metadata, view: &View<'_>) -> bool {
    metadata.label(names::DISCOVERY_CLUSTER_ID_LABEL) == Some(view.peer().as_str())
}

/// These versions of Liqo, or this library, which writes the same content.
const fn liqo(from: LiqoVersion, before: Option<LiqoVersion>) -> PeerSoftware {
    PeerSoftware::of(from, before)
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peer.liqo {
            Some(liqo) if self.mixed && !self.contradictory => {
                write!(
                    formatter,
                    "this library, or a Liqo that was upgraded to {liqo}"
                )
            }
            _ if self.contradictory => write!(
                formatter,
                "{}; the observations contradict each other",
                self.peer
            ),
            _ => fmt::Display::fmt(&self.peer, formatter),
        }
    }
}

const TOKEN_FORM_ANNOTATION: &str = "liqo-auth/token-protocol";
