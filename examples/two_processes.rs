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

use std::{
    collections::BTreeSet,
    env, fs,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use liqo_auth::{
    Consumer, Env, Error, Machine, Provider, Step, View,
    consumer::ConsumerConfig,
    crypto::{
        Algorithm, Answer, Authority, BoxError, CertificateChain, ClientKey, Entropy, KeyPair,
        OneKey, Payload, PublicKey, RecordKey, RequestId, Signature, SigningKey,
    },
    machine::{
        Effect, Message, Stage,
        drive::{Applied, Deliveries, Run},
    },
    model::{ClusterId, Object, Timestamp},
    policy::Policy,
    provider::{AuthoritySigner, CsrSigner, Endpoint, NameTable, SigningRequest},
};
use serde_json::Value;

fn main() -> Result<(), BoxError> {
    match env::args().nth(1) {
        Some(home) => provide(Database::in_folder(home.into())?),
        None => consume(),
    }
}

/// The provider's process. It answers each connection with its messages for the consumer.
fn provide(database: Database) -> Result<(), BoxError> {
    let authority = Authority::new("milan-ca", now()?, YEAR, &entropy()?)?;
    let api_server = "https://api.milan.example:6443".parse()?;
    let endpoint = Endpoint::new(api_server, Some(authority.ca_bundle()));
    let signer = Later::new(AuthoritySigner::new(authority, entropy()?));
    let provider = Provider::builder(
        "milan".parse()?,
        endpoint,
        RecordKey::draw(&mut getrandom::SysRng)?,
    )
    .principals(Arc::new(NameTable::default()))
    .signer(Arc::new(signer))
    .build();
    let rome: ClusterId = "rome".parse()?;
    database.run(Run::of_one_step(), &rome, |view, env| {
        provider.invite(view, env)
    })?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let mut stream = stream?;
        let received = received(&stream)?.pop();
        for message in database.drive(&provider, &rome, received)?.outbox {
            send(&mut stream, &message)?;
        }
    }
    Ok(())
}

/// The consumer's process. It starts the provider's, and ends it.
fn consume() -> Result<(), BoxError> {
    let home = env::temp_dir().join(format!("liqo-auth-{}", std::process::id()));
    let mut milan = Command::new(env::current_exe()?)
        .arg(home.join("milan"))
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = milan.stdout.take().ok_or("no output of the provider")?;
    let address = BufReader::new(stdout)
        .lines()
        .next()
        .ok_or("no provider")??;

    let database = Database::in_folder(home.join("rome"))?;
    let key = KeyPair::generate(Algorithm::Ed25519, &mut getrandom::SysRng)?;
    let keys = OneKey(Arc::new(Later::new(key)));
    let consumer = Consumer::new(ConsumerConfig::new("rome".parse()?), Arc::new(keys));
    let peer: ClusterId = "milan".parse()?;
    let (mut deliveries, mut letters) = (Deliveries::default(), Vec::new());
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&address)?;
        for message in letters.drain(..) {
            send(&mut stream, &message)?;
        }
        stream.shutdown(Shutdown::Write)?;
        let mut received = received(&stream)?;
        let step = database.drive(&consumer, &peer, received.pop())?;
        letters.extend(deliveries.take(step.outbox));
        let objects = database.objects()?;
        let status = Machine::look(&consumer, &View::of(&peer, &objects), now()?)?;
        if status.control_plane.stage == Stage::Authenticated {
            println!(
                "rome may use milan; the databases are in {}",
                home.display()
            );
            return Ok(milan.kill()?);
        }
        // A service sleeps until then, or until something arrives.
        let _ = step.wait.next_run(now()?, Duration::from_secs(10));
    }
    Err("the exchange did not finish".into())
}

/// A table of objects: a JSON text for each.
struct Database(PathBuf);

impl Database {
    fn in_folder(folder: PathBuf) -> Result<Self, BoxError> {
        fs::create_dir_all(&folder)?;
        Ok(Self(folder.join("objects.json")))
    }

