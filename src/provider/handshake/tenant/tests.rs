//! The key of a Tenant that stays refused is not tested again in each step.

use std::sync::Arc;

use crate::{
    Consumer, Env, Machine, Provider,
    consumer::ConsumerConfig,
    crypto::{
        Algorithm, Authority, Entropy, KeyPair, Nonce, OneKey, RecordKey, TESTED_MODULI as TESTED,
    },
    machine::{Message, MessageBody, Objects, Step},
    model::{
        ApiServerUrl, ClusterRole, Kind, Metadata, Object, ObjectRef, Secret, Tenant, Timestamp,
        names,
    },
    provider::{
        AuthoritySigner, Endpoint, NameTable, Phase,
        record::{Record, signature_digest},
    },
};

#[test]
fn the_key_of_a_refused_tenant_is_tested_once() {
    let mut cluster = Cluster::with_a_tenant_for_a_replaced_nonce();
    cluster.looks_cost_no_test("nonce-signature-wrong");
}

/// Anyone can sign for a prime modulus, so only the test refuses it.
#[test]
fn a_prime_modulus_is_found_once() {
    let mut cluster = Cluster::with_a_tenant_for_a_replaced_nonce();
    let mut tenant = cluster.tenant();
    tenant.spec.public_key = include_bytes!("prime_modulus.pem").to_vec().into();
    cluster.objects.insert(tenant.into());
    cluster.looks_cost_no_test("public-key-refused");
}

/// If the Tenant's key changes, the new key is tested, and the result for the earlier
/// key is forgotten.
#[test]
fn the_test_is_remembered_for_the_present_key_alone() {
    let mut cluster = Cluster::with_a_tenant_for_a_replaced_nonce();
    let refused = cluster.tenant();
    let mut other = refused.clone();
    other.spec.public_key = include_bytes!("prime_modulus.pem").to_vec().into();
    cluster.objects.insert(other.into());
    cluster.looks_cost_no_test("public-key-refused");
    cluster.objects.insert(refused.into());
    cluster.looks_cost_no_test("nonce-signature-wrong");
    let record = || -> String {
        let records = cluster.objects.iter().filter_map(|object| match object {
            Object::Secret(secret) => secret.get("record"),
            _ => None,
        });
        records.map(|text| String::from_utf8_lossy(text)).collect()
    };
    assert!(record().contains("testedKey"));
}

/// The proof of an earlier version does not name the signature.
#[test]
fn a_proof_without_its_signature_counts_after_a_verification_and_gets_the_signature() {
    let mut cluster = Cluster::with_a_tenant();
    for _ in 0..8 {
        cluster.call(|provider, view, env| provider.reconcile(view, env));
    }
    let recorded = cluster.change_record(|record| {
        record.proof.as_mut().unwrap().signature = None;
    });
    assert_eq!(cluster.phase(), "Authenticated");
    cluster.call(|provider, view, env| provider.reconcile(view, env));
    assert_eq!(cluster.change_record(|_| {}), recorded);

    cluster.change_record(|record| record.proof.as_mut().unwrap().signature = None);
    let mut tenant = cluster.tenant();
    tenant.spec.signature = vec![1; 256].into();
    cluster.objects.insert(tenant.into());
    assert_eq!(cluster.refusal(), "nonce-signature-wrong");
}

/// The record is sealed, so it says what was verified. Here it names a signature that would not
/// verify.
#[test]
fn the_recorded_signature_is_not_verified_again() {
    let mut cluster = Cluster::with_a_tenant();
    for _ in 0..8 {
        cluster.call(|provider, view, env| provider.reconcile(view, env));
    }
    let mut tenant = cluster.tenant();
    tenant.spec.signature = vec![1; 256].into();
    cluster.change_record(|record| {
        record.proof.as_mut().unwrap().signature = Some(signature_digest(&tenant));
    });
    cluster.objects.insert(tenant.into());
    assert_eq!(cluster.phase(), "Authenticated");
}

