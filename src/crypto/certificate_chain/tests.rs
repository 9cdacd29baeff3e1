use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyUsagePurpose, SerialNumber,
};

use super::*;
use crate::crypto::{
    Authority, Csr, Entropy, KeyPair, SigningKey,
    rcgen_key_for_tests::{Signer, Unsigned},
};

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
        let csr = Csr::make(subject, &self.key).unwrap().at_once().unwrap();
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
fn a_purpose_that_is_no_object_identifier_is_refused() {
    let chain = setting().issue(HOUR);
    // id-kp-clientAuth, with the tag of an object identifier.
    let purpose = [6, 8, 43, 6, 1, 5, 5, 7, 3, 2];
    let mut der = chain.leaf().der.clone();
    let at = der.windows(10).position(|bytes| bytes == purpose).unwrap();
    assert!(Certificate::read(der.clone()).is_some());
    for tag in [4, 0x2a, 0x46, 0x4c] {
        der[at] = tag;
        assert_eq!(Certificate::read(der.clone()), None, "{tag:#x}");
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
    let not_before = chain.leaf().not_before;
    assert_eq!(
        check(&|expectation| expectation.now = early),
        CertificateError::NotYetValid {
            not_before,
            now: early
        }
    );
    let late = setting.now + 2 * HOUR;
    let not_after = chain.leaf().not_after;
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
    let strict = Policy::strict();
    let limit = strict.limits.certificate_lifetime;
    let second = Duration::from_secs(1);
    let check = |life: Duration, policy: &Policy| {
        // The certificate begins five minutes before it is issued.
        let chain = setting.issue(life - 300 * second);
        chain.check_client(&setting.expectation(), policy)
    };
    assert_eq!(check(limit, &strict), Ok(()));
    for found in [limit + second, years] {
        let error = CertificateError::Lifetime { found, limit };
        assert_eq!(check(found, &strict), Err(error));
        assert_eq!(check(found, &Policy::compatible()), Ok(()));
    }
}

#[test]
fn a_refused_lifetime_is_shown_in_days() {
    let error = CertificateError::Lifetime {
        found: 400 * 24 * HOUR + HOUR,
        limit: 365 * 24 * HOUR,
    };
    assert_eq!(
        error.to_string(),
        "the certificate is valid for 400 days; at most 365 are allowed"
    );
}

/// The parameters of a valid client certificate, for tests to change.
fn right(setting: &Setting) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = (setting.now - HOUR).to_date_time();
    params.not_after = (setting.now + HOUR).to_date_time();
    params.serial_number = Some(SerialNumber::from(7));
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in [
        (DnType::OrganizationName, "liqo.io"),
        (DnType::CommonName, "cl-consumer"),
    ] {
        let value = DnValue::PrintableString(value.try_into().unwrap());
        params.distinguished_name.push(kind, value);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.key_identifier_method = KeyIdMethod::PreSpecified(vec![1; 20]);
    params
}

/// A certificate that the library would not issue, signed by any key and with any
/// issuer.
fn forge(
    params: &CertificateParams,
    key: &PublicKey,
    issuer: &CertificateParams,
    issuer_key: &KeyPair,
) -> Vec<u8> {
    let signer = Signer::new(issuer_key);
    let issuer = Issuer::from_params(issuer, &signer);
    let certificate = params.signed_by(&Unsigned(key), &issuer).unwrap();
    pem_block::write(LABEL, certificate.der()).into_bytes()
}

#[test]
fn a_certificate_for_other_purposes_is_refused() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth};

    let setting = setting();
    let key = setting.key.public_key();
    let check = |change: &dyn Fn(&mut CertificateParams)| {
        let mut params = right(&setting);
        change(&mut params);
        let pem = forge(&params, key, &params, &setting.key);
        let verdicts = [Policy::strict(), Policy::compatible()].map(|policy| {
            CertificateChain::from_pem(&pem, &policy)
                .unwrap()
                .check_client(&setting.expectation(), &policy)
        });
        assert_eq!(verdicts[0], verdicts[1]);
        let [verdict, _] = verdicts;
        verdict
    };
    assert_eq!(check(&|_| {}), Ok(()));
    // A certificate without a KeyUsage allows every use (RFC 5280 section 4.2.1.3).
    assert_eq!(check(&|params| params.key_usages.clear()), Ok(()));
    let both = vec![ServerAuth, ClientAuth];
    assert_eq!(
        check(&|params| params.extended_key_usages = both.clone()),
        Ok(())
    );
    for usages in [
        vec![],
        vec![ServerAuth],
        vec![CodeSigning, ServerAuth],
        vec![Any],
    ] {
        assert_eq!(
            check(&|params| params.extended_key_usages = usages.clone()),
            Err(CertificateError::NotForClientAuthentication),
            "{usages:?}"
        );
    }
    for usage in [
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyCertSign,
    ] {
        assert_eq!(
            check(&|params| params.key_usages = vec![usage]),
            Err(CertificateError::NotForSignatures),
            "{usage:?}"
        );
    }
    for constraints in [
        BasicConstraints::Unconstrained,
        BasicConstraints::Constrained(0),
    ] {
        assert_eq!(
            check(&|params| params.is_ca = IsCa::Ca(constraints)),
            Err(CertificateError::Authority)
        );
    }
    assert_eq!(check(&|params| params.is_ca = IsCa::ExplicitNoCa), Ok(()));
}