    /// Takes a message, if there is one, and goes on until nothing is left to do.
    fn drive(
        &self,
        machine: &dyn Machine,
        peer: &ClusterId,
        received: Option<Message>,
    ) -> Result<Step, BoxError> {
        if let Some(message) = received {
            self.run(Run::of_one_step(), peer, |view, env| {
                machine.receive(view, message.clone(), env)
            })?;
        }
        self.run(Run::to_rest(), peer, |view, env| {
            machine.reconcile(view, env)
        })
    }

    fn run(
        &self,
        run: Run,
        peer: &ClusterId,
        next: impl Fn(&View<'_>, Env) -> Result<Step, Error>,
    ) -> Result<Step, BoxError> {
        let look = |after| {
            thread::sleep(after);
            let (now, entropy) = (now()?, entropy()?);
            let objects = self.objects()?;
            Ok(next(&View::of(peer, &objects), Env { now, entropy })?)
        };
        run.finish(look, |effect| self.apply(effect))
    }

    fn objects(&self) -> Result<Vec<Object>, BoxError> {
        Ok(self.rows()?.into_iter().map(Object::from_value).collect())
    }

    fn rows(&self) -> Result<Vec<Value>, BoxError> {
        match fs::read(&self.0) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(_) => Ok(Vec::new()),
        }
    }

    fn apply(&self, effect: &Effect) -> Result<Applied, BoxError> {
        let mut rows = self.rows()?;
        let at = rows
            .iter()
            .position(|row| Object::from_value(row.clone()).id() == effect.id());
        let stored = at.map(|at| rows.swap_remove(at));
        let Ok(after) = effect.apply_to_value(stored.as_ref(), now()?) else {
            return Ok(Applied::Overtaken);
        };
        if let Some(mut row) = after {
            let mut random = [0; 16];
            getrandom::fill(&mut random)?;
            let random = u128::from_be_bytes(random);
            if let Some(Value::Object(metadata)) = row.get_mut("metadata") {
                let uid = || format!("{random:032x}").into();
                metadata.entry("uid").or_insert_with(uid);
                metadata.insert("resourceVersion".to_owned(), random.to_string().into());
            }
            rows.push(row);
        }
        let next = self.0.with_extension("next");
        fs::write(&next, serde_json::to_vec(&rows)?)?;
        fs::rename(next, &self.0)?;
        Ok(Applied::Shown)
    }
}

/// Answers each question when it is asked again.
struct Later<T>(T, Mutex<BTreeSet<RequestId>>);

impl<T> Later<T> {
    fn new(answers: T) -> Self {
        Self(answers, Mutex::default())
    }

    fn is_new(&self, question: RequestId) -> bool {
        self.1
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(question)
    }
}

impl CsrSigner for Later<AuthoritySigner> {
    fn sign(&self, request: &SigningRequest) -> Result<Answer<CertificateChain>, BoxError> {
        match self.is_new(request.id) {
            true => Ok(Answer::Pending),
            false => self.0.sign(request),
        }
    }
}

impl SigningKey for Later<KeyPair> {
    fn public_key(&self) -> &PublicKey {
        self.0.public_key()
    }

    fn sign(&self, payload: &Payload<'_>) -> Result<Answer<Signature>, BoxError> {
        match self.is_new(payload.id()) {
            true => Ok(Answer::Pending),
            false => self.0.sign(payload),
        }
    }

    fn client_key(&self) -> ClientKey {
        self.0.client_key()
    }
}

fn send(stream: &mut TcpStream, message: &Message) -> Result<(), BoxError> {
    stream.write_all(message.to_json().expose())?;
    Ok(stream.write_all(b"\n")?)
}

/// The messages up to the end of the connection, at most one line of each kind.
fn received(stream: &TcpStream) -> Result<Vec<Message>, BoxError> {
    let lines = BufReader::new(stream).lines();
    lines
        .map(|line| Ok(Message::from_json(line?.as_bytes(), &Policy::strict())?))
        .collect()
}

fn entropy() -> Result<Entropy, BoxError> {
    Ok(Entropy::draw(&mut getrandom::SysRng)?)
}

fn now() -> Result<Timestamp, BoxError> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Timestamp::from_unix(since_epoch.as_secs().try_into()?)?)
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
