//! The state of an identity: the stored Identity, and newer parameters from the
//! provider.

use super::{
    holder_context::HolderContext,
    offered::{Offer, OfferedIdentity},
    renewal,
    stored_identity::{StoredIdentity, Succession},
};
use crate::{
    consumer::{AcceptedIdentity, handshake::accepted::Comparison, keys::Keys},
    error::{Error, Fault, Precondition},
    model::{AuthParams, ObjectRef},
};

/// The state of one identity.
pub(crate) enum IdentityState {
    /// No Identity is stored, and the provider has given no parameters to make one.
    Nothing,
    NeedsIdentity(Box<OfferedIdentity>),
    NeedsKubeconfig(Box<AcceptedIdentity>),
    Held(Box<StoredIdentity>),
}

impl HolderContext<'_> {
    /// The state of the identity, derived from the stored objects and from `given`.
    /// `given` contains the provider's parameters and the object that holds them.
    /// These parameters replace the stored ones only if they are valid and newer.
    ///
    /// # Errors
    /// Neither the stored Identity nor the provider's offer can be used.
    pub(crate) fn identity_state(
        &self,
        keys: &Keys,
        given: Option<(&AuthParams, ObjectRef)>,
    ) -> Result<IdentityState, Error> {
        let held = self.identity.map(|stored| self.accept(keys, stored));
        let offered = given.and_then(|(auth_params, id)| {
            let offered = self.judge(keys, held.as_ref(), auth_params)?;
            Some((offered.map_err(|error| found_in(&error, &id)), id))
        });
        let (accepted, offer) = match (held, offered) {
            (Some(Ok(held)), offered) => {
                let offer = self.compare(offered, &held);
                (held, offer)
            }
            (_, Some((Ok(offered), _))) => {
                return Ok(IdentityState::NeedsIdentity(Box::new(offered)));
            }
            (Some(Err(error)), _) | (None, Some((Err(error), _))) => return Err(error),
            (None, None) => return Ok(IdentityState::Nothing),
        };
        let Some(kubeconfig) = self.stored(&accepted)? else {
            return Ok(IdentityState::NeedsKubeconfig(Box::new(accepted)));
        };
        let renewal = renewal::of(self, &accepted, &offer);
        Ok(IdentityState::Held(Box::new(StoredIdentity {
            kubeconfig_secret: self.kubeconfig_id(),
            kubeconfig,
            accepted,
            renewal,
            offer,
            succession: Succession::Done,
        })))
    }

    /// Verifies the provider's parameters, unless the stored Identity is valid and
    /// has the same parameters.
    fn judge(
        &self,
        keys: &Keys,
        held: Option<&Result<AcceptedIdentity, Error>>,
        auth_params: &AuthParams,
    ) -> Option<Result<OfferedIdentity, Error>> {
        let is_stored = self
            .identity
            .is_some_and(|stored| stored.spec.auth_params == *auth_params);
        let current_only = keys.current_only();
        let allowed = match held {
            Some(Ok(_)) if is_stored => return None,
            // An identity for the predecessor key does not replace one for the
            // present key.
            Some(Ok(held)) if !held.awaits_new_key => &current_only,
            _ => keys,
        };
        let wanted = self.wanted(auth_params);
        let accepted = self.accept(allowed, &wanted);
        Some(accepted.and_then(|accepted| {
            self.check_begin(&accepted)?;
            Ok(OfferedIdentity { wanted, accepted })
        }))
    }

    fn compare(
        &self,
        offered: Option<(Result<OfferedIdentity, Error>, ObjectRef)>,
        held: &AcceptedIdentity,
    ) -> Offer {
        match offered {
            None => Offer::Nothing,
            Some((Err(error), _)) => Offer::Refused(error),
            Some((Ok(offered), id)) => match offered.accepted.compare(held) {
                Ok(Comparison::Same) => Offer::Nothing,
                Ok(Comparison::Newer) => Offer::Newer(Box::new(offered)),
                // The offered certificate expires at the same time as the stored
                // one: Liqo 1.2 may sign a short-lived certificate twice within a
                // second. Such a certificate is not the answer to a request.
                Err((Fault::Precondition(Precondition::NotNewer { found, held }), _))
                    if found == held && !self.has_request() =>
                {
                    Offer::Nothing
                }
                Err((fault, field)) => {
                    Offer::Refused(found_in(&Error::new(fault, None, field), &id))
                }
            },
        }
    }

    fn has_request(&self) -> bool {
        self.readable_renew()
            .is_some_and(|renew| !renew.spec.csr.is_empty())
    }
}

/// The same error, located in the object whose status contains the fault.
fn found_in(error: &Error, id: &ObjectRef) -> Error {
    let field = match error.at().field {
        "spec.authParams.ca" => "status.authParams.ca",
        "spec.authParams.signedCRT" => "status.authParams.signedCRT",
        "spec.authParams.apiServer" => "status.authParams.apiServer",
        "spec.authParams.proxyURL" => "status.authParams.proxyURL",
        "spec.authParams.awsConfig" => "status.authParams.awsConfig",
        "spec.authParams.awsConfig.awsUserArn" => "status.authParams.awsConfig.awsUserArn",
        "spec.authParams.awsConfig.awsAccessKeyID" => "status.authParams.awsConfig.awsAccessKeyID",
        "spec.authParams.awsConfig.awsSecretAccessKey" => {
            "status.authParams.awsConfig.awsSecretAccessKey"
        }
        "spec.authParams.awsConfig.awsRegion" => "status.authParams.awsConfig.awsRegion",
        "spec.authParams.awsConfig.awsClusterName" => "status.authParams.awsConfig.awsClusterName",
        _ => "status.authParams",
    };
    error.clone().moved_to(Some(id.clone()), field)
}
