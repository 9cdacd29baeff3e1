//! Near-honest requests, Tenants and Identities, judged by this library and by
//! Liqo's own functions. What Liqo refuses must be refused here too, under
//! every policy.
//!
//! `benches/reference/differential.sh CASES [SEED]` builds Liqo's judge and
//! runs this program. Most cases are changed and then signed. Therefore the
//! verification gets as far as the rule that the change breaks.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    io::{BufRead, BufReader, BufWriter, Write},
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    thread,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    crypto::{Csr, Entropy, KeyPair, Nonce, SigningKey, Subject, strategy},
    machine::MessageBody,
    model::{Identity, Object, Tenant},
    policy::Policy,
    verify::{self, IdentityExpectation, TenantExpectation},
};
use liqo_auth_rehearsal::{ALL, Occurrence, Rehearsal};
use proptest::{
    strategy::{BoxedStrategy, Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::json;

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let (Some(judge), Some(cases)) = (arguments.next(), arguments.next()) else {
        return Err("usage: differential JUDGE CASES [SEED]".into());
    };
    let cases: u64 = cases.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(0), |seed| seed.parse())?;
    println!("seed {seed}");

    let mut liqo = Command::new(judge)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (input, output) = (liqo.stdin.take(), liqo.stdout.take());
    let (Some(input), Some(output)) = (input, output) else {
        return Err("the judge has no pipes".into());
    };
    // The number of cases by which this side may be ahead of Liqo's judge.
    let (send, receive) = mpsc::sync_channel(1000);
    let ours = thread::spawn(move || judge_here(input, &send, seed, cases));
    let tally = compare(BufReader::new(output), receive)?;
    ours.join().map_err(|_| "the making of cases panicked")??;
    liqo.wait()?;
    tally.print();
    tally.assert(cases)
}

/// This library's verdicts on a case.
struct Verdict {
    kind: &'static str,
    is_honest: bool,
    /// Whether the request ends with more than one line feed. The compatible
    /// policy accepts this, and Liqo does not.
    has_blank_end: bool,
    /// `Ok`, or the error's code, under the strict and under the compatible
    /// policy.
    strict: Result<(), String>,
    compatible: Result<(), String>,
    line: String,
}

/// Makes the cases, judges each, and sends it to Liqo's judge.
fn judge_here(
    input: impl Write,
    send: &mpsc::SyncSender<Verdict>,
    seed: u64,
    cases: u64,
) -> Result<(), Failure> {
    let mut input = BufWriter::new(input);
    let clusters = Clusters::new()?;
    let mut bytes = [1; 16];
    for (byte, of_seed) in bytes.iter_mut().zip(seed.to_be_bytes()) {
        *byte ^= of_seed;
    }
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for number in 0..cases {
        let verdict = match number % 3 {
            0 => clusters.request(&mut runner)?,
            1 => clusters.tenant(&mut runner)?,
            _ => clusters.identity(&mut runner)?,
        };
        writeln!(input, "{}", verdict.line)?;
        send.send(verdict)?;
    }
    input.flush()?;
    Ok(())
}

/// Two clusters in an exchange that awaits the Tenant.
struct Clusters {
    rehearsal: Rehearsal,
    key: Arc<KeyPair>,
    private_key: String,
    nonce: Nonce,
    honest_request: Vec<u8>,
    requests: BoxedStrategy<Vec<u8>>,
    tenants: BoxedStrategy<Tenant>,
    identities: BoxedStrategy<Identity>,
}

impl Clusters {
    fn new() -> Result<Self, Failure> {
        let key = Arc::new(KeyPair::from_entropy(&Entropy::from_bytes([7; 32])));
        let mut rehearsal = Rehearsal::with_consumer_key(7, key.clone())?;
        rehearsal.play(Occurrence::Provider { effects: ALL })?;
        let [message] = rehearsal.messages.as_slice() else {
            return Err("the provider sends one message".into());
        };
        let MessageBody::Nonce(nonce) = &message.body else {
            return Err("the provider sends a nonce".into());
        };
        let consumer = rehearsal.consumer.cluster_id();
        let subject = Subject::control_plane(consumer);
        Ok(Self {
            private_key: key.to_pkcs8_pem().expose().to_owned(),
            nonce: nonce.clone(),
            honest_request: Csr::make(&subject, &*key)?.at_once()?.pem().to_vec(),
            requests: strategy::any_csr(key.clone(), consumer),
            tenants: rehearsal.forged_tenants(),
            identities: rehearsal.forged_identities(),
            key,
            rehearsal,
        })
    }

    fn request(&self, runner: &mut TestRunner) -> Result<Verdict, Failure> {
        let request = draw(&self.requests, runner)?;
        let consumer = self.rehearsal.consumer.cluster_id();
        let (subject, key) = (Subject::control_plane(consumer), self.key.public_key());
        let by = |policy: Policy| match Csr::verify(&request, &subject, key, &policy) {
            Ok(_) => Ok(()),
            Err(error) => Err(first_words(&error)),
        };
        Ok(Verdict {
            kind: "request",
            is_honest: request == self.honest_request,
            has_blank_end: has_blank_end(&request),
            strict: by(Policy::strict()),
            compatible: by(Policy::compatible()),
            line: json!({
                "csr": STANDARD.encode(&request),
                "publicKey": STANDARD.encode(key.spki_der()),
                "consumer": consumer.as_str(),
            })
            .to_string(),
        })
    }

