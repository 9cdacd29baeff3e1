//! Which slices there are, and the phase of each.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    DrainedSlice, Established, LeftBehind, NeedsDecision, NeedsSliceAwsIdentity,
    NeedsSliceCertificate, NeedsSliceRecord, NeedsSliceStatus, SettledSlice, Slice, SlicePeering,
    SlicePhase, aws, policy, status,
};
use crate::{
    crypto::Answer,
    error::{Backend, Error, Fault, LocalFault, PeerMisbehaved, PolicyRefusal},
    machine::{Effect, Part, View},
    model::{Kind, ObjectRef, Resource, ResourceSlice, Secret, TenantCondition, Timestamp, names},
    provider::{
        Claimant, Phase, PrincipalName, Provider,
        credentials::{credential::Given, issuance::Bearer},
        is_well_known,
        observed::Seen,
        record::{self, slice::SliceRecord},
        rights::condition,
    },
    verify::{self, ResourceSliceExpectation, VerifiedSlice},
};

impl Provider {
    /// The peer's slices, with what is left of those that are gone.
    pub(in crate::provider) fn slices<'o>(
        &self,
        seen: &Seen<'o>,
        phase: &Phase<'o>,
        view: &View<'o>,
        now: Timestamp,
    ) -> Vec<SlicePeering<'o>> {
        let established = match phase {
            Phase::Authenticated(issued) => Some(issued.established()),
            Phase::Tolerated(tolerated) => Some(tolerated.established()),
            _ => None,
        };
        let records = self.slice_records(seen, view);
        let look = Look {
            provider: self,
            seen,
            view,
            namespace: seen.namespace_name(),
            records,
            established,
            condition: condition_of(seen),
            now,
        };
        let mut slices: Vec<SlicePeering<'o>> = view
            .unreadable(Kind::ResourceSlice)
            .map(|unreadable| look.unreadable(&unreadable.id, &unreadable.reason))
            .collect();
        // Those that are known go first: new ones are not to drive them out.
        let mut replicas: Vec<&'o ResourceSlice> = view
            .readable::<ResourceSlice>()
            .filter(|slice| look.is_replica(slice) || look.is_on_record(slice))
            .collect();
        replicas.sort_by_cached_key(|slice| (!look.has_record(slice), &slice.metadata.name));
        let limit = self.policy(&seen.peer).limits().resource_slices;
        let mut number = 0;
        for slice in replicas {
            let here = slice.metadata.namespace == look.namespace;
            number += usize::from(here);
            slices.push(look.peering(slice, here && number > limit));
        }
        slices.extend(look.left_behind());
        slices
    }
}

/// The condition that holds for the peer's slices; none without a Tenant.
fn condition_of(seen: &Seen<'_>) -> Option<TenantCondition> {
    let tenant = seen.tenant?;
    let going = tenant.metadata.deletion_timestamp.is_some();
    (!going).then(|| condition::in_force(seen, tenant))
}

struct Look<'l, 'o> {
    provider: &'l Provider,
    seen: &'l Seen<'o>,
    view: &'l View<'o>,
    namespace: String,
    /// The Secrets that may be records of slices, by their names.
    records: BTreeMap<&'o str, &'o Secret>,
    established: Option<Established>,
    condition: Option<TenantCondition>,
    now: Timestamp,
}

