//! Taking what the provider gave into an Identity of this side.

use super::{kubeconfig::NeedsKubeconfig, stored_identity::StoredIdentity};
use crate::{
    consumer::{
        Consumer,
        handshake::{
            accepted::{Accepted, Comparison},
            keys::Keys,
        },
        observed::{Observed, Purpose},
        record::Record,
    },
    crypto::CertificateError,
    error::{Error, Fault, PeerMisbehaved, Precondition},
    machine::{Awaited, Effect, Part, Step},
    model::{
        AuthParams, Identity, IdentitySpec, IdentityType, Metadata, ObjectRef, OwnerReference,
        Resource, Timestamp, names,
    },
    verify::VerifiedIdentity,
};

/// What the provider gave is verified; the Identity is to be made of it, or to
/// take it up.
#[derive(Clone)]
pub struct NeedsIdentity<'o> {
    observed: Observed<'o>,
    wanted: Box<Identity>,
    pub(in crate::consumer) accepted: Box<Accepted>,
}

/// Where one identity stands.
pub(in crate::consumer) enum Status<'o> {
    /// There is no Identity, and nothing to make one of.
    Nothing,
    Refused(Error),
    NeedsIdentity(NeedsIdentity<'o>),
    NeedsKubeconfig(NeedsKubeconfig<'o>),
    Held(StoredIdentity<'o>),
}

/// What came since the Identity that is held.
#[derive(Clone)]
pub(in crate::consumer) enum Answer<'o> {
    Nothing,
    Newer(Box<NeedsIdentity<'o>>),
    Refused(Error),
}

impl NeedsIdentity<'_> {
    /// What was verified.
    pub fn identity(&self) -> &VerifiedIdentity {
        &self.accepted.verified
    }

    /// Pins what this one says: after a release of the pins it is not what the
    /// one before it said.
    pub(in crate::consumer) fn pin(&self, record: &mut Record) {
        if matches!(self.observed.purpose, Purpose::ControlPlane) {
            self.accepted.record_pins(record);
        }
    }

    /// Makes the Identity, or changes the one that is there. Its kubeconfig
    /// comes with the next step.
    ///
    /// # Errors
    /// None at present.
    pub fn take(&self) -> Result<Step, Error> {
        let mut step = Step::default();
        if let Purpose::Slice(slice) = self.observed.purpose
            && slice.metadata.uid.is_empty()
        {
            return Ok(Step::awaiting(Awaited::Uid(slice.id())));
        }
        step.effects.extend(match self.observed.identity {
            None => Some(Effect::Create((*self.wanted).clone().into())),
            Some(stored) => Effect::patch(stored, (*self.wanted).clone(), Part::Main),
        });
        Ok(step)
    }
}

impl Consumer {
    /// Where one identity stands, from what is stored and what the provider
    /// gave since, with the object that it stands in. Only what is wholly right
    /// and newer takes the place of what is held.
    pub(in crate::consumer) fn status<'o>(
        &self,
        observed: Observed<'o>,
        keys: &Keys,
        given: Option<(&AuthParams, ObjectRef)>,
        now: Timestamp,
    ) -> Result<Status<'o>, Error> {
        let held = observed
            .identity
            .map(|stored| self.accept(&observed, keys, stored, now));
        // What is held by the present key is not replaced by one of the key
        // before it.
        let allowed = match &held {
            Some(Ok(held)) if !held.by_predecessor => keys.current_only(),
            _ => keys.clone(),
        };
        let given = given.and_then(|(auth_params, id)| {
            let wanted = Box::new(wanted(&observed, auth_params));
            let known = observed
                .identity
                .is_some_and(|stored| stored.spec.auth_params == *auth_params);
            if known && held.as_ref().is_some_and(Result::is_ok) {
                return None;
            }
            let accepted = self.accept(&observed, &allowed, &wanted, now);
            Some((
                wanted,
                accepted.map(Box::new).map_err(|error| found_in(error, &id)),
                id,
            ))
        });
        let Some(stored) = observed.identity else {
            return Ok(match given {
                None => Status::Nothing,
                Some((_, Err(error), _)) => Status::Refused(error),
                Some((wanted, Ok(accepted), _)) => Status::NeedsIdentity(NeedsIdentity {
                    observed,
                    wanted,
                    accepted,
                }),
            });
        };
        let held = match (held, given) {
            (Some(Ok(held)), given) => {
                let answer = match given {
                    None => Answer::Nothing,
                    Some((_, Err(error), _)) => Answer::Refused(error),
                    Some((wanted, Ok(accepted), id)) => match accepted.compare(&held) {
                        Ok(Comparison::Same) => Answer::Nothing,
                        Ok(Comparison::Newer) => Answer::Newer(Box::new(NeedsIdentity {
                            observed: observed.clone(),
                            wanted,
                            accepted,
                        })),
                        // As good as the one that is held: Liqo 1.2 signs short
                        // ones again within a second. To a request it is no
                        // answer.
                        Err((Fault::Precondition(Precondition::NotNewer { found, held }), _))
                            if found == held && !has_request(&observed) =>
                        {
                            Answer::Nothing
                        }
                        Err((fault, field)) => {
                            Answer::Refused(found_in(Error::new(fault, None, field), &id))
                        }
                    },
                };
                (held, answer)
            }
            (_, Some((wanted, Ok(accepted), _))) => {
                return Ok(Status::NeedsIdentity(NeedsIdentity {
                    observed,
                    wanted,
                    accepted,
                }));
            }
            (Some(Err(error)), _) => return Err(error),
            (None, _) => return Ok(Status::Nothing),
        };
        let (held, answer) = held;
        let kubeconfig = NeedsKubeconfig::new(self, observed, stored, held, now);
        Ok(if kubeconfig.is_stored()? {
            Status::Held(StoredIdentity::new(kubeconfig, answer))
        } else {
            Status::NeedsKubeconfig(kubeconfig)
        })
    }
}

