use super::*;
use crate::{
    crypto::{ClientCertificateExpectation, KeyPair, SigningKey, Subject},
    model::{Bytes, CertificateSigningRequestCondition, CertificateSigningRequestSpec},
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

fn sign(request: &CertificateSigningRequest) -> Result<Option<CertificateChain>, AuthorityError> {
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
