//! The record of the requests to one foreign cluster.

use std::collections::BTreeMap;

use super::configuration::Configuration;
use crate::{
    legacy::record::{FieldSeal, Fields, home_record_name, origin_token_name},
    model::{ClusterId, Secret, SecretBytes, names},
    verify::EndpointPins,
};

/// The record of the requests to one foreign cluster.
#[derive(Clone, PartialEq)]
pub(super) struct HomeRecord {
    /// The CSR that is sent, in PEM.
    pub(super) csr: Vec<u8>,
    /// API server and CA of the first identity.
    pub(super) pins: Option<EndpointPins>,
    /// The answer that this side's settings refused.
    pub(super) kept: Option<KeptAnswer>,
}

/// An answer with an identity, as it was received.
#[derive(Clone, PartialEq)]
pub(super) enum KeptAnswer {
    /// The kubeconfig of a service account (0.2).
    Account(SecretBytes),
    /// A certificate (0.3 or later).
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
    /// A record with an answer, without a CSR yet.
    pub(super) fn keeping(answer: KeptAnswer) -> Self {
        Self {
            csr: Vec::new(),
            pins: None,
            kept: Some(answer),
        }
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
                ca: ca?.into(),
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
            fields.push((CA_DIGEST, pins.ca.as_slice()));
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
