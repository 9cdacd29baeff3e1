//! Taking what the provider gave into an Identity of this side.

use super::{
    holding::{Holding, Standing},
    renewal,
    stored_identity::{StoredIdentity, Succession},
};
use crate::{
    consumer::{
        AcceptedIdentity,
        handshake::{accepted::Comparison, keys::Keys},
        record::Plan,
    },
    crypto::CertificateError,
    error::{Error, Fault, PeerMisbehaved, Precondition},
    machine::Awaited,
    model::{
        AuthParams, Identity, IdentitySpec, IdentityType, Metadata, ObjectRef, OwnerReference,
        Resource, Timestamp, names,
    },
};

/// What the provider gave, verified: the Identity is to be made of it, or to
/// take it up.
#[derive(Debug, Clone)]
pub struct OfferedIdentity {
    wanted: Identity,
    /// What was verified, and what is known of the provider's key.
    pub accepted: AcceptedIdentity,
}

/// What came since the Identity that is held.
#[derive(Clone)]
pub(in crate::consumer) enum Offer {
    Nothing,
    Newer(Box<OfferedIdentity>),
    Refused(Error),
}

impl Holding<'_> {
    /// Where the identity stands, from what is stored and what the provider gave
    /// since, with the object in which that stands. Only what is wholly right
    /// and newer takes the place of what is held.
    ///
    /// # Errors
    /// Why neither the stored Identity nor what the provider gave can be used.
    pub(in crate::consumer) fn standing(
        &self,
        keys: &Keys,
        given: Option<(&AuthParams, ObjectRef)>,
    ) -> Result<Standing, Error> {
        let held = self.identity.map(|stored| self.accept(keys, stored));
        let offered = given.and_then(|(auth_params, id)| {
            let offered = self.judge(keys, held.as_ref(), auth_params)?;
            Some((offered.map_err(|error| found_in(&error, &id)), id))
        });
        let held = match (held, offered) {
            (Some(Ok(held)), offered) => {
                let offer = self.compare(offered, &held);
                (held, offer)
            }
            (_, Some((Ok(offered), _))) => return Ok(Standing::NeedsIdentity(Box::new(offered))),
            (Some(Err(error)), _) | (None, Some((Err(error), _))) => return Err(error),
            (None, None) => return Ok(Standing::Nothing),
        };
        let (accepted, offer) = held;
        if !self.is_stored(&accepted)? {
            return Ok(Standing::NeedsKubeconfig(Box::new(accepted)));
        }
        let renewal = renewal::of(self, &accepted, &offer);
        Ok(Standing::Held(Box::new(StoredIdentity {
            kubeconfig_secret: self.kubeconfig_id(),
            accepted,
            renewal,
            offer,
            succession: Succession::Done,
        })))
    }

    /// What the provider gave, verified, unless that is held already.
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
            // What is held by the present key is not replaced by one of the key
            // before it.
            Some(Ok(held)) if !held.awaits_new_key() => &current_only,
            _ => keys,
        };
        let wanted = self.wanted(auth_params);
        let accepted = self.accept(allowed, &wanted);
        Some(accepted.map(|accepted| OfferedIdentity { wanted, accepted }))
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
                // As good as the one that is held: Liqo 1.2 signs short ones
                // again within a second. To a request it is no answer.
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
        matches!(&self.renew, Ok(Some(renew)) if !renew.spec.csr.is_empty())
    }

    /// Makes the Identity, or changes the one that is there. Its kubeconfig
    /// comes with the next look.
    pub(in crate::consumer) fn take(&self, offered: &OfferedIdentity, plan: &mut Plan<'_>) {
        if let Some(slice) = self.slice
            && slice.metadata.uid.is_empty()
        {
            plan.await_for(Awaited::Uid(slice.id()));
            return;
        }
        let wanted = offered.wanted.clone();
        match self.identity {
            None => plan.create(wanted),
            Some(stored) => plan.edit(stored, |identity| *identity = wanted),
        }
    }

    /// The Identity as it would be with these parameters.
    fn wanted(&self, auth_params: &AuthParams) -> Identity {
        let mut wanted = self.identity.cloned().unwrap_or_default();
        wanted.spec.auth_params = auth_params.clone();
        // What it asked for has come: one renewal for each time that it is set.
        wanted.metadata.annotations.remove(names::RENEW_ANNOTATION);
        let Some(slice) = self.slice else {
            return wanted;
        };
        let peer = self.look.peer().to_string();
        let metadata = &mut wanted.metadata;
        metadata.name = names::resource_slice_identity_name(&slice.metadata.name);
        metadata.namespace.clone_from(&slice.metadata.namespace);
        metadata.labels.extend([
            (names::REMOTE_CLUSTER_ID_LABEL.to_owned(), peer.clone()),
            (
                names::RESOURCE_SLICE_NAME_LABEL.to_owned(),
                slice.metadata.name.clone(),
            ),
        ]);
        own(metadata, OwnerReference::controller(slice));
        wanted.spec = IdentitySpec {
            cluster_id: peer,
            identity_type: IdentityType::ResourceSlice,
            auth_params: auth_params.clone(),
            namespace: None,
        };
        wanted
    }
}

/// Makes `owner` the one that controls the object.
pub(in crate::consumer) fn own(metadata: &mut Metadata, owner: OwnerReference) {
    metadata
        .owner_references
        .retain(|other| other.controller != Some(true) && other.uid != owner.uid);
    metadata.owner_references.push(owner);
}

/// The error, at the object in whose status the fault was found.
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

/// When a certificate begins to hold, if that is all that is wrong with it.
pub(in crate::consumer) fn begins_at(error: &Error) -> Option<Timestamp> {
    match error.fault() {
        Fault::PeerMisbehaved(PeerMisbehaved::Certificate(CertificateError::NotYetValid {
            not_before,
            ..
        })) => Some(*not_before),
        _ => None,
    }
}
