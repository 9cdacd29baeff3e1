//! A private key that never leaves a hardware module. The consumer can sign with
//! this key. The consumer's kubeconfig names a program that signs. Without such a
//! program, no kubeconfig can be written.
//!
//! ```sh
//! cargo run --example key_elsewhere
//! ```

use core::time::Duration;
use std::sync::Arc;

use ed25519_dalek::Signer;
use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{
        Answer, Authority, BoxError, ClientKey, Entropy, OneKey, Payload, PublicKey, Purpose,
        RecordKey, Signature, SigningKey,
    },
    error::{Fault, LocalFault},
    machine::{Env, Message, Objects, Step},
    model::{ExecCredential, Secret, Timestamp},
    policy::Policy,
    provider::{AuthoritySigner, Endpoint, NameTable, Provider},
};

fn main() -> Result<(), BoxError> {
    let module = Arc::new(HardwareModule::new()?);
    let reachable = ClientKey::Exec(ExecCredential {
        api_version: "client.authentication.k8s.io/v1".to_owned(),
        command: "kubectl-hsm-login".to_owned(),
        args: vec!["--slot=9c".to_owned()],
        env: Vec::new(),
    });

    let kubeconfig = handshake(SlotKey::open(&module, reachable)?)?;
    println!("With a program that reaches the key:\n\n{kubeconfig}");

    match handshake(SlotKey::open(&module, ClientKey::NotExportable)?) {
        Ok(_) => Err("a kubeconfig should not be able to use this key".into()),
        Err(error) => {
            let error: Box<liqo_auth::error::Error> = error.downcast()?;
            assert_eq!(error.fault(), &Fault::Local(LocalFault::KeyNotExportable));
            println!("Without one: {error}");
            Ok(())
        }
    }
}

/// The key in the module, as this library sees it.
struct SlotKey {
    module: Arc<HardwareModule>,
    public_key: PublicKey,
    client_key: ClientKey,
}

impl SlotKey {
    fn open(module: &Arc<HardwareModule>, client_key: ClientKey) -> Result<Self, BoxError> {
        Ok(Self {
            public_key: PublicKey::from_tenant_field(&module.public_key(), &Policy::strict())?,
            module: Arc::clone(module),
            client_key,
        })
    }
}

impl SigningKey for SlotKey {
    fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        // A consumer's key is used for these purposes only.
        match payload.purpose() {
            Purpose::Nonce | Purpose::CertificationRequest | Purpose::KeySuccession => {
                println!("  the module signs: {:?}", payload.purpose());
                let signature = self.module.sign(payload.bytes());
                Ok(Answer::Ready(Signature(signature)))
            }
            purpose => Err(format!("this key is not for {purpose:?}").into()),
        }
    }

    fn client_key(&self) -> ClientKey {
        self.client_key.clone()
    }
}

/// A replacement for the hardware. It takes bytes and returns signatures.
struct HardwareModule(ed25519_dalek::SigningKey);

impl HardwareModule {
    fn new() -> Result<Self, BoxError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    fn public_key(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).to_vec()
    }
}

/// Makes the whole exchange with a provider in memory and returns the
/// kubeconfig.
fn handshake(key: SlotKey) -> Result<String, BoxError> {
    let consumer = Consumer::new(
        ConsumerConfig::new("rome".parse()?),
        Arc::new(OneKey(Arc::new(key))),
    );
    let provider = provider()?;
    let (rome, milan) = (consumer.cluster_id(), provider.cluster_id());
    let (mut at_rome, mut at_milan) = (Objects::new(&entropy()?), Objects::new(&entropy()?));

    let step = provider.invite(&at_milan.view(rome), env()?)?;
    apply(step, &mut at_milan)?;

    // Each side receives the other's outbox until the consumer has its kubeconfig. This
    // takes a few rounds.
    for _ in 0..8 {
        let step = provider.reconcile(&at_milan.view(rome), env()?)?;
        for message in apply(step, &mut at_milan)? {
            let step = consumer.receive(&at_rome.view(milan), message, env()?)?;
            for tenant in apply(step, &mut at_rome)? {
                let step = provider.receive(&at_milan.view(rome), tenant, env()?)?;
                apply(step, &mut at_milan)?;
            }
        }
        let step = consumer.reconcile(&at_rome.view(milan), env()?)?;
        apply(step, &mut at_rome)?;
        let secret: Option<&Secret> =
            at_rome.get("liqo-tenant-milan", "kubeconfig-controlplane-milan");
        if let Some(text) = secret.and_then(|secret| secret.data.get("kubeconfig")) {
            return Ok(String::from_utf8(text.expose().to_vec())?);
        }
    }
    Err("the exchange did not finish".into())
}

fn provider() -> Result<Provider, BoxError> {
    let authority = Authority::new("ca", now()?, YEAR, &entropy()?)?;
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let record_key = RecordKey::draw(&mut getrandom::SysRng)?;
    Ok(Provider::builder("milan".parse()?, endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .signer(Arc::new(AuthoritySigner::new(authority, entropy()?)))
        .build())
}

fn apply(step: Step, objects: &mut Objects) -> Result<Vec<Message>, BoxError> {
    for effect in &step.effects {
        objects.apply(effect)?;
    }
    Ok(step.outbox)
}

fn env() -> Result<Env, BoxError> {
    Ok(Env {
        now: now()?,
        entropy: entropy()?,
    })
}

fn entropy() -> Result<Entropy, BoxError> {
    Ok(Entropy::draw(&mut getrandom::SysRng)?)
}

/// A fixed time. A real embedder reads its clock.
fn now() -> Result<Timestamp, BoxError> {
    Ok("2026-11-20T13:00:00Z".parse()?)
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
