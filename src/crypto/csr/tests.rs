use proptest::prelude::*;

use super::*;
use crate::crypto::{
    ClientKey, Entropy, KeyPair, Signature,
    der::{OBJECT_IDENTIFIER, PRINTABLE_STRING},
    name::{COMMON_NAME, ORGANIZATION, relative_name},
};

fn key(seed: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([seed; 32]))
}

fn subject(consumer: &str) -> Subject {
    Subject::control_plane(&consumer.parse().unwrap())
}

fn check(pem: &[u8], subject: &Subject, key: &KeyPair) -> [Result<Csr, CsrError>; 2] {
    [Policy::strict(), Policy::compatible()]
        .map(|policy| Csr::verify(pem, subject, key.public_key(), &policy))
}

/// A request with this name as its subject, signed by the key.
fn with_name(name: &[u8], key: &KeyPair) -> Vec<u8> {
    let information = information(name, key.public_key());
    let payload = Payload::of(
        Purpose::CertificationRequest,
        &information,
        key.public_key(),
    );
    let signature = key.sign(&payload).unwrap().at_once().unwrap();
    let signature = bit_string(&signature.0);
    let algorithm = payload.scheme().identifier();
    let der = element(SEQUENCE, &[&information, algorithm, &signature]);
    pem_block::write(LABEL, &der).into_bytes()
}

#[test]
fn sizes_are_checked_first() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    assert_eq!(
        check(b"", &subject, &key),
        [Err(CsrError::Empty), Err(CsrError::Empty)]
    );
    let error = CsrError::TooLong {
        found: 8193,
        limit: 8192,
    };
    assert_eq!(
        check(&[b'A'; 8193], &subject, &key),
        [Err(error.clone()), Err(error)]
    );
}

#[test]
fn requests_of_other_names_or_keys_differ() {
    let made = |consumer: &str, seed| {
        let csr = Csr::make(&subject(consumer), &key(seed));
        csr.unwrap().at_once().unwrap()
    };
    assert_eq!(made("cl-consumer", 1), made("cl-consumer", 1));
    assert_ne!(made("cl-consumer", 1), made("cl-other", 1));
    assert_ne!(made("cl-consumer", 1), made("cl-consumer", 2));
}

#[test]
fn a_request_is_recognized_by_its_digest_up_to_the_longest_length() {
    let csr = Csr::make(&subject("cl-consumer"), &key(1));
    let csr = csr.unwrap().at_once().unwrap();
    let other = Csr::make(&subject("cl-other"), &key(1));
    let other = other.unwrap().at_once().unwrap();
    let recognized = |digest: [u8; 32], shortened: usize| {
        let mut policy = Policy::strict();
        policy.limits.csr = csr.pem().len() - shortened;
        Csr::recognize(csr.pem(), &digest, &policy)
    };
    assert_eq!(recognized(csr.digest(), 0), Some(csr.clone()));
    assert_eq!(recognized(csr.digest(), 1), None);
    assert_eq!(recognized(other.digest(), 0), None);
}

#[test]
fn nothing_follows_the_signature() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
    let der = pem_block::read_one(csr.pem(), LABEL, Forms::Canonical).unwrap();
    let more = element(SEQUENCE, &[single(&der, SEQUENCE).unwrap(), &[5, 0]]);
    let more = pem_block::write(LABEL, &more).into_bytes();
    let error = CsrError::Der(DerError::TrailingBytes { count: 2 });
    assert_eq!(
        check(&more, &subject, &key),
        [Err(error.clone()), Err(error)]
    );
}

#[test]
fn the_first_eight_attributes_are_shown() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    let name = &subject.encodings(Forms::Canonical)[0];
    let attribute = |arc| element(SEQUENCE, &[&element(OBJECT_IDENTIFIER, &[&[0x2a, arc]])]);
    for (count, shown) in [(1, 1), (8, 8), (9, 8)] {
        let attributes: Vec<u8> = (1..=count).flat_map(attribute).collect();
        let attributes = element(CONTEXT_0, &[&attributes]);
        let spki = key.public_key().spki_der();
        let information = element(SEQUENCE, &[&[INTEGER, 1, 0], name, spki, &attributes]);
        let der = element(SEQUENCE, &[&information]);
        let pem = pem_block::write(LABEL, &der).into_bytes();
        let found: Vec<_> = (1..=shown).map(|arc| format!("1.2.{arc}")).collect();
        let found = found.join(", ");
        let error = CsrError::Attributes { found };
        assert_eq!(
            check(&pem, &subject, &key),
            [Err(error.clone()), Err(error)]
        );
    }
}

/// A refused request is compared part by part, once its lengths have been checked
/// down to eight levels.
#[test]
fn lengths_of_a_refused_request_are_checked_down_to_a_depth() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    let nested = |levels| {
        let padded_length = vec![4, 0x81, 0];
        (0..levels).fold(padded_length, |der, _| element(SEQUENCE, &[&der]))
    };
    let no_version = DerError::Unexpected {
        found: SEQUENCE,
        expected: INTEGER,
    };
    for (levels, error) in [(8, DerError::Length), (9, no_version)] {
        let der = element(SEQUENCE, &[&nested(levels)]);
        let pem = pem_block::write(LABEL, &der).into_bytes();
        let error = CsrError::Der(error);
        assert_eq!(
            check(&pem, &subject, &key),
            [Err(error.clone()), Err(error)]
        );
    }
}

