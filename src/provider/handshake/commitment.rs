//! What a peer is promised: where this cluster is, and by which key it says so.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    assurance::commitment::{Commitment, Committed},
    crypto::Nonce,
    error::{Backend, Error},
    model::{AuthParams, Bytes, ProxyUrl},
    provider::{Provider, observed::Seen, record::peer::StoredCommitment},
    verify::VerifiedTenant,
};

impl Provider {
    /// What the peer needs to reach this cluster: all but its certificate.
    pub(in crate::provider) fn auth_params(&self, proxy: Option<&ProxyUrl>) -> AuthParams {
        let ca = self.0.endpoint.ca();
        // EKS gives its CA in base64, and Liqo's consumers decode that of a
        // provider with AWS users once more.
        let ca = if self.0.aws.is_some() {
            Bytes::from(STANDARD.encode(ca.as_slice()).into_bytes())
        } else {
            ca
        };
        AuthParams {
            ca,
            signed_crt: Bytes::default(),
            api_server: self.0.endpoint.api_server().as_str().to_owned(),
            proxy_url: proxy.map(|url| url.as_str().to_owned()),
            aws_config: None,
        }
    }

    /// This provider's commitment to a peer, where it has a key of its own and
    /// the nonce does not name another one.
    pub(in crate::provider) fn commit(
        &self,
        seen: &Seen<'_>,
        verified: &VerifiedTenant,
        nonce: &Nonce,
        earlier: Option<&StoredCommitment>,
    ) -> Result<Option<StoredCommitment>, Error> {
        let Some(key) = &self.0.key else {
            return Ok(None);
        };
        if nonce
            .structured()
            .is_some_and(|nonce| !nonce.commits_to(key.public_key()))
        {
            return Ok(None);
        }
        let auth_params = self.auth_params(verified.proxy_url());
        let committed = Committed {
            nonce: nonce.as_bytes(),
            provider: &self.0.cluster_id,
            consumer: &seen.peer,
            consumer_key: verified.public_key(),
            namespace: &seen.namespace_name(),
            auth_params: &auth_params,
        };
        let about = committed.digest(key.public_key());
        if let Some(earlier) = earlier.filter(|earlier| earlier.is_about(&about)) {
            return Ok(Some(earlier.clone()));
        }
        let commitment = Commitment::make(&committed, &**key)
            .and_then(|answer| Ok(answer.at_once()?))
            .map_err(|error| Error::backend(Backend::Keys, error))?;
        Ok(Some(StoredCommitment::new(about, &commitment)))
    }
}
