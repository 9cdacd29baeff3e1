//! The policy for messages of a peer: [`Policy::strict`] (the default) or
//! [`Policy::compatible`], the [`Limits`] on the size of input, and the [`Addresses`] at which
//! a provider may be.
//!
//! A policy decides which *forms* of an honest message are accepted. It never
//! decides which cluster may become which user: the rules on keys, subjects,
//! nonces and names hold in every policy.

pub(crate) mod addresses;

use core::time::Duration;

use serde::{Deserialize, Deserializer};

pub use addresses::Addresses;

/// The accepted forms of a message, the limits on its size, and the addresses that it may
/// name.
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
    /// The addresses that a provider's API server may have.
    pub addresses: Addresses,
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

/// Declares the limits: each with its strict value, and in brackets the attributes of
/// its JSON form, if that differs from the field.
macro_rules! limits {
    ($(#[$about:meta])* pub struct Limits {
        $(
            $(#[$doc:meta])*
            $([$($serde:tt)*])?
            pub $limit:ident: $Limit:ty = $strict:expr,
        )+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $limit: $Limit,)+
        }

        /// The limits as JSON. A limit that is left out has the default of the forms.
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
        struct WrittenLimits {
            $($(#[serde($($serde)*)])? $limit: Option<$Limit>,)+
        }

        impl Limits {
            const fn strict() -> Self {
                Self { $($limit: $strict,)+ }
            }

            fn limited_as(self, written: WrittenLimits) -> Self {
                Self { $($limit: written.$limit.unwrap_or(self.$limit),)+ }
            }
        }
    };
}

limits! {
    /// Upper bounds on input and on a peer's use of this side, in bytes unless stated
    /// otherwise.
    ///
    /// The limits in bytes are checked before the input is decoded. In JSON, the names
    /// of all limits are in camel case, and the names of durations end in the unit:
    /// `signingIntervalSeconds`, `certificateLifetimeSeconds`,
    /// `wrongTokenDelayMilliseconds` and `wrongTokenLongestDelayMilliseconds`.
    pub struct Limits {
        /// A certificate signing request in PEM.
        pub csr: usize = 8 * 1024,
        /// A public key, raw or in PEM.
        pub public_key: usize = 2 * 1024,
        /// A signature.
        pub signature: usize = 1024,
        /// The text of a nonce.
        pub nonce: usize = 128,
        /// A certificate chain or a CA bundle in PEM.
        pub certificates: usize = 64 * 1024,
        /// The maximum number of certificates in a client chain.
        pub client_chain: usize = 4,
        /// The maximum number of certificates in a CA bundle.
        pub ca_bundle: usize = 64,
        /// One Kubernetes object in JSON or YAML.
        pub object: usize = 256 * 1024,
        /// The maximum number of values in one Kubernetes object: every map, list, text
        /// and number counts, also in managed fields.
        pub object_values: usize = OBJECT_VALUES,
        /// The longest name of a cluster, in characters.
        [rename = "clusterID"]
        pub cluster_id: usize = DEFAULT_NAMESPACE_CLUSTER_ID,
        /// The longest name of a resource slice, in characters. The name and a hash are
        /// the common name of a certificate.
        pub resource_slice_name: usize = COMMON_NAME_SLICE,
        /// The maximum number of resource slices of one peer.
        pub resource_slices: usize = 64,
        /// The maximum number of slice records of one peer. The record of a deleted slice
        /// counts while a certificate of the slice may be valid. At the limit, a new
        /// slice is refused.
        pub slice_records: usize = 1024,
        /// The maximum number of resources that a resource slice may ask for. A slice
        /// that asks for more is denied its resources.
        pub slice_resources: usize = 128,
        /// The longest name of a resource, in characters: in Kubernetes, a domain of
        /// 253, a slash and a name of 63.
        pub resource_name: usize = RESOURCE_NAME,
        /// The longest amount of a resource, in characters.
        pub quantity: usize = 64,
        /// The maximum number of access keys of one peer: the keys of its slices, and the
        /// replaced keys that are not deleted at AWS yet. The present key of the control
        /// plane does not count. At the limit, no key is requested.
        // Two keys for each slice of a peer. The peer's record holds the IDs of the
        // keys.
        pub access_keys: usize = 128,
        /// The maximum number of certificate signing requests of a peer's slices that
        /// are accepted in one burst.
        // Two requests for each slice of a peer: the first one, and one after a
        // change of key.
        pub signing_burst: u32 = 128,
        /// The interval after which one more request of a peer's slices is accepted.
        [rename = "signingIntervalSeconds", deserialize_with = "seconds"]
        pub signing_interval: Duration = Duration::from_secs(10 * 60),
        /// The longest life of a client certificate that a consumer stores.
        [rename = "certificateLifetimeSeconds", deserialize_with = "seconds"]
        pub certificate_lifetime: Duration = Duration::from_secs(TEN_YEARS),
        /// The body of a request of the legacy token protocol.
        pub legacy_request: usize = 32 * 1024,
        /// The body of an answer of the legacy token protocol.
        pub legacy_answer: usize = 256 * 1024,
        /// The delay of answers after the first wrong token.
        [rename = "wrongTokenDelayMilliseconds", deserialize_with = "milliseconds"]
        pub wrong_token_delay: Duration = Duration::from_millis(250),
        /// The longest delay of answers after several wrong tokens.
        // A Liqo home cluster waits five seconds for an answer.
        [rename = "wrongTokenLongestDelayMilliseconds", deserialize_with = "milliseconds"]
        pub wrong_token_longest_delay: Duration = Duration::from_secs(3),
    }
}

impl Policy {
    /// Only the forms that Liqo itself writes. The default.
    pub const fn strict() -> Self {
        Self {
            forms: Forms::Canonical,
            limits: Limits::strict(),
            addresses: Addresses::usual(),
        }
    }

    /// Also a closed list of harmless variants ([`Forms::Compatible`]), for peers
    /// that are not Liqo itself or that were configured by hand.
    pub const fn compatible() -> Self {
        Self {
            forms: Forms::Compatible,
            limits: Limits::compatible(),
            addresses: Addresses::usual(),
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
        let usual = match written.forms {
            Forms::Canonical => Self::strict(),
            Forms::Compatible => Self::compatible(),
        };
        Ok(Self {
            forms: usual.forms,
            limits: usual.limits.limited_as(written.limits),
            addresses: written.addresses,
        })
    }
}

/// A policy as JSON.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WrittenPolicy {
    forms: Forms,
    limits: WrittenLimits,
    addresses: Addresses,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_secs))
}

fn milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(Duration::from_millis))
}

impl Limits {
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
pub(crate) const COMMON_NAME_SLICE: usize = 51;
/// The longest domain, a slash, and the longest name behind it.
const RESOURCE_NAME: usize = 253 + 1 + LABEL_VALUE;
/// The longest value of a label.
pub(crate) const LABEL_VALUE: usize = 63;
/// About ten times the number of values in an object of the exchange. A resource
/// slice with hundreds of storage classes and node labels has about half of this
/// limit.
const OBJECT_VALUES: usize = 2048;
/// Ten years, including three leap days, in seconds.
const TEN_YEARS: u64 = 3653 * 24 * 60 * 60;
