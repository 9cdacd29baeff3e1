//! The decision on the resources that a slice requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    crypto::{Answer, BoxError},
    error::shortened,
    model::{ClusterId, Quantity, Timestamp, names},
    provider::record::Grant,
};

/// Decides on the resources of slices, class by class.
///
/// The provider asks the policy when a slice is new, when the requested resources
/// change, while the decision is pending, and after
/// [`reconsider_slice`](crate::Provider::reconsider_slice). A slice that
/// [keeps](crate::provider::ProviderConfig::adopt_up_to) what Liqo has granted it is not new.
/// The decision is recorded where no peer can write, and the provider does not ask the same
/// question again.
pub trait ResourceSlicePolicy: Send + Sync {
    /// Decides, or answers [`Answer::Pending`] if the decision comes later.
    /// [`Answer::Denied`] denies the resources with that message.
    ///
    /// # Errors
    /// The reason why the policy cannot decide. That slice waits; the other slices
    /// continue.
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError>;
}

/// A function decides.
impl<F> ResourceSlicePolicy for F
where
    F: Fn(&SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> + Send + Sync,
{
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        self(request)
    }
}

/// The resources that a slice requests. As data, it is the question `resources` of
/// [the JSON forms](crate::machine::json).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename = "resources")]
#[non_exhaustive]
pub struct SliceRequest<'a> {
    /// The peer that made the slice.
    pub peer: &'a ClusterId,
    /// The slice's name.
    pub slice: &'a str,
    /// The class, which selects the controller that decides. For an empty class or
    /// `default`, Liqo itself decides.
    pub class: &'a str,
    /// The requested amount of each resource.
    pub resources: &'a BTreeMap<String, Quantity>,
    /// The slice's grant from an earlier decision.
    pub granted: Option<&'a Grant>,
    /// What the peer's other slices are granted, all together.
    #[serde(rename = "grantedToOthers")]
    pub granted_to_others: &'a BTreeMap<String, Quantity>,
    /// The present time.
    pub now: Timestamp,
}

/// The decision on a slice's resources. As in Liqo, the slice's certificate does
/// not depend on this decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceDecision {
    /// The slice gets this grant.
    Grant(Grant),
    /// The slice gets nothing.
    Deny {
        /// The reason of the condition: one word in upper camel case.
        reason: String,
        /// The message of the condition: a sentence.
        message: String,
    },
    /// Another controller decides on the class and writes that part of the status.
    NotMine,
}

/// Liqo's own decision for slices with the class `default` or without a class. Such
/// a slice gets the resources that it requests. For all other resources and for the
/// classes and labels, the slice gets the configured defaults. A slice with an invalid
/// or negative quantity is denied. Other controllers decide on other classes. Source:
/// Liqo `remoteresourceslicecontroller.SliceStatusOptions`.
///
/// Unlike Liqo, it can bound what a slice gets, and what all slices of a peer get.
///
/// # Examples
/// ```
/// use liqo_auth::provider::{Grant, LiqoClasses};
///
/// let policy = LiqoClasses {
///     defaults: Grant {
///         node_labels: [("region".to_owned(), "europe".to_owned())].into(),
///         ..Grant::of_liqo()
///     },
///     caps: [("cpu".to_owned(), "8".into())].into(),
///     ..LiqoClasses::default()
/// };
/// assert_eq!(policy.defaults.resources["pods"].as_str(), "110");
/// ```
#[derive(Debug, Clone, Default)]
pub struct LiqoClasses {
    /// The grant of a slice. The resources that the slice requests replace the
    /// resources here.
    pub defaults: Grant,
    /// The most of each resource that a slice gets. It gets this much if it requests more. A
    /// resource without a cap is granted as it is requested.
    pub caps: BTreeMap<String, Quantity>,
    /// The most of each resource that all slices of a peer get together. A slice with which
    /// they would have more is denied. When another slice is gone,
    /// [`reconsider_slice`](crate::Provider::reconsider_slice) decides again.
    pub total: BTreeMap<String, Quantity>,
    /// Whether slices of Liqo's class are denied. Source: Liqo
    /// `SliceStatusOptions.DefaultResourceSliceClassEnabled`.
    pub denied: bool,
}

pub(super) fn is_liqos_class(class: &str) -> bool {
    class.is_empty() || class == names::DEFAULT_RESOURCE_SLICE_CLASS
}

/// The `type` is `grant` with the field `grant`, `deny` with the fields `reason`
/// and `message`, or `notMine` without other fields.
impl<'de> Deserialize<'de> for SliceDecision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Grant { grant } => Self::Grant(grant),
            Written::Deny { reason, message } => Self::Deny { reason, message },
            Written::NotMine {} => Self::NotMine,
        })
    }
}

/// The form of a decision in JSON.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum Written {
    Grant { grant: Grant },
    Deny { reason: String, message: String },
    NotMine {},
}

impl ResourceSlicePolicy for LiqoClasses {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        if !is_liqos_class(request.class) {
            return Ok(Answer::Ready(SliceDecision::NotMine));
        }
        if self.denied {
            return Ok(Answer::Ready(denied(DENIED.1.to_owned())));
        }
        for (resource, quantity) in request.resources {
            let Some(problem) = quantity.fault() else {
                continue;
            };
            let resource = shortened(resource);
            return Ok(Answer::Ready(denied(format!(
                "the amount of {resource:?} is not a valid quantity: {problem}"
            ))));
        }
        let mut grant = self.defaults.clone();
        let asked = request.resources.iter();
        grant
            .resources
            .extend(asked.map(|(resource, quantity)| (resource.clone(), quantity.clone())));
        for (resource, amount) in &mut grant.resources {
            if let Some(cap) = self.caps.get(resource)
                && amount.billionths() > cap.billionths()
            {
                amount.clone_from(cap);
            }
        }
        let excess = self.excess(&grant, request.granted_to_others);
        Ok(Answer::Ready(
            excess.map_or(SliceDecision::Grant(grant), denied),
        ))
    }
}

impl LiqoClasses {
    /// The message of the denial, if all slices of the peer together would have more than the
    /// total.
    fn excess(&self, grant: &Grant, others: &BTreeMap<String, Quantity>) -> Option<String> {
        self.total.iter().find_map(|(resource, most)| {
            let amount = |of: &BTreeMap<String, Quantity>| {
                let amount = of.get(resource).map(Quantity::billionths);
                // An amount that cannot be counted is more than any total.
                amount.map_or(0, |amount| amount.unwrap_or(u128::MAX))
            };
            let (new, before) = (amount(&grant.resources), amount(others));
            let is_within = new == 0 || new.saturating_add(before) <= most.billionths()?;
            (!is_within).then(|| {
                format!(
                    "the consumer's slices may have {most} of {resource:?} in all, and the other slices have {} of it",
                    Quantity::of_billionths(before)
                )
            })
        })
    }
}

/// A denial with Liqo's reason.
pub(super) fn denied(message: String) -> SliceDecision {
    SliceDecision::Deny {
        reason: DENIED.0.to_owned(),
        message,
    }
}

/// Liqo's reason and message of a denial.
pub(super) const DENIED: (&str, &str) = (
    "ResourceSliceResourcesDenied",
    "ResourceSlice resources denied",
);