#[test]
fn each_string_type_and_order_is_compatible_and_becomes_canonical_pem() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    for name in &subject.encodings(Forms::Compatible)[1..] {
        let pem = with_name(name, &key);
        let [strict, compatible] = check(&pem, &subject, &key);
        assert!(matches!(
            strict,
            Err(CsrError::StringType { .. } | CsrError::SubjectOrder)
        ));
        assert_eq!(compatible.unwrap().pem(), pem);
        let crlf = String::from_utf8(pem.clone())
            .unwrap()
            .replace('\n', "\r\n");
        let [_, compatible] = check(crlf.as_bytes(), &subject, &key);
        assert_eq!(compatible.unwrap().pem(), pem);
    }
}

#[test]
fn a_string_type_that_no_policy_accepts_is_shown() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    for (tag, found) in [
        (0x12, "another type"),
        (0x14, "T61String"),
        (0x16, "IA5String"),
        (0x1c, "UniversalString"),
    ] {
        let organization = relative_name(ORGANIZATION, PRINTABLE_STRING, subject.organization());
        let common_name = relative_name(COMMON_NAME, tag, subject.common_name());
        let name = element(SEQUENCE, &[&organization, &common_name]);
        let expected = "PrintableString";
        let error = CsrError::StringType { expected, found };
        assert_eq!(
            check(&with_name(&name, &key), &subject, &key),
            [Err(error.clone()), Err(error)]
        );
    }
}

#[test]
fn another_consumers_request_is_shown() {
    let key = key(1);
    let csr = Csr::make(&subject("cl01"), &key)
        .unwrap()
        .at_once()
        .unwrap();
    for error in check(csr.pem(), &subject("cl-consumer"), &key) {
        assert_eq!(
            error.unwrap_err(),
            CsrError::Subject {
                expected: "O=liqo.io, CN=cl-consumer".to_owned(),
                found: "O=liqo.io, CN=cl01".to_owned(),
            }
        );
    }
}

#[test]
fn a_slices_request_is_no_control_planes() {
    let (control_plane, key) = (subject("cl-consumer"), key(1));
    let slice = Subject::resource_slice("pool", &"cl-consumer".parse().unwrap());
    let csr = Csr::make(&slice, &key).unwrap().at_once().unwrap();
    let [strict, compatible] = check(csr.pem(), &slice, &key);
    assert_eq!(
        (strict.unwrap(), compatible.unwrap()),
        (csr.clone(), csr.clone())
    );
    for verdict in check(csr.pem(), &control_plane, &key) {
        assert!(matches!(verdict, Err(CsrError::Subject { .. })));
    }
}

#[test]
fn a_key_that_signs_wrongly_is_found_out() {
    struct Broken(KeyPair);
    impl SigningKey for Broken {
        fn public_key(&self) -> &PublicKey {
            self.0.public_key()
        }
        fn sign(&self, _payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
            Ok(Answer::Ready(Signature(vec![1; 64])))
        }
        fn client_key(&self) -> ClientKey {
            ClientKey::NotExportable
        }
    }
    let error = Csr::make(&subject("cl-consumer"), &Broken(key(1))).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&SignatureError::Mismatch));
}

#[test]
fn every_bit_counts() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
    for bit in 0..8 * csr.der.len() {
        let mut der = csr.der.to_vec();
        der[bit / 8] ^= 1 << (bit % 8);
        let pem = pem_block::write(LABEL, &der).into_bytes();
        for verdict in check(&pem, &subject, &key) {
            assert!(verdict.is_err(), "bit {bit}");
        }
    }
}

/// The changed information is signed again, so that only the comparison refuses it.
#[test]
fn every_bit_counts_although_it_is_signed() {
    let (subject, key) = (subject("cl-consumer"), key(1));
    let good = information(&subject.encodings(Forms::Canonical)[0], key.public_key());
    for bit in 0..8 * good.len() {
        let mut information = good.clone();
        information[bit / 8] ^= 1 << (bit % 8);
        let payload = Payload::of(
            Purpose::CertificationRequest,
            &information,
            key.public_key(),
        );
        let signature = bit_string(&key.sign(&payload).unwrap().at_once().unwrap().0);
        let algorithm = payload.scheme().identifier();
        let der = element(SEQUENCE, &[&information, algorithm, &signature]);
        let pem = pem_block::write(LABEL, &der).into_bytes();
        for verdict in check(&pem, &subject, &key) {
            let error = verdict.unwrap_err();
            assert!(
                !matches!(error, CsrError::SelfSignature(_)),
                "bit {bit}: {error}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_is_made_is_verified(
        consumer in "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
        slice in "[a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?",
        seed: u8,
    ) {
        let key = key(seed);
        let consumer = consumer.parse().unwrap();
        for subject in
            [Subject::control_plane(&consumer), Subject::resource_slice(&slice, &consumer)]
        {
            let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
            for verdict in check(csr.pem(), &subject, &key) {
                prop_assert_eq!(verdict.as_ref(), Ok(&csr));
            }
        }
    }

    #[test]
    fn no_text_panics(bytes: Vec<u8>) {
        let (subject, key) = (subject("cl-consumer"), key(1));
        let pem = pem_block::write(LABEL, &bytes).into_bytes();
        for verdict in check(&pem, &subject, &key).into_iter().chain(check(&bytes, &subject, &key)) {
            prop_assert!(verdict.is_err());
        }
    }
}

#[test]
fn a_second_parser_reads_the_same() {
    use x509_cert::der::{Decode, Encode};

    let (subject, key) = (subject("cl-consumer"), key(1));
    let csr = Csr::make(&subject, &key).unwrap().at_once().unwrap();
    let read = x509_cert::request::CertReq::from_der(&csr.der).unwrap();
    assert_eq!(read.info.subject.to_string(), "CN=cl-consumer,O=liqo.io");
    assert_eq!(
        read.info.public_key.to_der().unwrap(),
        key.public_key().spki_der()
    );
    assert!(read.info.attributes.is_empty());
    assert_eq!(read.to_der().unwrap(), csr.der);
}
