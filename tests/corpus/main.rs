//! Checks every verdict of a collection of inputs, in both policies.
//!
//! `LIQO_AUTH_CORPUS` names another folder of the same form. A refusal counts
//! only if the error names the defect. If the table of defects does not contain
//! the input, any error about the peer or the policy counts.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic, and read files.

mod defects;
mod guarded;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig, PeerSettings},
    crypto::{
        Authority, BoxError, CertificateChain, Entropy, KeyPair, Nonce, OneKey, RecordKey, Subject,
    },
    error::{Error, Fault},
    legacy::{
        AuthToken, Foreign, ForeignSettings, HttpRequest, Outcome, Reading, TokenProtocol,
        TokenStore,
    },
    machine::{Env, Message, Objects, View},
    model::{
        ClusterId, Identity, Metadata, Namespace, Object, Resource, ResourceSlice, Secret, Tenant,
        Timestamp, names,
    },
    policy::Policy,
    provider::{AuthoritySigner, Endpoint, NameTable, Provider},
    verify::{self, NonceExpectation},
};
use serde_json::Value;

#[test]
fn every_verdict_holds_in_both_policies() {
    let folder = std::env::var_os("LIQO_AUTH_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("vectors/corpus"),
        PathBuf::from,
    );
    let mut tally = Tally::default();
    for case in cases(&folder) {
        let kind = case["kind"].as_str().unwrap_or_default();
        let judges = judges_of(kind);
        if judges.is_empty() {
            *tally.not_run.entry(kind.to_owned()).or_default() += 1;
        }
        for judge in judges {
            for (name, policy) in [
                ("strict", Policy::strict()),
                ("compat", Policy::compatible()),
            ] {
                let verdict = judge(&case, policy);
                tally.count(&case, name, verdict);
            }
        }
    }
    for (kind, number) in &tally.not_run {
        println!("not run: {number} of the kind {kind:?}");
    }
    println!("{} verdicts hold", tally.held);
    assert!(tally.held > 0, "there is nothing in {}", folder.display());
    assert!(tally.wrong.is_empty(), "\n{}", tally.wrong.join("\n"));
}

type Judge = fn(&Value, Policy) -> Result<(), Refusal>;

/// Why an input is refused.
enum Refusal {
    /// It was read, and judged.
    Judged(Error),
    /// It is no object of its kind.
    Unreadable(String),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Judged(error)
    }
}

/// The object of an input.
fn read<K: Resource + Clone>(value: &Value) -> Result<K, Refusal> {
    let object = Object::from_value(value.clone());
    let read = K::from_object(&object).cloned();
    read.ok_or_else(|| {
        let unreadable = object.as_unreadable().expect("an object of another kind");
        Refusal::Unreadable(unreadable.reason.to_string())
    })
}

/// Who judges an input: the machines, and a guard.
fn judges_of(kind: &str) -> &'static [Judge] {
    match kind {
        "tenant" => &[judge_tenant, guarded::judge_tenant],
        "identity" => &[judge_identity, guarded::judge_identity],
        "nonce-to-sign" => &[judge_nonce, guarded::judge_nonce],
        "resourceslice" => &[judge_slice, guarded::judge_slice],
        "legacy-token" => &[judge_token],
        _ => &[],
    }
}

/// Is a request with this token authenticated?
fn judge_token(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let id = "cl-foreign".parse().unwrap();
    let endpoint = Endpoint::new("https://172.19.0.3:6443".parse().unwrap(), None);
    let settings = ForeignSettings {
        protocol: TokenProtocol::TrustWhoeverHoldsTheToken,
        policy: policy.clone(),
        principals: Arc::new(NameTable::default()),
        token_store: Some(Arc::new(Stored(
            case["storedToken"].as_str().unwrap().to_owned(),
            policy,
        ))),
        ..ForeignSettings::default()
    };
    let foreign = Foreign::new(id, endpoint, RecordKey::new([1; 32]).unwrap(), settings);
    let body = serde_json::json!({
        "cluster": { "clusterID": "cl-home" },
        "destinationClusterToken": case["givenToken"],
    });
    let body = serde_json::to_vec(&body).unwrap();
    let request = HttpRequest::new("POST", "/identity/certificate", body);
    let Reading::Identity(request) = foreign.read(&request) else {
        panic!("{}: unreadable", case["id"]);
    };
    let objects = Objects::new(&entropy());
    let answer = foreign.handle(&objects.view(&request.peer), &request, env())?;
    match answer.outcome {
        Some(outcome @ Outcome::WrongToken { .. }) => Err(outcome.error().unwrap().into()),
        // The token is right. The refusal is about the missing certificate
        // request.
        Some(Outcome::Refused { .. }) => Ok(()),
        other => panic!("{}: {other:?}", case["id"]),
    }
}