#[test]
fn a_subject_with_more_or_less_in_it_is_refused() {
    let setting = setting();
    let key = setting.key.public_key();
    let check = |change: &dyn Fn(&mut DistinguishedName)| {
        let mut params = right(&setting);
        change(&mut params.distinguished_name);
        let pem = forge(&params, key, &params, &setting.key);
        let policy = Policy::compatible();
        CertificateChain::from_pem(&pem, &policy)
            .unwrap()
            .check_client(&setting.expectation(), &policy)
    };
    let refused = |found: &str| {
        Err(CertificateError::Subject {
            expected: "O=liqo.io, CN=cl-consumer".to_owned(),
            found: found.to_owned(),
        })
    };
    let utf8 = |name: &mut DistinguishedName| name.push(DnType::CommonName, "cl-consumer");
    assert_eq!(check(&utf8), Ok(()));
    assert_eq!(
        check(&|name| name.push(DnType::OrganizationalUnitName, "system:masters")),
        refused("O=liqo.io, CN=cl-consumer, OU=system:masters")
    );
    assert_eq!(
        check(&|name| name.push(DnType::OrganizationName, "system:masters")),
        refused("O=system:masters, CN=cl-consumer")
    );
    assert_eq!(
        check(&|name| name.push(DnType::CommonName, "cl-consumer2")),
        refused("O=liqo.io, CN=cl-consumer2")
    );
    assert_eq!(
        check(&|name| {
            let value = DnValue::Ia5String("cl-consumer".try_into().unwrap());
            name.push(DnType::CommonName, value);
        }),
        refused("O=liqo.io, CN=cl-consumer")
    );
    assert_eq!(
        check(&|name| {
            name.remove(DnType::OrganizationName);
        }),
        refused("CN=cl-consumer")
    );
}

#[test]
fn an_intermediate_authority_leads_to_its_root() {
    let setting = setting();
    let policy = Policy::strict();
    let root_key = KeyPair::from_entropy(&entropy(1));
    let middle_key = KeyPair::from_entropy(&entropy(4));
    let mut root = right(&setting);
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.distinguished_name.push(DnType::CommonName, "root");
    let root_pem = forge(&root, root_key.public_key(), &root, &root_key);
    let bundle = CaBundle::from_pem(&root_pem, &policy).unwrap();
    let mut middle = root.clone();
    middle.distinguished_name.push(DnType::CommonName, "middle");
    let middle_pem = forge(&middle, middle_key.public_key(), &root, &root_key);
    let key = setting.key.public_key();
    let leaf_pem = forge(&right(&setting), key, &middle, &middle_key);

    let issued = |parts: &[&[u8]]| {
        let chain = CertificateChain::from_pem(&parts.concat(), &policy).unwrap();
        chain.check_client(&setting.expectation(), &policy).unwrap();
        chain.issued_by(&bundle)
    };
    assert_eq!(issued(&[&leaf_pem, &middle_pem]), Issuance::Verified);
    assert_eq!(
        issued(&[&leaf_pem, &middle_pem, &root_pem]),
        Issuance::Verified
    );
    assert_eq!(issued(&[&leaf_pem]), Issuance::No);
    assert_eq!(issued(&[&leaf_pem, &root_pem]), Issuance::No);

    // The intermediate is not a CA, or its key did not sign the leaf.
    let mut client = middle.clone();
    client.is_ca = IsCa::ExplicitNoCa;
    let client_pem = forge(&client, middle_key.public_key(), &root, &root_key);
    assert_eq!(issued(&[&leaf_pem, &client_pem]), Issuance::No);
    let forged_pem = forge(&right(&setting), key, &middle, &setting.key);
    assert_eq!(issued(&[&forged_pem, &middle_pem]), Issuance::No);
    // The root's key did not sign the intermediate.
    let stray_pem = forge(&middle, middle_key.public_key(), &root, &middle_key);
    assert_eq!(issued(&[&leaf_pem, &stray_pem]), Issuance::No);
}

