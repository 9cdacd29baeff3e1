//! What is kept of asking one foreign cluster.

use std::collections::BTreeMap;

use super::{
    Home,
    seen::{Seen, sealed},
};
use crate::{
    crypto::{Csr, SigningKey, Subject},
    error::{Backend, Error, LocalFault},
    legacy::{
        AuthToken,
        foreign::remote_token,
        record::{home_record_name, origin_token_name},
    },
    machine::{Effect, Env, Part, Step, Version, merge_patch},
    model::{
        AuthStatus, Bytes, ClusterId, ForeignCluster, Object, Resource, Secret, SecretBytes,
        Timestamp, names,
    },
    policy::{Forms, Policy},
    verify::{EndpointPins, VerifiedIdentity},
};

impl Home {
    /// The request that was made for this peer and key: always the same one is
    /// sent, so that an answer that was lost can be given again.
    pub(super) fn recorded(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        key: &dyn SigningKey,
    ) -> Option<Csr> {
        if self.gives_own_origin_token(peer) && seen.origin_token.is_none() {
            return None;
        }
        let pem = seen.record?.get(names::CSR)?;
        let subject = Subject::control_plane(&self.0.cluster_id);
        Csr::verify(pem, &subject, key.public_key(), &Policy::strict()).ok()
    }

    /// Makes the request, and the token by which the peer may come back.
    pub(super) fn make_record(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        env: &Env,
    ) -> Result<Step, Error> {
        let mut step = Step::default();
        let Some(key) = self.find_key(peer)? else {
            return Ok(step);
        };
        let subject = Subject::control_plane(&self.0.cluster_id);
        let csr =
            Csr::make(&subject, &*key).map_err(|error| Error::backend(Backend::Keys, error))?;
        if self.gives_own_origin_token(peer) && seen.origin_token.is_none() {
            let token = AuthToken::derive(&env.entropy, peer.as_str());
            let data = BTreeMap::from([(
                names::TOKEN.to_owned(),
                SecretBytes::from(token.expose().as_bytes()),
            )]);
            let name = origin_token_name(peer);
            let secret = sealed(self, &name).write(Some(peer), data);
            step.effects.push(Effect::Create(secret.into()));
        }
        let mut data = seen.record.map(|record| record.data.clone());
        let data = data.get_or_insert_default();
        data.insert(names::CSR.to_owned(), csr.pem().into());
        step.effects
            .push(self.write_record(seen, peer, core::mem::take(data)));
        Ok(step)
    }

    /// Strict: a token for this peer, good for its cluster ID only. Compatible:
    /// this cluster's own token, as Liqo does, since its server may be Liqo.
    pub(super) fn origin_token(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
    ) -> Result<Option<AuthToken>, Error> {
        let secret = match self.gives_own_origin_token(peer) {
            true => seen.origin_token,
            false => seen.own_token,
        };
        let Some(secret) = secret else {
            return Ok(None);
        };
        let token = secret.get(names::TOKEN).unwrap_or_default();
        AuthToken::parse(token, self.policy(peer))
            .map(Some)
            .map_err(|error| {
                let id = Some(secret.id());
                Error::new(LocalFault::Token(error), id, "data.token")
            })
    }

    /// API server and CA of the first time.
    pub(super) fn pins(&self, seen: &Seen<'_>) -> Option<EndpointPins> {
        let record = seen.record?;
        let api_server = core::str::from_utf8(record.get(API_SERVER)?).ok()?;
        Some(EndpointPins {
            api_server: api_server.to_owned(),
            ca: record.get(CA_DIGEST)?.try_into().ok()?,
        })
    }

    pub(super) fn pin(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        identity: &VerifiedIdentity,
    ) -> Option<Effect> {
        let record = seen.record?;
        let pins = identity.pins();
        let mut data = record.data.clone();
        data.insert(API_SERVER.to_owned(), pins.api_server.as_bytes().into());
        data.insert(CA_DIGEST.to_owned(), pins.ca.as_slice().into());
        (data != record.data).then(|| self.write_record(seen, peer, data))
    }

    pub(super) fn store_remote_token(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        token: &AuthToken,
        now: Timestamp,
    ) -> Step {
        let mut step = Step::default();
        let mut wanted = remote_token(&self.0.namespace, peer, token);
        match seen.remote_token {
            Some(present) if present.get(names::TOKEN) == wanted.get(names::TOKEN) => {}
            Some(present) => {
                wanted.metadata.name.clone_from(&present.metadata.name);
                step.effects.push(Effect::Replace {
                    object: wanted.into(),
                    version: Version::of(&present.metadata),
                });
            }
            None => step.effects.push(Effect::Create(wanted.into())),
        }
        if let Some(cluster) = seen.foreign_cluster
            && seen.identity.is_none()
        {
            step.effects
                .extend(status(cluster, AuthStatus::Pending, now));
        }
        step
    }

    fn gives_own_origin_token(&self, peer: &ClusterId) -> bool {
        self.policy(peer).forms() == Forms::Canonical
    }

    fn write_record(
        &self,
        seen: &Seen<'_>,
        peer: &ClusterId,
        mut data: BTreeMap<String, SecretBytes>,
    ) -> Effect {
        data.remove("seal");
        let name = home_record_name(peer);
        let object: Secret = sealed(self, &name).write(Some(peer), data);
        match seen.record {
            None => Effect::Create(object.into()),
            Some(present) => Effect::Replace {
                object: object.into(),
                version: Version::of(&present.metadata),
            },
        }
    }
}

/// The patch that says the outcome, if it is another than what is there.
pub(super) fn status(
    cluster: &ForeignCluster,
    outcome: AuthStatus,
    now: Timestamp,
) -> Option<Effect> {
    if cluster.status.auth_status() == outcome {
        return None;
    }
    let mut wanted = cluster.clone();
    wanted.status.set_auth_status(outcome, now);
    patch(cluster, wanted, Part::Status)
}

pub(super) fn patch(
    cluster: &ForeignCluster,
    wanted: ForeignCluster,
    part: Part,
) -> Option<Effect> {
    let from = Object::from(cluster.clone());
    let patch = merge_patch::between(&from.to_value(), &Object::from(wanted).to_value())?;
    Some(Effect::Patch {
        id: cluster.id(),
        version: Version::of(&cluster.metadata),
        part,
        patch,
    })
}

/// The bytes of a text in a model's field.
pub(super) fn bytes(of: &[u8]) -> Bytes {
    Bytes::from(of)
}

const API_SERVER: &str = "apiServer";
const CA_DIGEST: &str = "caDigest";
