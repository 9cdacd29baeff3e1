//! The forms in JSON, for callers in other languages.
//!
//! Each form is a map. Where a type has variants, `type` names the variant. A
//! field without a value is left out. A time is text as in
//! `2026-11-20T13:00:00Z`, a fingerprint is `SHA256:` and 64 hexadecimal digits,
//! and an ID or a digest is 64 hexadecimal digits. A new version may add fields
//! and variants; a field keeps its meaning.
//!
//! [`Step::to_json`], [`Effect::to_json`] and [`Message::to_json`] give bytes that
//! are wiped when they are dropped, since objects may carry secrets. No other
//! form carries a secret. The text of a backend's own error is in none.
//!
//! | form | fields |
//! |---|---|
//! | [`Step`] | `effects`, `outbox`, `refused`, `notices`, `events`, `wait` |
//! | [`Effect`] | `type`: `create` with `object`; `replace` with `object`, `version`; `patch` with `id`, `version`, `part` (`main`, `status` or `approval`), `patch`; `delete` with `id`, `version` |
//! | [`Version`] | `uid`, `resourceVersion` |
//! | [`ObjectRef`] | `kind`, `namespace`, `name` |
//! | [`Message`] | `from`, `to`, `type`: `nonce` with `nonce`, `tenant` with `tenant`, `identity` with `identity` |
//! | [`Refused`](super::Refused) | `object`, `error` |
//! | [`Wait`](super::Wait) | `wakeAt`, `awaiting` |
//! | [`Error`](crate::error::Error) | `code`, `fault` (the family, such as `PeerMisbehaved`), `rule` (its number), `object`, `field`, `message`, `advice`, `disposition` (`retry`, `waitForChange` or `giveUp`) |
//! | [`Event`](crate::audit::Event) | `peer`, `decision` (its name, such as `HandshakeVerified`), `object`, `key`, `rule`, and `details` or, for `Refused`, `error` |
//!
//! The types of a [`Notice`](super::Notice):
//!
//! | `type` | fields |
//! |---|---|
//! | `signedNonceIsStale`, `providerUnproven`, `issuedByAnotherCa`, `renewalNotCarried`, `newKeyAwaitsNonce` | |
//! | `noClusterRole` | `labelValue` |
//! | `conditionHeld` | `condition` |
//! | `providerKeyFirstSeen` | `fingerprint` |
//! | `certificateDue` | `identity`, `until` |
//! | `cannotRenew` | `identity`, `until`, `error` |
//!
//! The types of an [`Awaited`](super::Awaited):
//!
//! | `type` | fields |
//! |---|---|
//! | `invitation`, `nonce`, `tenant`, `names`, `approval`, `identity`, `ownKey` | |
//! | `certificate`, `awsIdentity`, `signature` | `id` |
//! | `sliceDecision`, `renewal`, `end`, `uid`, `sliceRequest`, `resources`, `token` | `object` |
//! | `awsRevocation` | `userArn`, `accessKeyId` |
//!
//! [`Message::from_json`] reads a message. The other forms are only written.

mod event;
mod message;
mod step;
mod wiped;

pub use message::MessageError;
pub(in crate::machine) use wiped::written;

use serde_json::{Map, Value, json};

use super::Message;
use super::Version;
#[cfg(doc)]
use super::{Effect, Step};
use crate::model::ObjectRef;

fn of_type(name: &str) -> Value {
    json!({ "type": name })
}

fn object_value(id: &ObjectRef) -> Value {
    [
        ("kind", id.kind.as_str()),
        ("namespace", &id.namespace),
        ("name", &id.name),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .collect()
}

/// The fields of a version that were seen.
pub(in crate::machine) fn version_fields(version: &Version) -> Map<String, Value> {
    [
        ("uid", &version.uid),
        ("resourceVersion", &version.resource_version),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(key, value)| (key.to_owned(), Value::from(value.as_str())))
    .collect()
}

fn version_value(version: &Version) -> Value {
    Value::Object(version_fields(version))
}
