//! The JSON forms of the library's types, for callers in other languages.
//!
//! Each form is a map. If a type has variants, `type` names the variant. A field
//! without a value is left out. A time is text such as `2026-11-20T13:00:00Z`, a
//! fingerprint is `SHA256:` and 64 hexadecimal digits, and an ID or a digest is 64
//! hexadecimal digits. A new version may add fields and variants; a field keeps
//! its meaning.
//!
//! [`Step::to_json`], [`Effect::to_json`], [`ApiRequest::to_json`] and
//! [`Message::to_json`] return bytes that are wiped on drop, since objects may
//! carry secrets. The other types implement [`Serialize`], and their forms carry
//! no secret. No form contains the text of a backend's own error.
//!
//! | form | fields |
//! |---|---|
//! | [`Step`] | `effects`, `outbox`, `refused`, `notices`, `events`, `absent`, `wait` |
//! | [`Effect`] | `type`: `create` with `object`; `replace` with `object`, `version`; `patch` with `id`, `version`, `part` (`main`, `status` or `approval`), `patch`; `delete` with `id`, `version` |
//! | [`ApiRequest`] | `method`, `path`, `contentType`, `body` (JSON) |
//! | [`Version`] | `uid`, `resourceVersion` |
//! | [`ObjectRef`] | `kind`, `namespace`, `name` |
//! | [`Message`] | `from`, `to`, `type`: `nonce` with `nonce`, `tenant` with `tenant`, `identity` with `identity` |
//! | [`Refused`](super::Refused) | `object`, `error` |
//! | [`Wait`](super::Wait) | `wakeAt`, `awaiting` |
//! | [`Status`](super::Status) | `side` (`provider` or `consumer`), `peer`, `tenant`, `condition`, `conditionHeld`, `nonceUntil`, `controlPlane`, `slices`, `notices`, `due`, `awaits`, `refused` |
//! | [`HolderStatus`](super::HolderStatus) | `type` (`controlPlane` or `slice` with `slice`), `phase`, `stage` (`inProgress`, `waiting`, `authenticated`, `refused` or `ending`), `certificate` (with `fingerprint`, `validFrom`, `validUntil`), `validUntil`, `renewalDueAt`, `refused`, `authentication` and `resources` (`Accepted` or `Denied`), `cordoned` |
//! | [`Error`](crate::error::Error) | `code`, `fault` (the family, such as `PeerMisbehaved`), `rule` (its number), `object`, `field`, `message`, `advice`, `remedy`, `disposition` (`retry`, `waitForChange` or `giveUp`) |
//! | [`Event`](crate::audit::Event) | `peer`, `decision` (its name, such as `HandshakeVerified`), `object`, `key`, `rule`, and `details` or, for `Refused`, `error` |
//!
//! The types of a [`Notice`](super::Notice). In a `Step` and in a `Status`, each has the
//! `remedy`, if there is one:
//!
//! | `type` | fields |
//! |---|---|
//! | `signedNonceIsStale`, `nonceAskedAfterEnd`, `providerUnproven`, `issuedByAnotherCa`, `renewalNotCarried`, `newKeyAwaitsNonce` | |
//! | `noClusterRole` | `labelValue` |
//! | `conditionHeld` | `condition` |
//! | `providerKeyFirstSeen` | `fingerprint` |
//! | `certificateDue` | `identity`, `until` |
//! | `cannotRenew` | `identity`, `until`, `error` |
//! | `signaturesWait` | `until` |
//! | `grantUnconfirmed` | `slice`, `resources` |
//! | `sliceCordonHeld` | `slice` |
//! | `kubeconfigNotNamed` | `secret`, `digest` |
//!
//! The types of an [`Awaited`](super::Awaited). In a `Wait` and in a `Status`, each has `from` (the
//! [`Party`](super::Party): `peer`, `administrator`, `backend` or `store`) and the `remedy`, if
//! there is one:
//!
//! | `type` | fields |
//! |---|---|
//! | `invitation`, `nonce`, `tenant`, `names`, `approval`, `identity`, `ownKey` | |
//! | `credential`, `signature` | `id` |
//! | `sliceDecision`, `renewal`, `end`, `uid`, `sliceRequest`, `resources`, `token` | `object` |
//! | `awsRevocation` | `userArn`, `accessKeyId` |
//!
//! The codes of a [`Remedy`](super::Remedy):
//!
//! | `code` | fields |
//! |---|---|
//! | `invite`, `replaceNonce`, `carryNonce`, `approve`, `carryIdentity`, `authenticateAgain`, `release` | |
//! | `answerRequest` | `id` |
//! | `deleteAccessKey` | `userArn`, `accessKeyId` |
//! | `signAgain` | `object`, `force` |
//! | `carryAnswer`, `carryRequest` | `object` |
//! | `decideResources`, `uncordonSlice`, `requestSlice`, `deleteSlice` | `slice` |
//! | `confirmGrant` | `slice`, `resources` |
//! | `liftCondition` | `condition` |
//! | `createClusterRole` | `labelValue` |
//! | `compareFingerprint` | `fingerprint` |
//! | `nameKubeconfig` | `digest` |
//!
//! # Questions and answers
//!
//! The questions to backends are the requests of [`provider`](crate::provider), such
//! as [`SigningRequest`](crate::provider::SigningRequest), and
//! [`KeyQuestion`](crate::crypto::KeyQuestion). Keys, requests and certificates
//! are text in PEM. A `holder` has the `type` `controlPlane` or `slice` (with
//! `slice`), a `subject` has `organization` and `commonName`.
//!
//! | `type` | fields | value of the answer |
//! |---|---|---|
//! | `certificate` | `id`, `peer`, `holder`, `csr`, `subject`, `publicKey`, `lifetimeSeconds`, `now` | certificates in PEM, the client's first |
//! | `approval` | `peer`, `tenant`, `publicKey`, `fingerprint`, `csr`, `proxyURL` (or null), `now` | none |
//! | `awsIdentity` | `id`, `peer`, `holder`, `subject` | the fields of `awsConfig` in an Identity |
//! | `resources` | `peer`, `slice`, `class`, `resources`, `granted` (or null), `now` | `type`: `grant` with `grant`, `deny` with `reason` and `message`, or `notMine` |
//! | `name` | `kind` (`user` or `group`), `name`, `claimant` (`type`: `controlPlane`, `peeringUser` or `slice`; `consumer`, `slice`) | `true` if the name belongs to somebody else |
//! | `key` | `peer` | an `ExternalKey` |
//! | `predecessor` | `peer` | an `ExternalKey`, or none |
//! | `signature` | `id`, `purpose`, `scheme`, `publicKey`, `peer` (or null), `bytes` (base64) | the signature in base64 |
//!
//! [`read_document`](crate::model::read_document) reads an
//! [`Answer`](crate::crypto::Answer): `type` is `ready` (with `value`, if there is
//! one), `pending`, or `denied` (with `reason`). An
//! [`ExternalKey`](crate::crypto::ExternalKey) has `publicKey` and `clientKey`, whose
//! `type` is `file` (with `path`), `exec` (with `apiVersion`, `command`, `args`, and
//! `env` as a list of `name` and `value`) or `notExportable`.
//!
//! [`Message::from_json`] reads a message, and `read_document` the configurations
//! [`ProviderConfig`](crate::provider::ProviderConfig) and
//! [`ConsumerConfig`](crate::consumer::ConsumerConfig). The library does not read the
//! other forms.

mod event;
mod message;
mod remedies;
mod step;
mod wiped;

pub use message::MessageError;
pub(super) use remedies::{awaited_with_remedies, notices_with_remedies};
pub(crate) use wiped::written;

use core::fmt::Display;

#[cfg(doc)]
use serde::Serialize;
use serde::Serializer;

#[cfg(doc)]
use super::{ApiRequest, Effect, Message, Step, Version};
use crate::{crypto::Certificate, model::ObjectRef};

/// The form of a variant that names an object.
pub(crate) fn as_object<S: Serializer>(
    object: &ObjectRef,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("object", object)])
}

/// The form of a certificate: what names it, and its time.
pub(super) fn certificate_in_short<S: Serializer>(
    certificate: &Option<Certificate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Some(certificate) = certificate else {
        return serializer.serialize_none();
    };
    serializer.collect_map([
        ("fingerprint", certificate.fingerprint().to_string()),
        ("validFrom", certificate.not_before.to_string()),
        ("validUntil", certificate.not_after.to_string()),
    ])
}

/// The form of a variant that names a question by its ID.
pub(crate) fn as_id<T: Display, S: Serializer>(id: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map([("id", id.to_string())])
}
