//! The access keys on record: those that a holder has, and those that are to be
//! deleted at AWS.
//!
//! A certificate ends by itself; an access key does not. An access key that
//! nobody needs any more stays on record, and with it the peer's name belongs
//! to the peer, until an administrator says that the key is deleted.

use serde::{Deserialize, Serialize};

use crate::{
    crypto::Csr,
    model::{AwsConfig, Bytes},
};

/// The access key that a control plane or a slice has, with its secret part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) struct HeldKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenKey>,
    /// How many keys there were. The next key is asked for by another name.
    #[serde(default)]
    count: u64,
}

/// An access key, and whom it was given to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenKey {
    /// SHA-256 of the request's DER, and by it the peer's own key.
    csr: Bytes,
    /// The UID of the Tenant or the slice.
    uid: String,
    config: AwsConfig,
}

/// The public parts of a peer's access keys. The secret parts are where the
/// keys are held: in the peer's record, or in that of a slice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::provider) struct AwsKeys {
    pub(super) of_slices: Vec<SliceKey>,
    /// The keys that another one replaced.
    pub(super) superseded: Vec<AccessKey>,
}

/// The public part of a slice's access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::provider) struct SliceKey {
    pub(in crate::provider) slice: String,
    pub(in crate::provider) uid: String,
    pub(in crate::provider) key: AccessKey,
}

/// The public part of an access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) struct AccessKey {
    pub(in crate::provider) user_arn: String,
    pub(in crate::provider) id: String,
}

impl HeldKey {
    /// The key that was given for exactly this request, in the object of this
    /// UID.
    pub(in crate::provider) fn given_for(&self, csr: &Csr, uid: &str) -> Option<&AwsConfig> {
        let given = self.given.as_ref()?;
        (given.csr.as_slice() == csr.digest() && given.uid == uid).then_some(&given.config)
    }

    /// The key, and the UID of the object that it was given for.
    pub(in crate::provider) fn config(&self) -> Option<(&AwsConfig, &str)> {
        let given = self.given.as_ref()?;
        Some((&given.config, &given.uid))
    }

    /// How many keys there were until now.
    pub(in crate::provider) fn count(&self) -> u64 {
        self.count
    }

    pub(in crate::provider) fn is_unused(&self) -> bool {
        *self == Self::default()
    }

    /// Takes this key; the one before it, if there was one.
    pub(in crate::provider) fn take(
        &mut self,
        csr: &Csr,
        uid: &str,
        config: &AwsConfig,
    ) -> Option<AwsConfig> {
        let given = GivenKey {
            csr: Bytes::from(csr.digest().as_slice()),
            uid: uid.to_owned(),
            config: config.clone(),
        };
        self.count = self.count.saturating_add(1);
        self.given.replace(given).map(|earlier| earlier.config)
    }

    /// Forgets a key that is deleted; whether it was this one.
    pub(in crate::provider) fn forget(&mut self, access_key_id: &str) -> bool {
        let is_it = |given: &mut GivenKey| given.config.aws_access_key_id == access_key_id;
        self.given.take_if(is_it).is_some()
    }
}

impl AwsKeys {
    /// Whether no key is left that could still open anything.
    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.of_slices.is_empty() && self.superseded.is_empty()
    }

    /// Whether a key may still make its holder the user of this slice. Of a key
    /// that was replaced, the slice is not known.
    pub(in crate::provider) fn may_open(&self, slice: &str) -> bool {
        !self.superseded.is_empty() || self.of_slices.iter().any(|one| one.slice == slice)
    }

    /// The keys that another one replaced.
    pub(in crate::provider) fn superseded(&self) -> &[AccessKey] {
        &self.superseded
    }

    /// The keys of slices.
    pub(in crate::provider) fn of_slices(&self) -> &[SliceKey] {
        &self.of_slices
    }

    /// Remembers that `new` is in use in the place of `earlier`.
    pub(super) fn supersede(&mut self, earlier: Option<&AwsConfig>, new: &AwsConfig) {
        self.superseded.extend(earlier.map(AccessKey::of));
        self.in_use(&new.aws_access_key_id);
    }

    /// Remembers that a slice has this key, for as long as the key may open
    /// anything.
    pub(super) fn take_of_slice(&mut self, slice: &str, uid: &str, config: &AwsConfig) {
        let earlier = self.of_slices.extract_if(.., |one| one.slice == slice);
        self.superseded.extend(earlier.map(|one| one.key));
        let key = AccessKey::of(config);
        self.in_use(&key.id);
        self.of_slices.push(SliceKey {
            slice: slice.to_owned(),
            uid: uid.to_owned(),
            key,
        });
    }

    fn in_use(&mut self, access_key_id: &str) {
        self.superseded.retain(|key| key.id != access_key_id);
    }

    /// Forgets a key that is deleted; whether it was there.
    pub(super) fn forget(&mut self, access_key_id: &str) -> bool {
        let before = self.superseded.len() + self.of_slices.len();
        self.superseded.retain(|key| key.id != access_key_id);
        self.of_slices.retain(|one| one.key.id != access_key_id);
        self.superseded.len() + self.of_slices.len() < before
    }
}

impl AccessKey {
    pub(in crate::provider) fn of(config: &AwsConfig) -> Self {
        Self {
            user_arn: config.aws_user_arn.clone(),
            id: config.aws_access_key_id.clone(),
        }
    }
}
