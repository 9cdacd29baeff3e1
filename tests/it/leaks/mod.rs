//! No secret is printed. Each test plants secrets, leads a life with faults, and
//! prints everything that can be printed after each event: the debug form of sides,
//! steps, effects, messages, objects and statuses, the text and the JSON of errors,
//! refusals, notices, events and questions, and the lines of the audit log.
//!
//! Three functions show secrets by their names: `Step::to_json`, `Effect::to_json` and
//! `Message::to_json`. A test shows that the search finds a secret there.

#[cfg(feature = "legacy")]
mod legacy;
mod peering_users;

use core::fmt::Debug;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    audit::Chain,
    crypto::{Entropy, KeyPair, OneKey, RecordKey, SigningKey},
    error::Error,
    machine::{Machine, Objects, Step, View},
    model::{Object, Secret, TenantCondition},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal, occurrences_of_a_life};
use memchr::memmem;
use proptest::prelude::*;

use crate::{
    aws::control_plane::exchange_with,
    clusters::{
        exchange::{Exchange, RECORD_KEY, Setup, ed25519, id},
        iam::{Iam, SECRET},
    },
};

/// Secrets, and what was printed.
struct Search {
    /// What a secret is, and a form of it that no text may contain.
    forms: Vec<(&'static str, Vec<u8>)>,
    printed: Vec<u8>,
}

impl Search {
    fn new() -> Self {
        Self {
            forms: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// A secret of bytes: as it is, in hexadecimal digits, in base64 once and twice, and
    /// as a list of numbers.
    fn bytes(mut self, what: &'static str, secret: &[u8]) -> Self {
        assert!(secret.len() >= 16, "{what}: too short to be found");
        let mut forms = vec![secret.to_vec()];
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        forms.push(hex.to_uppercase().into_bytes());
        forms.push(hex.into_bytes());
        let once = in_base64(secret);
        forms.extend(once.iter().flat_map(|form| in_base64(form)));
        forms.extend(once);
        let list = format!("{:?}", &secret[..12]);
        forms.push(list.trim_matches(['[', ']']).as_bytes().to_vec());
        self.forms
            .extend(forms.into_iter().map(|form| (what, form)));
        self
    }

    /// A private key, by its 32 bytes and by its PEM.
    fn key(self, what: &'static str, key: &KeyPair) -> Self {
        let pem = key.to_pkcs8_pem();
        let der = STANDARD
            .decode(pem.expose().lines().nth(1).unwrap())
            .unwrap();
        // The 32 bytes come last in PKCS#8 of version 1 (RFC 8410 section 7).
        let private: &[u8] = der[..48].last_chunk::<32>().unwrap();
        let line = pem.expose().lines().nth(1).unwrap().as_bytes().to_vec();
        self.bytes(what, private).bytes(what, &line)
    }

    fn text(mut self, what: &'static str, secret: &str) -> Self {
        self = self.bytes(what, secret.as_bytes());
        self
    }

    fn print(&mut self, value: &dyn Debug) {
        self.printed
            .extend_from_slice(format!("{value:?}\n{value:#?}\n").as_bytes());
    }

    fn print_error(&mut self, error: &Error) {
        self.print(error);
        let mut texts = vec![error.to_string(), error.advice().to_owned()];
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            texts.push(cause.to_string());
            source = cause.source();
        }
        texts.push(serde_json::to_string(error).unwrap());
        self.printed.extend_from_slice(texts.concat().as_bytes());
    }

    fn print_step(&mut self, step: &Result<Step, Error>) {
        let step = match step {
            Ok(step) => step,
            Err(error) => return self.print_error(error),
        };
        self.print(step);
        for effect in &step.effects {
            self.print(&(effect.id().to_string(), effect.request()));
        }
        for refused in &step.refused {
            self.print_error(&refused.error);
        }
        let mut chain = Chain::begin(id("cl-provider"), RecordKey::new(RECORD_KEY).ok());
        for event in &step.events {
            let entry = chain.append("2026-11-20T13:00:00Z".parse().unwrap(), event);
            self.printed.extend_from_slice(entry.line().as_bytes());
        }
        let data = serde_json::json!([step.refused, step.notices, step.events, step.wait]);
        self.printed.extend_from_slice(data.to_string().as_bytes());
    }

    fn print_side(&mut self, machine: &dyn Machine, view: &View<'_>, env: liqo_auth::Env) {
        let now = env.now;
        match machine.look(view, now) {
            Ok(status) => self.print(&status),
            Err(error) => self.print_error(&error),
        }
        self.print_step(&machine.reconcile(view, env));
    }

    /// Asserts that no secret was printed, and forgets what was.
    fn assert_clean(&mut self) {
        assert!(!self.printed.is_empty());
        for (what, form) in &self.forms {
            let place = memmem::find(&self.printed, form);
            let around = place.map(|place| {
                let from = place.saturating_sub(200);
                String::from_utf8_lossy(&self.printed[from..place]).into_owned()
            });
            assert_eq!(around, None, "{what} is printed after this text");
        }
        self.printed.clear();
    }
}

/// The base64 of bytes that begin at each of the three offsets in a group. Only whole
/// groups count: their text does not depend on what is around.
fn in_base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    let groups = (0..3).map(|offset| bytes[offset..].as_chunks::<3>().0.concat());
    groups
        .map(|groups| STANDARD.encode(groups).into_bytes())
        .collect()
}

const CONSUMER_KEY: [u8; 32] = *b"the consumer's key is made of it";

fn rehearsed() -> (Rehearsal, Search) {
    let key = KeyPair::from_entropy(&Entropy::from_bytes(CONSUMER_KEY));
    let search = Search::new()
        .key("the consumer's private key", &key)
        .bytes("the record key", &[1; 32]);
    (
        Rehearsal::with_consumer_key(7, Arc::new(key)).unwrap(),
        search,
    )
}

fn print_rehearsal(rehearsal: &Rehearsal, search: &mut Search) {
    let (provider, consumer) = (&rehearsal.provider, &rehearsal.consumer);
    let env = || liqo_auth::Env {
        now: rehearsal.now,
        entropy: Entropy::from_bytes([77; 32]),
    };
    let at_provider = rehearsal.at_provider.view(consumer.cluster_id());
    let at_consumer = rehearsal.at_consumer.view(provider.cluster_id());
    search.print(&(provider, consumer, &rehearsal.messages));
    search.print_side(provider, &at_provider, env());
    search.print_side(consumer, &at_consumer, env());
    print_objects(&rehearsal.at_provider, search);
    print_objects(&rehearsal.at_consumer, search);
    match provider.look(&at_provider, rehearsal.now) {
        Ok(status) => search.print(&status),
        Err(error) => search.print_error(&error),
    }
    match consumer.look(&at_consumer, rehearsal.now) {
        Ok(status) => search.print(&status),
        Err(error) => search.print_error(&error),
    }
}

fn print_objects(objects: &Objects, search: &mut Search) {
    for object in objects.iter() {
        search.print(object);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Crashes, late and repeated messages, slices, conditions, renewals.
    #[test]
    fn no_event_of_a_life_prints_a_key(events in occurrences_of_a_life()) {
        let (mut rehearsal, mut search) = rehearsed();
        for event in events {
            if let Err(error) = rehearsal.play(event) {
                search.print_error(&error);
            }
            print_rehearsal(&rehearsal, &mut search);
        }
        rehearsal.settle().unwrap();
        print_rehearsal(&rehearsal, &mut search);
        search.assert_clean();
    }
}

/// The search finds a key where it has to be: in the effect that stores the
/// kubeconfig, and in the store.
#[test]
fn a_key_that_is_shown_is_found() {
    let (mut rehearsal, mut search) = rehearsed();
    let provider = Occurrence::Provider { effects: ALL };
    let mut shown = Vec::new();
    for round in 0..8 {
        rehearsal.play(provider).unwrap();
        for message in 0..rehearsal.messages.len() {
            let deliver = Occurrence::Deliver {
                message,
                effects: ALL,
            };
            rehearsal.play(deliver).unwrap();
        }
        let view = rehearsal.at_consumer.view(rehearsal.provider.cluster_id());
        let env = liqo_auth::Env {
            now: rehearsal.now,
            entropy: Entropy::from_bytes([round; 32]),
        };
        let step = rehearsal.consumer.reconcile(&view, env).unwrap();
        shown.extend_from_slice(step.to_json().expose());
        search.print_step(&Ok(step));
        rehearsal
            .play(Occurrence::Consumer { effects: ALL })
            .unwrap();
    }
    rehearsal.settle().unwrap();
    assert!(rehearsal.is_complete().unwrap());
    let is_shown = |(_, form): &&(&str, Vec<u8>)| memmem::find(&shown, form).is_some();
    assert!(search.forms.iter().any(|form| is_shown(&form)));
    search.assert_clean();
}

/// An access key: its secret part is in the answer of IAM, the record, the Tenant's
/// status, the Identity and the kubeconfig.
#[test]
fn no_step_of_a_provider_on_eks_prints_a_secret_access_key() {
    let undisturbed = played_on_eks(usize::MAX, |_| {});
    assert!(undisturbed > 4);
    for crash_after in 0..undisturbed {
        played_on_eks(crash_after, |exchange| {
            for condition in [TenantCondition::Cordoned, TenantCondition::Drained] {
                let view = exchange.provider_view();
                let step = exchange.provider.set_condition(&view, condition).unwrap();
                exchange.carry_out(true, step);
                exchange.turn_of_provider();
            }
        });
    }
}

/// Plays an exchange whose messages and effects are printed, with a crash in between
/// after so many effects. Returns how many effects there were.
fn played_on_eks(crash_after: usize, disturb: impl Fn(&mut Exchange)) -> usize {
    let iam = Arc::new(Iam::default());
    let mut exchange = exchange_with(&iam);
    let mut search = Search::new()
        .text("the secret access key", SECRET)
        .bytes("the record key", &RECORD_KEY)
        .key("the consumer's key", &KeyPair::from_entropy(&entropy(1)))
        .key("the provider's key", &KeyPair::from_entropy(&entropy(2)));
    let mut carried_out = 0;
    for _ in 0..12 {
        for at_provider in [true, false] {
            let step = match at_provider {
                true if exchange.phases().0 == "Uninvited" => {
                    let view = exchange.provider_view();
                    exchange.provider.invite(&view, exchange.env())
                }
                true => {
                    let view = exchange.provider_view();
                    exchange.provider.reconcile(&view, exchange.env())
                }
                false => {
                    let view = exchange.consumer_view();
                    exchange.consumer.reconcile(&view, exchange.env())
                }
            };
            search.print_step(&step);
            let mut step = step.unwrap();
            let left = crash_after.saturating_sub(carried_out);
            if carried_out < crash_after && left < step.effects.len() {
                step.effects.truncate(left);
                step.outbox.clear();
                carried_out = crash_after;
            }
            carried_out += step.effects.len();
            exchange.carry_out(at_provider, step);
            for kind in ["nonce", "Tenant", "Identity"] {
                exchange.deliver(kind);
            }
        }
        search.print(&exchange.sent);
        print_objects(&exchange.at_provider, &mut search);
        print_objects(&exchange.at_consumer, &mut search);
        search.print(
            &exchange
                .provider
                .look(&exchange.provider_view(), exchange.now),
        );
        search.print(
            &exchange
                .consumer
                .look(&exchange.consumer_view(), exchange.now),
        );
        for request in iam.given.lock().unwrap().values() {
            search.print(request);
            let question = serde_json::to_string(request).unwrap();
            search.printed.extend(question.bytes());
        }
    }
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    disturb(&mut exchange);
    print_objects(&exchange.at_provider, &mut search);
    for error in &exchange.refused {
        search.print_error(error);
    }
    search.assert_clean();
    carried_out
}

/// The token by which an administrator lifts a condition with kubectl. The peer could
/// write it into its own Tenant.
#[test]
fn no_step_prints_a_token_that_lifts_a_condition() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let step = exchange
        .provider
        .set_condition(&exchange.provider_view(), TenantCondition::Drained)
        .unwrap();
    exchange.carry_out(true, step.clone());
    let record: &Secret = exchange
        .at_provider
        .get("liqo", "liqo-auth-provider-cl-consumer")
        .unwrap();
    let mut search = Search::new();
    for field in ["liftCondition", "liftConditionToCordoned"] {
        let token = record.get(field).unwrap().to_vec();
        search = search.bytes("a token that lifts a condition", &token);
    }
    search.print_step(&Ok(step));
    for _ in 0..4 {
        let view = exchange.provider_view();
        search.print_side(&exchange.provider, &view, exchange.env());
        print_objects(&exchange.at_provider, &mut search);
        exchange.turn_of_provider();
    }
    search.assert_clean();
}

/// Values that hold secrets of their own.
#[test]
fn no_holder_of_a_key_prints_it() {
    let key = KeyPair::from_entropy(&entropy(50));
    let mut search = Search::new()
        .key("a private key", &key)
        .bytes("a record key", &[0xa5; 32])
        .bytes("an entropy", &[50; 32]);
    search.print(&(RecordKey::new([0xa5; 32]).unwrap(), entropy(50)));
    search.print(&key);
    search.print(&key.to_pkcs8_pem());
    let key: Arc<dyn SigningKey> = Arc::new(key);
    search.print(&OneKey(Arc::clone(&key)));
    search.print(&key.client_key());
    let secret: Object = Secret {
        data: [("privateKey".to_owned(), vec![0xa5; 32].into())].into(),
        ..Secret::default()
    }
    .into();
    search.print(&secret);
    search.assert_clean();
    // The other keys of the exchanges are made alike.
    assert_eq!(ed25519(50).public_key(), key.public_key());
}

fn entropy(number: u8) -> Entropy {
    Entropy::from_bytes([number; 32])
}
