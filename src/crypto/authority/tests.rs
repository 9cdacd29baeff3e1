use super::*;
use crate::crypto::{
    Answer, ClientCertificateExpectation, ClientKey, Issuance, Payload, Signature,
};

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
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
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
    assert_eq!(leaf.not_before, now() - Duration::from_secs(300));
    assert_eq!(leaf.not_after, now() + HOUR);
    assert_eq!(leaf.serial().len(), 32);
    assert_eq!(leaf.issuer(), "CN=ca");

    let read = x509_cert::Certificate::from_der(&leaf.der).unwrap();
    let extensions: Vec<_> = read
        .tbs_certificate()
        .extensions()
        .unwrap()
        .iter()
        .map(|extension| (extension.extn_id.to_string(), extension.critical))
        .collect();
    // The certificates that Kubernetes 1.34 issued for Liqo 1.2.0 have this order.
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
fn an_authority_issues_in_its_lifetime_and_no_certificate_outlives_it() {
    let authority = Authority::new("ca", now(), HOUR, &entropy(1)).unwrap();
    let key = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
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
    let second = Duration::from_secs(1);
    let (not_before, not_after) = (now() - 300 * second, now() + HOUR);
    for now in [not_before, now(), not_after] {
        assert_eq!(issue(now).unwrap().leaf().not_after, not_after, "{now}");
    }
    for now in [not_before - second, not_after + second] {
        let error = AuthorityError::NotValid {
            not_before,
            not_after,
            now,
        };
        assert_eq!(issue(now), Err(error));
    }
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
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
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
    let pem = authority.ca_bundle().pem();
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
        AuthorityError::Certificate(CertificateError::Empty)
    );
}

#[test]
fn times_are_written_as_their_century_asks() {
    let year = 365 * 24 * HOUR;
    let certificate = |start: &str, life| {
        let authority = Authority::new("ca", start.parse().unwrap(), life, &entropy(1)).unwrap();
        authority.certificate().unwrap().der.clone()
    };
    let contains = |der: Vec<u8>, part: &[u8]| der.windows(part.len()).any(|window| window == part);
    assert!(contains(
        certificate("2049-12-31T23:00:00Z", Duration::from_secs(3599)),
        b"\x17\x0d491231225500Z\x17\x0d491231235959Z"
    ));
    assert!(contains(
        certificate("2050-01-01T00:05:00Z", year),
        b"\x18\x0f20500101000000Z\x18\x0f20510101000500Z"
    ));
}

