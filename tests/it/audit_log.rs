//! The log of decisions: its entries for a whole exchange, and how each change
//! of the log is found.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use liqo_auth::{
    Machine,
    audit::{Chain, Entry, EntryHash, Event, LONGEST_LINE, LogError, LogFault, Summary, Verifier},
    crypto::RecordKey,
    model::{Timestamp, names},
};

use crate::clusters::exchange::{self, RECORD_KEY, Setup, id, now};

#[test]
fn the_log_of_an_exchange_has_the_peer_decision_rule_and_key() {
    let log = log();
    let told: Vec<_> = log
        .iter()
        .map(|entry| entry.content())
        .map(|content| (content.decision.as_str(), content.rule))
        .collect();
    for expected in [
        ("Invited", None),
        ("NonceMade", Some(4)),
        ("HandshakeVerified", Some(4)),
        ("CertificateIssued", Some(1)),
        ("Refused", Some(5)),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:?}");
    }
    let exchange = Setup::new().exchange();
    let key = Setup::new()
        .consumer_key
        .public_key()
        .fingerprint()
        .to_string();
    for entry in &log {
        let content = entry.content();
        assert_eq!(content.cluster, *exchange.provider.cluster_id());
        assert_eq!(content.peer, *exchange.consumer.cluster_id());
        assert_eq!(content.time, now());
    }
    let verified = find(&log, "HandshakeVerified").content();
    assert_eq!(verified.key.as_deref(), Some(key.as_str()));
    assert_eq!(
        verified.object.as_deref(),
        Some("Tenant liqo-tenant-cl-consumer/cl-consumer")
    );
    let issued = find(&log, "CertificateIssued").content();
    assert_eq!(issued.key.as_deref(), Some(key.as_str()));
    let details: Vec<_> = issued.details.keys().map(String::as_str).collect();
    assert_eq!(details, ["certificate", "request", "until"]);
    let refused = find(&log, "Refused").content();
    assert_eq!(refused.details["fault"], "PeerIncompatible");
    assert_eq!(refused.details["field"], "spec.publicKey");
    assert!(
        refused.details["reason"].contains("the cluster ID is pinned to the key SHA256:"),
        "{refused:?}"
    );
}

#[test]
fn a_line_is_canonical() {
    let event = &events()[0];
    let entry = Chain::begin(id("cl-provider"), None).append(now(), event);
    assert_eq!(
        entry.line(),
        "{\"sequence\":1,\"time\":\"2026-11-20T13:00:00Z\",\"cluster\":\"cl-provider\",\
         \"peer\":\"cl-consumer\",\"decision\":\"Invited\",\
         \"previous\":\"0000000000000000000000000000000000000000000000000000000000000000\",\
         \"hash\":\"71d4faaac4a39e1370d3d32152ad4c9bf5f7bff8519bd2f43d74f1c11263f1af\"}"
    );
    assert_eq!(Entry::parse(entry.line().as_bytes()), Ok(entry.clone()));
    let sealed = Chain::begin(id("cl-provider"), Some(key())).append(now(), event);
    assert_eq!(sealed.hash(), entry.hash());
    assert!(sealed.line().contains("\",\"mac\":\""));
    assert_eq!(Entry::parse(sealed.line().as_bytes()), Ok(sealed.clone()));
    assert_eq!(entry.hash().to_string().parse(), Ok(entry.hash()));
    let upper = entry.hash().to_string().to_uppercase();
    assert!(upper.parse::<EntryHash>().is_err());
}