impl<'o> Look<'_, 'o> {
    /// Whether somebody says that it is this peer's replica. The local slices
    /// of a cluster that is this one's provider as well are not.
    fn is_replica(&self, slice: &ResourceSlice) -> bool {
        let label = |name: &str| slice.metadata.labels.get(name).map(String::as_str);
        let peer = Some(self.seen.peer.as_str());
        label(names::REPLICATED_LABEL) == Some(names::TRUE)
            && (label(names::REPLICATION_ORIGIN_LABEL) == peer
                || label(names::REMOTE_CLUSTER_ID_LABEL) == peer
                || slice.metadata.namespace == self.namespace)
    }

    /// Whether it was the peer's replica when its request was verified: the
    /// peer can take the labels off, and remains what it was.
    fn is_on_record(&self, slice: &ResourceSlice) -> bool {
        let record = || self.opened_record(&slice.metadata.name).ok().flatten();
        slice.metadata.namespace == self.namespace
            && self.has_record(slice)
            && record().is_some_and(|(_, record)| record.is_about(slice))
    }

    fn has_record(&self, slice: &ResourceSlice) -> bool {
        let name = record::slice::name(&self.seen.peer, &slice.metadata.name);
        self.records.contains_key(name.as_str())
    }

    fn record_of(&self, slice: &str) -> Result<Option<&'o Secret>, Error> {
        let name = record::slice::name(&self.seen.peer, slice);
        self.view.find(&self.provider.0.namespace, &name)
    }

    fn unreadable(&self, id: &ObjectRef, reason: &dyn core::fmt::Display) -> SlicePeering<'o> {
        let reason = reason.to_string();
        let error = Error::new(LocalFault::Unreadable { reason }, Some(id.clone()), "");
        SlicePeering {
            slice: id.clone(),
            phase: SlicePhase::Refused(error),
            upkeep: None,
        }
    }

    fn peering(&self, object: &'o ResourceSlice, surplus: bool) -> SlicePeering<'o> {
        let mut upkeep = None;
        let phase = self
            .phase(object, surplus, &mut upkeep)
            .unwrap_or_else(SlicePhase::Refused);
        let upkeep = upkeep.or_else(|| self.unearned(object, &phase));
        SlicePeering {
            slice: object.id(),
            phase,
            upkeep,
        }
    }

    fn phase(
        &self,
        object: &'o ResourceSlice,
        surplus: bool,
        upkeep: &mut Option<Effect>,
    ) -> Result<SlicePhase<'o>, Error> {
        let peer = &self.seen.peer;
        let policy = self.provider.policy(peer);
        let key = self.established.as_ref().and_then(|it| it.key.as_ref());
        let expectation = ResourceSliceExpectation {
            consumer: peer,
            provider: Some(self.provider.cluster_id()),
            namespace: Some(&self.namespace),
            tenant_key: key,
        };
        // Nothing that the peer can write keeps a drained slice.
        let drained = self.condition == Some(TenantCondition::Drained)
            && object.metadata.namespace == self.namespace;
        if !drained {
            verify::slice_names(object, &expectation, policy)?;
            self.check_origin(object)?;
        }
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(SlicePhase::Ending);
        }
        let Some(condition) = self.condition else {
            return Ok(SlicePhase::AwaitsPeer);
        };
        let name = &object.metadata.name;
        let secret = names::issued_certificate_secret_of_slice(name);
        let stored = self.view.find(&self.namespace, &secret);
        let (unreadable, stored) = match stored {
            Ok(stored) => (None, stored),
            Err(error) => (Some(error), None),
        };
        let certificate = self
            .provider
            .certificate_of_slice(peer, &self.namespace, name, stored);
        let (record, broken) = match self.opened_record(name) {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error)),
        };
        let slice = Slice {
            provider: self.provider.clone(),
            peer: peer.clone(),
            object,
            record,
            peers_record: self.seen.record.clone(),
            certificate,
            unreadable,
            condition,
            now: self.now,
        };
        if drained {
            return Ok(SlicePhase::Drained(DrainedSlice { slice }));
        }
        *upkeep = slice.marks();
        if let Some(error) = broken {
            return Err(error);
        }
        if surplus {
            let limit = policy.limits().resource_slices;
            let error = PolicyRefusal::TooManySlices { limit };
            return Err(Error::new(error, Some(object.id()), ""));
        }
        let Some(established) = &self.established else {
            return Ok(SlicePhase::AwaitsPeer);
        };
        if object.spec.csr.is_empty() {
            return Ok(SlicePhase::AwaitsRequest);
        }
        if object.metadata.uid.is_empty() {
            return Ok(SlicePhase::NeedsUid);
        }
        let verified = self.verified(&slice, &expectation);
        let phase = verified.and_then(|verified| self.verified_phase(slice, verified, established));
        if let Err(error) = &phase
            && is_the_peers(error)
            && upkeep.is_none()
        {
            let mut denied = object.clone();
            denied.status = status::refused(&object.status, self.now);
            *upkeep = Effect::patch(object, denied, Part::Status);
        }
        phase
    }

    /// Takes off a slice's status the resources that nobody granted: Liqo lets
    /// them be used in whatever phase the slice is. Once it is settled, its
    /// whole status is seen to.
    fn unearned(&self, object: &ResourceSlice, phase: &SlicePhase<'_>) -> Option<Effect> {
        self.condition?;
        if object.metadata.namespace != self.namespace {
            return None;
        }
        let opened;
        let decided = match phase {
            SlicePhase::Refused(error) if is_the_peers(error) => None,
            SlicePhase::Refused(_)
            | SlicePhase::AwaitsPeer
            | SlicePhase::AwaitsRequest
            | SlicePhase::NeedsUid
            | SlicePhase::NeedsRecord(_)
            | SlicePhase::NeedsCertificate(_)
            | SlicePhase::NeedsAwsIdentity(_)
            | SlicePhase::Ending => {
                opened = self.opened_record(&object.metadata.name).ok()?;
                let record = opened.as_ref().map(|(_, record)| record);
                let decided = record.and_then(|record| record.decided_of(object));
                let class = object.spec.class.as_str();
                if decided.is_none() && !policy::is_liqos_class(class) {
                    // It may be another controller's to decide on.
                    return None;
                }
                decided
            }
            _ => return None,
        };
        let mut told = object.clone();
        told.status = status::with_resources(&object.status, decided, self.now);
        Effect::patch(object, told, Part::Status)
    }

    fn verified_phase(
        &self,
        slice: Slice<'o>,
        verified: VerifiedSlice,
        established: &Established,
    ) -> Result<SlicePhase<'o>, Error> {
        let policy = self.provider.policy(&self.seen.peer);
        let record = match slice.record() {
            Some(record) if record.is_of(slice.object, &verified) => record,
            _ => {
                self.check_name(&slice, &verified)?;
                return Ok(SlicePhase::NeedsRecord(NeedsSliceRecord {
                    slice,
                    verified,
                }));
            }
        };
        let given = if self.provider.0.aws.is_some() {
            let Some(given) = aws::in_force(&slice, &verified) else {
                if slice.peers_record.is_none() {
                    // Nobody would remember the key; the record comes first.
                    return Ok(SlicePhase::AwaitsPeer);
                }
                let request = NeedsSliceAwsIdentity::new(slice, verified);
                return Ok(SlicePhase::NeedsAwsIdentity(request));
            };
            given
        } else {
            let bearer = Bearer {
                subject: &verified.subject(),
                key: verified.public_key(),
                now: self.now,
            };
            let issued = record.issued.as_ref();
            let chain = issued.and_then(|issued| bearer.issued(issued, verified.csr(), policy));
            let Some(chain) = chain else {
                let request = NeedsSliceCertificate::new(slice, verified, established, false);
                return Ok(SlicePhase::NeedsCertificate(request));
            };
            Given::certificate(chain)
        };
        let undecided = slice.condition == TenantCondition::Active
            && record.decision_on(&slice.object.spec).is_none();
        let settled = SettledSlice::new(slice, verified, given, established.clone());
        Ok(if undecided {
            SlicePhase::NeedsDecision(NeedsDecision { settled })
        } else if let Some(effect) = settled.missing_status() {
            SlicePhase::NeedsStatus(NeedsSliceStatus {
                settled: Box::new(settled),
                effect,
            })
        } else if settled.is_granted() {
            SlicePhase::Accepted(settled)
        } else {
            SlicePhase::Denied(settled)
        })
    }

    /// A request that is on record for the same key needs no signature
    /// operation.
    fn verified(
        &self,
        slice: &Slice<'o>,
        expectation: &ResourceSliceExpectation<'_>,
    ) -> Result<VerifiedSlice, Error> {
        let known = expectation
            .tenant_key
            .and_then(|key| slice.record()?.known_csr(key.fingerprint().as_bytes()));
        let policy = self.provider.policy(&self.seen.peer);
        verify::slice_request(slice.object, expectation, known.as_ref(), policy)
    }

    /// Only replicas of the peer's own count.
    fn check_origin(&self, slice: &ResourceSlice) -> Result<(), Error> {
        let origin = slice.metadata.labels.get(names::REPLICATION_ORIGIN_LABEL);
        if origin.is_some() {
            // It was compared.
            return Ok(());
        }
        Err(Error::new(
            PeerMisbehaved::NameMismatch {
                expected: self.seen.peer.to_string(),
                found: String::new(),
            },
            Some(slice.id()),
            "metadata.labels[liqo.io/originID]",
        ))
    }

    /// That the slice's user name is nobody else's.
    fn check_name(&self, slice: &Slice<'_>, verified: &VerifiedSlice) -> Result<(), Error> {
        let subject = verified.subject();
        let name = subject.common_name();
        let claimant = Claimant::Slice {
            consumer: &self.seen.peer,
            slice: verified.name(),
        };
        let taken = self
            .provider
            .0
            .principals
            .is_taken(&PrincipalName::user(name), claimant)
            .map_err(|error| Error::backend(Backend::Principals, error))?;
        if taken == Answer::Ready(false) && !is_well_known(name) {
            return Ok(());
        }
        let name = name.to_owned();
        Err(Error::new(
            PolicyRefusal::NameTaken { name },
            Some(slice.object.id()),
            "metadata.name",
        ))
    }

    fn opened_record(&self, slice: &str) -> Result<Option<(&'o Secret, SliceRecord)>, Error> {
        let Some(secret) = self.record_of(slice)? else {
            return Ok(None);
        };
        let record = self.provider.open_slice_record(&self.seen.peer, secret)?;
        Ok(Some((secret, record)))
    }

    /// What is kept of slices that are gone.
    fn left_behind(&self) -> Vec<SlicePeering<'o>> {
        let slices = self.view.readable::<ResourceSlice>();
        let mut present: BTreeSet<&str> = slices
            .filter(|slice| slice.metadata.namespace == self.namespace)
            .map(|slice| slice.metadata.name.as_str())
            .collect();
        for unreadable in self.view.unreadable(Kind::ResourceSlice) {
            if unreadable.id.name.is_empty() {
                // It may be any of them.
                return Vec::new();
            }
            present.insert(&unreadable.id.name);
        }
        let peer = &self.seen.peer;
        if self.records.is_empty() {
            return Vec::new();
        }
        let of_present: BTreeSet<String> = present
            .iter()
            .map(|slice| record::slice::name(peer, slice))
            .collect();
        let mut left = Vec::new();
        for (name, secret) in &self.records {
            // Of a slice that is present, the slice itself sees to it.
            if of_present.contains(*name) {
                continue;
            }
            let record = match self.provider.open_slice_record(peer, secret) {
                Ok(record) => record,
                Err(error) => {
                    left.push(SlicePeering {
                        slice: secret.id(),
                        phase: SlicePhase::Refused(error),
                        upkeep: None,
                    });
                    continue;
                }
            };
            let slice = ObjectRef::new(
                Kind::ResourceSlice,
                self.namespace.as_str(),
                record.slice.as_str(),
            );
            let name = names::issued_certificate_secret_of_slice(&record.slice);
            // One that cannot be read stays: it is not ours any more.
            let stored = self.view.find(&self.namespace, &name).unwrap_or_default();
            let certificate =
                self.provider
                    .certificate_of_slice(peer, &self.namespace, &record.slice, stored);
            let kept = record.cordoned && self.seen.tenant.is_some();
            let phase = LeftBehind {
                record: secret,
                certificate,
                kept,
            };
            if !phase.is_settled() {
                left.push(SlicePeering {
                    slice,
                    phase: SlicePhase::LeftBehind(phase),
                    upkeep: None,
                });
            }
        }
        left
    }
}

impl Provider {
    /// The Secrets that may be records of the peer's slices, by their names.
    pub(in crate::provider) fn slice_records<'o>(
        &self,
        seen: &Seen<'_>,
        view: &View<'o>,
    ) -> BTreeMap<&'o str, &'o Secret> {
        let peer = Some(seen.peer.as_str());
        view.readable::<Secret>()
            .filter(|secret| {
                let metadata = &secret.metadata;
                let label = metadata.labels.get(names::RECORD_PEER_LABEL);
                metadata.namespace == self.0.namespace
                    && metadata.name.starts_with(record::slice::NAME_PREFIX)
                    && label.map(String::as_str) == peer
            })
            .map(|secret| (secret.metadata.name.as_str(), secret))
            .collect()
    }
}

fn is_the_peers(error: &Error) -> bool {
    matches!(error.fault(), Fault::PeerMisbehaved(_) | Fault::Policy(_))
}
