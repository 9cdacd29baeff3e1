//! The record of the requests to one foreign cluster.

use std::collections::BTreeMap;

use super::configuration::Configuration;
use crate::{
    assurance::peer_version::TokenForm,
    legacy::record::{FieldSeal, Fields, home_record_name, origin_token_name},
    model::{ClusterId, Secret, SecretBytes, names},
    verify::EndpointPins,
};

/// The record of the requests to one foreign cluster.
#[derive(Clone, Default, PartialEq)]
pub(super) struct HomeRecord {
    /// The CSR that is sent, in PEM.
    pub(super) csr: Vec<u8>,
    /// The API server and the CA of the first identity.
    pub(super) pins: Option<EndpointPins>,
    /// The answer that this side's settings refused.
    pub(super) kept: Option<KeptAnswer>,
}

/// An answer with an identity, as it was received.
#[derive(Clone, PartialEq)]
pub(super) struct KeptAnswer {
    /// The form of the identity: the kubeconfig of a service account (0.2), or a
    /// certificate.
    pub(super) form: TokenForm,
    pub(super) body: SecretBytes,
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
            kept: [TokenForm::Certificates, TokenForm::Accounts]
                .into_iter()
                .find_map(|form| {
                    let body = secret.get(answer_key(form))?.into();
                    Some(KeptAnswer { form, body })
                }),
        })
    }

    fn write(&self) -> BTreeMap<String, SecretBytes> {
        let mut fields = vec![(names::CSR, self.csr.as_slice())];
        if let Some(pins) = &self.pins {
            fields.push((API_SERVER, pins.api_server.as_bytes()));
            fields.push((CA_DIGEST, pins.ca.as_slice()));
        }
        if let Some(kept) = &self.kept {
            fields.push((answer_key(kept.form), kept.body.expose()));
        }
        let fields = fields.into_iter();
        fields
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect()
    }
}

/// The key of an answer in the record.
const fn answer_key(form: TokenForm) -> &'static str {
    match form {
        TokenForm::Accounts => "accountAnswer",
        TokenForm::Certificates => "certificateAnswer",
    }
}

const API_SERVER: &str = "apiServer";
const CA_DIGEST: &str = "caDigest";
