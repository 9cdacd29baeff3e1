//! Any course of invitations, ends, planted Secrets and replayed Tenants: a
//! nonce serves one Tenant, only while it is on offer, and only after an
//! invitation since the last end. After each deed the provider comes to rest.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use core::time::Duration;
use liqo_auth::{
    Machine,
    crypto::Nonce,
    machine::{MessageBody, Step},
    model::{Object, Secret},
    policy::Policy,
};
use proptest::prelude::*;

use crate::clusters::{
    exchange::{Exchange, Setup, nonce_secret},
    notary::{DAY, Notary, YEAR},
    store,
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";
const RECORD: &str = "liqo-auth-provider-cl-consumer";

/// What happens to the peering. Nonces are chosen among those seen so far.
#[derive(Debug, Clone)]
enum Deed {
    Invite,
    ReplaceNonce,
    End,
    /// A Secret with a nonce, in its own or another spelling.
    Plant(usize, Planted),
    PlantEmpty {
        with_finalizer: bool,
    },
    DeleteSecret,
    /// A Tenant that signs a nonce, in its own or another spelling.
    Send(usize, bool),
    Wait(Duration),
}

#[derive(Debug, Clone)]
struct Planted {
    respelled: bool,
    with_finalizer: bool,
}

struct Course {
    exchange: Exchange,
    seen: Vec<Nonce>,
    invited: bool,
    /// The UIDs of Tenants and the nonces that they were let in by.
    served: BTreeSet<(String, Vec<u8>)>,
}

proptest! {
    #[test]
    fn a_nonce_serves_once_while_it_is_on_offer(deeds in proptest::collection::vec(deed(), 0..24)) {
        let mut course = Course::begin();
        for deed in &deeds {
            course.carry_out(deed);
        }
    }
}

/// The deeds reach what the property is about.
#[test]
fn the_course_of_an_honest_peering_is_among_them() {
    let mut course = Course::begin();
    for round in 0..2 {
        course.carry_out(&Deed::Invite);
        course.carry_out(&Deed::Send(usize::MAX, false));
        assert_eq!(course.served.len(), round + 1);
        course.carry_out(&Deed::End);
    }
}

impl Course {
    fn begin() -> Self {
        let mut exchange = Setup {
            policy: Policy::compatible(),
            ..Setup::new()
        }
        .exchange();
        exchange.provider = Notary::new(30 * YEAR).provider(|builder| {
            builder
                .configure(|config| config.certificate_lifetime = 90 * DAY)
                .configure(|config| config.policy = Policy::compatible())
        });
        Self {
            exchange,
            seen: Vec::new(),
            invited: false,
            served: BTreeSet::new(),
        }
    }

    fn carry_out(&mut self, deed: &Deed) {
        let exchange = &mut self.exchange;
        match deed {
            Deed::Invite | Deed::ReplaceNonce => {
                let (view, env) = (exchange.provider_view(), exchange.env());
                let step = match deed {
                    Deed::Invite => exchange.provider.invite(&view, env),
                    _ => exchange.provider.replace_nonce(&view, env),
                };
                if let Ok(step) = step {
                    self.invited = true;
                    self.apply(step);
                }
            }
            Deed::End => {
                let step = exchange.provider.end(&exchange.provider_view()).unwrap();
                self.invited = false;
                self.apply(step);
            }
            Deed::Plant(number, how) => {
                if let Some(nonce) = self.chosen(*number, how.respelled) {
                    self.plant(nonce.as_str().as_bytes(), how.with_finalizer);
                }
            }
            Deed::PlantEmpty { with_finalizer } => self.plant(b"", *with_finalizer),
            Deed::DeleteSecret => {
                let id = crate::clusters::exchange::secret_ref(NAMESPACE, "liqo-nonce");
                exchange.at_provider.remove(&id);
            }
            Deed::Send(number, respelled) => self.send(*number, *respelled),
            Deed::Wait(duration) => exchange.now = exchange.now + *duration,
        }
        self.come_to_rest();
    }

    fn chosen(&self, number: usize, respelled: bool) -> Option<Nonce> {
        let last = self.seen.len().checked_sub(1)?;
        let nonce = &self.seen[number.min(last)];
        let newline = if respelled { "\n" } else { "" };
        let text = format!("{nonce}{newline}");
        Some(Nonce::parse(text.as_bytes(), &Policy::compatible()).unwrap())
    }

    fn plant(&mut self, text: &[u8], with_finalizer: bool) {
        let Object::Secret(mut secret) = nonce_secret(NAMESPACE, text) else {
            panic!("a Secret is made");
        };
        if with_finalizer {
            secret.metadata.finalizers = vec!["peer.example.com/keep".to_owned()];
        }
        self.exchange.at_provider.insert(secret.into());
    }

    fn send(&mut self, number: usize, respelled: bool) {
        let Some(nonce) = self.chosen(number, respelled) else {
            return;
        };
        let exchange = &mut self.exchange;
        exchange.at_consumer = store::empty();
        exchange.sent.remove("Tenant");
        // The consumer does not sign what has expired.
        if exchange.hand_over(MessageBody::Nonce(nonce)).is_ok() {
            let tenant = exchange.tenant();
            let _refused = exchange.hand_over(tenant);
        }
    }

    fn come_to_rest(&mut self) {
        for _ in 0..12 {
            let had_record = self.record().is_some();
            let was_empty = self.nonce_text().is_none_or(|text| text.is_empty());
            let (view, env) = (self.exchange.provider_view(), self.exchange.env());
            let step = self.exchange.provider.reconcile(&view, env).unwrap();
            let rests = step.is_settled();
            self.apply(step);
            if !had_record && self.record().is_some() {
                // The empty Secret of a first peering.
                assert!(was_empty, "a Secret with a nonce has invited the peer");
                self.invited = true;
            }
            self.judge();
            if rests {
                return;
            }
        }
        panic!("the provider does not come to rest");
    }

    /// Each proof on record is by the nonce on offer, for one Tenant.
    fn judge(&mut self) {
        let Some(proof) = self
            .record()
            .and_then(|record| record.get("proof").cloned())
        else {
            return;
        };
        let text = STANDARD.decode(proof["nonce"].as_str().unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let bytes = STANDARD.decode(text.trim_end()).unwrap();
        let tenant = proof["tenantUid"].as_str().unwrap().to_owned();
        if !self.served.insert((tenant.clone(), bytes.clone())) {
            return;
        }
        assert!(self.invited, "nobody has invited the peer");
        let offered = STANDARD.decode(self.seen.last().unwrap().as_str());
        assert_eq!(bytes, offered.unwrap(), "the nonce was replaced");
        let before = self.served.iter().filter(|(_, nonce)| *nonce == bytes);
        assert_eq!(before.count(), 1, "the nonce has let another Tenant in");
    }

    fn apply(&mut self, step: Step) {
        self.exchange.carry_out(true, step);
        if let Some(MessageBody::Nonce(nonce)) = self.exchange.sent.remove("nonce")
            && !self.seen.contains(&nonce)
            && !self
                .seen
                .iter()
                .any(|seen| nonce.as_str().trim_end() == seen.as_str())
        {
            self.seen.push(nonce);
        }
    }

    fn record(&self) -> Option<serde_json::Value> {
        let secret: &Secret = self.exchange.at_provider.get("liqo", RECORD)?;
        Some(serde_json::from_slice(secret.get("record").unwrap()).unwrap())
    }

    fn nonce_text(&self) -> Option<Vec<u8>> {
        let secret: &Secret = self.exchange.at_provider.get(NAMESPACE, "liqo-nonce")?;
        secret.get("nonce").map(<[u8]>::to_vec)
    }
}

fn deed() -> impl Strategy<Value = Deed> {
    let which = || prop_oneof![2 => Just(usize::MAX), 3 => 0..4_usize];
    prop_oneof![
        3 => Just(Deed::Invite),
        2 => Just(Deed::ReplaceNonce),
        3 => Just(Deed::End),
        4 => (which(), any::<bool>(), any::<bool>()).prop_map(|(number, respelled, with_finalizer)| {
            Deed::Plant(number, Planted { respelled, with_finalizer })
        }),
        1 => any::<bool>().prop_map(|with_finalizer| Deed::PlantEmpty { with_finalizer }),
        1 => Just(Deed::DeleteSecret),
        6 => (which(), any::<bool>()).prop_map(|(number, respelled)| Deed::Send(number, respelled)),
        1 => Just(Deed::Wait(Duration::from_secs(60))),
        1 => Just(Deed::Wait(2 * DAY)),
        1 => Just(Deed::Wait(91 * DAY)),
    ]
}
