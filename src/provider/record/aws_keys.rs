//! The access keys on record: those that the peer has, and those that are to
//! be deleted at AWS.
//!
//! A certificate ends by itself; an access key does not. So one that nobody
//! needs any more stays on record, and with it the peer's name belongs to the
//! peer, until an administrator says that the key is deleted.

use serde::{Deserialize, Serialize};

use super::peer::Record;
use crate::{
    audit::{Decision, Event},
    crypto::Csr,
    error::Error,
    machine::{Awaited, Effect, Step, View},
    model::{AwsConfig, Bytes, Kind, ResourceSlice},
    provider::{Provider, observed::Observed},
};

/// The access key that a control plane or a slice has, with its secret part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) struct HeldKey {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenKey>,
    /// How many there were, so that the next one is asked for by another name.
    #[serde(default)]
    count: u64,
}

/// The access keys of a peer. The secret parts of its slices' are in the
/// records of the slices, which go with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::provider) struct AwsKeys {
    /// The control plane's.
    #[serde(default)]
    pub(in crate::provider) held: HeldKey,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    of_slices: Vec<SliceKey>,
    /// Those that something else took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<AccessKey>,
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

/// The public part of a slice's access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SliceKey {
    slice: String,
    uid: String,
    key: AccessKey,
}

/// The public part of an access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccessKey {
    user_arn: String,
    id: String,
}

impl HeldKey {
    /// The one that was given for exactly this request, in the object of this
    /// UID.
    pub(in crate::provider) fn given_for(&self, csr: &Csr, uid: &str) -> Option<&AwsConfig> {
        let given = self.given.as_ref()?;
        (given.csr.as_slice() == csr.digest() && given.uid == uid).then_some(&given.config)
    }

    /// How many there were until now.
    pub(in crate::provider) fn count(&self) -> u64 {
        self.count
    }

    pub(in crate::provider) fn is_unused(&self) -> bool {
        *self == Self::default()
    }

    /// Takes this one.
    pub(in crate::provider) fn take(&mut self, csr: &Csr, uid: &str, config: &AwsConfig) {
        self.given = Some(GivenKey {
            csr: Bytes::from(csr.digest().as_slice()),
            uid: uid.to_owned(),
            config: config.clone(),
        });
        self.count = self.count.saturating_add(1);
    }

    /// Forgets a key that is deleted; whether it was this one.
    pub(in crate::provider) fn forget(&mut self, access_key_id: &str) -> bool {
        let is_it = |given: &GivenKey| given.config.aws_access_key_id == access_key_id;
        self.given.take_if(|given| is_it(given)).is_some()
    }
}

impl AwsKeys {
    /// Whether none is left that could still open anything.
    pub(in crate::provider) fn is_empty(&self) -> bool {
        self.held.given.is_none() && self.of_slices.is_empty() && self.superseded.is_empty()
    }

    /// Whether there never was one.
    pub(in crate::provider) fn is_unused(&self) -> bool {
        *self == Self::default()
    }

    /// Takes a key for the one that the control plane has.
    pub(in crate::provider) fn take(&mut self, csr: &Csr, tenant_uid: &str, config: &AwsConfig) {
        if let Some(given) = self.held.given.take() {
            self.superseded.push(AccessKey::of(&given.config));
        }
        self.in_use(&config.aws_access_key_id);
        self.held.take(csr, tenant_uid, config);
    }

    /// Remembers that a slice has this key, for as long as that may hold.
    pub(in crate::provider) fn take_of_slice(
        &mut self,
        slice: &str,
        uid: &str,
        config: &AwsConfig,
    ) {
        self.take_key_of_slice(SliceKey {
            slice: slice.to_owned(),
            uid: uid.to_owned(),
            key: AccessKey::of(config),
        });
    }

    fn take_key_of_slice(&mut self, new: SliceKey) {
        let of_slice = |one: &mut SliceKey| one.slice == new.slice;
        let earlier = self.of_slices.extract_if(.., of_slice);
        self.superseded.extend(earlier.map(|one| one.key));
        self.in_use(&new.key.id);
        self.of_slices.push(new);
    }

    /// Takes what slices were given since `before`, of which both this and
    /// `other` were made.
    pub(in crate::provider) fn take_new_of_slices(&mut self, before: &Self, other: &Self) {
        for new in &other.of_slices {
            if !before.of_slices.contains(new) {
                self.take_key_of_slice(new.clone());
            }
        }
    }

    fn in_use(&mut self, access_key_id: &str) {
        self.superseded.retain(|key| key.id != access_key_id);
    }

    /// Forgets a key that is deleted; whether it was there.
    fn forget(&mut self, access_key_id: &str) -> bool {
        let before = self.superseded.len() + self.of_slices.len();
        self.superseded.retain(|key| key.id != access_key_id);
        self.of_slices.retain(|one| one.key.id != access_key_id);
        let was_held = self.held.forget(access_key_id);
        was_held || self.superseded.len() + self.of_slices.len() < before
    }

