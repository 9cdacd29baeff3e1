//! Code that is off if all features are on.

use syn::{Attribute, Lit, Meta, MetaNameValue, punctuated::Punctuated, token::Comma};

/// Whether a `cfg` on an item leaves the item out of a build with all features.
pub(crate) fn are_off(attributes: &[Attribute]) -> bool {
    let conditions = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    conditions
        .filter_map(|attribute| attribute.parse_args::<Meta>().ok())
        .any(|condition| holds(&condition) == Some(false))
}

/// Whether a condition on features holds. `None` for another condition.
fn holds(condition: &Meta) -> Option<bool> {
    match condition {
        Meta::NameValue(MetaNameValue {
            path,
            value: syn::Expr::Lit(value),
            ..
        }) => (path.is_ident("feature") && matches!(value.lit, Lit::Str(_))).then_some(true),
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Comma>::parse_terminated)
                .ok()?;
            let mut parts = parts.iter().map(holds);
            if list.path.is_ident("not") {
                parts.next()?.map(|holds| !holds)
            } else if list.path.is_ident("all") {
                parts.try_fold(true, |all, part| Some(all && part?))
            } else {
                parts.try_fold(false, |any, part| Some(any || part?))
            }
        }
        _ => None,
    }
}
