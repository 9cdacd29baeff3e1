//! What an API server with Liqo admits: the rules of Liqo's webhooks and
//! resource definitions on Tenants and resource slices, from an old and a new
//! object to a verdict.
//!
//! They are for whoever keeps objects without such an API server (a webhook of
//! one's own, a tool, a simulation), and for the provider itself, which does
//! not make what would not be admitted. Defaults come first
//! ([`tenant::defaulted`]), then the verdict.
//!
//! Whether an object is of the form that its resource definition wants is
//! decided where it is read: what has a condition that there is not is
//! [`Unreadable`](crate::model::Unreadable). Of the definitions' rules those are
//! here that the model does not enforce.
//!
//! Deleting is always admitted.
//!
//! Source: Liqo 1.2.0 `pkg/webhooks/tenant`, `pkg/webhooks/resourceslice`,
//! `deployments/liqo/charts/liqo-crds/crds`. They are the same in 1.0 and 1.1.
//!
//! # Examples
//! ```
//! use liqo_auth::{
//!     admission::{self, Rule, Verdict},
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
//! assert_eq!(tenant.metadata.labels[names::REMOTE_CLUSTER_ID_LABEL], "cl-consumer");
//!
//! let surroundings = admission::tenant::Surroundings { namespace: Some(&namespace), tenants: &[] };
//! assert_eq!(admission::tenant::create(&tenant, &surroundings), Verdict::Allowed);
//!
//! let surroundings = admission::tenant::Surroundings { tenants: &[&tenant], ..surroundings };
//! let Verdict::Denied(denial) = admission::tenant::create(&tenant, &surroundings) else {
//!     panic!("a second Tenant in the namespace");
//! };
//! assert_eq!((denial.rule, denial.rule.status_code()), (Rule::TenantInNamespace, 403));
//! # Ok::<(), liqo_auth::model::NameError>(())
//! ```

pub mod resource_slice;
mod rule;
pub mod tenant;

pub use rule::Rule;

/// Whether a change is admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is.
    Allowed,
    /// It is not.
    Denied(Denial),
}

/// Why a change is not admitted, and at which field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct Denial {
    /// The rule that it breaks.
    pub rule: Rule,
    /// The field's path, such as `spec.clusterID`.
    pub field: &'static str,
}

impl Verdict {
    /// The same as a result.
    ///
    /// # Errors
    /// The [`Denial`].
    pub fn into_result(self) -> Result<(), Denial> {
        match self {
            Self::Allowed => Ok(()),
            Self::Denied(denial) => Err(denial),
        }
    }

    fn of(result: Result<(), Denial>) -> Self {
        match result {
            Ok(()) => Self::Allowed,
            Err(denial) => Self::Denied(denial),
        }
    }
}

/// The rule holds, or denies.
fn hold(holds: bool, rule: Rule, field: &'static str) -> Result<(), Denial> {
    if holds {
        Ok(())
    } else {
        Err(Denial { rule, field })
    }
}

/// Whether a field that may be missing is missing or a cluster ID in form.
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
