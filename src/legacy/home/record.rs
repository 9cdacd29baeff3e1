//! What is kept of asking one foreign cluster.

use std::collections::BTreeMap;

use super::{
    configuration::Configuration,
    look::{Look, Plan},
};
use crate::{
    crypto::{Answer, Csr, NotAtOnce, SigningKey, Subject},
    error::{Backend, Error, LocalFault},
    legacy::{
        AuthToken,
        record::{FieldSeal, Fields, home_record_name, origin_token_name},
    },
    machine::{Awaited, Env},
    model::{ClusterId, Resource, Secret, SecretBytes, names},
    policy::{Forms, Policy},
    verify::EndpointPins,
};

/// The record of asking one foreign cluster.
#[derive(Clone, PartialEq)]
pub(super) struct HomeRecord {
    /// The request as it is sent, in PEM.
    csr: Vec<u8>,
    /// API server and CA of the first identity.
    pub(super) pins: Option<EndpointPins>,
    /// The answer that the settings refused.
    pub(super) kept: Option<KeptAnswer>,
}

/// An answer with an identity, as it came.
#[derive(Clone, PartialEq)]
pub(super) enum KeptAnswer {
    /// The kubeconfig of a service account: 0.2.
    Account(SecretBytes),
    /// A certificate: 0.3 or later.
    Certificate(SecretBytes),
}

impl KeptAnswer {
    /// The key and the value in the record.
    pub(super) fn field(&self) -> (&'static str, &SecretBytes) {
        match self {
            Self::Account(body) => (ACCOUNT_ANSWER, body),
            Self::Certificate(body) => (CERTIFICATE_ANSWER, body),
        }
    }
}

impl HomeRecord {
    /// A record of an answer, before there is a request in it.
    pub(super) fn keeping(answer: KeptAnswer) -> Self {
        Self {
            csr: Vec::new(),
            pins: None,
            kept: Some(answer),
        }
    }
}

impl Look<'_> {
    /// The request that was made for this peer and key: always the same one is
    /// sent, so that an answer that was lost can be given again.
    pub(super) fn recorded(&self, key: &dyn SigningKey) -> Option<Csr> {
        let record = self.observed.record()?;
        let subject = Subject::control_plane(&self.configuration.cluster_id);
        Csr::verify(&record.csr, &subject, key.public_key(), &Policy::strict()).ok()
    }

    /// Whether the peer has no token yet by which it may come back.
    pub(super) fn lacks_origin_token(&self) -> bool {
        self.gives_own_origin_token() && self.observed.origin_token.is_none()
    }

    /// Makes the request, and the token by which the peer may come back.
    pub(super) fn make_record(&self, env: &Env, plan: &mut Plan<'_>) -> Result<(), Error> {
        let Answer::Ready(key) = self.find_key()? else {
            plan.await_for(Awaited::OwnKey);
            return Ok(());
        };
        if self.lacks_origin_token() {
            let token = AuthToken::derive(&env.entropy, self.peer().as_str());
            let token = SecretBytes::from(token.expose().as_bytes());
            let seal = self.configuration.origin_token_seal(self.peer());
            plan.create(seal.seal([(names::TOKEN.to_owned(), token)].into()));
        }
        if self.recorded(&*key).is_none() {
            let subject = Subject::control_plane(&self.configuration.cluster_id);
            let failed = |error| Error::backend(Backend::Keys, error);
            let csr = match Csr::make(&subject, &*key).map_err(failed)? {
                Answer::Ready(csr) => csr.pem().to_vec(),
                Answer::Pending => {
                    let id = Csr::signature_id(&subject, key.public_key());
                    plan.await_for(Awaited::Signature(id));
                    return Ok(());
                }
                Answer::Denied(reason) => return Err(failed(NotAtOnce::Denied(reason).into())),
            };
            let record = &mut plan.records.peer;
            let new = HomeRecord {
                csr: csr.clone(),
                pins: None,
                kept: None,
            };
            record.change_or_make(|| new, |record| record.csr = csr);
        }
        Ok(())
    }

    /// Strict: a token for this peer, good for its cluster ID only. Compatible:
    /// this cluster's own token, as Liqo does, since its server may be Liqo.
    pub(super) fn origin_token(&self) -> Result<Option<AuthToken>, Error> {
        self.parse_token(match self.gives_own_origin_token() {
            true => self.observed.origin_token,
            false => self.observed.own_token,
        })
    }

    /// The peer's token that an administrator put here.
    pub(super) fn remote_token(&self) -> Result<Option<AuthToken>, Error> {
        self.parse_token(self.observed.remote_token)
    }

    fn parse_token(&self, secret: Option<&Secret>) -> Result<Option<AuthToken>, Error> {
        let Some(secret) = secret else {
            return Ok(None);
        };
        let token = secret.get(names::TOKEN).unwrap_or_default();
        let token = AuthToken::parse(token, self.policy()).map_err(|error| {
            let id = Some(secret.id());
            Error::new(LocalFault::Token(error), id, "data.token")
        })?;
        Ok(Some(token))
    }

    fn gives_own_origin_token(&self) -> bool {
        self.policy().forms() == Forms::Canonical
    }
}

impl Configuration {
    pub(super) fn record_seal<'a>(&'a self, peer: &'a ClusterId) -> FieldSeal<'a> {
        self.seal(home_record_name(peer), peer)
    }

    pub(super) fn origin_token_seal<'a>(&'a self, peer: &'a ClusterId) -> FieldSeal<'a> {
        self.seal(origin_token_name(peer), peer)
    }
}

impl Fields for HomeRecord {
    fn read(secret: &Secret) -> Option<Self> {
        let pins = match (secret.get(API_SERVER), secret.get(CA_DIGEST)) {
            (None, None) => None,
            (api_server, ca) => Some(EndpointPins {
                api_server: core::str::from_utf8(api_server?).ok()?.to_owned(),
                ca: ca?.try_into().ok()?,
            }),
        };
        Some(Self {
            csr: secret.get(names::CSR)?.to_vec(),
            pins,
            kept: match (secret.get(ACCOUNT_ANSWER), secret.get(CERTIFICATE_ANSWER)) {
                (None, None) => None,
                (Some(body), None) => Some(KeptAnswer::Account(body.into())),
                (_, Some(body)) => Some(KeptAnswer::Certificate(body.into())),
            },
        })
    }

    fn write(&self) -> BTreeMap<String, SecretBytes> {
        let mut fields = vec![(names::CSR, self.csr.as_slice())];
        if let Some(pins) = &self.pins {
            fields.push((API_SERVER, pins.api_server.as_bytes()));
            fields.push((CA_DIGEST, &pins.ca));
        }
        if let Some(kept) = &self.kept {
            let (key, body) = kept.field();
            fields.push((key, body.expose()));
        }
        let fields = fields.into_iter();
        fields
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    }
}

const API_SERVER: &str = "apiServer";
const CA_DIGEST: &str = "caDigest";
const ACCOUNT_ANSWER: &str = "accountAnswer";
const CERTIFICATE_ANSWER: &str = "certificateAnswer";
