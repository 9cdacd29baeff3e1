//! Strategies for resource slices and renewals.

use std::collections::BTreeMap;

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::Just,
    prop_oneof,
    strategy::{BoxedStrategy, Strategy},
};

use super::{
    any_auth_params, any_bytes, any_metadata,
    text::{any_map, any_text},
    timestamp,
};
use crate::model::{
    IdentityType, LocalObjectReference, Quantity, Renew, RenewSpec, RenewStatus, ResourceSlice,
    ResourceSliceCondition, ResourceSliceConditionStatus, ResourceSliceConditionType,
    ResourceSliceSpec, ResourceSliceStatus,
};

/// Any ResourceSlice. Its fields need not fit each other.
pub(super) fn any_resource_slice() -> BoxedStrategy<ResourceSlice> {
    let spec = (
        option::of(any_text()),
        option::of(any_text()),
        any_resources(),
        any_text(),
        any_bytes(),
    )
        .prop_map(
            |(consumer_cluster_id, provider_cluster_id, resources, class, csr)| ResourceSliceSpec {
                consumer_cluster_id,
                provider_cluster_id,
                resources,
                class,
                csr,
            },
        );
    let condition_type = prop_oneof![
        Just(ResourceSliceConditionType::Authentication),
        Just(ResourceSliceConditionType::Resources)
    ];
    let condition_status = prop_oneof![
        Just(ResourceSliceConditionStatus::Accepted),
        Just(ResourceSliceConditionStatus::Denied)
    ];
    let condition = (
        condition_type,
        condition_status,
        option::of(timestamp()),
        any_text(),
        any_text(),
    )
        .prop_map(
            |(condition_type, status, last_transition_time, reason, message)| {
                ResourceSliceCondition {
                    condition_type,
                    status,
                    last_transition_time,
                    reason,
                    message,
                }
            },
        );
    let status = (
        vec(condition, 0..3),
        any_resources(),
        option::of(any_auth_params()),
        any_map(),
        any_map(),
    )
        .prop_map(
            |(conditions, resources, auth_params, node_labels, node_selector)| {
                ResourceSliceStatus {
                    conditions,
                    resources,
                    auth_params,
                    node_labels,
                    node_selector,
                    ..ResourceSliceStatus::default()
                }
            },
        );
    (any_metadata(), spec, status)
        .prop_map(|(metadata, spec, status)| ResourceSlice {
            metadata,
            spec,
            status,
        })
        .boxed()
}

/// Any Renew, as in Liqo 1.1 or as in Liqo 1.2.
pub(super) fn any_renew() -> BoxedStrategy<Renew> {
    let slice = any_text().prop_map(|name| LocalObjectReference { name });
    let spec = (any_text(), any_bytes(), any_bytes(), option::of(slice)).prop_map(
        |(consumer_cluster_id, public_key, csr, resource_slice_ref)| RenewSpec {
            consumer_cluster_id,
            public_key,
            csr,
            identity_type: match resource_slice_ref {
                None => IdentityType::ControlPlane,
                Some(_) => IdentityType::ResourceSlice,
            },
            resource_slice_ref,
        },
    );
    (any_metadata(), spec, option::of(any_auth_params()))
        .prop_map(|(metadata, spec, auth_params)| Renew {
            metadata,
            spec,
            status: RenewStatus { auth_params },
        })
        .boxed()
}

fn any_resources() -> BoxedStrategy<BTreeMap<String, Quantity>> {
    btree_map(any_text(), any_text().prop_map(Quantity::from), 0..3).boxed()
}