#[test]
fn an_authority_with_another_key_identifier_did_not_issue() {
    let setting = setting();
    let policy = Policy::strict();
    let root_key = KeyPair::from_entropy(&entropy(1));
    let mut root = right(&setting);
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root_pem = forge(&root, root_key.public_key(), &root, &root_key);
    let bundle = CaBundle::from_pem(&root_pem, &policy).unwrap();
    let mut leaf = right(&setting);
    leaf.use_authority_key_identifier_extension = true;
    // The name and the key are always those of the root.
    let issued_by = |identifier: Vec<u8>| {
        let mut issuer = root.clone();
        issuer.key_identifier_method = KeyIdMethod::PreSpecified(identifier);
        let pem = forge(&leaf, setting.key.public_key(), &issuer, &root_key);
        let chain = CertificateChain::from_pem(&pem, &policy).unwrap();
        chain.issued_by(&bundle)
    };
    assert_eq!(issued_by(vec![1; 20]), Issuance::Verified);
    assert_eq!(issued_by(vec![2; 20]), Issuance::No);
}

#[test]
fn a_clients_certificate_is_no_authoritys() {
    let setting = setting();
    let leaf = setting.issue(HOUR);
    assert_eq!(
        CaBundle::from_pem(leaf.pem(), &Policy::strict()),
        Err(CertificateError::NotAnAuthority { index: 0 })
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
    let trailing = [&chain.leaf().der[..], &[0]].concat();
    for (pem, error) in [
        (vec![], CertificateError::Empty),
        (
            b"garbage".to_vec(),
            CertificateError::Pem(PemError::NoBlock),
        ),
        (
            [&pem[..], key.expose().as_bytes()].concat(),
            CertificateError::Pem(label),
        ),
        (pem.repeat(5), CertificateError::TooMany { limit: 4 }),
        (vec![b'a'; 65_536], CertificateError::Pem(PemError::NoBlock)),
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
    for policy in [Policy::strict(), Policy::compatible()] {
        assert!(CertificateChain::from_pem(&pem.repeat(4), &policy).is_ok());
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
    let both = [other.ca_bundle().pem(), setting.authority.ca_bundle().pem()].concat();
    let both = CaBundle::from_pem(&both, &Policy::strict()).unwrap();
    assert_eq!(chain.issued_by(&both), Issuance::Verified);
}

/// The published example, and an exchange of Liqo 1.2.0. Their keys are RSA.
#[test]
fn the_cas_of_kubernetes_issued_the_certificates_that_liqo_gave() {
    for text in [
        include_str!("../../../tests/vectors/seed/identity.yaml"),
        include_str!("../../../tests/vectors/liqo-1.2.0/by-hand/identity.yaml"),
    ] {
        let field = |name: &str| {
            let mut lines = text.lines();
            let value = lines
                .find_map(|line| line.trim().strip_prefix(name))
                .unwrap();
            STANDARD.decode(value.trim()).unwrap()
        };
        let policy = Policy::strict();
        let bundle = CaBundle::from_pem(&field("ca:"), &policy).unwrap();
        let chain = CertificateChain::from_pem(&field("signedCRT:"), &policy).unwrap();
        let expected = match cfg!(any(feature = "rsa", feature = "rustcrypto")) {
            true => Issuance::Verified,
            false => Issuance::NamesOnly,
        };
        assert_eq!(chain.issued_by(&bundle), expected);
    }
}
