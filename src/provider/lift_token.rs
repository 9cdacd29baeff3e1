//! The tokens that lift a recorded condition: one for each milder condition. The
//! tokens are in the Secret of the record, and each token is valid for one lift.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{configuration::Configuration, record::Record};
use crate::model::{ClusterId, Secret, TenantCondition};

/// Adds the tokens to the record's Secret: one for each milder condition.
pub(super) fn offer_lift(
    configuration: &Configuration,
    record: &Record,
    peer: &ClusterId,
    secret: &mut Secret,
) {
    for to in milder_than(record.condition) {
        let field = match to {
            TenantCondition::Active => TOKEN_FIELD,
            _ => TOKEN_FIELD_TO_CORDONED,
        };
        let token = lift_token(configuration, record, to, peer).into_bytes();
        secret.data.insert(field.to_owned(), token.into());
    }
}

pub(super) fn milder_than(condition: TenantCondition) -> impl Iterator<Item = TenantCondition> {
    [TenantCondition::Active, TenantCondition::Cordoned]
        .into_iter()
        .filter(move |milder| *milder < condition)
}

pub(super) fn lift_token(
    configuration: &Configuration,
    record: &Record,
    to: TenantCondition,
    peer: &ClusterId,
) -> String {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, to, peer, &counted);
    let mac = configuration.record_key.mac(DOMAIN, &parts);
    let token = mac.get(..TOKEN_LENGTH).unwrap_or(&mac);
    URL_SAFE_NO_PAD.encode(token)
}

pub(super) fn is_lift_token(
    configuration: &Configuration,
    token: &str,
    record: &Record,
    to: TenantCondition,
    peer: &ClusterId,
) -> bool {
    let counted = record.lifts.to_be_bytes();
    let parts = token_parts(configuration, record, to, peer, &counted);
    token.len() <= LONGEST_TOKEN
        && URL_SAFE_NO_PAD
            .decode(token)
            .is_ok_and(|token| configuration.record_key.verify(DOMAIN, &parts, &token))
}

/// The parts that a token authenticates. A token for a lift to `Active` has no part
/// for that condition, since the stored records of the first format contain tokens
/// of this form.
fn token_parts<'t>(
    configuration: &'t Configuration,
    record: &Record,
    to: TenantCondition,
    peer: &'t ClusterId,
    counted: &'t [u8],
) -> Vec<&'t [u8]> {
    let mut parts = vec![
        configuration.cluster_id().as_str().as_bytes(),
        peer.as_str().as_bytes(),
        name(record.condition),
        counted,
    ];
    if to != TenantCondition::Active {
        parts.push(name(to));
    }
    parts
}

fn name(condition: TenantCondition) -> &'static [u8] {
    match condition {
        TenantCondition::Active => b"Active",
        TenantCondition::Cordoned => b"Cordoned",
        TenantCondition::Drained => b"Drained",
    }
}

const DOMAIN: &str = "liqo-auth condition lift v1";
/// The key of the token in the Secret of the record.
const TOKEN_FIELD: &str = "liftCondition";
/// The key of the token that lifts a drain to `Cordoned`.
const TOKEN_FIELD_TO_CORDONED: &str = "liftConditionToCordoned";
const TOKEN_LENGTH: usize = 16;
/// The length of a whole MAC in base64.
const LONGEST_TOKEN: usize = 43;
