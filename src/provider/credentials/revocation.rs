//! Access keys that must be deleted at AWS.

use crate::{
    audit::{Decision, Event},
    error::Error,
    machine::Awaited,
    model::{Kind, Object},
    provider::{
        look::Look,
        record::{AccessKey, Record, SliceKey},
        records::Plan,
    },
};

/// Waits for the deletion of the keys that are no longer needed: the replaced keys,
/// and the keys of a Tenant or of slices that are gone. Each step names each of
/// these keys until the deletion of the key is recorded.
pub(crate) fn await_revocations(look: &Look<'_>, plan: &mut Plan<'_>) {
    let Some(record) = look.observed.record() else {
        return;
    };
    for key in to_revoke(look, record) {
        plan.await_for(Awaited::AwsRevocation {
            user_arn: key.user_arn,
            access_key_id: key.id,
        });
    }
}

/// Forgets a key that is deleted at AWS. The slice's record forgets it first, since
/// the peer's record names the slices that may hold a key.
pub(crate) fn forget_key(
    look: &Look<'_>,
    access_key_id: &str,
    plan: &mut Plan<'_>,
) -> Result<(), Error> {
    let mut is_known = false;
    for (_, opened) in look.observed.slice_records.values() {
        let record = &opened.as_ref().map_err(Clone::clone)?.record;
        if record
            .aws
            .config()
            .is_some_and(|(config, _)| config.aws_access_key_id == access_key_id)
        {
            is_known = true;
            plan.records.slice(&record.slice).forget(|record| {
                record.aws.forget(access_key_id);
            });
        }
    }
    plan.records
        .peer
        .forget(|record| is_known |= record.aws.forget(access_key_id));
    if is_known {
        let access_key_id = access_key_id.to_owned();
        plan.tell(Event::new(
            look.peer(),
            Decision::AwsKeyRevoked { access_key_id },
        ));
    }
    Ok(())
}

fn to_revoke(look: &Look<'_>, record: &Record) -> Vec<AccessKey> {
    // Without configured AWS identities, certificates have replaced all keys.
    let tenant = look
        .observed
        .tenant_metadata()
        .filter(|_| look.configuration.aws.is_some())
        .map(|tenant| tenant.uid.as_str());
    let held = record.aws.held.config();
    let of_other_tenant = held
        .filter(|(_, uid)| Some(*uid) != tenant)
        .map(|(config, _)| AccessKey::of(config));
    let namespace = look.observed.namespace_name();
    let slices: Vec<&Object> = look
        .view
        .present(Kind::ResourceSlice)
        .filter(|slice| slice.key().1 == namespace)
        .collect();
    // A slice that cannot be read may have any UID.
    let is_of = |slice: &Object, one: &SliceKey| {
        let has_uid = slice.metadata().uid == one.uid || slice.as_unreadable().is_some();
        slice.key().2 == one.slice && has_uid
    };
    let is_gone =
        |one: &&SliceKey| tenant.is_none() || !slices.iter().any(|slice| is_of(slice, one));
    let keys = &record.aws;
    let of_gone_slices = keys.of_slices.iter().filter(is_gone);
    keys.superseded
        .iter()
        .cloned()
        .chain(of_other_tenant)
        .chain(of_gone_slices.map(|one| one.key.clone()))
        .collect()
}