#[test]
fn openssl_computes_the_same_hash() {
    let log = log();
    for entry in &log {
        let mut child = Command::new("sh")
            .args([
                "-c",
                "sed 's/,\"hash\":.*//' | tr -d '\\n' | openssl dgst -sha256 -r",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{}", entry.line()).unwrap();
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.split(' ').next(), Some(&*entry.hash().to_string()));
    }
}

#[test]
fn an_unchanged_log_is_valid() {
    let log = log();
    let summary = verify(lines(&log), Some(&key())).unwrap();
    assert_eq!(summary.entries, u64::try_from(log.len()).unwrap());
    assert_eq!(summary.head, log.last().map(Entry::hash));
    assert_eq!((summary.first, summary.last), (Some(now()), Some(now())));
    assert_eq!(verify(lines(&log), None), Ok(summary));
    assert_eq!(verify([], None).unwrap().head, None);
    // The key was rotated after the log was written.
    let rotated = RecordKey::new([2; 32]).unwrap();
    let rotated = rotated.with_predecessor(RECORD_KEY).unwrap();
    assert_eq!(verify(lines(&log), Some(&rotated)), Ok(summary));
}

#[test]
fn every_change_is_found_at_its_line() {
    let log = log();
    let count = u64::try_from(log.len()).unwrap();
    assert!(count > 4);
    let texts: Vec<String> = log.iter().map(|entry| entry.line().to_owned()).collect();
    let fault = |change: &dyn Fn(&mut Vec<String>)| {
        let mut texts = texts.clone();
        change(&mut texts);
        let lines = texts.iter().map(String::as_bytes);
        verify(lines, Some(&key())).unwrap_err()
    };
    let at = |line, fault| LogError { line, fault };
    assert_eq!(
        fault(&|texts| texts[1] = texts[1].replace("NonceMade", "NonceMake")),
        at(2, LogFault::Hash)
    );
    assert_eq!(
        fault(&|texts| drop(texts.remove(1))),
        at(
            2,
            LogFault::Sequence {
                expected: 2,
                found: 3
            }
        )
    );
    assert_eq!(
        fault(&|texts| texts.swap(1, 2)),
        at(
            2,
            LogFault::Sequence {
                expected: 2,
                found: 3
            }
        )
    );
    assert_eq!(
        fault(&|texts| texts.insert(2, texts[1].clone())),
        at(
            3,
            LogFault::Sequence {
                expected: 3,
                found: 2
            }
        )
    );
    assert_eq!(
        fault(&|texts| texts[2].insert(10, ' ')),
        at(3, LogFault::Form)
    );
    assert_eq!(fault(&|texts| texts[0].clear()), at(1, LogFault::Form));
    assert_eq!(fault(&|texts| texts[0].push('\r')), at(1, LogFault::Form));
    // An incomplete line, as a crash leaves it.
    assert_eq!(
        fault(&|texts| texts.last_mut().unwrap().truncate(100)),
        at(count, LogFault::Form)
    );
    // A number in another form, an unknown member, members in another order,
    // other letters and escapes.
    for (from, to) in [
        ("\"sequence\":1,", "\"sequence\":01,"),
        (
            "{\"sequence\":1,\"time\"",
            "{\"extra\":1,\"sequence\":1,\"time\"",
        ),
        (
            "\"peer\":\"cl-consumer\",\"decision\":\"Invited\"",
            "\"decision\":\"Invited\",\"peer\":\"cl-consumer\"",
        ),
        ("cl-consumer", "CL-consumer"),
        ("cl-consumer", "cl\\u002dconsumer"),
    ] {
        assert!(texts[0].contains(from));
        assert_eq!(
            fault(&|texts| texts[0] = texts[0].replacen(from, to, 1)),
            at(1, LogFault::Form),
            "{to}"
        );
    }
    assert_eq!(
        fault(&|texts| texts[0].push_str(&" ".repeat(LONGEST_LINE))),
        at(
            1,
            LogFault::TooLong {
                limit: LONGEST_LINE
            }
        )
    );
    assert_eq!(
        Verifier::new(None, None).line(b"{\xff}").unwrap_err(),
        at(1, LogFault::Form)
    );
}

#[test]
fn a_log_cannot_be_rewritten_without_the_key() {
    let events = events();
    let write = |mut chain: Chain, time: Timestamp| -> Vec<Entry> {
        events
            .iter()
            .map(|event| chain.append(time, event))
            .collect()
    };
    let chain = |key| Chain::begin(id("cl-provider"), key);
    let at = |line, fault| Err(LogError { line, fault });
    let honest = write(chain(Some(key())), now());

    let without = write(chain(None), now());
    assert!(verify(lines(&without), None).is_ok());
    assert_eq!(
        verify(lines(&without), Some(&key())),
        at(1, LogFault::MacMissing)
    );
    let other = write(chain(RecordKey::new([3; 32]).ok()), now());
    assert_eq!(verify(lines(&other), Some(&key())), at(1, LogFault::Mac));
    // The MACs of other entries.
    let mut moved: Vec<String> = without
        .iter()
        .map(|entry| entry.line().to_owned())
        .collect();
    for (text, sealed) in moved.iter_mut().zip(honest.iter().skip(1)) {
        let mac = sealed.line().split_once("\",\"mac\":").unwrap().1;
        *text = format!("{}\",\"mac\":{mac}", text.strip_suffix("\"}").unwrap());
    }
    assert_eq!(
        verify(moved.iter().map(String::as_bytes), Some(&key())),
        at(1, LogFault::Mac)
    );
    // An entry that follows the entry of another log.
    let later = write(chain(Some(key())), "2026-11-21T13:00:00Z".parse().unwrap());
    let mixed = honest.iter().take(1).chain(later.iter().skip(1));
    assert_eq!(
        verify(mixed.map(|entry| entry.line().as_bytes()), Some(&key())),
        at(2, LogFault::Previous)
    );
}

#[test]
fn an_entry_of_another_cluster_cannot_follow() {
    let events = events();
    let first = Chain::begin(id("cl-provider"), None).append(now(), &events[0]);
    let text = first.line().replacen("cl-provider", "cl-pretence", 1);
    let stranger = rehash(&text);
    let next = Chain::resume(&stranger, None).append(now(), &events[1]);
    // The entry names our first entry as the previous one.
    let next = rehash(&next.line().replacen(
        &stranger.hash().to_string(),
        &first.hash().to_string(),
        1,
    ));
    assert_eq!(
        verify(lines(&[first, next]), None),
        Err(LogError {
            line: 2,
            fault: LogFault::OtherCluster
        })
    );
}

#[test]
fn a_truncated_log_is_found_by_its_kept_head() {
    let log = log();
    let head = log.last().unwrap().hash();
    let cut = lines(&log).take(2);
    assert!(verify(cut, Some(&key())).is_ok());
    let look = |entries: usize, wanted: EntryHash| {
        let mut verifier = Verifier::new(None, Some(wanted));
        for line in lines(&log).take(entries) {
            verifier.line(line).unwrap();
        }
        verifier.finish()
    };
    assert_eq!(
        look(2, head),
        Err(LogError {
            line: 3,
            fault: LogFault::HeadMissing { wanted: head }
        })
    );
    // An earlier head is found too, although entries have been added since.
    assert!(look(log.len(), log[1].hash()).is_ok());
    assert!(look(log.len(), head).is_ok());
}

#[test]
fn a_long_hostile_text_stays_within_the_limit_of_a_line() {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    let mut tenant = exchange.tenant();
    tenant.metadata.name = "\u{1}\"\\,\"hash\":\"".repeat(4000);
    tenant.metadata.labels.insert(
        names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
        "\u{1}".repeat(9000),
    );
    let error = exchange.hand_over(tenant).unwrap_err();
    let event = Event::refused(&id("cl-consumer"), &error);
    let entry = Chain::begin(id("cl-provider"), None).append(now(), &event);
    assert!(entry.line().len() < LONGEST_LINE / 2, "{}", entry.line());
    assert_eq!(Entry::parse(entry.line().as_bytes()), Ok(entry));
}

#[test]
fn a_line_beyond_the_limit_is_not_read() {
    let read = |length: usize| Entry::parse(&vec![b'a'; length]).unwrap_err();
    let limit = LONGEST_LINE;
    assert_eq!(limit, 16_384);
    assert_eq!(read(limit), LogFault::Form);
    assert_eq!(read(limit + 1), LogFault::TooLong { limit });
}

#[test]
fn no_entry_holds_a_secret() {
    let exchange = {
        let mut exchange = Setup::new().exchange();
        exchange.settle();
        exchange
    };
    let nonce = exchange.nonce().as_str().to_owned();
    for entry in log() {
        assert!(!entry.line().contains(&nonce));
    }
}

/// The log of an exchange, and of a different key that was refused for the same
/// ID.
fn log() -> Vec<Entry> {
    let mut chain = Chain::begin(id("cl-provider"), Some(key()));
    let events = events();
    events
        .iter()
        .map(|event| {
            let entry = chain.append(now(), event);
            // Each entry is made by a new process.
            chain = Chain::resume(&Entry::parse(entry.line().as_bytes()).unwrap(), Some(key()));
            assert_eq!(chain.head(), entry.hash());
            entry
        })
        .collect()
}

fn events() -> Vec<Event> {
    let mut exchange = Setup::new().exchange();
    let mut events = exchange.invite().events;
    exchange.deliver("nonce");
    exchange.deliver("Tenant");
    for turn in 0.. {
        assert!(turn < 64, "the provider does not settle");
        let step = exchange.turn_of_provider();
        events.extend(step.events.iter().cloned());
        if step.is_settled() {
            break;
        }
    }
    let mut other = Setup {
        consumer_key: exchange::ed25519(66),
        ..Setup::new()
    }
    .exchange();
    other.hand_over(exchange.nonce()).unwrap();
    let error = exchange.hand_over(other.tenant()).unwrap_err();
    events.push(Event::refused(exchange.consumer.cluster_id(), &error));
    events
}

/// The entry with its hash recomputed.
fn rehash(line: &str) -> Entry {
    use sha2::{Digest, Sha256};

    let written = line.rsplit_once(",\"hash\"").unwrap().0;
    let hash: String = Sha256::digest(written)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Entry::parse(format!("{written},\"hash\":\"{hash}\"}}").as_bytes()).unwrap()
}

fn find<'l>(log: &'l [Entry], decision: &str) -> &'l Entry {
    log.iter()
        .find(|entry| entry.content().decision == decision)
        .unwrap()
}

/// Reads a whole log.
fn verify<'l>(
    lines: impl IntoIterator<Item = &'l [u8]>,
    key: Option<&RecordKey>,
) -> Result<Summary, LogError> {
    let mut verifier = Verifier::new(key, None);
    for line in lines {
        verifier.line(line)?;
    }
    verifier.finish()
}

fn lines(log: &[Entry]) -> impl Iterator<Item = &[u8]> {
    log.iter().map(|entry| entry.line().as_bytes())
}

fn key() -> RecordKey {
    RecordKey::new(RECORD_KEY).unwrap()
}
