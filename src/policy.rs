//! The policy for messages of a peer: [`Policy::strict`] (the default) or
//! [`Policy::compatible`], and the [`Limits`] on the size of input.
//!
//! A policy decides which *forms* of an honest message are accepted. It never
//! decides which cluster may become which user: the rules on keys, subjects,
//! nonces and names hold in every policy.

use core::time::Duration;

use serde::{Deserialize, Deserializer};

/// The accepted forms of a message, and the limits on its size.
///
/// # Examples
/// ```
/// use liqo_auth::policy::{Forms, Policy};
///
/// assert_eq!(Policy::default().forms, Forms::Canonical);
/// assert_eq!(Policy::compatible().forms, Forms::Compatible);
///
/// // As JSON: a field that is left out has the default of the chosen forms.
/// let policy: Policy = serde_json::from_str(r#"{ "forms": "compatible", "limits": { "csr": 4096 } }"#)?;
/// assert_eq!((policy.forms, policy.limits.csr), (Forms::Compatible, 4096));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// The accepted forms.
    pub forms: Forms,
    /// The limits on sizes, numbers and times.
    pub limits: Limits,
}

/// How closely a peer's encoding has to follow the one that Liqo writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Forms {
    /// The one form that Liqo itself writes.
    #[default]
    Canonical,
    /// In addition, a closed list of harmless variants: a subject in UTF8String
    /// or with CN before O, other PEM framing, other forms of a nonce, longer
    /// names and lifetimes.
    Compatible,
}

/// Upper bounds on input and on a peer's use of this side, in bytes unless stated
/// otherwise.
///
/// The limits are checked before any input is decoded. In JSON, their names are
/// in camel case, and the names of durations end in the unit:
/// `signingIntervalSeconds`, `certificateLifetimeSeconds`,
/// `wrongTokenDelayMilliseconds` and `wrongTokenLongestDelayMilliseconds`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A certificate signing request in PEM.
    pub csr: usize,
    /// A public key, raw or in PEM.
    pub public_key: usize,
    /// A signature.
    pub signature: usize,
    /// The text of a nonce.
    pub nonce: usize,
    /// A certificate chain or a CA bundle in PEM.
    pub certificates: usize,
    /// The maximum number of certificates in a client chain.
    pub client_chain: usize,
    /// The maximum number of certificates in a CA bundle.
    pub ca_bundle: usize,
    /// One Kubernetes object in JSON or YAML.
    pub object: usize,
    /// The maximum number of values in one Kubernetes object: every map, list, text
    /// and number counts, also in managed fields.
    pub object_values: usize,
    /// The longest name of a cluster, in characters.
    pub cluster_id: usize,
    /// The longest name of a resource slice, in characters. The name and a hash are
    /// the common name of a certificate.
    pub resource_slice_name: usize,
    /// The maximum number of resource slices of one peer.
    pub resource_slices: usize,
    /// The maximum number of slice records of one peer. The record of a deleted slice
    /// counts while a certificate of the slice may be valid. At the limit, a new
    /// slice is refused.
    pub slice_records: usize,
    /// The maximum number of resources that a resource slice may ask for. A slice
    /// that asks for more is denied its resources.
    pub slice_resources: usize,
    /// The longest name of a resource, in characters: in Kubernetes, a domain of
    /// 253, a slash and a name of 63.
    pub resource_name: usize,
    /// The longest amount of a resource, in characters.
    pub quantity: usize,
    /// The maximum number of access keys of one peer: the keys of its slices, and the
    /// keys that are not deleted at AWS yet. At the limit, no key is requested.
    pub access_keys: usize,
    /// The maximum number of certificate signing requests of a peer's slices that
    /// are accepted in one burst.
    pub signing_burst: u32,
    /// The interval after which one more request of a peer's slices is accepted.
    pub signing_interval: Duration,
    /// The longest life of a client certificate that a consumer stores.
    pub certificate_lifetime: Duration,
    /// The body of a request of the legacy token protocol.
    pub legacy_request: usize,
    /// The body of an answer of the legacy token protocol.
    pub legacy_answer: usize,
    /// The delay of answers after the first wrong token.
    pub wrong_token_delay: Duration,
    /// The longest delay of answers after several wrong tokens.
    pub wrong_token_longest_delay: Duration,
}

impl Policy {
    /// Only the forms that Liqo itself writes. The default.
    pub const fn strict() -> Self {
        Self {
            forms: Forms::Canonical,
            limits: Limits::strict(),
        }
    }

    /// Also a closed list of harmless variants ([`Forms::Compatible`]), for peers
    /// that are not Liqo itself or that were configured by hand.
    pub const fn compatible() -> Self {
        Self {
            forms: Forms::Compatible,
            limits: Limits::compatible(),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::strict()
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenPolicy::deserialize(deserializer)?;
        Ok(match written.forms {
            Forms::Canonical => Self::strict(),
            Forms::Compatible => Self::compatible(),
        }
        .limited_as(&written.limits))
    }
}

/// A policy as JSON.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenPolicy {
    forms: Forms,
    limits: WrittenLimits,
}

