//! Known answers for the formats that this library defines. The vectors are
//! made without it: by `tests/vectors/formats/make`, with openssl and a shell.

use serde::Deserialize;

use crate::{
    assurance::{
        commitment::Committed,
        key_and_signature::{KeyAndSignature, Statement},
        succession::Succeeding,
    },
    audit::{Chain, Decision, Entry, Event, Verifier},
    crypto::{KeyPair, Nonce, RecordKey, SigningKey},
    machine::sealed::Seal,
    model::{AuthParams, ClusterId, Hex, Timestamp},
    policy::Policy,
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vectors {
    record_key: String,
    provider_key: String,
    consumer_key: String,
    successor: String,
    expires: Timestamp,
    nonce: String,
    commitment: String,
    commitment_ca: String,
    succession: String,
    record: String,
    seal: String,
    first_entry: String,
    second_entry: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../tests/vectors/formats/vectors.json")).unwrap()
}

fn ids() -> (ClusterId, ClusterId) {
    (
        "cl-provider".parse().unwrap(),
        "cl-consumer".parse().unwrap(),
    )
}

fn key(pem: &str) -> KeyPair {
    KeyPair::from_pkcs8_pem(pem.as_bytes(), &Policy::strict()).unwrap()
}

fn record_key(vectors: &Vectors) -> RecordKey {
    let key = RecordKey::new([4; 32]).unwrap();
    assert_eq!(Hex(key.as_bytes()).to_string(), vectors.record_key);
    key
}

fn nonce(vectors: &Vectors) -> Nonce {
    Nonce::parse(vectors.nonce.as_bytes(), &Policy::strict()).unwrap()
}

#[test]
fn a_structured_nonce() {
    let vectors = vectors();
    let (provider, consumer) = ids();
    let nonce = nonce(&vectors);
    let structured = nonce.structured().unwrap();
    assert!(structured.authenticate(&record_key(&vectors), &provider, &consumer));
    assert!(structured.is_for(&provider, &consumer));
    assert!(!structured.is_for(&consumer, &provider));
    assert_eq!(structured.expires(), vectors.expires);
    assert!(structured.commits_to(key(&vectors.provider_key).public_key()));
}

#[test]
fn a_commitment() {
    let vectors = vectors();
    let (provider, consumer) = ids();
    let (provider_key, consumer_key) = (key(&vectors.provider_key), key(&vectors.consumer_key));
    let committed = Committed {
        nonce: vectors.nonce.as_bytes(),
        provider: &provider,
        consumer: &consumer,
        consumer_key: consumer_key.public_key(),
        namespace: "liqo-tenant-cl-consumer",
        auth_params: &AuthParams {
            api_server: "https://172.19.0.3:6443".into(),
            ca: vectors.commitment_ca.clone().into_bytes().into(),
            proxy_url: Some("http://172.19.0.4:8118".into()),
            ..AuthParams::default()
        },
    };
    let made = committed.sign(&provider_key).unwrap();
    assert_eq!(made.at_once().unwrap().to_annotation(), vectors.commitment);
    let committed_by = committed
        .verify(&vectors.commitment, &Policy::strict())
        .unwrap();
    assert_eq!(&committed_by, provider_key.public_key());
}

#[test]
fn a_key_succession() {
    let vectors = vectors();
    let (provider, consumer) = ids();
    let (old, new) = (key(&vectors.consumer_key), key(&vectors.successor));
    let succeeding = Succeeding {
        provider: &provider,
        consumer: &consumer,
        successor: new.public_key().spki_der(),
        nonce: &nonce(&vectors),
    };
    let made = succeeding.sign(&old).unwrap();
    assert_eq!(made.at_once().unwrap().to_annotation(), vectors.succession);
    let read = KeyAndSignature::from_annotation(&vectors.succession, &Policy::strict()).unwrap();
    assert_eq!(
        succeeding.verify(&read, old.public_key(), &Policy::strict()),
        Ok(())
    );
}

#[test]
fn a_sealed_record() {
    let vectors = vectors();
    let (provider, consumer) = ids();
    let secret = Seal {
        key: &record_key(&vectors),
        domain: "liqo-auth provider record v1",
        owner: &provider,
        peer: &consumer,
    }
    .seal("liqo", "record".to_owned(), vectors.record.into_bytes());
    let seal = secret.get("seal").unwrap();
    assert_eq!(Hex(seal).to_string(), vectors.seal);
}

#[test]
fn an_audit_log() {
    let vectors = vectors();
    let key = record_key(&vectors);
    let (provider, consumer) = ids();
    let mut chain = Chain::begin(provider, Some(key.clone()));
    for (decision, line) in [
        (Decision::Invited, &vectors.first_entry),
        (Decision::NonceMade, &vectors.second_entry),
    ] {
        let event = Event {
            peer: consumer.clone(),
            object: None,
            key: None,
            decision,
        };
        let entry = chain.append("2026-11-20T13:00:00Z".parse().unwrap(), &event);
        assert_eq!(entry.line(), line);
        assert_eq!(Entry::parse(line.as_bytes()).as_ref(), Ok(&entry));
    }
    let mut verifier = Verifier::new(Some(&key), None);
    for line in [&vectors.first_entry, &vectors.second_entry] {
        verifier.line(line.as_bytes()).unwrap();
    }
    assert_eq!(verifier.finish().unwrap().entries, 2);
}