    fn tenant(&self, runner: &mut TestRunner) -> Result<Verdict, Failure> {
        let tenant = draw(&self.tenants, runner)?;
        let expectation = TenantExpectation {
            consumer: self.rehearsal.consumer.cluster_id(),
            nonce: &self.nonce,
        };
        let by = |policy: Policy| match verify::tenant(&tenant, &expectation, &policy) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.code().to_owned()),
        };
        Ok(Verdict {
            kind: "Tenant",
            is_honest: tenant.spec.csr.as_slice() == self.honest_request,
            has_blank_end: has_blank_end(tenant.spec.csr.as_slice()),
            strict: by(Policy::strict()),
            compatible: by(Policy::compatible()),
            line: json!({
                "nonce": self.nonce.as_str(),
                "consumer": expectation.consumer.as_str(),
                "tenant": Object::from(tenant).to_value(),
            })
            .to_string(),
        })
    }

    fn identity(&self, runner: &mut TestRunner) -> Result<Verdict, Failure> {
        let identity = draw(&self.identities, runner)?;
        let expectation = IdentityExpectation::new(
            self.rehearsal.consumer.cluster_id(),
            self.rehearsal.provider.cluster_id(),
            self.key.public_key(),
            self.rehearsal.now,
        );
        let by = |policy: Policy| match verify::identity(&identity, &expectation, &policy) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.code().to_owned()),
        };
        Ok(Verdict {
            kind: "Identity",
            // Each certificate has its own dates and serial number.
            is_honest: false,
            has_blank_end: false,
            strict: by(Policy::strict()),
            compatible: by(Policy::compatible()),
            line: json!({
                "privateKey": self.private_key,
                "identity": Object::from(identity).to_value(),
            })
            .to_string(),
        })
    }
}

fn has_blank_end(request: &[u8]) -> bool {
    let text = request.trim_ascii_end();
    request.len() > text.len() + 1
}

fn draw<T: core::fmt::Debug>(
    strategy: &BoxedStrategy<T>,
    runner: &mut TestRunner,
) -> Result<T, Failure> {
    let tree = strategy.new_tree(runner);
    Ok(tree
        .map_err(|reason| reason.message().to_owned())?
        .current())
}

/// The error's name without its details.
fn first_words(error: &impl core::fmt::Debug) -> String {
    let text = format!("{error:?}");
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '(');
    let words = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let open = words.matches('(').count();
    format!("{words}{}", ")".repeat(open))
}

/// The numbers of verdicts.
#[derive(Default)]
struct Tally {
    cases: u64,
    /// Changed cases that Liqo accepts.
    changed_and_accepted: u64,
    /// By kind, policy and code: cases that are refused here and accepted by
    /// Liqo.
    refused_besides: BTreeMap<(&'static str, &'static str, String), u64>,
    accepted: BTreeMap<(&'static str, &'static str), u64>,
    /// Cases with a blank end, which only the compatible policy accepts.
    blank_ends: u64,
    /// Cases that are accepted here and refused by Liqo.
    contradictions: Vec<String>,
}

fn compare(output: impl BufRead, ours: mpsc::Receiver<Verdict>) -> Result<Tally, Failure> {
    let mut tally = Tally::default();
    for (liqo, ours) in output.lines().zip(ours) {
        let liqo = liqo?;
        let liqo_accepts = liqo == "accepted";
        tally.cases += 1;
        tally.changed_and_accepted += u64::from(liqo_accepts && !ours.is_honest);
        if liqo_accepts {
            *tally.accepted.entry((ours.kind, "Liqo")).or_default() += 1;
        }
        for (policy, verdict) in [("strict", &ours.strict), ("compatible", &ours.compatible)] {
            match verdict {
                Ok(()) if !liqo_accepts && policy == "compatible" && ours.has_blank_end => {
                    tally.blank_ends += 1;
                }
                Ok(()) if !liqo_accepts => {
                    tally
                        .contradictions
                        .push(format!("{policy}: {liqo}: {}", ours.line));
                }
                Ok(()) => *tally.accepted.entry((ours.kind, policy)).or_default() += 1,
                Err(code) if liqo_accepts => {
                    let key = (ours.kind, policy, code.clone());
                    *tally.refused_besides.entry(key).or_default() += 1;
                }
                Err(_) => {}
            }
        }
    }
    Ok(tally)
}

impl Tally {
    fn print(&self) {
        println!("{} cases; accepted:", self.cases);
        for ((kind, by), count) in &self.accepted {
            println!("{count:>9} {kind} by {by}");
        }
        println!(
            "changed, and accepted by Liqo: {}",
            self.changed_and_accepted
        );
        println!(
            "with a blank end, accepted by the compatible policy alone: {}",
            self.blank_ends
        );
        println!("refused here and accepted by Liqo:");
        for ((kind, policy, code), count) in &self.refused_besides {
            println!("{count:>9} {kind} ({policy}): {code}");
        }
    }

    fn assert(&self, cases: u64) -> Result<(), Failure> {
        if let Some(contradiction) = self.contradictions.first() {
            let count = self.contradictions.len();
            return Err(
                format!("{count} accepted here and refused by Liqo: {contradiction}").into(),
            );
        }
        if self.cases != cases {
            return Err(format!("{} of {cases} cases were judged", self.cases).into());
        }
        if self.changed_and_accepted * 10 < cases {
            return Err("too few changed cases come past Liqo's functions".into());
        }
        Ok(())
    }
}
