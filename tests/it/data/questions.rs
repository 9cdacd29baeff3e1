//! Backends in another language: each question goes out as JSON, and each answer
//! comes back as JSON, with a later call.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use ed25519_dalek::Signer;
use liqo_auth::{
    consumer::{self, Consumer, ConsumerConfig},
    crypto::{
        Answer, BoxError, CertificateChain, ClientKey, Csr, Entropy, ExternalKey, KeyQuestion,
        KeyStore, Payload, PublicKey, Signature, SigningKey, Subject,
    },
    model::{ClusterId, read_document},
    policy::Policy,
    provider::{
        self, ApprovalRequest, Approver, AwsIdentities, AwsIdentityRequest, CsrSigner, NameRequest,
        NameTable, Principals, Provider, ResourceSlicePolicy, SigningRequest, SliceRequest,
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::forms::check;
use crate::clusters::{
    exchange::{RECORD_KEY, Setup, authority, ed25519, endpoint, id},
    pool::{Pool, replica},
};

/// What lies between the library and the other language.
#[derive(Default)]
struct Desk {
    open: Mutex<Vec<Value>>,
    answers: Mutex<BTreeMap<String, String>>,
    /// Every question by its type.
    asked: Mutex<BTreeMap<String, Value>>,
}

impl Desk {
    fn ask<T: DeserializeOwned>(&self, question: &impl Serialize) -> Result<Answer<T>, BoxError> {
        let question = serde_json::to_value(question)?;
        if let Some(answer) = self.answers.lock().unwrap().get(&name(&question)) {
            return Ok(read_document(answer.as_bytes())?);
        }
        let r#type = question["type"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().insert(r#type, question.clone());
        self.open.lock().unwrap().push(question);
        Ok(Answer::Pending)
    }

    /// The other language answers whatever is open. It has nothing but the JSON.
    fn answer(&self) -> bool {
        let open = std::mem::take(&mut *self.open.lock().unwrap());
        let mut answers = self.answers.lock().unwrap();
        for question in &open {
            let value = value(question);
            let answer = json!({ "type": "ready", "value": value });
            answers.insert(name(question), answer.to_string());
        }
        !open.is_empty()
    }
}

/// A question without the time, which differs at each look.
fn name(question: &Value) -> String {
    let mut question = question.clone();
    question.as_object_mut().unwrap().remove("now");
    question.to_string()
}

fn value(question: &Value) -> Value {
    let text = |field: &str| question[field].as_str().unwrap();
    match text("type") {
        "certificate" => json!(certificate(question)),
        "approval" | "predecessor" => Value::Null,
        "awsIdentity" => json!({
            "awsUserArn": "arn:aws:iam::123456789012:user/liqo-Ab12",
            "awsAccessKeyID": "AKIA0123456789ABCDEF",
            "awsSecretAccessKey": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
            "awsRegion": "eu-west-1",
            "awsClusterName": "provider",
        }),
        "resources" => json!({ "type": "grant", "grant": { "resources": question["resources"] } }),
        "name" => json!(false),
        "key" => json!({
            "publicKey": public_key().to_pem(),
            "clientKey": { "type": "file", "path": "/var/lib/key.pem" },
        }),
        "signature" => {
            assert_eq!(text("scheme"), "ed25519");
            assert_eq!(text("publicKey"), public_key().to_pem());
            let bytes: liqo_auth::model::Bytes =
                serde_json::from_value(question["bytes"].clone()).unwrap();
            let signature = secret().sign(bytes.as_slice()).to_bytes();
            json!(liqo_auth::model::Bytes::from(signature.as_slice()))
        }
        other => panic!("{other}"),
    }
}

fn certificate(question: &Value) -> String {
    let text = |field: &str| question[field].as_str().unwrap();
    let peer = id(text("peer"));
    let subject = match question["holder"]["slice"].as_str() {
        None => Subject::control_plane(&peer),
        Some(slice) => Subject::resource_slice(slice, &peer),
    };
    assert_eq!(question["subject"]["organization"], subject.organization());
    assert_eq!(question["subject"]["commonName"], subject.common_name());
    let key = PublicKey::from_pem(text("publicKey").as_bytes(), &Policy::strict()).unwrap();
    let csr = Csr::verify(text("csr").as_bytes(), &subject, &key, &Policy::strict()).unwrap();
    let lifetime = std::time::Duration::from_secs(question["lifetimeSeconds"].as_u64().unwrap());
    let now = text("now").parse().unwrap();
    let entropy = Entropy::from_bytes([5; 32]);
    let chain = authority().issue(&csr, &subject, &key, now, lifetime, &entropy);
    String::from_utf8(chain.unwrap().pem().to_vec()).unwrap()
}

/// The other language's key.
fn secret() -> ed25519_dalek::SigningKey {
    ed25519_dalek::SigningKey::from_bytes(&[21; 32])
}

fn public_key() -> PublicKey {
    let bytes = secret().verifying_key().to_bytes();
    PublicKey::from_tenant_field(&bytes, &Policy::strict()).unwrap()
}

/// Backends that ask the desk.
fn signer(desk: &Arc<Desk>) -> Arc<dyn CsrSigner> {
    let desk = Arc::clone(desk);
    Arc::new(move |request: &SigningRequest| desk.ask(request))
}

fn approver(desk: &Arc<Desk>) -> Arc<dyn Approver> {
    let desk = Arc::clone(desk);
    Arc::new(move |request: &ApprovalRequest| desk.ask(request))
}

fn aws(desk: &Arc<Desk>) -> Arc<dyn AwsIdentities> {
    let desk = Arc::clone(desk);
    Arc::new(move |request: &AwsIdentityRequest| desk.ask(request))
}

fn slices(desk: &Arc<Desk>) -> Arc<dyn ResourceSlicePolicy> {
    let desk = Arc::clone(desk);
    Arc::new(move |request: &SliceRequest<'_>| desk.ask(request))
}

fn principals(desk: &Arc<Desk>) -> Arc<dyn Principals> {
    let desk = Arc::clone(desk);
    Arc::new(move |request: &NameRequest<'_>| desk.ask(request))
}

struct Keys(Arc<Desk>);

struct Key(ExternalKey, Arc<Desk>);

impl Keys {
    fn key(&self, key: ExternalKey) -> Arc<dyn SigningKey> {
        Arc::new(Key(key, Arc::clone(&self.0)))
    }
}

impl KeyStore for Keys {
    fn find(&self, peer: &ClusterId) -> Result<Answer<Arc<dyn SigningKey>>, BoxError> {
        let answer = self.0.ask(&KeyQuestion::Key(peer))?;
        Ok(answer.map(|key| self.key(key)))
    }

    fn predecessor(
        &self,
        peer: &ClusterId,
    ) -> Result<Answer<Option<Arc<dyn SigningKey>>>, BoxError> {
        let answer: Answer<Option<ExternalKey>> = self.0.ask(&KeyQuestion::Predecessor(peer))?;
        Ok(answer.map(|key| key.map(|key| self.key(key))))
    }
}

impl SigningKey for Key {
    fn public_key(&self) -> &PublicKey {
        &self.0.public_key
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        self.1.ask(&KeyQuestion::Signature(*payload))
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key.clone()
    }
}

#[test]
fn an_exchange_is_made_by_json_alone() {
    let desk = Arc::new(Desk::default());
    let record_key = liqo_auth::crypto::RecordKey::new(RECORD_KEY).unwrap();
    let api_server = endpoint("https://172.19.0.3:6443");
    let mut exchange = Setup::new().exchange();
    exchange.provider = Provider::builder(id("cl-provider"), api_server, record_key)
        .key(ed25519(2))
        .signer(signer(&desk))
        .approver(approver(&desk))
        .principals(principals(&desk))
        .build();
    exchange.consumer = Consumer::new(
        ConsumerConfig::new(id("cl-consumer")),
        Arc::new(Keys(desk.clone())),
    );
    until_answered(|| {
        exchange.settle();
        desk.answer()
    });
    assert!(matches!(
        exchange.provider_phase(),
        provider::Phase::Authenticated(_)
    ));
    assert!(matches!(
        exchange.consumer_phase(),
        consumer::Phase::Authenticated(_)
    ));
    assert!(
        exchange
            .kubeconfig()
            .contains("client-key: /var/lib/key.pem")
    );

    let mut pool = Pool::with(|builder| {
        builder
            .signer(signer(&desk))
            .slices(slices(&desk))
            .principals(principals(&desk))
    });
    pool.bring(replica("mypool"));
    until_answered(|| {
        pool.settle();
        desk.answer()
    });
    assert_eq!(pool.phase("mypool"), "Accepted");

    let mut exchange = Setup::new().exchange();
    let record_key = liqo_auth::crypto::RecordKey::new(RECORD_KEY).unwrap();
    exchange.provider = Provider::builder(
        id("cl-provider"),
        endpoint("https://172.19.0.3:6443"),
        record_key,
    )
    .principals(Arc::new(NameTable::default()))
    .aws(aws(&desk))
    .build();
    until_answered(|| {
        exchange.settle();
        desk.answer()
    });
    assert!(matches!(
        exchange.provider_phase(),
        provider::Phase::Authenticated(_)
    ));

    let asked = desk.asked.lock().unwrap().clone();
    let types: BTreeSet<&str> = asked.keys().map(String::as_str).collect();
    let forms: [&str; 8] = [
        "approval",
        "awsIdentity",
        "certificate",
        "key",
        "name",
        "predecessor",
        "resources",
        "signature",
    ];
    assert_eq!(types, BTreeSet::from(forms));
    check("question", forms.map(|form| (form, masked(&asked[form]))));
}

#[test]
fn the_user_and_the_group_of_a_consumer_are_asked_for_together() {
    let desk = Arc::new(Desk::default());
    let record_key = liqo_auth::crypto::RecordKey::new(RECORD_KEY).unwrap();
    let api_server = endpoint("https://172.19.0.3:6443");
    let mut exchange = Setup::new().exchange();
    exchange.provider = Provider::builder(id("cl-provider"), api_server, record_key)
        .principals(principals(&desk))
        .build();
    exchange.settle();
    let open = desk.open.lock().unwrap();
    assert!(
        open.iter()
            .all(|question| question["name"] == "cl-consumer")
    );
    let kinds: BTreeSet<_> = open.iter().map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from([Some("group"), Some("user")]));
}

/// Lets the clusters work until nothing is open any more.
fn until_answered(work_and_answer: impl FnMut() -> bool) {
    let mut rounds = core::iter::repeat_with(work_and_answer).take(64);
    assert!(rounds.any(|asked| !asked), "the questions do not end");
}

/// The form with ones for what differs each time.
fn masked(question: &Value) -> Value {
    let mut question = question.clone();
    if let Some(id) = question.get_mut("id") {
        assert!(
            id.as_str()
                .unwrap()
                .parse::<liqo_auth::crypto::RequestId>()
                .is_ok()
        );
        *id = "1".repeat(64).into();
    }
    if let Some(bytes) = question.get_mut("bytes") {
        *bytes = "MQ==".into();
    }
    question
}

#[test]
fn an_answer_that_does_not_fit_is_an_error_with_its_place() {
    let read = |text: &str| read_document::<Answer<bool>>(text.as_bytes());
    assert_eq!(
        read(r#"{ "type": "ready", "value": true }"#),
        Ok(Answer::Ready(true))
    );
    assert_eq!(read(r#"{ "type": "pending" }"#), Ok(Answer::Pending));
    let reason = "no".to_owned();
    assert_eq!(
        read(r#"{ "type": "denied", "reason": "no" }"#),
        Ok(Answer::Denied(reason))
    );
    for (text, error) in [
        (r#"{ "type": "ready" }"#, "missing field `value`"),
        (
            r#"{ "type": "ready", "value": 1 }"#,
            "value: found a number, expected true or false",
        ),
        (
            r#"{ "type": "yes" }"#,
            "type: found \"yes\", expected one of `ready`, `pending`, `denied`",
        ),
        (
            r#"{ "type": "pending", "value": true }"#,
            "found a value or a reason",
        ),
        (
            r#"{ "type": "ready", "valeu": true }"#,
            "valeu: found a field that is not known",
        ),
        (
            r#"{ "type": "denied", "type": "ready" }"#,
            "type: found twice, expected once",
        ),
    ] {
        let found = read(text).unwrap_err().to_string();
        assert!(found.contains(error), "{text}: {found}");
    }
    let chain =
        read_document::<Answer<CertificateChain>>(br#"{ "type": "ready", "value": "hunter2" }"#);
    let error = chain.unwrap_err().to_string();
    assert!(error.starts_with("value: found text without"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn ids_are_read_as_they_are_written() {
    let text = "0a".repeat(32);
    let id: provider::RequestId = text.parse().unwrap();
    assert_eq!(id.to_string(), text);
    assert!("12".parse::<provider::RequestId>().is_err());
    assert!("g".repeat(64).parse::<provider::RequestId>().is_err());
}
