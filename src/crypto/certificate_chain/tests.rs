use super::*;
use crate::crypto::{Authority, CaBundleError, Csr, Entropy, KeyPair, SigningKey};

const HOUR: Duration = Duration::from_secs(3600);

struct Setting {
    authority: Authority,
    key: KeyPair,
    subject: Subject,
    now: Timestamp,
}

fn entropy(seed: u8) -> Entropy {
    Entropy::from_bytes([seed; 32])
}

fn setting() -> Setting {
    let now: Timestamp = "2026-11-20T13:00:00Z".parse().unwrap();
    Setting {
        authority: Authority::new("ca", now, 24 * HOUR, &entropy(1)).unwrap(),
        key: KeyPair::from_entropy(&entropy(2)),
        subject: Subject::control_plane(&"cl-consumer".parse().unwrap()),
        now,
    }
}

impl Setting {
    fn issue(&self, lifetime: Duration) -> CertificateChain {
        let (subject, key) = (&self.subject, self.key.public_key());
        let csr = Csr::make(subject, &self.key).unwrap();
        self.authority
            .issue(&csr, subject, key, self.now, lifetime, &entropy(3))
            .unwrap()
    }

    fn expectation(&self) -> ClientCertificateExpectation<'_> {
        let (subject, key) = (&self.subject, self.key.public_key());
        ClientCertificateExpectation {
            subject,
            key,
            now: self.now,
        }
    }
}

#[test]
fn the_right_certificate_is_taken_by_both_policies() {
    let setting = setting();
    let chain = setting.issue(HOUR);
    for policy in [Policy::strict(), Policy::compatible()] {
        assert_eq!(chain.check_client(&setting.expectation(), &policy), Ok(()));
        assert_eq!(
            CertificateChain::from_pem(chain.pem(), &policy).as_ref(),
            Ok(&chain)
        );
    }
}

#[test]
fn anything_else_is_refused_with_its_reason() {
    let setting = setting();
    let chain = setting.issue(HOUR);
    let check = |change: &dyn Fn(&mut ClientCertificateExpectation<'_>)| {
        let mut expectation = setting.expectation();
        change(&mut expectation);
        chain
            .check_client(&expectation, &Policy::strict())
            .unwrap_err()
    };
    let other_key = KeyPair::from_entropy(&entropy(9));
    let other_subject = Subject::control_plane(&"cl01".parse().unwrap());
    let expectation = ClientCertificateExpectation {
        subject: &other_subject,
        ..setting.expectation()
    };
    assert_eq!(
        chain.check_client(&expectation, &Policy::strict()),
        Err(CertificateError::Subject {
            expected: "O=liqo.io, CN=cl01".to_owned(),
            found: "O=liqo.io, CN=cl-consumer".to_owned(),
        })
    );
    let expectation = ClientCertificateExpectation {
        key: other_key.public_key(),
        ..setting.expectation()
    };
    assert_eq!(
        chain.check_client(&expectation, &Policy::strict()),
        Err(CertificateError::Key {
            expected: other_key.public_key().fingerprint(),
            found: setting.key.public_key().fingerprint(),
        })
    );
    let early = setting.now - HOUR;
    let not_before = chain.leaf().not_before();
    assert_eq!(
        check(&|expectation| expectation.now = early),
        CertificateError::NotYetValid {
            not_before,
            now: early
        }
    );
    let late = setting.now + 2 * HOUR;
    let not_after = chain.leaf().not_after();
    assert_eq!(
        check(&|expectation| expectation.now = late),
        CertificateError::Expired {
            not_after,
            now: late
        }
    );
}

#[test]
fn a_long_life_is_compatible_only() {
    let mut setting = setting();
    let years = 20 * 365 * 24 * HOUR;
    setting.authority = Authority::new("ca", setting.now, 2 * years, &entropy(1)).unwrap();
    let chain = setting.issue(years);
    let strict = Policy::strict();
    assert_eq!(
        chain.check_client(&setting.expectation(), &strict),
        Err(CertificateError::Lifetime {
            found: years + Duration::from_secs(300),
            limit: strict.limits().certificate_lifetime
        })
    );
    assert_eq!(
        chain.check_client(&setting.expectation(), &Policy::compatible()),
        Ok(())
    );
}

#[test]
fn an_authoritys_certificate_is_no_clients() {
    let setting = setting();
    let chain = CertificateChain::from_pem(
        setting.authority.certificate_pem().as_bytes(),
        &Policy::strict(),
    )
    .unwrap();
    assert!(chain.leaf().is_authority());
    // The subject says no before the constraints do: both are asked.
    assert!(!chain.leaf().is_for_client_authentication());
    let leaf = setting.issue(HOUR);
    assert_eq!(
        CaBundle::from_pem(leaf.pem(), &Policy::strict()),
        Err(CaBundleError::NotAnAuthority { index: 0 })
    );
}

#[test]
fn a_chain_is_certificates_and_nothing_else() {
    use crate::crypto::PemError;

    let setting = setting();
    let chain = setting.issue(HOUR);
    let pem = chain.pem().to_vec();
    let key = setting.key.to_pkcs8_pem();
    let label = PemError::Label {
        found: "PRIVATE KEY".to_owned(),
        expected: LABEL,
    };
    let trailing = [chain.leaf().der(), &[0]].concat();
    for (pem, error) in [
        (vec![], CertificateError::Empty),
        (
            b"garbage".to_vec(),
            CertificateError::Pem(PemError::NoBlock),
        ),
        (
            [&pem[..], key.as_str().as_bytes()].concat(),
            CertificateError::Pem(label),
        ),
        (pem.repeat(5), CertificateError::TooMany { limit: 4 }),
        (
            vec![b'a'; 65_537],
            CertificateError::TooLong {
                found: 65_537,
                limit: 65_536,
            },
        ),
        (
            pem_block::write(LABEL, &trailing).into_bytes(),
            CertificateError::Unreadable { index: 0 },
        ),
        (
            [&pem[..], b"text"].concat(),
            CertificateError::Pem(PemError::TextAfter),
        ),
    ] {
        for policy in [Policy::strict(), Policy::compatible()] {
            assert_eq!(
                CertificateChain::from_pem(&pem, &policy),
                Err(error.clone())
            );
        }
    }
    let blank = [&pem[..], b"\n"].concat();
    assert_eq!(
        CertificateChain::from_pem(&blank, &Policy::strict()),
        Err(CertificateError::Pem(PemError::TrailingSpace))
    );
    assert!(CertificateChain::from_pem(&blank, &Policy::compatible()).is_ok());
}

#[test]
fn issuance_is_verified() {
    let setting = setting();
    let chain = setting.issue(HOUR);
    assert_eq!(
        chain.issued_by(setting.authority.ca_bundle()),
        Issuance::Verified
    );
    let other = Authority::new("other", setting.now, HOUR, &entropy(1)).unwrap();
    assert_eq!(chain.issued_by(other.ca_bundle()), Issuance::No);
    // The same name with another key.
    let impostor = Authority::new("ca", setting.now, HOUR, &entropy(8)).unwrap();
    assert_eq!(chain.issued_by(impostor.ca_bundle()), Issuance::No);
    let both = [other.certificate_pem(), setting.authority.certificate_pem()].concat();
    let both = CaBundle::from_pem(both.as_bytes(), &Policy::strict()).unwrap();
    assert_eq!(chain.issued_by(&both), Issuance::Verified);
}
