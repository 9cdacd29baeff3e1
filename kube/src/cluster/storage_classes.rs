//! The storage classes of a cluster, as slices offer them.

use kube::{Client, api::DynamicObject};
use liqo_auth::model::StorageClass;

use super::shown;
use crate::Error;

/// The cluster's StorageClasses, by name.
pub(super) async fn list(client: &Client) -> Result<Vec<StorageClass>, Error> {
    let found = shown::list(client, "storage.k8s.io", "StorageClass").await?;
    let mut classes: Vec<StorageClass> = found.into_iter().filter_map(offered).collect();
    classes.sort_by(|one, other| one.storage_class_name.cmp(&other.storage_class_name));
    Ok(classes)
}

fn offered(found: DynamicObject) -> Option<StorageClass> {
    let annotations = found.metadata.annotations.unwrap_or_default();
    Some(StorageClass {
        storage_class_name: found.metadata.name?,
        is_default: annotations
            .get(IS_DEFAULT)
            .is_some_and(|said| said == "true"),
    })
}

/// The annotation of a cluster's default class.
const IS_DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