#[test]
fn an_authoritys_name_is_copied_byte_for_byte() {
    use super::super::{certificate::LABEL, der::*, name::COMMON_NAME, pem_block};

    let key: Arc<dyn SigningKey> = Arc::new(KeyPair::from_entropy(&entropy(1)));
    let original = Authority::with_key("ca", Arc::clone(&key), now(), HOUR, &entropy(3)).unwrap();
    let found = original.certificate().unwrap().subject.clone();
    let attribute = |kind: &[u8], tag, value: &[u8]| {
        let kind = element(OBJECT_IDENTIFIER, &[kind]);
        element(SEQUENCE, &[&kind, &element(tag, &[value])])
    };
    let unit = &[0x55, 4, 11][..];
    let cn = |tag, value: &[u8]| element(SET, &[&attribute(COMMON_NAME, tag, value)]);
    let rename = |name: &[u8]| {
        // The signature no longer verifies, but `from_pem` does not verify it.
        let certificate = original.certificate().unwrap();
        let (signed, _, _) = certificate.signed().unwrap();
        let mut fields = Reader::new(single(signed, SEQUENCE).unwrap());
        let mut parts = Vec::new();
        while !fields.is_empty() {
            let raw = fields.next().unwrap().raw;
            parts.push(if raw == found { name } else { raw });
        }
        let mut rest = Reader::new(single(&certificate.der, SEQUENCE).unwrap());
        rest.next().unwrap();
        let der = element(SEQUENCE, &[&element(SEQUENCE, &parts), rest.rest()]);
        let pem = pem_block::write(LABEL, &der);
        Authority::from_pem(pem.as_bytes(), Arc::clone(&key), &Policy::strict())
    };
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let client = KeyPair::from_entropy(&entropy(2));
    let csr = Csr::make(&subject, &client).unwrap().at_once().unwrap();
    for name in [
        cn(UTF8_STRING, "kühe".as_bytes()),
        cn(PRINTABLE_STRING, b"kubernetes"),
        cn(0x16, b"a@b"),
        cn(0x1e, &[0, b'x', 4, 0x41]),
        cn(0x14, b"t61"),
        [
            element(SET, &[&attribute(&[0x55, 4, 6], PRINTABLE_STRING, b"IT")]),
            element(SET, &[&attribute(&[0x2a, 0x86, 0x48, 3], 0x16, b"own")]),
            cn(UTF8_STRING, b""),
        ]
        .concat(),
        // No name at all.
        Vec::new(),
        // One attribute type twice, two attributes in one RDN, and a NumericString.
        [
            element(SET, &[&attribute(unit, UTF8_STRING, b"a")]),
            element(SET, &[&attribute(unit, UTF8_STRING, b"b")]),
        ]
        .concat(),
        element(
            SET,
            &[
                &attribute(COMMON_NAME, UTF8_STRING, b"a"),
                &attribute(unit, UTF8_STRING, b"b"),
            ],
        ),
        cn(0x12, b"123"),
    ] {
        let name = element(SEQUENCE, &[&name]);
        let authority = rename(&name).unwrap();
        let public_key = client.public_key();
        let chain = authority
            .issue(&csr, &subject, public_key, now(), HOUR, &entropy(3))
            .unwrap();
        assert_eq!(chain.leaf().issuer, name);
        assert_eq!(chain.issued_by(authority.ca_bundle()), Issuance::Verified);
    }
    // Strings that not every reader accepts.
    for name in [cn(PRINTABLE_STRING, b"a@b"), cn(0x1c, &[0, 0, 0, b'x'])] {
        let unreadable = CertificateError::Unreadable { index: 0 };
        assert_eq!(
            rename(&element(SEQUENCE, &[&name])).unwrap_err(),
            AuthorityError::Certificate(unreadable)
        );
    }
}

#[test]
fn names_with_odd_kinds_are_copied_or_unreadable() {
    use super::super::der::{OBJECT_IDENTIFIER, SET};

    let key = KeyPair::from_entropy(&entropy(1));
    let attribute = |kind: &[u8]| {
        let oid = element(OBJECT_IDENTIFIER, &[kind]);
        let attribute = element(SEQUENCE, &[&oid, &element(UTF8_STRING, &[b"x"])]);
        element(SEQUENCE, &[&element(SET, &[&attribute])])
    };
    for kind in [
        &[][..],
        &[0x80],
        &[0xff; 30],
        // 2.999
        &[0x88, 0x37],
        &[0x80, 0x01],
        &[0x2a],
        &[0x2a, 0x80],
        &[0x2a, 0x80, 1],
        &[0x55, 4, 3],
        &[0x2a, 0x81, 0xff, 0x7f],
    ] {
        let name = attribute(kind);
        let certificate = NewCertificate {
            serial: [7; 16],
            issuer: &name,
            subject: &name,
            not_before: now(),
            not_after: now() + HOUR,
            key: key.public_key(),
            extensions: &new_certificate::of_client(None),
        };
        let read = CertificateChain::of_leaf(certificate.sign(&key).unwrap());
        assert!(
            read.is_none_or(|chain| [&chain.leaf().subject, &chain.leaf().issuer] == [&name; 2]),
            "{kind:x?}"
        );
    }
}

