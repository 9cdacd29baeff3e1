//! The admission rules of an API server with Liqo: the rules of Liqo's webhooks
//! and CustomResourceDefinitions (CRDs) for Tenants and resource slices.
//!
//! These rules are for programs that store objects without such an API server: a
//! webhook, a tool, a simulation. The provider follows them, too. Set the
//! defaults first ([`tenant::defaulted`]), then check whether the object is
//! admitted.
//!
//! The parser already refuses an object whose form does not match its CRD: such an
//! object is [`Unreadable`](crate::model::Unreadable). This module has the other
//! rules of the CRDs.
//!
//! A deletion is always admitted.
//!
//! Source: Liqo 1.2.0 `pkg/webhooks/tenant`, `pkg/webhooks/resourceslice`,
//! `deployments/liqo/charts/liqo-crds/crds`. The rules are the same in 1.0 and 1.1.
//!
//! # Examples
//! ```
//! use liqo_auth::{
//!     admission::{self, AdmissionRule},
//!     model::{Metadata, Namespace, Tenant, TenantSpec, names},
//! };
//!
//! let namespace = Namespace::for_tenant(&"cl-consumer".parse()?);
//! let tenant = admission::tenant::defaulted(&Tenant {
//!     metadata: Metadata {
//!         name: "cl-consumer".into(),
//!         namespace: namespace.metadata.name.clone(),
//!         ..Metadata::default()
//!     },
//!     spec: TenantSpec { cluster_id: "cl-consumer".into(), ..TenantSpec::default() },
//!     ..Tenant::default()
//! });
//! assert_eq!(tenant.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL).unwrap(), "cl-consumer");
//!
//! let surroundings = admission::tenant::Surroundings { namespace: Some(&namespace), tenants: &[] };
//! assert_eq!(admission::tenant::create(&tenant, &surroundings), Ok(()));
//!
//! let surroundings = admission::tenant::Surroundings { tenants: &[&tenant], ..surroundings };
//! let denial = admission::tenant::create(&tenant, &surroundings).unwrap_err();
//! assert_eq!((denial.rule, denial.rule.status_code()), (AdmissionRule::TenantInNamespace, 403));
//! # Ok::<(), liqo_auth::model::NameError>(())
//! ```

pub mod resource_slice;
mod rule;
pub mod tenant;

pub use rule::AdmissionRule;

/// The refusal of a change: the broken rule, and the field that breaks it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct Denial {
    /// The broken rule.
    pub rule: AdmissionRule,
    /// The field's path, such as `spec.clusterID`.
    pub field: &'static str,
}

/// Returns a denial if `holds` is false.
fn hold(holds: bool, rule: AdmissionRule, field: &'static str) -> Result<(), Denial> {
    if holds {
        Ok(())
    } else {
        Err(Denial { rule, field })
    }
}

/// Whether an optional field is empty or has the form of a cluster ID.
fn may_be_cluster_id(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    text.is_empty()
        || (edge(bytes.first())
            && edge(bytes.last())
            && bytes
                .iter()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')))
}
