//! Which version of Liqo a peer runs, and what it can do, as far as the objects
//! tell.
//!
//! No message of the exchange names a version; its form does now and then. An
//! [`Evidence`] is what was observed, what each observation tells, and what
//! follows from all of them. Nothing here may decide about rights: a peer
//! writes its messages as it likes. It is for people, and to choose a way that
//! the peer can go (how its certificate is renewed, in which form a key is
//! written).
//!
//! What was written once stays as it is while its writer is upgraded. Where no
//! version of Liqo wrote all that is there, the latest of them counts, and the
//! [`Evidence`] says that the observations differ.
//!
//! That a Tenant has no namespace tells nothing: `liqoctl` prints none, and
//! whether a stored one has one is this cluster's own version. Nor does the
//! `apiVersion`, which the API server converts.

use core::fmt;

use super::commitment::COMMITMENT_ANNOTATION;
use crate::{
    crypto::Nonce,
    error::Error,
    machine::{View, replication},
    model::{
        AuthStatus, ForeignCluster, Identity, Kind, ObjectRef, Renew, Resource, Secret,
        ServiceAccount, Tenant, names,
    },
    policy::Policy,
};

/// A version of Liqo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiqoVersion(pub u16, pub u16, pub u16);

/// The versions from one on, and before another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionRange {
    /// The first of them.
    pub from: LiqoVersion,
    /// The first that is none of them any more; none if there is no end.
    pub before: Option<LiqoVersion>,
}

/// What a peer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The versions of Liqo that it may run; none if it is not Liqo.
    pub liqo: Option<VersionRange>,
    /// Whether it may run this library.
    pub this_library: bool,
}

/// Something in the objects that tells what the peer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The object.
    pub object: ObjectRef,
    /// The field's path.
    pub field: &'static str,
    /// What was found there, such as `a public key in PEM`.
    pub found: &'static str,
    /// What the peer may be, which wrote that or to which it was written.
    pub tells: Peer,
}

/// What is known of a peer's version, and why.
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
    /// What was observed.
    pub observations: Vec<Observation>,
    /// What the peer may be after all of it.
    pub peer: Peer,
    /// Whether no one version of Liqo wrote all of it: the peer was upgraded in
    /// between, or is no Liqo, or somebody wrote what is not so.
    pub contradictory: bool,
}

/// What some versions can do and others cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ability {
    /// Authenticate by a shared token: Liqo 0.2 to 0.10, and this library.
    ExchangeTokens,
    /// Authenticate by a signed nonce: from 1.0.0-rc.1, told apart as 0.11 here.
    SignNonce,
    /// Have keys other than Ed25519, and read a public key in PEM: from 1.0.2.
    ReadPemKeys,
    /// Ask for a renewal, and be asked, by a Renew with a request in it: 1.0
    /// and 1.1.
    RenewByRequest,
    /// Renew by a permanent Renew, whose status carries what the provider
    /// signed by itself: from 1.2.
    RenewByChannel,
    /// Prove its own key as a provider, and see whom a nonce is for: this
    /// library only.
    ProveKeys,
}

/// The form of the token protocol that a foreign cluster has shown by its
/// answers. It is kept on the ForeignCluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenForm {
    /// The cluster gives service accounts: 0.2.
    Accounts,
    /// The cluster gives certificates: 0.3 or later.
    Certificates,
}

/// What the provider's objects tell of a consumer.
///
/// # Errors
/// [`LocalFault`](crate::error::LocalFault): something that would tell cannot be
/// read, or is there twice.
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
        observations.push(Observation {
            object: found.id(),
            field: "metadata.labels[discovery.liqo.io/cluster-id]",
            found: "a service account of a home cluster",
            tells: Peer::liqo(V0_2, Some(V0_3)).or_this_library(),
        });
    }
    observations.extend(of_token(view)?);
    Ok(Evidence::of(observations))
}