/// Each ECDSA signature differs from the others.
#[test]
#[cfg(feature = "ecdsa")]
fn another_signature_over_the_recorded_nonce_proves_the_same() {
    let mut cluster = Cluster::with_a_tenant_by(Algorithm::EcdsaP256);
    for _ in 0..8 {
        cluster.call(|provider, view, env| provider.reconcile(view, env));
    }
    let before = cluster.change_record(|_| {});
    let mut tenant = cluster.tenant();
    let again = cluster.signed_by_consumer(before.proof.as_ref().unwrap().nonce.clone());
    assert_ne!(again.spec.signature, tenant.spec.signature);
    tenant.spec.signature = again.spec.signature;
    cluster.objects.insert(tenant.into());
    assert_eq!(cluster.phase(), "Authenticated");
    let step = cluster.call(|provider, view, env| provider.reconcile(view, env));
    assert_eq!(
        step.effects.len(),
        1,
        "the record names the present signature"
    );
    assert_eq!(cluster.phase(), "Authenticated");
    let after = cluster.change_record(|_| {});
    assert_ne!(after, before);
    let step = cluster.call(|provider, view, env| provider.reconcile(view, env));
    assert!(step.is_settled());
}

/// A key that Liqo has not let in, and a key that has not signed Liqo's nonce.
#[test]
fn a_key_that_is_not_adopted_is_not_tested() {
    let changes: [fn(&mut Tenant); 2] = [
        |tenant| {
            let prime = include_bytes!("prime_modulus.pem").to_vec();
            tenant.spec.public_key = prime.into();
        },
        |tenant| tenant.spec.signature = vec![1; 256].into(),
    ];
    for change in changes {
        let mut cluster = Cluster::of_a_running_peering_without_a_record();
        let before = TESTED.get();
        let mut tenant = cluster.tenant();
        change(&mut tenant);
        cluster.objects.insert(tenant.into());
        cluster.looks_cost_no_test("nonce-used");
        assert_eq!(TESTED.get(), before);
    }
}

struct Cluster {
    provider: Provider,
    consumer: Consumer,
    objects: Objects,
    drawn: u8,
}

impl Cluster {
    /// The Tenant contains a signature of the first nonce. The second nonce is on
    /// offer.
    fn with_a_tenant_for_a_replaced_nonce() -> Self {
        let mut cluster = Self::with_a_tenant();
        cluster.call(|provider, view, env| provider.replace_nonce(view, env));
        cluster
    }

    /// The peering has its rights but no record, as one of Liqo. Its nonce counts as used.
    fn of_a_running_peering_without_a_record() -> Self {
        let mut cluster = Self::with_a_tenant();
        for _ in 0..8 {
            cluster.call(|provider, view, env| provider.reconcile(view, env));
        }
        let record = ObjectRef::new(Kind::Secret, "liqo", "liqo-auth-provider-cl-consumer");
        cluster.objects.remove(&record).unwrap();
        let view = cluster.objects.view(cluster.consumer.cluster_id());
        let phase = cluster.provider.look(&view, now()).unwrap().phase;
        assert_eq!(phase.name(), "Authenticated");
        cluster
    }

    /// The Tenant contains a signature of the nonce on offer.
    fn with_a_tenant() -> Self {
        Self::with_a_tenant_by(Algorithm::Rsa { bits: 2048 })
    }

    fn with_a_tenant_by(algorithm: Algorithm) -> Self {
        let authority = Authority::new("ca", now(), DAY, &Entropy::from_bytes([9; 32])).unwrap();
        let api_server: ApiServerUrl = "https://172.19.0.3:6443".parse().unwrap();
        let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
        let id = "cl-provider".parse().unwrap();
        let provider = Provider::builder(id, endpoint, RecordKey::new([1; 32]).unwrap())
            .principals(Arc::new(NameTable::default()))
            .configure(|config| config.adopt_from_liqo = true)
            .signer(Arc::new(AuthoritySigner::new(
                authority,
                Entropy::from_bytes([8; 32]),
            )))
            .build();
        let key = KeyPair::generate(algorithm, &mut getrandom::SysRng);
        let keys = Arc::new(OneKey(Arc::new(key.unwrap())));
        let config = ConsumerConfig::new("cl-consumer".parse().unwrap());
        let consumer = Consumer::new(config, keys);
        let mut cluster = Self {
            provider,
            consumer,
            objects: cluster_roles(),
            drawn: 0,
        };
        let step = cluster.call(|provider, view, env| provider.invite(view, env));
        let nonce = step.outbox.into_iter().next().unwrap();
        let tenant = cluster.answer(nonce);
        cluster.call(|provider, view, env| provider.receive(view, tenant, env));
        cluster
    }

