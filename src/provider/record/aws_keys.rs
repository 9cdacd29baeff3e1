//! The recorded access keys: the keys of the holders, and the keys that an
//! administrator must delete at AWS.
//!
//! A certificate expires; an access key does not. So an unused access key stays in
//! the record until an administrator confirms its deletion. Until then, the peer's
//! name also stays bound to the peer.

use serde::{Deserialize, Serialize};

use crate::{
    crypto::Csr,
    model::{AwsConfig, Bytes, sparse},
};

/// The access key that a control plane or a slice has, with its secret part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenKey>,
    /// How many keys the holder has had. The count is part of the next key's
    /// request ID.
    #[serde(default)]
    pub(crate) count: u64,
}

/// An access key, and the request for which it was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenKey {
    /// SHA-256 of the request's DER. The request contains the peer's own key.
    csr: Bytes,
    /// The UID of the Tenant or the slice.
    uid: String,
    config: AwsConfig,
}

sparse! {
    []
    [
        /// A peer's access keys: the key of its control plane, and the public parts of the
        /// other keys. The secret part of a slice's key is in the record of the slice.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub(crate) struct AwsKeys
    ]
    always pub(crate) held: HeldKey,
    pub(crate) of_slices: Vec<SliceKey>,
    /// The keys that another key replaced.
    pub(crate) superseded: Vec<AccessKey>,
}

/// The public part of a slice's access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SliceKey {
    pub(crate) slice: String,
    pub(crate) uid: String,
    pub(crate) key: AccessKey,
}

/// The public part of an access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessKey {
    pub(crate) user_arn: String,
    pub(crate) id: String,
}

impl HeldKey {
    /// The key that was given for exactly this request, in the object of this
    /// UID.
    pub(crate) fn given_for(&self, csr: &Csr, uid: &str) -> Option<&AwsConfig> {
        let given = self.given.as_ref()?;
        (given.csr.as_slice() == csr.digest() && given.uid == uid).then_some(&given.config)
    }

    /// The key, and the UID of the object that it was given for.
    pub(crate) fn config(&self) -> Option<(&AwsConfig, &str)> {
        let given = self.given.as_ref()?;
        Some((&given.config, &given.uid))
    }

    /// Stores this key. Returns the earlier key, if any.
    pub(crate) fn take(&mut self, csr: &Csr, uid: &str, config: &AwsConfig) -> Option<AwsConfig> {
        let given = GivenKey {
            csr: Bytes::from(csr.digest().as_slice()),
            uid: uid.to_owned(),
            config: config.clone(),
        };
        self.count = self.count.saturating_add(1);
        self.given.replace(given).map(|earlier| earlier.config)
    }

    /// Forgets the key if it has this ID. Returns whether a key was forgotten.
    pub(crate) fn forget(&mut self, access_key_id: &str) -> bool {
        let is_it = |given: &mut GivenKey| given.config.aws_access_key_id == access_key_id;
        self.given.take_if(is_it).is_some()
    }
}

impl AwsKeys {
    /// Whether no key is left: neither the control plane's, nor a slice's, nor a
    /// replaced one.
    pub(super) fn is_empty(&self) -> bool {
        self.held.given.is_none() && self.of_slices.is_empty() && self.superseded.is_empty()
    }

    /// The number of keys other than the control plane's present one: the keys of
    /// slices, and the replaced keys.
    pub(crate) fn other_keys(&self) -> usize {
        self.of_slices.len() + self.superseded.len()
    }

    /// Whether a key may still authenticate as this slice. A replaced key may have
    /// belonged to any slice.
    pub(crate) fn may_authenticate_as(&self, slice: &str) -> bool {
        !self.superseded.is_empty() || self.of_slices.iter().any(|one| one.slice == slice)
    }

    /// Records that the control plane has this key, until the key is deleted.
    pub(crate) fn take(&mut self, csr: &Csr, uid: &str, config: &AwsConfig) {
        let earlier = self.held.take(csr, uid, config);
        self.superseded.extend(earlier.as_ref().map(AccessKey::of));
        self.in_use(&config.aws_access_key_id);
    }

    /// Records that a slice has this key, until the key is deleted.
    pub(crate) fn take_of_slice(&mut self, slice: &str, uid: &str, config: &AwsConfig) {
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

    /// Forgets a deleted key. Returns whether the key was on record.
    pub(crate) fn forget(&mut self, access_key_id: &str) -> bool {
        let was_held = self.held.forget(access_key_id);
        let before = self.other_keys();
        self.superseded.retain(|key| key.id != access_key_id);
        self.of_slices.retain(|one| one.key.id != access_key_id);
        was_held || self.other_keys() < before
    }
}

impl AccessKey {
    pub(crate) fn of(config: &AwsConfig) -> Self {
        Self {
            user_arn: config.aws_user_arn.clone(),
            id: config.aws_access_key_id.clone(),
        }
    }
}
