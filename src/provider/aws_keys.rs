//! The access keys on record: the one that the peer has, and those that are to
//! be deleted at AWS.
//!
//! A certificate ends by itself; an access key does not. So one that nobody
//! needs any more stays on record, and with it the peer's name belongs to the
//! peer, until an administrator says that the key is deleted.

use serde::{Deserialize, Serialize};

use super::{Provider, record::Record, seen::Seen};
use crate::{
    audit::{Decision, Event},
    crypto::Csr,
    error::Error,
    model::{AwsConfig, Bytes},
    step::{Awaited, Step},
    view::View,
};

/// The access keys of a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AwsKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenKey>,
    /// Those that another one took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<AccessKey>,
    /// How many there were, so that the next one is asked for by another name.
    #[serde(default)]
    count: u64,
}

/// An access key, and whom it was given to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenKey {
    /// SHA-256 of the request's DER, and by it the peer's own key.
    csr: Bytes,
    tenant_uid: String,
    config: AwsConfig,
}

/// The public part of an access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccessKey {
    user_arn: String,
    id: String,
}

impl AwsKeys {
    /// The one that was given for exactly this request, in this Tenant.
    pub(super) fn given_for(&self, csr: &Csr, tenant_uid: &str) -> Option<&AwsConfig> {
        let given = self.given.as_ref()?;
        (given.csr.as_slice() == csr.digest() && given.tenant_uid == tenant_uid)
            .then_some(&given.config)
    }

    /// How many there were until now.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether none is left that could still open anything.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_none() && self.superseded.is_empty()
    }

    /// Whether there never was one.
    pub(super) fn is_unused(&self) -> bool {
        self.is_empty() && self.count == 0
    }

    /// Takes a key for the one that the peer has.
    pub(super) fn take(&mut self, csr: &Csr, tenant_uid: &str, config: &AwsConfig) {
        self.supersede();
        self.superseded
            .retain(|key| key.id != config.aws_access_key_id);
        self.given = Some(GivenKey {
            csr: Bytes::from(csr.digest().as_slice()),
            tenant_uid: tenant_uid.to_owned(),
            config: config.clone(),
        });
        self.count = self.count.saturating_add(1);
    }

    /// The peer has something else now.
    pub(super) fn supersede(&mut self) {
        if let Some(given) = self.given.take() {
            self.superseded.push(given.public_part());
        }
    }

    /// Forgets a key that is deleted; whether it was there.
    fn forget(&mut self, access_key_id: &str) -> bool {
        let before = (self.superseded.len(), self.given.is_some());
        self.superseded.retain(|key| key.id != access_key_id);
        self.given = self
            .given
            .take()
            .filter(|given| given.config.aws_access_key_id != access_key_id);
        before != (self.superseded.len(), self.given.is_some())
    }

    /// Those that nobody is to use any more: of a Tenant that is gone, too.
    fn to_revoke(&self, tenant_uid: Option<&str>) -> Vec<AccessKey> {
        let of_other_tenant = self
            .given
            .iter()
            .filter(|given| Some(given.tenant_uid.as_str()) != tenant_uid)
            .map(GivenKey::public_part);
        self.superseded
            .iter()
            .cloned()
            .chain(of_other_tenant)
            .collect()
    }
}

impl GivenKey {
    fn public_part(&self) -> AccessKey {
        AccessKey {
            user_arn: self.config.aws_user_arn.clone(),
            id: self.config.aws_access_key_id.clone(),
        }
    }
}

impl Provider {
    /// Takes an administrator's word, or the embedder's, that this access key
    /// is deleted at AWS. Of a key that nobody was to use any more
    /// ([`Awaited::AwsRevocation`]) nothing is left then. The key that the peer
    /// has is replaced: the next one is asked for by a request of another name.
    /// Of a key that is not on record, there is nothing to do.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn aws_key_revoked(&self, view: &View<'_>, access_key_id: &str) -> Result<Step, Error> {
        let seen = Seen::select(self, view)?;
        if let Some(error) = seen.unreadable {
            return Err(error);
        }
        let mut step = Step::default();
        let Some((_, record)) = &seen.record else {
            return Ok(step);
        };
        let mut record: Record = record.clone();
        if record.aws.forget(access_key_id) {
            step.effects.push(self.write_record(&seen, &record));
            let access_key_id = access_key_id.to_owned();
            let revoked = Decision::AwsKeyRevoked { access_key_id };
            step.events.push(Event::new(&seen.peer, revoked));
        }
        Ok(step)
    }
}

/// Waits for the end of the keys that nobody is to use any more. A level: it is
/// said until [`Provider::aws_key_revoked`] is called for each.
pub(super) fn await_revocations(seen: &Seen<'_>, step: &mut Step) {
    let Some((_, record)) = &seen.record else {
        return;
    };
    let tenant = seen.tenant.map(|tenant| tenant.metadata.uid.as_str());
    let awaited = record.aws.to_revoke(tenant).into_iter();
    step.wait
        .awaiting
        .extend(awaited.map(|key| Awaited::AwsRevocation {
            user_arn: key.user_arn,
            access_key_id: key.id,
        }));
}