fn has_request(observed: &Observed<'_>) -> bool {
    matches!(&observed.renew, Ok(Some(renew)) if !renew.spec.csr.is_empty())
}

/// The Identity as it would be with these parameters.
fn wanted(observed: &Observed<'_>, auth_params: &AuthParams) -> Identity {
    let mut wanted = observed.identity.cloned().unwrap_or_default();
    wanted.spec.auth_params = auth_params.clone();
    // What it asked for has come: one renewal for each time that it is set.
    wanted.metadata.annotations.remove(names::RENEW_ANNOTATION);
    let Purpose::Slice(slice) = observed.purpose else {
        return wanted;
    };
    let owner = OwnerReference::controller(slice);
    let metadata = &mut wanted.metadata;
    metadata.name = names::resource_slice_identity_name(&slice.metadata.name);
    metadata.namespace.clone_from(&slice.metadata.namespace);
    metadata.labels.extend([
        (
            names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
            observed.peer.to_string(),
        ),
        (
            names::RESOURCE_SLICE_NAME_LABEL.to_owned(),
            slice.metadata.name.clone(),
        ),
    ]);
    own(metadata, owner);
    wanted.spec = IdentitySpec {
        cluster_id: observed.peer.to_string(),
        identity_type: IdentityType::ResourceSlice,
        auth_params: auth_params.clone(),
        namespace: None,
    };
    wanted
}

/// Makes `owner` the one that controls the object.
pub(in crate::consumer) fn own(metadata: &mut Metadata, owner: OwnerReference) {
    metadata
        .owner_references
        .retain(|other| other.controller != Some(true) && other.uid != owner.uid);
    metadata.owner_references.push(owner);
}

/// The error, at the object in whose status the fault was found.
fn found_in(error: Error, id: &ObjectRef) -> Error {
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
    error.moved_to(Some(id.clone()), field)
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
