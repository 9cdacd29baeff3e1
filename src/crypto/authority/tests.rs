use super::*;
use crate::crypto::{ClientCertificateExpectation, Issuance};

const HOUR: Duration = Duration::from_secs(3600);

fn entropy(seed: u8) -> Entropy {
    Entropy::from_bytes([seed; 32])
}

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

#[test]
fn a_certificate_looks_like_the_kubernetes_signers() {
    use x509_cert::der::Decode;

    let authority = Authority::new("ca", now(), 24 * HOUR, &entropy(1)).unwrap();
    let key = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap();
    let issue = |seed| {
        let public_key = key.public_key();
        authority
            .issue(&csr, &subject, public_key, now(), HOUR, &entropy(seed))
            .unwrap()
    };
    let chain = issue(3);
    assert_eq!(chain, issue(3));
    assert_ne!(chain.leaf().serial(), issue(4).leaf().serial());
    let leaf = chain.leaf();
    assert_eq!(leaf.not_before(), now() - Duration::from_secs(300));
    assert_eq!(leaf.not_after(), now() + HOUR);
    assert_eq!(leaf.serial().len(), 32);
    assert_eq!(leaf.issuer(), "CN=ca");

    let read = x509_cert::Certificate::from_der(leaf.der()).unwrap();
    let extensions: Vec<_> = read
        .tbs_certificate()
        .extensions()
        .unwrap()
        .iter()
        .map(|extension| (extension.extn_id.to_string(), extension.critical))
        .collect();
    // In the order of what Kubernetes 1.34 issued for Liqo 1.2.0.
    assert_eq!(
        extensions,
        [
            ("2.5.29.15".to_owned(), true),
            ("2.5.29.37".to_owned(), false),
            ("2.5.29.19".to_owned(), true),
            ("2.5.29.35".to_owned(), false),
        ]
    );
}

#[test]
fn the_authoritys_end_bounds_the_certificates() {
    let authority = Authority::new("ca", now(), HOUR, &entropy(1)).unwrap();
    let key = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap();
    let issue = |now| {
        authority.issue(
            &csr,
            &subject,
            key.public_key(),
            now,
            24 * HOUR,
            &entropy(3),
        )
    };
    let not_after = now() + HOUR;
    assert_eq!(issue(now()).unwrap().leaf().not_after(), not_after);
    let late = now() + 2 * HOUR;
    let not_before = now() - Duration::from_secs(300);
    let error = AuthorityError::NotValid {
        not_before,
        not_after,
        now: late,
    };
    assert_eq!(issue(late), Err(error));
}

#[test]
fn a_request_for_others_is_refused() {
    let authority = Authority::new("ca", now(), HOUR, &entropy(1)).unwrap();
    let (key, other) = (
        KeyPair::from_entropy(&entropy(2)),
        KeyPair::from_entropy(&entropy(3)),
    );
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let other_subject = Subject::control_plane(&"cl01".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap();
    for (subject, key) in [(&other_subject, &key), (&subject, &other)] {
        let issued = authority.issue(&csr, subject, key.public_key(), now(), HOUR, &entropy(3));
        assert_eq!(issued, Err(AuthorityError::Request));
    }
}

#[test]
fn an_authority_is_read_again_with_its_own_key_only() {
    let key: Arc<dyn SigningKey> = Arc::new(KeyPair::from_entropy(&entropy(1)));
    let other: Arc<dyn SigningKey> = Arc::new(KeyPair::from_entropy(&entropy(2)));
    let policy = Policy::strict();
    let authority = Authority::with_key("ca", Arc::clone(&key), now(), HOUR, &entropy(3)).unwrap();
    let pem = authority.certificate_pem().as_bytes();
    let again = Authority::from_pem(pem, key.clone(), &policy).unwrap();
    assert_eq!(again.ca_bundle(), authority.ca_bundle());
    let error = |pem: &[u8], key| Authority::from_pem(pem, key, &policy).unwrap_err();
    assert_eq!(error(pem, other), AuthorityError::Key);
    let twice = pem.repeat(2);
    assert_eq!(
        error(&twice, key.clone()),
        AuthorityError::NotOneCertificate { found: 2 }
    );
    assert_eq!(
        error(b"", key),
        AuthorityError::Certificate(CaBundleError::Empty)
    );
}

#[test]
fn times_are_written_as_their_century_asks() {
    let encoded = |text: &str| time(text.parse().unwrap());
    assert_eq!(encoded("2049-12-31T23:59:59Z"), b"\x17\x0d491231235959Z");
    assert_eq!(encoded("2050-01-01T00:00:00Z"), b"\x18\x0f20500101000000Z");
    assert_eq!(encoded("1950-01-01T00:00:00Z"), b"\x17\x0d500101000000Z");
    assert_eq!(encoded("1949-12-31T23:59:59Z"), b"\x18\x0f19491231235959Z");
}

fn issues_with(key: KeyPair) {
    let policy = Policy::strict();
    let algorithm = key.public_key().algorithm();
    let authority = Authority::with_key("ca", Arc::new(key), now(), HOUR, &entropy(1)).unwrap();
    let key = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap();
    let chain = authority
        .issue(&csr, &subject, key.public_key(), now(), HOUR, &entropy(3))
        .unwrap();
    let expectation = ClientCertificateExpectation {
        subject: &subject,
        key: key.public_key(),
        now: now(),
    };
    chain.check_client(&expectation, &policy).unwrap();
    assert_eq!(
        chain.issued_by(authority.ca_bundle()),
        Issuance::Verified,
        "{algorithm}"
    );
}

#[test]
fn the_key_may_be_of_any_algorithm() {
    issues_with(KeyPair::from_entropy(&entropy(7)));
    #[cfg(feature = "rsa")]
    issues_with(
        KeyPair::generate(crate::crypto::Algorithm::Rsa { bits: 2048 }, &mut NoRng).unwrap(),
    );
    #[cfg(feature = "ecdsa")]
    {
        use crate::crypto::Algorithm::{EcdsaP256, EcdsaP384, EcdsaP521};

        for algorithm in [EcdsaP256, EcdsaP384, EcdsaP521] {
            issues_with(KeyPair::generate(algorithm, &mut NoRng).unwrap());
        }
    }
}

/// AWS-LC draws from its own generator.
#[cfg(any(feature = "rsa", feature = "ecdsa"))]
struct NoRng;

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
impl rand_core::TryRng for NoRng {
    type Error = fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Err(fmt::Error)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Err(fmt::Error)
    }

    fn try_fill_bytes(&mut self, _bytes: &mut [u8]) -> Result<(), Self::Error> {
        Err(fmt::Error)
    }
}

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
impl rand_core::TryCryptoRng for NoRng {}
