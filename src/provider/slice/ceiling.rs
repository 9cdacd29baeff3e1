//! Granting less than is asked for.

use std::collections::BTreeMap;

use super::{ResourceSlicePolicy, SliceDecision, SliceRequest};
use crate::{
    crypto::{Answer, BoxError},
    model::{ClusterId, Quantity, QuantityError},
};

/// Reduces what another policy grants to given amounts, for all peers or for
/// each.
///
/// It holds for each slice by itself. A resource without an amount here is not
/// reduced. That the other policy grants what is no quantity is an error.
///
/// # Examples
/// ```
/// use liqo_auth::provider::{Ceiling, LiqoClasses};
///
/// let policy = Ceiling::new(LiqoClasses::default())
///     .at_most("cpu", "8".into())?
///     .at_most_for("cl-consumer".parse()?, "cpu", "2".into())?;
/// # let _ = policy;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ceiling<P> {
    policy: P,
    for_all: BTreeMap<String, Quantity>,
    for_peer: BTreeMap<ClusterId, BTreeMap<String, Quantity>>,
}

impl<P> Ceiling<P> {
    /// Nothing is reduced yet.
    pub fn new(policy: P) -> Self {
        Self {
            policy,
            for_all: BTreeMap::new(),
            for_peer: BTreeMap::new(),
        }
    }

    /// No slice gets more of this resource.
    ///
    /// # Errors
    /// [`QuantityError`] if it is no quantity.
    pub fn at_most(mut self, resource: &str, quantity: Quantity) -> Result<Self, QuantityError> {
        quantity.amount()?;
        self.for_all.insert(resource.to_owned(), quantity);
        Ok(self)
    }

    /// No slice of this peer gets more of this resource, whatever is set for
    /// all.
    ///
    /// # Errors
    /// [`QuantityError`] if it is no quantity.
    pub fn at_most_for(
        mut self,
        peer: ClusterId,
        resource: &str,
        quantity: Quantity,
    ) -> Result<Self, QuantityError> {
        quantity.amount()?;
        let of_peer = self.for_peer.entry(peer).or_default();
        of_peer.insert(resource.to_owned(), quantity);
        Ok(self)
    }

    fn ceiling(&self, peer: &ClusterId, resource: &str) -> Option<&Quantity> {
        let of_peer = self.for_peer.get(peer);
        of_peer
            .and_then(|resources| resources.get(resource))
            .or_else(|| self.for_all.get(resource))
    }
}

impl<P: ResourceSlicePolicy> ResourceSlicePolicy for Ceiling<P> {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<Answer<SliceDecision>, BoxError> {
        let decision = self.policy.decide(request)?;
        let Answer::Ready(SliceDecision::Grant(mut grant)) = decision else {
            return Ok(decision);
        };
        for (resource, quantity) in &mut grant.resources {
            if let Some(ceiling) = self.ceiling(request.peer, resource)
                && quantity.amount()? > ceiling.amount()?
            {
                *quantity = ceiling.clone();
            }
        }
        Ok(Answer::Ready(SliceDecision::Grant(grant)))
    }
}