    /// The message with which the consumer answers a nonce.
    fn answer(&mut self, nonce: Message) -> Message {
        let own = Objects::new(&Entropy::from_bytes([7; 32]));
        let env = self.env();
        let view = own.view(self.provider.cluster_id());
        let step = self.consumer.receive(&view, nonce, env).unwrap();
        step.outbox.into_iter().next().unwrap()
    }

    fn signed_by_consumer(&mut self, nonce: Nonce) -> Tenant {
        let (provider, consumer) = (self.provider.cluster_id(), self.consumer.cluster_id());
        let nonce = Message::new(provider, consumer, nonce);
        match self.answer(nonce).body {
            MessageBody::Tenant(tenant) => *tenant,
            other => panic!("{other:?}"),
        }
    }

    /// Changes the sealed record of the peer, and returns it.
    fn change_record(&mut self, change: impl FnOnce(&mut Record)) -> Record {
        let configuration = &self.provider.0;
        let seal = configuration.seal(self.consumer.cluster_id());
        let id = configuration.record_id(self.consumer.cluster_id());
        let secret = self.objects.get::<Secret>(&id.namespace, &id.name).unwrap();
        let before = Record::open(secret, &seal).unwrap().record;
        let mut record = before.clone();
        change(&mut record);
        if record != before {
            let secret = record.seal(&seal, configuration.namespace());
            self.objects.insert(secret.into());
        }
        before
    }

    fn phase(&self) -> &'static str {
        let view = self.objects.view(self.consumer.cluster_id());
        self.provider.look(&view, now()).unwrap().phase.name()
    }

    fn looks_cost_no_test(&mut self, code: &str) {
        assert_eq!(self.refusal(), code);
        self.call(|provider, view, env| provider.reconcile(view, env));
        let before = TESTED.get();
        for _ in 0..5 {
            let step = self.call(|provider, view, env| provider.reconcile(view, env));
            assert_eq!(step.effects, []);
            assert_eq!(self.refusal(), code);
        }
        assert_eq!(TESTED.get(), before);
    }

    fn refusal(&self) -> &'static str {
        let view = self.objects.view(self.consumer.cluster_id());
        match self.provider.look(&view, now()).unwrap().phase {
            Phase::Refused(error) => error.code(),
            other => panic!("{other:?}"),
        }
    }

    fn call(
        &mut self,
        call: impl FnOnce(&Provider, &crate::View<'_>, Env) -> Result<Step, crate::error::Error>,
    ) -> Step {
        let env = self.env();
        let view = self.objects.view(self.consumer.cluster_id());
        let step = call(&self.provider, &view, env).unwrap();
        for effect in &step.effects {
            self.objects.apply(effect).unwrap();
        }
        step
    }

    fn env(&mut self) -> Env {
        self.drawn += 1;
        Env {
            now: now(),
            entropy: Entropy::from_bytes([self.drawn; 32]),
        }
    }

    fn tenant(&self) -> Tenant {
        let tenants = self.objects.iter().filter_map(|object| match object {
            Object::Tenant(tenant) => Some(tenant.clone()),
            _ => None,
        });
        *tenants.last().unwrap()
    }
}

/// The ClusterRoles of Liqo, which a peer gets.
fn cluster_roles() -> Objects {
    let roles = [names::CONTROL_PLANE_ROLE, names::CLUSTER_WIDE_ROLE];
    let roles = roles.map(|label| ClusterRole {
        metadata: Metadata::labelled(label, "", [(names::APP_NAME_LABEL, label)]),
        ..ClusterRole::default()
    });
    let mut objects = Objects::new(&Entropy::from_bytes([6; 32]));
    objects.extend(roles.map(Object::from));
    objects
}

fn now() -> Timestamp {
    "2026-11-20T13:00:00Z".parse().unwrap()
}

const DAY: core::time::Duration = core::time::Duration::from_secs(86_400);
