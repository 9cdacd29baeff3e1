//! The tokens that lift a recorded condition: one for each milder condition. The
//! tokens are in the Secret of the record, and each token is valid for one lift.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{configuration::Configuration, record::Record};
use crate::model::{ClusterId, Secret, TenantCondition, names};

/// The token that lifts the recorded condition of a peer to a milder one.
#[derive(Clone, Copy)]
pub(super) struct LiftToken<'a> {
    pub(super) configuration: &'a Configuration,
    pub(super) peer: &'a ClusterId,
    pub(super) record: &'a Record,
    /// The milder condition.
    pub(super) to: TenantCondition,
}

/// The tokens of a record: one for each milder condition.
pub(super) fn lift_tokens<'a>(
    configuration: &'a Configuration,
    peer: &'a ClusterId,
    record: &'a Record,
) -> impl Iterator<Item = LiftToken<'a>> {
    [TenantCondition::Active, TenantCondition::Cordoned]
        .into_iter()
        .filter(|milder| *milder < record.condition)
        .map(move |to| LiftToken {
            configuration,
            peer,
            record,
            to,
        })
}

impl LiftToken<'_> {
    /// Adds the token to the record's Secret.
    pub(super) fn offer(&self, secret: &mut Secret) {
        let field = match self.to {
            TenantCondition::Active => names::LIFT_CONDITION,
            _ => names::LIFT_CONDITION_TO_CORDONED,
        };
        let text = self.text().into_bytes();
        secret.data.insert(field.to_owned(), text.into());
    }

    /// The token as text.
    pub(super) fn text(&self) -> String {
        let lifts = self.record.lifts.to_be_bytes();
        let key = &self.configuration.record_key;
        let mac = key.mac(DOMAIN, &self.parts(&lifts));
        URL_SAFE_NO_PAD.encode(mac.get(..TOKEN_LENGTH).unwrap_or(&mac))
    }

    /// Whether the text is this token.
    pub(super) fn matches(&self, text: &str) -> bool {
        let lifts = self.record.lifts.to_be_bytes();
        let key = &self.configuration.record_key;
        text.len() <= LONGEST_TOKEN
            && URL_SAFE_NO_PAD
                .decode(text)
                .is_ok_and(|token| key.verify(DOMAIN, &self.parts(&lifts), &token))
    }

    /// The parts that the token authenticates. A token for a lift to `Active` has no
    /// part for that condition, since the stored records of the first format contain
    /// tokens of this form.
    fn parts<'t>(&'t self, lifts: &'t [u8]) -> Vec<&'t [u8]> {
        let mut parts = vec![
            self.configuration.cluster_id().as_str().as_bytes(),
            self.peer.as_str().as_bytes(),
            name(self.record.condition),
            lifts,
        ];
        if self.to != TenantCondition::Active {
            parts.push(name(self.to));
        }
        parts
    }
}

fn name(condition: TenantCondition) -> &'static [u8] {
    match condition {
        TenantCondition::Active => b"Active",
        TenantCondition::Cordoned => b"Cordoned",
        TenantCondition::Drained => b"Drained",
    }
}

const DOMAIN: &str = "liqo-auth condition lift v1";
const TOKEN_LENGTH: usize = 16;
/// The length of a whole MAC in base64.
const LONGEST_TOKEN: usize = 43;