/// Both certificates are those of `rcgen`, byte for byte.
#[test]
fn another_writer_makes_the_same_certificates() {
    use rcgen::{
        BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, DnValue,
        ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyUsagePurpose, SerialNumber,
    };

    use crate::crypto::{
        der::CONTEXT_PRIMITIVE_0,
        rcgen_key_for_tests::{Signer, Unsigned},
    };

    let key = Arc::new(KeyPair::from_entropy(&entropy(1)));
    let authority = Authority::with_key("ca", key.clone(), now(), 24 * HOUR, &entropy(3)).unwrap();
    let client = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &client).unwrap().at_once().unwrap();
    let chain = authority
        .issue(
            &csr,
            &subject,
            client.public_key(),
            now(),
            HOUR,
            &entropy(4),
        )
        .unwrap();

    let identifier = key_identifier(key.public_key());
    let params = |ours: &Certificate, name: &[(DnType, DnValue)]| {
        let mut params = CertificateParams::default();
        params.not_before = ours.not_before.to_date_time();
        params.not_after = ours.not_after.to_date_time();
        let digits = ours.serial();
        let serial = digits
            .as_bytes()
            .chunks(2)
            .map(|digits| u8::from_str_radix(core::str::from_utf8(digits).unwrap(), 16).unwrap());
        params.serial_number = Some(SerialNumber::from(serial.collect::<Vec<u8>>()));
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in name {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
        params
    };
    let ours = authority.certificate().unwrap();
    let mut root = params(
        ours,
        &[(DnType::CommonName, DnValue::Utf8String("ca".into()))],
    );
    root.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.key_identifier_method = KeyIdMethod::PreSpecified(identifier.clone());
    let signer = Signer::new(&*key);
    assert_eq!(&ours.der, root.self_signed(&signer).unwrap().der().as_ref());

    let printable = |text: &str| DnValue::PrintableString(text.try_into().unwrap());
    let mut leaf = params(
        chain.leaf(),
        &[
            (DnType::OrganizationName, printable("liqo.io")),
            (DnType::CommonName, printable("cl-consumer")),
        ],
    );
    leaf.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let mut no_authority =
        CustomExtension::from_oid_content(&[2, 5, 29, 19], element(SEQUENCE, &[]));
    no_authority.set_criticality(true);
    let identifier = element(SEQUENCE, &[&element(CONTEXT_PRIMITIVE_0, &[&identifier])]);
    let authority_key = CustomExtension::from_oid_content(&[2, 5, 29, 35], identifier);
    leaf.custom_extensions = vec![no_authority, authority_key];
    let issuer = Issuer::from_params(&root, &signer);
    let leaf = leaf.signed_by(&Unsigned(client.public_key()), &issuer);
    assert_eq!(&chain.leaf().der, leaf.unwrap().der().as_ref());
}

fn issues_with(key: KeyPair) {
    let policy = Policy::strict();
    let algorithm = key.public_key().algorithm();
    let authority = Authority::with_key("ca", Arc::new(key), now(), HOUR, &entropy(1)).unwrap();
    let key = KeyPair::from_entropy(&entropy(2));
    let subject = Subject::control_plane(&"cl-consumer".parse().unwrap());
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
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

#[test]
fn a_key_that_answers_later_is_an_error() {
    struct Later(KeyPair);
    impl SigningKey for Later {
        fn public_key(&self) -> &PublicKey {
            self.0.public_key()
        }
        fn sign(&self, _payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
            Ok(Answer::Pending)
        }
        fn client_key(&self) -> ClientKey {
            ClientKey::NotExportable
        }
    }
    let key = Arc::new(Later(KeyPair::from_entropy(&entropy(7))));
    let error = Authority::with_key("ca", key, now(), HOUR, &entropy(1)).unwrap_err();
    assert_eq!(error, AuthorityError::NotAtOnce(NotAtOnce::Pending));
}

/// AWS-LC uses its own random number generator.
#[cfg(any(feature = "rsa", feature = "ecdsa"))]
struct NoRng;

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
impl rand_core::TryRng for NoRng {
    type Error = core::fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Err(core::fmt::Error)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Err(core::fmt::Error)
    }

    fn try_fill_bytes(&mut self, _bytes: &mut [u8]) -> Result<(), Self::Error> {
        Err(core::fmt::Error)
    }
}

#[cfg(any(feature = "rsa", feature = "ecdsa"))]
impl rand_core::TryCryptoRng for NoRng {}
