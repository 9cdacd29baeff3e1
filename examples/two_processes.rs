//! A provider and a consumer in two processes: the objects in a database, messages over TCP,
//! a certificate authority and a key service that answer later.
//!
//! The database is a file of JSON. A step reads it, and each effect is written at once, as one
//! transaction. A process that is killed at any point goes on from its database. It then needs
//! the same keys again, which this example keeps nowhere.
//!
//! ```sh
//! cargo run --example two_processes
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an embedder has files, a clock, connections and processes"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use std::{collections::BTreeSet, env, fs, path::PathBuf, process::Command, thread};

use liqo_auth::machine::{Env, Machine, Message, Objects, Stage, Step, View, drive::*};
use liqo_auth::model::{ClusterId, manifest};
use liqo_auth::policy::{Limits, Policy};
use liqo_auth::{consumer::*, crypto::*, error::Error, provider::*};

fn main() -> Result<(), BoxError> {
    match env::args().nth(1) {
        Some(address) => provide(TcpStream::connect(address)?),
        None => consume(TcpListener::bind("127.0.0.1:0")?),
    }
}

/// The provider's process. It answers until the consumer ends.
fn provide(mut stream: TcpStream) -> Result<(), BoxError> {
    let authority = Authority::new("milan-ca", env()?.now, YEAR, &env()?.entropy)?;
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let signer = AuthoritySigner::new(authority, env()?.entropy);
    let later = Later::default();
    let record_key = RecordKey::draw(&mut getrandom::SysRng)?;
    let provider = Provider::builder("milan".parse()?, endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .signer(Arc::new(move |request: &SigningRequest| {
            later.answer(request.id, signer.sign(request))
        }))
        .build();
    let mut side = Side::new("rome", &provider)?;
    side.run(Run::of_one_step(), |view, env| provider.invite(view, env))?;
    for line in BufReader::new(stream.try_clone()?).lines() {
        side.take(&line?, &mut stream)?;
    }
    Ok(())
}

/// The consumer's process. It starts the provider's.
fn consume(listener: TcpListener) -> Result<(), BoxError> {
    let address = listener.local_addr()?.to_string();
    let mut provider = Command::new(env::current_exe()?).arg(address).spawn()?;
    let (mut stream, _) = listener.accept()?;

    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?;
    let keys = Arc::new(OneKey(Arc::new(KeyService(key, Later::default()))));
    let consumer = Consumer::new(ConsumerConfig::new("rome".parse()?), keys);
    let mut side = Side::new("milan", &consumer)?;
    writeln!(stream)?;
    for line in BufReader::new(stream.try_clone()?).lines().take(20) {
        if side.take(&line?, &mut stream)? == Stage::Authenticated {
            println!("rome may use milan, as {} says", side.database.display());
            return Ok(provider.kill()?);
        }
    }
    Err("the exchange did not finish".into())
}

/// One side of the peering. Its database is a table of objects, with the JSON of each.
struct Side<'m> {
    machine: &'m dyn Machine,
    peer: ClusterId,
    database: PathBuf,
    deliveries: Deliveries,
}

impl<'m> Side<'m> {
    fn new(peer: &str, machine: &'m dyn Machine) -> Result<Self, BoxError> {
        let name = format!("{}-{}.json", machine.cluster_id(), std::process::id());
        Ok(Self {
            machine,
            peer: peer.parse()?,
            database: env::temp_dir().join(name),
            deliveries: Deliveries::default(),
        })
    }

    /// Takes a line of the peer: a message, or an empty line. Then it is this side's turn,
    /// which goes on until nothing is left to do. A service would take its turn when a message
    /// or a change of an object arrives, or at the time of `Wait::next_run`.
    fn take(&mut self, line: &str, stream: &mut TcpStream) -> Result<Stage, BoxError> {
        let machine = self.machine;
        if line.is_empty() {
            let step = self.run(Run::to_rest(), |view, env| machine.reconcile(view, env))?;
            for message in self.deliveries.take(step.outbox) {
                stream.write_all(message.to_json().expose())?;
                writeln!(stream)?;
            }
            writeln!(stream)?;
        } else {
            let message = Message::from_json(line.as_bytes(), &Policy::strict())?;
            self.run(Run::of_one_step(), |view, env| {
                machine.receive(view, message.clone(), env)
            })?;
        }
        let status = machine.look(&self.objects()?.view(&self.peer), env()?.now)?;
        Ok(status.control_plane.stage)
    }

    /// Makes steps of the objects, and applies their effects.
    fn run<F>(&self, run: Run, next: F) -> Result<Step, BoxError>
    where
        F: Fn(&View<'_>, Env) -> Result<Step, Error>,
    {
        let look = |after| {
            thread::sleep(after);
            Ok(next(&self.objects()?.view(&self.peer), env()?)?)
        };
        run.finish(look, |effect| {
            let mut objects = self.objects()?;
            if objects.apply(effect).is_err() {
                return Ok(Applied::Overtaken);
            }
            let rows: String = objects.iter().map(manifest::write_json).collect();
            fs::write(self.database.with_extension("next"), rows)?;
            fs::rename(self.database.with_extension("next"), &self.database)?;
            Ok(Applied::Shown)
        })
    }

    fn objects(&self) -> Result<Objects, BoxError> {
        let mut objects = Objects::new(&env()?.entropy);
        objects.set_time(env()?.now);
        let is_there = self.database.try_exists()?;
        let rows = is_there.then(|| fs::read(&self.database)).transpose()?;
        let rows = manifest::read(&rows.unwrap_or_default(), &Limits::default())?;
        rows.into_iter().for_each(|object| objects.load(object));
        Ok(objects)
    }
}

/// Answers each question when it is asked again.
#[derive(Default)]
struct Later(Mutex<BTreeSet<RequestId>>);

impl Later {
    fn answer<A>(&self, id: RequestId, answer: Answered<A>) -> Answered<A> {
        let asked = self.0.lock().map_err(|_| "a thread has panicked");
        match asked?.insert(id) {
            true => Ok(Answer::Pending),
            false => answer,
        }
    }
}

type Answered<A> = Result<Answer<A>, BoxError>;

/// A key that a service holds.
struct KeyService(KeyPair, Later);

impl SigningKey for KeyService {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Answered<Signature> {
        self.1.answer(payload.id(), self.0.sign(payload))
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

/// The present time, and the randomness of one call.
fn env() -> Result<Env, BoxError> {
    let entropy = Entropy::draw(&mut getrandom::SysRng)?;
    let now = SystemTime::now().try_into()?;
    Ok(Env { now, entropy })
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
