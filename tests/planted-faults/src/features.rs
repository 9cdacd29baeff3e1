//! All features of the library, and code that is off if they are on.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;
use syn::{Attribute, Lit, Meta, MetaNameValue, punctuated::Punctuated, token::Comma};

use crate::{Failure, project::Project};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
}

/// Cargo's option for all features of the library. Without it, a build of another crate has
/// those that the crate needs, and in a build of the whole workspace its tests have all.
pub(crate) fn of_the_library(project: &Project) -> Result<String, Failure> {
    let described = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version=1", "--locked"])
        .current_dir(project.root())
        .output()?;
    let described: Metadata = serde_json::from_slice(&described.stdout)?;
    let mut packages = described.packages.iter();
    let library = packages.find(|package| package.name == "liqo-auth");
    let features = &library.ok_or("the project has no library")?.features;
    let features: Vec<_> = features
        .keys()
        .map(|feature| format!("liqo-auth/{feature}"))
        .collect();
    Ok(format!("--features={}", features.join(",")))
}

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
