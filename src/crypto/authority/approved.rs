//! Signing approved requests as Kubernetes does.

use core::time::Duration;

use super::{Authority, AuthorityError};
use crate::{
    crypto::{CertificateChain, Csr, Entropy},
    model::{CertificateSigningRequest, Timestamp, names},
    policy::Policy,
};

impl Authority {
    /// Signs an approved request for a client certificate, as Kubernetes'
    /// controller manager does for `kubernetes.io/kube-apiserver-client`.
    ///
    /// The certificate has the subject and the key of the request, since the
    /// approval covers both. The result is `None` for a request that is not
    /// approved, is denied or has failed, already has its certificate, or is for
    /// another signer or other usages.
    ///
    /// # Errors
    /// [`AuthorityError::Request`] if the request cannot be read or is not
    /// signed by its key. Otherwise as [`issue`](Self::issue).
    pub fn sign_approved(
        &self,
        request: &CertificateSigningRequest,
        now: Timestamp,
        entropy: &Entropy,
    ) -> Result<Option<CertificateChain>, AuthorityError> {
        if !is_to_be_signed(request) {
            return Ok(None);
        }
        let policy = Policy::compatible();
        let pem = request.spec.request.as_slice();
        let (csr, key) = Csr::as_claimed(pem, &policy).map_err(|_| AuthorityError::Request)?;
        let name = csr.name().ok_or(AuthorityError::Request)?;
        let asked = request.spec.expiration_seconds.map(u64::try_from);
        let lifetime = asked
            .and_then(Result::ok)
            .map_or(DEFAULT_LIFETIME, Duration::from_secs);
        self.issue_to(name, &key, now, lifetime, &csr, entropy)
            .map(Some)
    }
}

fn is_to_be_signed(request: &CertificateSigningRequest) -> bool {
    let spec = &request.spec;
    let is_for_clients = spec.usages.iter().any(|usage| usage == CLIENT_AUTH)
        && spec
            .usages
            .iter()
            .all(|usage| names::CLIENT_USAGES.contains(&usage.as_str()));
    request.status.certificate.is_empty()
        && request.condition(&["Approved"]).is_some()
        && request.condition(&["Denied", "Failed"]).is_none()
        && spec.signer_name == names::CLIENT_SIGNER
        && is_for_clients
}

const CLIENT_AUTH: &str = "client auth";
/// The default of the controller manager (`--cluster-signing-duration`).
const DEFAULT_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[cfg(test)]
mod tests;
