//! Who decides on the resources that a slice asks for.

use std::collections::BTreeMap;

use crate::{
    crypto::{Answer, BoxError},
    model::{ClusterId, Quantity, ResourceSlice, Timestamp, names},
    provider::record::Grant,
};

/// Decides on the resources of slices, class by class.
///
/// It is asked when a slice is new, when it asks for something else, while the
/// decision is pending, and after
/// [`reconsider_slice`](crate::Provider::reconsider_slice). The decision is
/// recorded out of the peer's reach, and the same question is not asked again.
pub trait ResourceSlicePolicy: Send + Sync {
    /// Decides, or says that the decision comes later. [`Answer::Denied`] denies
    /// the resources with that message.
    ///
    /// # Errors
    /// Whatever keeps it from deciding; that slice waits, and the others go on.
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError>;
}

/// What a slice asks for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SliceRequest<'a> {
    /// Who asks.
    pub peer: &'a ClusterId,
    /// The slice's name.
    pub slice: &'a str,
    /// The class: who is to decide. Empty or `default` for Liqo itself.
    pub class: &'a str,
    /// How much of which resource.
    pub resources: &'a BTreeMap<String, Quantity>,
    /// What it has by an earlier decision.
    pub granted: Option<&'a Grant>,
    /// The present time.
    pub now: Timestamp,
}

/// What is decided on a slice's resources. Whether its certificate is signed
/// does not depend on it, as in Liqo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceDecision {
    /// It gets this.
    Grant(Grant),
    /// It gets nothing.
    Deny {
        /// Why, in one word in upper camel case.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
    /// The class is another controller's to decide on: that part of the status
    /// is left to it.
    NotMine,
}

/// Liqo's own decision: slices of the classes `default` and none get what they
/// ask for, and of what they do not ask for what is configured here; other
/// classes are left to others. What is no quantity is denied. Source: Liqo
/// `remoteresourceslicecontroller.SliceStatusOptions`.
///
/// # Examples
/// ```
/// use liqo_auth::provider::{Grant, LiqoClasses};
///
/// let policy = LiqoClasses::new(Grant {
///     resources: [("pods".to_owned(), "110".into())].into(),
///     node_labels: [("region".to_owned(), "europe".to_owned())].into(),
///     ..Grant::default()
/// });
/// # let _ = policy;
/// ```
#[derive(Debug, Clone, Default)]
pub struct LiqoClasses {
    defaults: Grant,
}

impl<'a> SliceRequest<'a> {
    pub(super) fn new(
        peer: &'a ClusterId,
        slice: &'a ResourceSlice,
        granted: Option<&'a Grant>,
        now: Timestamp,
    ) -> Self {
        Self {
            peer,
            slice: &slice.metadata.name,
            class: &slice.spec.class,
            resources: &slice.spec.resources,
            granted,
            now,
        }
    }

    /// Whether the class is one on which Liqo itself decides.
    pub fn is_of_liqos_classes(&self) -> bool {
        is_liqos_class(self.class)
    }
}

pub(super) fn is_liqos_class(class: &str) -> bool {
    class.is_empty() || class == names::DEFAULT_RESOURCE_SLICE_CLASS
}

impl SliceDecision {
    /// A denial in Liqo's words.
    pub fn deny() -> Self {
        Self::Deny {
            reason: DENIED.0.to_owned(),
            message: DENIED.1.to_owned(),
        }
    }
}

impl LiqoClasses {
    /// Grants these, where a slice asks for no other amount.
    pub fn new(defaults: Grant) -> Self {
        Self { defaults }
    }
}

impl ResourceSlicePolicy for LiqoClasses {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        if !request.is_of_liqos_classes() {
            return Ok(Answer::Ready(SliceDecision::NotMine));
        }
        for (resource, quantity) in request.resources {
            let problem = match quantity.amount() {
                Ok(amount) if amount.is_negative() => "it is negative".to_owned(),
                Ok(_) => continue,
                Err(error) => error.to_string(),
            };
            let resource = crate::error::shortened(resource);
            return Ok(Answer::Ready(SliceDecision::Deny {
                reason: DENIED.0.to_owned(),
                message: format!("{resource:?} is no amount of a resource: {problem}"),
            }));
        }
        let mut grant = self.defaults.clone();
        let asked = request.resources.iter();
        grant
            .resources
            .extend(asked.map(|(resource, quantity)| (resource.clone(), quantity.clone())));
        Ok(Answer::Ready(SliceDecision::Grant(grant)))
    }
}

/// Liqo's reason and message of a denial.
pub(super) const DENIED: (&str, &str) = (
    "ResourceSliceResourcesDenied",
    "ResourceSlice resources denied",
);