/// The limits as JSON. A limit that is left out has the default of the forms.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct WrittenLimits {
    csr: Option<usize>,
    public_key: Option<usize>,
    signature: Option<usize>,
    nonce: Option<usize>,
    certificates: Option<usize>,
    client_chain: Option<usize>,
    ca_bundle: Option<usize>,
    object: Option<usize>,
    object_values: Option<usize>,
    #[serde(rename = "clusterID")]
    cluster_id: Option<usize>,
    resource_slice_name: Option<usize>,
    resource_slices: Option<usize>,
    slice_records: Option<usize>,
    slice_resources: Option<usize>,
    resource_name: Option<usize>,
    quantity: Option<usize>,
    access_keys: Option<usize>,
    signing_burst: Option<u32>,
    signing_interval_seconds: Option<u64>,
    certificate_lifetime_seconds: Option<u64>,
    legacy_request: Option<usize>,
    legacy_answer: Option<usize>,
    wrong_token_delay_milliseconds: Option<u64>,
    wrong_token_longest_delay_milliseconds: Option<u64>,
}

impl Policy {
    fn limited_as(mut self, written: &WrittenLimits) -> Self {
        let limits = &mut self.limits;
        for (limit, written) in [
            (&mut limits.csr, written.csr),
            (&mut limits.public_key, written.public_key),
            (&mut limits.signature, written.signature),
            (&mut limits.nonce, written.nonce),
            (&mut limits.certificates, written.certificates),
            (&mut limits.client_chain, written.client_chain),
            (&mut limits.ca_bundle, written.ca_bundle),
            (&mut limits.object, written.object),
            (&mut limits.object_values, written.object_values),
            (&mut limits.cluster_id, written.cluster_id),
            (&mut limits.resource_slice_name, written.resource_slice_name),
            (&mut limits.resource_slices, written.resource_slices),
            (&mut limits.slice_records, written.slice_records),
            (&mut limits.slice_resources, written.slice_resources),
            (&mut limits.resource_name, written.resource_name),
            (&mut limits.quantity, written.quantity),
            (&mut limits.access_keys, written.access_keys),
            (&mut limits.legacy_request, written.legacy_request),
            (&mut limits.legacy_answer, written.legacy_answer),
        ] {
            *limit = written.unwrap_or(*limit);
        }
        limits.signing_burst = written.signing_burst.unwrap_or(limits.signing_burst);
        let interval = written.signing_interval_seconds.map(Duration::from_secs);
        let seconds = written
            .certificate_lifetime_seconds
            .map(Duration::from_secs);
        let first = written
            .wrong_token_delay_milliseconds
            .map(Duration::from_millis);
        let longest = written
            .wrong_token_longest_delay_milliseconds
            .map(Duration::from_millis);
        for (limit, written) in [
            (&mut limits.signing_interval, interval),
            (&mut limits.certificate_lifetime, seconds),
            (&mut limits.wrong_token_delay, first),
            (&mut limits.wrong_token_longest_delay, longest),
        ] {
            *limit = written.unwrap_or(*limit);
        }
        self
    }
}

impl Limits {
    const fn strict() -> Self {
        Self {
            csr: 8 * 1024,
            public_key: 2 * 1024,
            signature: 1024,
            nonce: 128,
            certificates: 64 * 1024,
            client_chain: 4,
            ca_bundle: 64,
            object: 256 * 1024,
            object_values: OBJECT_VALUES,
            cluster_id: DEFAULT_NAMESPACE_CLUSTER_ID,
            resource_slice_name: COMMON_NAME_SLICE,
            resource_slices: 64,
            slice_records: 1024,
            slice_resources: 128,
            resource_name: RESOURCE_NAME,
            quantity: 64,
            // Two keys for each slice of a peer. The peer's record holds the IDs of the
            // keys.
            access_keys: 128,
            // Two requests for each slice of a peer: the first one, and one after a
            // change of key.
            signing_burst: 128,
            signing_interval: Duration::from_secs(10 * 60),
            certificate_lifetime: Duration::from_secs(TEN_YEARS),
            legacy_request: 32 * 1024,
            legacy_answer: 256 * 1024,
            wrong_token_delay: Duration::from_millis(250),
            // A Liqo home cluster waits five seconds for an answer.
            wrong_token_longest_delay: Duration::from_secs(3),
        }
    }

    const fn compatible() -> Self {
        Self {
            cluster_id: LABEL_VALUE,
            resource_slice_name: LABEL_VALUE,
            certificate_lifetime: Duration::MAX,
            ..Self::strict()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::strict()
    }
}

/// The 63 characters of a namespace's name without the prefix `liqo-tenant-`.
const DEFAULT_NAMESPACE_CLUSTER_ID: usize = 51;
/// The 64 characters of a common name (X.520, ub-common-name) without the suffix of
/// `-` and the twelve digits of a consumer's hash.
const COMMON_NAME_SLICE: usize = 51;
/// The longest domain, a slash, and the longest name behind it.
const RESOURCE_NAME: usize = 253 + 1 + LABEL_VALUE;
/// The longest value of a label.
const LABEL_VALUE: usize = 63;
/// About ten times the number of values in an object of the exchange. A resource
/// slice with hundreds of storage classes and node labels has about half as many.
const OBJECT_VALUES: usize = 2048;
/// Ten years, including three leap days, in seconds.
const TEN_YEARS: u64 = 3653 * 24 * 60 * 60;