/// A token in another store. A text that is no token counts as absent.
struct Stored(String, Policy);

impl TokenStore for Stored {
    fn own_token(&self) -> Result<Option<AuthToken>, BoxError> {
        Ok(AuthToken::parse(self.0.as_bytes(), &self.1).ok())
    }
}

/// Does the provider accept this Tenant?
fn judge_tenant(case: &Value, policy: Policy) -> Result<(), Refusal> {
    AtProvider::authenticated(case, &provider(case, &policy), &policy).map(drop)
}

/// A provider that knows the names that are taken.
fn provider(case: &Value, policy: &Policy) -> Provider {
    let taken = case["knownUsers"].as_array().into_iter().flatten();
    let taken: NameTable = taken.filter_map(Value::as_str).map(String::from).collect();
    let authority = Authority::new("ca", now(), LIFETIME, &entropy()).unwrap();
    let endpoint = Endpoint::new(
        "https://172.19.0.3:6443".parse().unwrap(),
        Some(authority.ca_bundle()),
    );
    Provider::builder(
        "cl-provider".parse().unwrap(),
        endpoint,
        RecordKey::new([1; 32]).unwrap(),
    )
    .signer(Arc::new(AuthoritySigner::new(authority, entropy())))
    .principals(Arc::new(taken))
    .configure(|config| config.policy = policy.clone())
    .build()
}

/// The objects of a provider whose consumer has authenticated.
struct AtProvider {
    peer: ClusterId,
    objects: Objects,
    vouched: Nonce,
}

impl AtProvider {
    /// The consumer of a case of the kind `tenant`.
    fn authenticated(case: &Value, provider: &Provider, policy: &Policy) -> Result<Self, Refusal> {
        let tenant: Tenant = read(&case["tenant"])?;
        let nonce = case["nonce"].as_str().unwrap().as_bytes();
        let peer = verify::claimed_consumer(&tenant)?;
        let mut objects = Objects::new(&entropy());
        objects.insert(Namespace::for_tenant(&peer).into());
        objects.insert(secret(names::NONCE_SECRET, &peer, nonce).into());
        // The nonce was made by Liqo; therefore the embedder vouches for it.
        let vouched = Nonce::parse(nonce, policy).ok();
        let view = objects.view(&peer);
        let view = match &vouched {
            Some(nonce) => view.vouch_for_nonce(nonce),
            None => view,
        };
        let message = Message::new(&peer, provider.cluster_id(), tenant);
        let step = provider.receive(&view, message, env())?;
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
        let mut at_provider = Self {
            peer,
            objects,
            vouched: vouched.unwrap(),
        };
        // Accepted means more than stored: the request is signed, too.
        assert_eq!(at_provider.settle(provider)?, None);
        let certificate = at_provider.objects.get::<Secret>(
            &names::tenant_namespace(&at_provider.peer),
            names::ISSUED_CERTIFICATE_SECRET,
        );
        assert!(
            certificate.is_some(),
            "{}: taken, and not signed",
            case["id"]
        );
        Ok(at_provider)
    }

    /// Lets the provider work, and tells its last refusal.
    fn settle(&mut self, provider: &Provider) -> Result<Option<Error>, Error> {
        let mut refused = None;
        for _ in 0..6 {
            let view = self.objects.view(&self.peer).vouch_for_nonce(&self.vouched);
            let step = provider.reconcile(&view, env())?;
            for effect in &step.effects {
                self.objects.apply(effect).unwrap();
            }
            refused = step.refused.into_iter().next().map(|refused| refused.error);
        }
        Ok(refused)
    }
}