/// What the consumer's objects tell of a provider.
///
/// # Errors
/// As [`of_consumer`].
pub fn of_provider(view: &View<'_>) -> Result<Evidence, Error> {
    let mut observations = Vec::new();
    let namespace = match view.tenant_namespace()? {
        Some(namespace) => namespace.metadata.name.clone(),
        None => names::tenant_namespace(view.peer()),
    };
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
            observations.push(Observation {
                object: secret.id(),
                field: "metadata.labels[discovery.liqo.io/remote-identity]",
                found: "an identity that was given for a token",
                tells: Peer::liqo(V0_2, Some(V0_11)).or_this_library(),
            });
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

/// What a consumer's Renew tells of that consumer.
pub(crate) fn of_renew(renew: &Renew) -> Evidence {
    Evidence::of(vec![of_replicated_renew(renew)])
}

/// What the answers in Renews tell of the provider.
pub(crate) fn of_answers<'o>(renews: impl IntoIterator<Item = &'o Renew>) -> Evidence {
    let answered = renews.into_iter().filter_map(of_answered_renew);
    Evidence::of(answered.collect())
}

impl TokenForm {
    /// The form that is noted on the ForeignCluster.
    pub(crate) fn shown_on(foreign: &ForeignCluster) -> Option<Self> {
        let noted = foreign.metadata.annotations.get(TOKEN_FORM_ANNOTATION)?;
        let forms = [Self::Accounts, Self::Certificates];
        forms.into_iter().find(|form| form.as_str() == noted)
    }

