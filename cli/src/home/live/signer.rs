//! The answers of a cluster's signer.

use liqo_auth::model::{CertificateSigningRequest, ClusterId, Object, Resource, names};
use liqo_auth_kube::answered;

use super::{Live, failure};
use crate::{
    failure::{Failure, Result},
    home::{Ground, Home, awaits_signature},
};

impl Live {
    /// Waits for the signer's answer to a request. `None` if there is none in time.
    fn answer_to(&self, request: &CertificateSigningRequest) -> Result<Option<Object>> {
        tracing::info!(
            request = %request.metadata.name,
            seconds = self.timeout.as_secs(),
            "waits for the signer"
        );
        let answer = answered(&self.client, request, self.timeout);
        self.runtime.block_on(answer).map_err(failure)
    }

    /// The failure without an answer. `then` says what to do.
    fn unanswered(&self, request: &CertificateSigningRequest, then: &str) -> Failure {
        Failure::waiting(format!(
            "the CertificateSigningRequest {} is approved, and {} has not signed it within {} seconds. {then}",
            request.metadata.name,
            request.spec.signer_name,
            self.timeout.as_secs(),
        ))
    }
}

impl Home {
    /// Waits for the answers of a cluster's signer to the approved requests of a peer.
    /// Returns whether there was one. A home signs for itself.
    pub(crate) fn await_signer(&mut self, peer: &ClusterId) -> Result<bool> {
        let Ground::Cluster(live) = &self.ground else {
            return Ok(false);
        };
        if self.is_trial() {
            // The signer does not see a request that is in memory only.
            return Ok(false);
        }
        let requests = self.store.all::<CertificateSigningRequest>();
        let awaited = requests.filter(|request| {
            request.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL) == Some(&peer.to_string())
                && awaits_signature(request)
        });
        let answers = awaited.map(|request| {
            live.answer_to(request)?.ok_or_else(|| {
                let name = &request.metadata.name;
                let then =
                    format!("Run the command again when it is signed: kubectl get csr {name}");
                live.unanswered(request, &then)
            })
        });
        let answers = answers.collect::<Result<Vec<_>>>()?;
        for answer in &answers {
            self.store.replace(&answer.id(), Some(answer.clone()));
        }
        Ok(!answers.is_empty())
    }

    /// Waits for the answer of a cluster's signer to an approved request that is of no use
    /// after this command. Returns the answered request.
    pub(crate) fn await_certificate(
        &self,
        request: &CertificateSigningRequest,
    ) -> Result<CertificateSigningRequest> {
        let Ground::Cluster(live) = &self.ground else {
            return Err(Failure::at_odds(format!(
                "{}: a home has no signer to wait for",
                self.site
            )));
        };
        let answer = live.answer_to(request)?;
        let answered = answer
            .as_ref()
            .and_then(CertificateSigningRequest::from_object);
        answered.cloned().ok_or_else(|| {
            live.unanswered(
                request,
                "Run the command again, with a longer --timeout if the signer is slow.",
            )
        })
    }
}