/// Does the provider have the request of this slice signed?
fn judge_slice(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let slice: ResourceSlice = read(&case["resourceSlice"])?;
    // The consumer of this case has the key of the slices' cases.
    let consumer: Value = serde_json::from_str(CONSUMER_OF_SLICES).unwrap();
    assert_eq!(
        consumer["tenant"]["spec"]["publicKey"],
        case["tenantPublicKey"]
    );
    assert_eq!(case["handshakeRequired"], true);
    let provider = provider(case, &policy);
    let mut at_provider = AtProvider::authenticated(&consumer, &provider, &policy)?;
    let slice = replicated(slice, &at_provider.peer, provider.cluster_id());
    let (namespace, name) = (
        slice.metadata.namespace.clone(),
        slice.metadata.name.clone(),
    );
    at_provider.objects.insert(slice.into());
    if let Some(error) = at_provider.settle(&provider)? {
        return Err(error.into());
    }
    let slice: &ResourceSlice = at_provider.objects.get(&namespace, &name).unwrap();
    let given = slice.status.auth_params.as_ref();
    let signed = &given.expect("neither refused nor signed").signed_crt;
    let chain = CertificateChain::from_pem(signed.as_slice(), &policy).unwrap();
    let subject = Subject::resource_slice(&name, &at_provider.peer);
    assert!(chain.leaf().subject_is(&subject));
    Ok(())
}

/// The slice as the replicator brings it.
fn replicated(mut slice: ResourceSlice, peer: &ClusterId, provider: &ClusterId) -> ResourceSlice {
    for (label, value) in [
        (names::REPLICATION_LABEL, "false"),
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_DESTINATION_LABEL, provider.as_str()),
        (names::REPLICATION_ORIGIN_LABEL, peer.as_str()),
    ] {
        let labels = &mut slice.metadata.labels;
        labels.insert(label.to_owned(), value.to_owned());
    }
    let provider_id = &mut slice.spec.provider_cluster_id;
    provider_id.get_or_insert(provider.to_string());
    slice
}

/// The consumer of a case of the kind `identity`, its provider, and the time.
fn consumer(case: &Value, policy: Policy) -> (Consumer, ClusterId, Timestamp) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let now: Timestamp = text(&case["now"]).parse().unwrap();
    let provider: ClusterId = text(&case["providerClusterID"]).parse().unwrap();
    let settings = PeerSettings {
        proxy_url: text(&case["consumer"]["proxyURL"]).parse().ok(),
        ..PeerSettings::default()
    };
    let key =
        KeyPair::from_pkcs8_pem(text(&case["consumer"]["privateKey"]).as_bytes(), &policy).unwrap();
    let id = text(&case["consumer"]["clusterID"]).parse().unwrap();
    let mut config = ConsumerConfig::new(id);
    config.policy = policy;
    config.peers.insert(provider.clone(), settings);
    let consumer = Consumer::new(config, Arc::new(OneKey(Arc::new(key))));
    (consumer, provider, now)
}

/// Does the consumer store this Identity?
fn judge_identity(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let (consumer, provider, now) = consumer(case, policy);
    let mut objects = Objects::new(&entropy());
    for identity in [&case["stored"], &case["identity"]]
        .into_iter()
        .filter(|value| !value.is_null())
    {
        let identity: Identity = read(identity)?;
        let env = Env {
            now,
            entropy: entropy(),
        };
        let message = Message::new(&provider, consumer.cluster_id(), identity);
        let step = consumer.receive(&objects.view(&provider), message, env)?;
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
        // Stored means usable: the kubeconfig can be made.
        let env = Env {
            now,
            entropy: entropy(),
        };
        let step = consumer.reconcile(&objects.view(&provider), env)?;
        assert_eq!(step.refused, []);
        assert_ne!(step.effects, []);
        for effect in &step.effects {
            objects.apply(effect).unwrap();
        }
    }
    Ok(())
}