    /// Notes the form on the ForeignCluster, whose URL goes by that form's name.
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

impl Evidence {
    fn of(observations: Vec<Observation>) -> Self {
        let mut peer = Peer::liqo(V0_2, None).or_this_library();
        let mut contradictory = false;
        for Observation { tells, .. } in &observations {
            peer.this_library &= tells.this_library;
            peer.liqo = match (peer.liqo, tells.liqo) {
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

    /// Whether the peer can do that: none if it is not known.
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

impl Peer {
    const THIS_LIBRARY: Self = Self {
        liqo: None,
        this_library: true,
    };

    const fn liqo(from: LiqoVersion, before: Option<LiqoVersion>) -> Self {
        Self {
            liqo: Some(VersionRange { from, before }),
            this_library: false,
        }
    }

    const fn or_this_library(self) -> Self {
        Self {
            this_library: true,
            ..self
        }
    }
}

impl VersionRange {
    fn and(self, other: Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let before = match (self.before, other.before) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        before
            .is_none_or(|before| from < before)
            .then_some(Self { from, before })
    }

    /// Where it was one of these first, and one of those after: the later.
    fn or_upgraded(self, other: Self) -> Self {
        if self.from > other.from { self } else { other }
    }

    fn is_within(self, other: Self) -> bool {
        self.and(other) == Some(self)
    }
}

impl Ability {
    /// Whether all of these versions have it, or none; none if some have.
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
    let (found, tells) = if key.len() == 32 {
        let tells = Peer::liqo(V0_11, Some(V1_0_2));
        ("a public key of 32 raw bytes", tells)
    } else if key.starts_with(b"-----BEGIN ") {
        ("a public key in PEM", Peer::liqo(V1_0_2, None))
    } else {
        return None;
    };
    Some(Observation {
        object: tenant.id(),
        field: "spec.publicKey",
        found,
        tells: tells.or_this_library(),
    })
}

/// A Renew as a consumer wrote it.
fn of_replicated_renew(renew: &Renew) -> Observation {
    let (found, tells) = if renew.spec.csr.is_empty() {
        ("a Renew without a request", Peer::liqo(V1_2, None))
    } else {
        ("a Renew with a request", Peer::liqo(V1_0, Some(V1_2)))
    };
    Observation {
        object: renew.id(),
        field: "spec.csr",
        found,
        tells: tells.or_this_library(),
    }
}

/// A Renew as a provider answered it: without a request, 1.0 and 1.1 answer
/// nothing; with one, 1.2 answers too.
fn of_answered_renew(renew: &Renew) -> Option<Observation> {
    renew.status.auth_params.as_ref()?;
    let (found, from) = if renew.spec.csr.is_empty() {
        ("an answer to a Renew without a request", V1_2)
    } else {
        ("an answer to a Renew with a request", V1_0)
    };
    Some(Observation {
        object: renew.id(),
        field: "status.authParams",
        found,
        tells: Peer::liqo(from, None).or_this_library(),
    })
}

fn of_nonce(secret: &Secret) -> Option<Observation> {
    let nonce = Nonce::parse(secret.get(names::NONCE)?, &Policy::compatible()).ok()?;
    let (found, tells) = match nonce.structured() {
        Some(_) => ("a nonce that says whom it is for", Peer::THIS_LIBRARY),
        // This library goes on with the nonce that Liqo left.
        None => (
            "a nonce of random bytes",
            Peer::liqo(V0_11, None).or_this_library(),
        ),
    };
    Some(Observation {
        object: secret.id(),
        field: "data.nonce",
        found,
        tells,
    })
}

fn of_identity(identity: &Identity) -> Observation {
    let annotations = &identity.metadata.annotations;
    if annotations.contains_key(COMMITMENT_ANNOTATION) {
        return Observation {
            object: identity.id(),
            field: "metadata.annotations[liqo-auth/commitment]",
            found: "a commitment of the provider",
            tells: Peer::THIS_LIBRARY,
        };
    }
    Observation {
        object: identity.id(),
        field: "metadata.name",
        found: "an Identity",
        tells: Peer::liqo(V0_11, None).or_this_library(),
    }
}

fn of_foreign_cluster(foreign: &ForeignCluster) -> Option<Observation> {
    let accepted = foreign.status.auth_status == Some(AuthStatus::Accepted);
    accepted.then(|| Observation {
        object: foreign.id(),
        field: "status.authStatus",
        found: "an identity that was given for a token",
        tells: Peer::liqo(V0_2, Some(V0_11)).or_this_library(),
    })
}

fn of_token_form(foreign: &ForeignCluster) -> Option<Observation> {
    let (found, tells) = match TokenForm::shown_on(foreign)? {
        TokenForm::Accounts => (
            "a foreign cluster that gives service accounts",
            Peer::liqo(V0_2, Some(V0_3)),
        ),
        TokenForm::Certificates => (
            "a foreign cluster that gives certificates",
            Peer::liqo(V0_3, Some(V0_11)),
        ),
    };
    Some(Observation {
        object: foreign.id(),
        field: "metadata.annotations[liqo-auth/token-protocol]",
        found,
        tells: tells.or_this_library(),
    })
}

/// A token of the peer's, which it or an administrator handed over.
fn of_token(view: &View<'_>) -> Result<Option<Observation>, Error> {
    let name = names::remote_token_secret(view.peer());
    let secret = view
        .every::<Secret>()?
        .find(|secret| secret.metadata.name == name && is_about(&secret.metadata.labels, view));
    Ok(secret.map(|secret| Observation {
        object: ObjectRef::new(Kind::Secret, &secret.metadata.namespace, name),
        field: "metadata.name",
        found: "a token of the peer",
        tells: Peer::liqo(V0_2, Some(V0_11)).or_this_library(),
    }))
}

fn is_about(labels: &std::collections::BTreeMap<String, String>, view: &View<'_>) -> bool {
    let peer = labels.get(names::DISCOVERY_CLUSTER_ID_LABEL);
    peer.map(String::as_str) == Some(view.peer().as_str())
}

impl fmt::Display for LiqoVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(major, minor, patch) = self;
        write!(formatter, "{major}.{minor}.{patch}")
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.before {
            None => write!(formatter, "{} or later", self.from),
            Some(before) => write!(formatter, "{} or later, before {before}", self.from),
        }
    }
}

/// `Liqo 1.0.2 or later, or this library`.
impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.liqo, self.this_library) {
            (Some(liqo), true) => write!(formatter, "Liqo {liqo}, or this library"),
            (Some(liqo), false) => write!(formatter, "Liqo {liqo}"),
            (None, true) => formatter.write_str("this library"),
            (None, false) => formatter.write_str("nothing that is known"),
        }
    }
}

impl fmt::Display for Observation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            object,
            field,
            found,
            tells,
        } = self;
        write!(formatter, "{object}, {field}: {found}: {tells}")
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.peer, formatter)?;
        if self.contradictory {
            formatter.write_str("; what it wrote differs, as after an upgrade")?;
        }
        Ok(())
    }
}

const TOKEN_FORM_ANNOTATION: &str = "liqo-auth/token-protocol";
const V0_2: LiqoVersion = LiqoVersion(0, 2, 0);
const V0_3: LiqoVersion = LiqoVersion(0, 3, 0);
const V0_11: LiqoVersion = LiqoVersion(0, 11, 0);
const V1_0: LiqoVersion = LiqoVersion(1, 0, 0);
const V1_0_2: LiqoVersion = LiqoVersion(1, 0, 2);
const V1_2: LiqoVersion = LiqoVersion(1, 2, 0);
