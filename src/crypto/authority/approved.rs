//! Signing approved requests as Kubernetes does.

use core::time::Duration;

use super::{Authority, AuthorityError};
use crate::{
    crypto::{CertificateChain, Csr, Entropy},
    model::{CertificateSigningRequest, CertificateSigningRequestCondition, Timestamp, names},
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
    let (spec, status) = (&request.spec, &request.status);
    let is = |condition: &CertificateSigningRequestCondition, types: &[&str]| {
        types.contains(&condition.condition_type.as_str())
    };
    let has = |types: &[&str]| status.conditions.iter().any(|it| is(it, types));
    let is_for_clients = spec.usages.iter().any(|usage| usage == CLIENT_AUTH)
        && spec
            .usages
            .iter()
            .all(|usage| names::CLIENT_USAGES.contains(&usage.as_str()));
    status.certificate.is_empty()
        && has(&["Approved"])
        && !has(&["Denied", "Failed"])
        && spec.signer_name == names::CLIENT_SIGNER
        && is_for_clients
}

const CLIENT_AUTH: &str = "client auth";
/// The default of the controller manager (`--cluster-signing-duration`).
const DEFAULT_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crypto::{ClientCertificateExpectation, KeyPair, SigningKey, Subject},
        model::{Bytes, CertificateSigningRequestSpec},
    };

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn an_approved_request_gets_the_certificate_that_it_asks_for() {
        let (key, request) = approved();
        let chain = sign(&request).unwrap().unwrap();
        let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
        let public_key = key.public_key();
        let expected = ClientCertificateExpectation {
            subject: &subject,
            key: public_key,
            now: now(),
        };
        chain.check_client(&expected, &Policy::strict()).unwrap();
        assert_eq!(chain.leaf().not_after, now() + HOUR);

        let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
        let entropy = Entropy::from_bytes([3; 32]);
        let issued = authority().issue(&csr, &subject, public_key, now(), HOUR, &entropy);
        assert_eq!(chain, issued.unwrap());
    }

    #[test]
    fn what_the_controller_manager_would_leave_is_left() {
        type Edit = fn(&mut CertificateSigningRequest);
        let edits: [Edit; 7] = [
            |request| request.status.conditions.clear(),
            |request| request.status.conditions.push(condition("Denied")),
            |request| request.status.conditions.push(condition("Failed")),
            |request| request.status.certificate = Bytes::from(&b"theirs"[..]),
            |request| request.spec.signer_name = "kubernetes.io/kubelet-serving".to_owned(),
            |request| request.spec.usages.push("server auth".to_owned()),
            |request| request.spec.usages.retain(|usage| usage != CLIENT_AUTH),
        ];
        for (number, edit) in edits.iter().enumerate() {
            let (_, mut request) = approved();
            edit(&mut request);
            assert_eq!(sign(&request), Ok(None), "{number}");
        }
    }

    #[test]
    fn a_request_that_its_key_did_not_sign_is_refused() {
        let (_, mut request) = approved();
        let mut der = crate::crypto::pem_block::read_one(
            request.spec.request.as_slice(),
            "CERTIFICATE REQUEST",
            Policy::strict().forms,
        )
        .unwrap();
        *der.last_mut().unwrap() ^= 1;
        let pem = crate::crypto::pem_block::write("CERTIFICATE REQUEST", &der);
        request.spec.request = Bytes::from(pem.into_bytes());
        assert_eq!(sign(&request), Err(AuthorityError::Request));
        request.spec.request = Bytes::from(&b"none"[..]);
        assert_eq!(sign(&request), Err(AuthorityError::Request));
    }

    fn sign(
        request: &CertificateSigningRequest,
    ) -> Result<Option<CertificateChain>, AuthorityError> {
        authority().sign_approved(request, now(), &Entropy::from_bytes([3; 32]))
    }

    fn approved() -> (KeyPair, CertificateSigningRequest) {
        let key = KeyPair::from_entropy(&Entropy::from_bytes([2; 32]));
        let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
        let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
        let mut request = CertificateSigningRequest {
            spec: CertificateSigningRequestSpec {
                request: Bytes::from(csr.pem()),
                signer_name: names::CLIENT_SIGNER.to_owned(),
                usages: names::CLIENT_USAGES.map(str::to_owned).to_vec(),
                expiration_seconds: Some(3600),
            },
            ..CertificateSigningRequest::default()
        };
        request.status.conditions.push(condition("Approved"));
        (key, request)
    }

    fn condition(condition_type: &str) -> CertificateSigningRequestCondition {
        CertificateSigningRequestCondition {
            condition_type: condition_type.to_owned(),
            status: "True".to_owned(),
            ..CertificateSigningRequestCondition::default()
        }
    }

    fn authority() -> Authority {
        Authority::new("ca", now(), 24 * HOUR, &Entropy::from_bytes([1; 32])).unwrap()
    }

    fn now() -> Timestamp {
        "2026-11-20T13:00:00Z".parse().unwrap()
    }
}
