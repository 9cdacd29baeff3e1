//! `get resourceslices`: what was asked for, and what was answered.

use liqo_auth::model::{
    ResourceSlice, ResourceSliceConditionType as Condition, ResourceSliceStatus,
};

use super::{Context, get};
use crate::{
    arguments::List,
    failure::Result,
    home::{Home, Use},
    output::Table,
};

pub(super) fn get(context: &Context, list: &List) -> Result<()> {
    let home = Home::open(context.home()?, Use::Read)?;
    get::warn(context, &home);
    let slices: Vec<&ResourceSlice> = home
        .all::<ResourceSlice>()
        .filter(|slice| list.asks_for(&slice.metadata))
        .collect();
    if let Some(format) = list.output {
        return get::manifests(context, &home, &get::ids(&slices), format);
    }
    let now = context.clock.now()?;
    // As the printer columns of Liqo's definition of the kind.
    let mut table = Table::new(["NAMESPACE", "NAME", "AUTHENTICATION", "RESOURCES", "AGE"]);
    for slice in slices {
        let metadata = &slice.metadata;
        table.row([
            metadata.namespace.clone(),
            metadata.name.clone(),
            decision(&slice.status, Condition::Authentication),
            decision(&slice.status, Condition::Resources),
            get::age_of(metadata, now),
        ]);
    }
    get::print(context, list, table, "ResourceSlice")
}

/// A decision in one word; nothing as long as there is none.
pub(super) fn decision(status: &ResourceSliceStatus, condition: Condition) -> String {
    status
        .condition(condition)
        .map_or_else(String::new, |condition| format!("{:?}", condition.status))
}
