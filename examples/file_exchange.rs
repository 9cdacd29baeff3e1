//! A whole exchange by files, as two administrators make it by mail. Each
//! cluster is a folder of manifests. One file at a time goes from one cluster
//! to the other.
//!
//! Between two steps, no object is kept in memory. Each step reads its folder, asks the
//! library what to do, and writes the changes. Each step may be interrupted at any
//! point and started again.
//!
//! ```sh
//! cargo run --example file_exchange
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "an embedder has files and a clock"
)]

use core::time::Duration;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use liqo_auth::{
    Machine,
    consumer::{Consumer, ConsumerConfig},
    crypto::{Algorithm, Authority, BoxError, Entropy, KeyPair, OneKey, RecordKey},
    error::Error,
    machine::{Env, Message, Objects, Step},
    model::{ClusterId, Timestamp, manifest},
    policy::{Limits, Policy},
    provider::{AuthoritySigner, Endpoint, NameTable, Provider},
};

fn main() -> Result<(), BoxError> {
    let home = std::env::temp_dir().join(format!("liqo-auth-{}", std::process::id()));
    let (at_rome, at_milan) = (Folder::new(&home, "rome")?, Folder::new(&home, "milan")?);
    let (rome, milan): (ClusterId, ClusterId) = ("rome".parse()?, "milan".parse()?);

    let provider = provider(&milan)?;
    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?;
    let consumer = Consumer::new(
        ConsumerConfig::new(rome.clone()),
        Arc::new(OneKey(Arc::new(key))),
    );

    // The provider invites the consumer and makes a nonce for it.
    at_milan.step(|seen, env| provider.invite(&seen.view(&rome), env))?;
    carry("nonce.json", &at_milan, &at_rome)?;

    // The consumer signs the nonce and makes its Tenant.
    let nonce = at_rome.message("nonce.json")?;
    at_rome.step(|seen, env| consumer.receive(&seen.view(&milan), nonce, env))?;
    carry("tenant.json", &at_rome, &at_milan)?;

    // The provider verifies the Tenant and has a certificate signed.
    let tenant = at_milan.message("tenant.json")?;
    at_milan.step(|seen, env| provider.receive(&seen.view(&rome), tenant, env))?;
    at_milan.settle(|seen, env| provider.reconcile(&seen.view(&rome), env))?;
    carry("identity.json", &at_milan, &at_rome)?;

    // The consumer verifies the Identity and writes its kubeconfig.
    let identity = at_rome.message("identity.json")?;
    at_rome.step(|seen, env| consumer.receive(&seen.view(&milan), identity, env))?;
    at_rome.settle(|seen, env| consumer.reconcile(&seen.view(&milan), env))?;

    println!("rome may use milan; all files are in {}", home.display());
    Ok(())
}

/// A provider with its own certificate authority.
fn provider(cluster_id: &ClusterId) -> Result<Provider, BoxError> {
    let random = &mut getrandom::SysRng;
    let authority = Authority::new("milan-ca", now()?, 10 * YEAR, &Entropy::draw(random)?)?;
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let signer = AuthoritySigner::new(authority, Entropy::draw(random)?);
    Ok(
        Provider::builder(cluster_id.clone(), endpoint, RecordKey::draw(random)?)
            .principals(Arc::new(NameTable::default()))
            .signer(Arc::new(signer))
            .build(),
    )
}

/// One cluster: a file for each object, and the messages.
struct Folder(PathBuf);

impl Folder {
    fn new(home: &Path, name: &str) -> io::Result<Self> {
        let folder = home.join(name);
        fs::create_dir_all(folder.join("objects"))?;
        fs::create_dir_all(folder.join("mail"))?;
        Ok(Self(folder))
    }

    /// Takes steps until nothing is left to do.
    fn settle(
        &self,
        mut next: impl FnMut(&Objects, Env) -> Result<Step, Error>,
    ) -> Result<(), BoxError> {
        while !self.step(&mut next)?.is_settled() {}
        Ok(())
    }

    /// Reads the folder, takes one step, and writes the changes.
    fn step(
        &self,
        next: impl FnOnce(&Objects, Env) -> Result<Step, Error>,
    ) -> Result<Step, BoxError> {
        let mut objects = self.objects()?;
        let step = next(&objects, env()?)?;
        for effect in &step.effects {
            objects.apply(effect)?;
            println!("  {} writes {}", self.name(), effect.id());
        }
        for refused in &step.refused {
            println!("  {} refuses: {}", self.name(), refused.error);
        }
        for object in objects.iter() {
            let name = object.id().to_string().replace(['/', ' '], ".");
            let file = self.0.join("objects").join(name + ".json");
            fs::write(file, manifest::write_json(object))?;
        }
        for message in &step.outbox {
            self.post(message)?;
        }
        Ok(step)
    }

    /// The objects of the folder. Each store has entropy of its own, so that a new object
    /// never gets the UID of an earlier one.
    fn objects(&self) -> Result<Objects, BoxError> {
        let mut objects = Objects::new(&Entropy::draw(&mut getrandom::SysRng)?);
        for entry in fs::read_dir(self.0.join("objects"))? {
            objects.extend(manifest::read(
                &fs::read(entry?.path())?,
                &Limits::default(),
            )?);
        }
        Ok(objects)
    }

    fn post(&self, message: &Message) -> Result<(), BoxError> {
        let name = message.body.name().to_lowercase() + ".json";
        Ok(fs::write(self.mail(&name), message.to_json().expose())?)
    }

    fn message(&self, name: &str) -> Result<Message, BoxError> {
        let text = fs::read(self.mail(name))?;
        Ok(Message::from_json(&text, &Policy::strict())?)
    }

    fn mail(&self, name: &str) -> PathBuf {
        self.0.join("mail").join(name)
    }

    fn name(&self) -> String {
        let name = self.0.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

fn carry(name: &str, from: &Folder, to: &Folder) -> io::Result<()> {
    println!("{name}: from {} to {}", from.name(), to.name());
    fs::rename(from.mail(name), to.mail(name))
}

fn env() -> Result<Env, BoxError> {
    let entropy = Entropy::draw(&mut getrandom::SysRng)?;
    Ok(Env {
        now: now()?,
        entropy,
    })
}

fn now() -> Result<Timestamp, BoxError> {
    Ok(SystemTime::now().try_into()?)
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