/// Does the consumer sign this text?
fn judge_nonce(case: &Value, policy: Policy) -> Result<(), Refusal> {
    let bytes = STANDARD.decode(case["nonce"].as_str().unwrap()).unwrap();
    let provider = "cl-provider".parse().unwrap();
    let consumer = consumer_with(new_key(), policy.clone());
    let expectation = NonceExpectation {
        provider: &provider,
        consumer: consumer.cluster_id(),
        now: now(),
        provider_key_known: false,
    };
    verify::nonce_to_sign(&bytes, &expectation, &policy)?;
    // As another program would put it there for a controller to sign.
    let secret = secret(names::SIGNED_NONCE_SECRET, &provider, &bytes);
    let objects = [Object::from(secret)];
    let step = consumer.reconcile(&View::of(&provider, &objects), env())?;
    match step.refused.first() {
        Some(refused) => {
            assert_eq!(step.effects, []);
            Err(refused.error.clone().into())
        }
        None => {
            assert_eq!(step.outbox.len(), 1);
            Ok(())
        }
    }
}

fn new_key() -> KeyPair {
    let algorithm = liqo_auth::crypto::Algorithm::Ed25519;
    KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap()
}

fn consumer_with(key: KeyPair, policy: Policy) -> Consumer {
    let mut config = ConsumerConfig::new("cl-consumer".parse().unwrap());
    config.policy = policy;
    Consumer::new(config, Arc::new(OneKey(Arc::new(key))))
}

/// A Secret with a nonce, in the tenant namespace of a peer.
fn secret(name: &str, peer: &ClusterId, nonce: &[u8]) -> Secret {
    Secret {
        metadata: Metadata {
            name: name.into(),
            namespace: names::tenant_namespace(peer),
            ..Metadata::default()
        },
        data: BTreeMap::from([(names::NONCE.into(), nonce.to_vec().into())]),
        ..Secret::default()
    }
}

#[derive(Default)]
struct Tally {
    held: usize,
    wrong: Vec<String>,
    not_run: BTreeMap<String, usize>,
}

impl Tally {
    fn count(&mut self, case: &Value, policy: &str, verdict: Result<(), Refusal>) {
        let id = case["id"].as_str().unwrap();
        let expected = case["expect"][policy].as_str().unwrap();
        let problem = match (expected, &verdict) {
            ("accept", Ok(())) => None,
            ("accept", Err(Refusal::Judged(error))) => Some(format!("refused: {error}")),
            ("accept", Err(Refusal::Unreadable(reason))) => Some(format!("unreadable: {reason}")),
            ("reject", Ok(())) => Some("accepted".to_owned()),
            ("reject", Err(Refusal::Judged(error))) => names_the_defect(id, error).err(),
            ("reject", Err(Refusal::Unreadable(_))) => None,
            (other, _) => Some(format!("the verdict {other:?} is not known")),
        };
        match problem {
            None => self.held += 1,
            Some(problem) => self
                .wrong
                .push(format!("{id}, {policy}: {} – {problem}", case["title"])),
        }
    }
}

fn names_the_defect(id: &str, error: &Error) -> Result<(), String> {
    let found = format!("{:?}", error.fault());
    let known = defects::DEFECTS.iter().find(|(known, _)| id == *known);
    match known {
        Some((_, expected)) if found.starts_with(expected) => Ok(()),
        Some((_, expected)) => Err(format!("refused as {found}, not as {expected}…")),
        None if matches!(
            error.fault(),
            Fault::Precondition(_) | Fault::Local(_) | Fault::ApiMisuse(_)
        ) =>
        {
            Err(format!("refused for no fault of its own: {found}"))
        }
        None => Ok(()),
    }
}

fn cases(folder: &std::path::Path) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .collect()
}

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

fn env() -> Env {
    Env {
        now: now(),
        entropy: entropy(),
    }
}

fn entropy() -> Entropy {
    Entropy::draw(&mut getrandom::SysRng).unwrap()
}

const CONSUMER_OF_SLICES: &str = include_str!("../vectors/corpus/T000-honest-ed25519.json");
const LIFETIME: core::time::Duration = core::time::Duration::from_secs(10 * 365 * 86_400);
