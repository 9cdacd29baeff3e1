//! A provider and a consumer in two processes: the objects in a database, messages over TCP,
//! a certificate authority and a key service that answer later.
//!
//! The database is a file of JSON. A step reads it, and each effect is written at once, as one
//! transaction. Both processes may be killed at any point, and go on from their databases.
//!
//! ```sh
//! cargo run --example two_processes
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an embedder has files, a clock, connections and processes"
)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use std::{env, fs, path::PathBuf, thread};

use liqo_auth::machine::{Env, Machine, Message, Objects, Stage, Step, View, drive::*};
use liqo_auth::model::{ClusterId, Timestamp, manifest};
use liqo_auth::policy::{Limits, Policy};
use liqo_auth::{consumer::*, crypto::*, error::Error, provider::*};

fn main() -> Result<(), BoxError> {
    match env::args().nth(1) {
        Some(folder) => provide(folder.into()),
        None => consume(),
    }
}

/// The provider's process. It answers each connection with its messages for the consumer.
fn provide(folder: PathBuf) -> Result<(), BoxError> {
    let random = &mut getrandom::SysRng;
    let authority = Authority::new("milan-ca", now()?, YEAR, &Entropy::draw(random)?)?;
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let signer = Later::new(AuthoritySigner::new(authority, Entropy::draw(random)?));
    let provider = Provider::builder("milan".parse()?, endpoint, RecordKey::draw(random)?)
        .principals(Arc::new(NameTable::default()))
        .signer(signer)
        .build();
    let side = Side::new(folder, "rome", &provider)?;
    side.run(Run::of_one_step(), &|view, env| provider.invite(view, env))?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        let step = side.drive(received(&stream)?)?;
        send(&mut stream, &step.outbox)?;
    }
    Ok(())
}

/// The consumer's process. It starts the provider's, and ends it.
fn consume() -> Result<(), BoxError> {
    let folder = env::temp_dir().join(format!("liqo-auth-{}", std::process::id()));
    let mut command = Command::new(env::current_exe()?);
    let command = command.arg(folder.join("milan")).stdout(Stdio::piped());
    let mut provider = command.spawn()?;
    let stdout = provider.stdout.take().ok_or("no output of the provider")?;
    let address = BufReader::new(stdout)
        .lines()
        .next()
        .ok_or("no address")??;

    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?;
    let keys = Arc::new(OneKey(Later::new(key)));
    let consumer = Consumer::new(ConsumerConfig::new("rome".parse()?), keys);
    let side = Side::new(folder.join("rome"), "milan", &consumer)?;
    let (mut deliveries, mut letters) = (Deliveries::default(), Vec::new());
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&address)?;
        send(&mut stream, &letters)?;
        stream.shutdown(Shutdown::Write)?;
        let step = side.drive(received(&stream)?)?;
        letters = deliveries.take(step.outbox);
        let status = side
            .machine
            .look(&side.objects()?.view(&side.peer), now()?)?;
        if status.control_plane.stage == Stage::Authenticated {
            println!(
                "rome may use milan; the databases are in {}",
                folder.display()
            );
            return Ok(provider.kill()?);
        }
        // A service sleeps until then, or until something arrives.
        let _ = step.wait.next_run(now()?, Duration::from_secs(10));
    }
    Err("the exchange did not finish".into())
}

/// One side of the peering. Its database is a table of objects, with the JSON of each.
struct Side<'m> {
    database: PathBuf,
    peer: ClusterId,
    machine: &'m dyn Machine,
}

impl<'m> Side<'m> {
    fn new(folder: PathBuf, peer: &str, machine: &'m dyn Machine) -> Result<Self, BoxError> {
        fs::create_dir_all(&folder)?;
        let (database, peer) = (folder.join("objects.json"), peer.parse()?);
        Ok(Self {
            database,
            peer,
            machine,
        })
    }

    /// Takes a message, if there is one, and goes on until nothing is left to do.
    fn drive(&self, received: Option<Message>) -> Result<Step, BoxError> {
        if let Some(message) = received {
            let take = |view: &View, env| self.machine.receive(view, message.clone(), env);
            self.run(Run::of_one_step(), &take)?;
        }
        self.run(Run::to_rest(), &|view, env| {
            self.machine.reconcile(view, env)
        })
    }

    fn run(&self, run: Run, next: &Next<'_>) -> Result<Step, BoxError> {
        let look = |after| {
            thread::sleep(after);
            let (now, entropy) = (now()?, Entropy::draw(&mut getrandom::SysRng)?);
            Ok(next(
                &self.objects()?.view(&self.peer),
                Env { now, entropy },
            )?)
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
        let mut objects = Objects::new(&Entropy::draw(&mut getrandom::SysRng)?);
        objects.set_time(now()?);
        let rows = fs::read(&self.database).unwrap_or_default();
        let rows = manifest::read(&rows, &Limits::default())?;
        rows.into_iter().for_each(|object| objects.load(object));
        Ok(objects)
    }
}

/// Makes a step of objects.
type Next<'n> = dyn Fn(&View<'_>, Env) -> Result<Step, Error> + 'n;

/// Answers each question when it is asked again.
struct Later<T>(T, Mutex<BTreeSet<RequestId>>);

impl<T> Later<T> {
    fn new(answers: T) -> Arc<Self> {
        Arc::new(Self(answers, Mutex::default()))
    }

    fn when_asked_again<A>(&self, id: RequestId, answer: Answered<A>) -> Answered<A> {
        let asked = self.1.lock().map_err(|_| "a thread has panicked");
        match asked?.insert(id) {
            true => Ok(Answer::Pending),
            false => answer,
        }
    }
}

type Answered<A> = Result<Answer<A>, BoxError>;

impl CsrSigner for Later<AuthoritySigner> {
    fn sign(&self, request: &SigningRequest) -> Answered<CertificateChain> {
        self.when_asked_again(request.id, self.0.sign(request))
    }
}

impl SigningKey for Later<KeyPair> {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Answered<Signature> {
        self.when_asked_again(payload.id(), self.0.sign(payload))
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

fn send(stream: &mut TcpStream, messages: &[Message]) -> Result<(), BoxError> {
    for message in messages {
        stream.write_all(message.to_json().expose())?;
        stream.write_all(b"\n")?;
    }
    Ok(())
}

/// The last message up to the end of the connection, one on each line.
fn received(stream: &TcpStream) -> Result<Option<Message>, BoxError> {
    let last = BufReader::new(stream).lines().last().transpose()?;
    let read = last.map(|line| Message::from_json(line.as_bytes(), &Policy::strict()));
    Ok(read.transpose()?)
}

fn now() -> Result<Timestamp, BoxError> {
    Ok(SystemTime::now().try_into()?)
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