    /// Those that nobody is to use any more: also of a Tenant and of slices that
    /// are gone.
    fn to_revoke(&self, tenant_uid: Option<&str>, slices: &[Present<'_>]) -> Vec<AccessKey> {
        let held = self.held.given.iter();
        let of_other_tenant = held
            .filter(|given| Some(given.uid.as_str()) != tenant_uid)
            .map(|given| AccessKey::of(&given.config));
        let is_gone = |one: &&SliceKey| {
            let present = slices.iter().any(|slice| slice.is(one));
            tenant_uid.is_none() || !present
        };
        let of_gone_slices = self.of_slices.iter().filter(is_gone);
        self.superseded
            .iter()
            .cloned()
            .chain(of_other_tenant)
            .chain(of_gone_slices.map(|one| one.key.clone()))
            .collect()
    }
}

impl AccessKey {
    fn of(config: &AwsConfig) -> Self {
        Self {
            user_arn: config.aws_user_arn.clone(),
            id: config.aws_access_key_id.clone(),
        }
    }
}

impl Provider {
    /// Takes an administrator's word, or the embedder's, that this access key
    /// is deleted at AWS. Of a key that nobody was to use any more
    /// ([`Awaited::AwsRevocation`]) nothing is left then. A key that the peer or
    /// one of its slices has is replaced: the next one is asked for by a request
    /// of another name. Of a key that is not on record, there is nothing to do.
    ///
    /// # Errors
    /// As [`resume`](Self::resume); and if the record of a slice cannot be read.
    pub fn aws_key_revoked(&self, view: &View<'_>, access_key_id: &str) -> Result<Step, Error> {
        let observed = Observed::select(self, view)?;
        if let Some(error) = observed.unreadable {
            return Err(error);
        }
        // The slice first: while the peer's record names the key, a call after a
        // crash finds it.
        let mut step = Step {
            effects: self.forget_key_of_slices(&observed, view, access_key_id)?,
            ..Step::default()
        };
        if let Some((_, record)) = &observed.record {
            let mut record: Record = record.clone();
            if record.aws.forget(access_key_id) {
                step.effects.push(self.write_record(&observed, &record));
            }
        }
        if !step.is_settled() {
            let access_key_id = access_key_id.to_owned();
            let revoked = Decision::AwsKeyRevoked { access_key_id };
            step.events.push(Event::new(&observed.peer, revoked));
        }
        Ok(step)
    }

    /// Waits for the end of the keys that nobody is to use any more. A level: it
    /// is said until [`aws_key_revoked`](Self::aws_key_revoked) is called for
    /// each.
    pub(in crate::provider) fn await_revocations(
        &self,
        observed: &Observed<'_>,
        view: &View<'_>,
        step: &mut Step,
    ) {
        let Some((_, record)) = &observed.record else {
            return;
        };
        // Where nobody gives AWS users any more, certificates are in their place.
        let tenant = observed.tenant.filter(|_| self.0.aws.is_some());
        let uid = tenant.map(|tenant| tenant.metadata.uid.as_str());
        let keys = record.aws.to_revoke(uid, &present(observed, view));
        let awaited = keys.into_iter().map(|key| Awaited::AwsRevocation {
            user_arn: key.user_arn,
            access_key_id: key.id,
        });
        step.wait.awaiting.extend(awaited);
    }

    fn forget_key_of_slices(
        &self,
        observed: &Observed<'_>,
        view: &View<'_>,
        access_key_id: &str,
    ) -> Result<Vec<Effect>, Error> {
        let mut effects = Vec::new();
        for secret in self.slice_records(observed, view).into_values() {
            let mut record = self.open_slice_record(&observed.peer, secret)?;
            if record.aws.forget(access_key_id) {
                effects.push(self.write_slice_record(&observed.peer, Some(secret), &record));
            }
        }
        Ok(effects)
    }
}

/// A slice in the peer's tenant namespace; one that cannot be read may have any
/// UID.
struct Present<'o> {
    name: &'o str,
    uid: Option<&'o str>,
}

impl Present<'_> {
    fn is(&self, one: &SliceKey) -> bool {
        self.name == one.slice && self.uid.is_none_or(|uid| uid == one.uid)
    }
}

fn present<'o>(observed: &Observed<'_>, view: &View<'o>) -> Vec<Present<'o>> {
    let namespace = observed.namespace_name();
    let readable = view
        .readable::<ResourceSlice>()
        .filter(|slice| slice.metadata.namespace == namespace)
        .map(|slice| Present {
            name: &slice.metadata.name,
            uid: Some(&slice.metadata.uid),
        });
    let unreadable = view
        .unreadable(Kind::ResourceSlice)
        .filter(|slice| slice.id.namespace == namespace)
        .map(|slice| Present {
            name: &slice.id.name,
            uid: None,
        });
    readable.chain(unreadable).collect()
}
