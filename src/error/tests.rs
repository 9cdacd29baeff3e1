use std::{collections::BTreeSet, error::Error as _, fmt};

use super::{
    ApiMisuse, Backend, CommitmentFault, Disposition, Error, Fault, LocalFault, PeerIncompatible,
    PeerMisbehaved, PolicyRefusal, Precondition, Rule, SuccessionFault,
    family::{Basis, Facts},
};
use crate::{
    crypto::{CsrError, Fingerprint, KeyError, SignatureError},
    model::Timestamp,
};

/// The families, each with the facts of its variants.
const FAMILIES: [&[&[Facts]]; 6] = [
    PeerMisbehaved::ALL,
    PeerIncompatible::ALL,
    PolicyRefusal::ALL,
    Precondition::ALL,
    LocalFault::ALL,
    ApiMisuse::ALL,
];

/// The facts of every variant of every family.
fn variants() -> impl Iterator<Item = &'static [Facts]> {
    FAMILIES.into_iter().flatten().copied()
}

fn facts() -> impl Iterator<Item = &'static Facts> {
    variants().flatten()
}

/// A retired code stays in the list with the suffix ` (retired)`, so that no
/// later variant uses it.
#[test]
fn each_variant_has_a_code_of_its_own_and_the_list_of_codes_is_complete() {
    let listed: Vec<&str> = include_str!("codes.txt").lines().collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(listed, sorted, "the list is in the order of the alphabet");
    let in_use = listed.iter().filter(|line| !line.ends_with(" (retired)"));

    let mut codes = BTreeSet::new();
    for variant in variants() {
        let code = variant[0].code;
        assert!(codes.insert(code), "{code} belongs to two variants");
    }
    assert_eq!(
        codes.into_iter().collect::<Vec<_>>(),
        in_use.copied().collect::<Vec<_>>()
    );
}

/// The page has a section for each family, with a row for each code.
#[test]
fn the_page_of_errors_has_each_code_in_the_section_of_its_family() {
    let page = include_str!("../../docs/reference/errors.md");
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), FAMILIES.len());
    for (section, family) in sections.into_iter().zip(FAMILIES) {
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<_> = rows.filter_map(|row| row.split('`').next()).collect();
        let mut codes: Vec<_> = family.iter().map(|variant| variant[0].code).collect();
        codes.sort_unstable();
        assert_eq!(rows, codes);
    }
}

#[test]
fn a_code_is_words_of_small_letters_with_hyphens_between() {
    for Facts { code, .. } in facts() {
        let is_word = |word: &str| {
            let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            !word.is_empty() && word.bytes().all(small)
        };
        assert!(code.split('-').all(is_word), "{code}");
    }
}

#[test]
fn each_advice_is_one_sentence() {
    for Facts { code, advice, .. } in facts() {
        assert!(advice.ends_with('.'), "{code}: {advice}");
        let begins = advice.chars().next().is_some_and(char::is_uppercase);
        assert!(begins, "{code}: {advice}");
        let ends = advice.matches(". ").count() + advice.matches('\n').count();
        assert_eq!(ends, 0, "{code}: {advice}");
        assert!(!advice.contains("  "), "{code}: {advice}");
    }
}

#[test]
fn a_fault_breaks_a_rule_or_says_why_it_breaks_none() {
    let mut broken = BTreeSet::new();
    for Facts { code, rule, .. } in facts() {
        match rule {
            Basis::Broken(rule) => {
                broken.insert(rule.number());
            }
            Basis::NoRule(why) => assert!(!why.is_empty(), "{code}"),
        }
    }
    assert_eq!(broken, (1..=11).collect(), "each rule can be broken");
    // A precondition breaks no rule.
    for facts in Precondition::ALL.iter().copied().flatten() {
        assert!(matches!(facts.rule, Basis::NoRule(_)), "{}", facts.code);
    }
}

/// New cluster keys break every peering that a cluster has.
#[test]
fn a_damaged_public_key_is_no_reason_for_new_cluster_keys() {
    for damage in [
        KeyError::Empty,
        KeyError::Length { found: 31 },
        KeyError::Ed25519NotOnCurve,
        KeyError::RsaModulusEven,
    ] {
        let advice = error(PeerMisbehaved::PublicKey(damage)).advice();
        assert!(advice.contains("keys can stay"), "{advice}");
    }
    let unread = KeyError::FeatureNotEnabled {
        algorithm: crate::crypto::Algorithm::Rsa { bits: 2048 },
        feature: "rsa",
    };
    let advice = error(PeerMisbehaved::PublicKey(unread)).advice();
    assert!(advice.contains("build") && advice.contains("keys can stay"));
    let weak = error(PeerMisbehaved::PublicKey(KeyError::RsaExponent)).advice();
    assert!(weak.contains("break every peering"), "{weak}");
}

/// A certificate ends by itself, a clock may be wrong, and a provider may replace its CA.
#[test]
fn what_an_honest_peer_cannot_help_is_told_in_its_own_words() {
    let (not_before, not_after) = (Timestamp::EPOCH, Timestamp::EPOCH);
    let now = Timestamp::EPOCH;
    for (fault, beginning) in [
        (
            PeerIncompatible::CertificateExpired { not_after, now },
            "expired: ",
        ),
        (
            PeerIncompatible::CertificateNotYetValid { not_before, now },
            "not yet: ",
        ),
        (PeerIncompatible::EndpointChanged, "changed: "),
        (PeerIncompatible::NonceExpired { at: now }, "expired: "),
        (PeerIncompatible::NonceMissing, "missing: "),
        (
            PeerIncompatible::CommitmentMissing,
            "the peer is incompatible: ",
        ),
    ] {
        let error = error(fault);
        assert!(error.to_string().starts_with(beginning), "{error}");
        assert_eq!(error.fault().name(), "PeerIncompatible");
    }
    let advice = error(PeerIncompatible::NonceExpired { at: now }).advice();
    assert!(advice.contains("this cluster's clock"), "{advice}");
    let advice = error(PeerIncompatible::EndpointChanged).advice();
    assert!(advice.contains("release the pins only if"), "{advice}");
}

/// A person may carry a Tenant or a nonce to another cluster, or an earlier one once more. A cluster
/// may be made anew, or get back an earlier backup.
#[test]
fn what_an_honest_peer_may_have_sent_is_not_told_as_misbehaviour() {
    let wrong_length = SignatureError::Length {
        found: 0,
        expected: 64,
    };
    let (expected, found) = (key(1), key(2));
    for (fault, beginning) in [
        (
            PeerIncompatible::NonceSignature(SignatureError::Mismatch),
            "for another nonce: ",
        ),
        (PeerIncompatible::NonceSignature(wrong_length), "damaged: "),
        (
            PeerIncompatible::NonceSignature(SignatureError::Encoding),
            "damaged: ",
        ),
        (PeerIncompatible::NonceForOthers, "for another cluster: "),
        (PeerIncompatible::NonceNotOurs, "unknown: "),
        (PeerIncompatible::NonceUsed, "no longer valid: "),
        (PeerIncompatible::WrongToken, "unknown: "),
        (
            PeerIncompatible::NameMismatch {
                expected: String::new(),
                found: String::new(),
            },
            "for another cluster: ",
        ),
        (
            PeerIncompatible::Commitment(CommitmentFault::Signature(SignatureError::Mismatch)),
            "for another handshake: ",
        ),
        (
            PeerIncompatible::Commitment(CommitmentFault::OtherKey {
                found: String::new(),
            }),
            "changed: ",
        ),
        (
            PeerIncompatible::Commitment(CommitmentFault::Missing),
            "missing: ",
        ),
        (
            PeerIncompatible::Commitment(CommitmentFault::Encoding),
            "damaged: ",
        ),
        (
            PeerIncompatible::KeyChanged {
                pinned: String::new(),
                found: String::new(),
            },
            "changed: ",
        ),
        (
            PeerIncompatible::KeySuccession(SuccessionFault::OtherKey),
            "changed: ",
        ),
        (
            PeerIncompatible::KeySuccession(SuccessionFault::Encoding),
            "damaged: ",
        ),
        (PeerIncompatible::OtherCredentials, "changed: "),
        (PeerIncompatible::ProxyMismatch, "changed: "),
        (
            PeerIncompatible::CertificateKey { expected, found },
            "for another key: ",
        ),
        (
            PeerIncompatible::CsrKey { expected, found },
            "for another key: ",
        ),
    ] {
        let error = error(fault);
        assert!(error.to_string().starts_with(beginning), "{error}");
        assert_eq!(error.fault().name(), "PeerIncompatible");
    }
}

/// Nobody's key and clock make such a request.
#[test]
fn what_no_honest_peer_sends_is_told_as_misbehaviour() {
    let error = error(Fault::from(CsrError::SubjectOrder));
    assert!(error.to_string().starts_with("the peer misbehaved: "));
    assert_eq!(error.fault().name(), "PeerMisbehaved");
}

#[test]
fn a_request_for_another_key_may_be_an_honest_peers() {
    let (expected, found) = (key(1), key(2));
    let error = error(Fault::from(CsrError::Key { expected, found }));
    let same = PeerIncompatible::CsrKey { expected, found };
    assert_eq!(error.fault(), &same.into());
}

fn key(byte: u8) -> Fingerprint {
    Fingerprint::from_bytes([byte; 32])
}

/// A person may have written the Tenant, as Liqo's page on declared peerings says.
#[test]
fn a_tenant_without_a_handshake_breaks_this_sides_policy_and_the_advice_is_the_setting() {
    let error = error(PolicyRefusal::SelfDeclaredPolicy);
    assert_eq!(error.fault().name(), "Policy");
    assert!(error.to_string().starts_with("the policy refuses: "));
    assert_eq!(error.rule().map(Rule::number), Some(6));
    let advice = error.advice();
    for way_out in ["KeysExchange", "`tolerateNoHandshake: true`"] {
        assert!(advice.contains(way_out), "{advice}");
    }
}

/// The seal covers this cluster's ID too: with another ID, another record key
/// would lose every record.
#[test]
fn a_broken_seal_has_the_cluster_id_checked_before_the_record_key() {
    let advice = error(LocalFault::BrokenSeal).advice();
    let cluster = advice.find("cluster's ID").unwrap();
    assert!(cluster < advice.find("record key").unwrap(), "{advice}");
}

#[test]
fn rule_and_advice_follow_what_is_wrong_with_a_request() {
    let order = error(PeerMisbehaved::Csr(CsrError::SubjectOrder));
    let version = error(PeerMisbehaved::Csr(CsrError::Version));
    assert_eq!(order.rule(), Some(Rule::RequestContent));
    assert_eq!(version.rule(), Some(Rule::RequestContent));
    assert_ne!(order.advice(), version.advice());
    assert_eq!(order.code(), version.code());
}

#[test]
fn what_has_to_come_first_is_waited_for() {
    for (precondition, expected) in [
        (Precondition::NoTenant, Disposition::WaitForChange),
        (Precondition::StillEnding, Disposition::WaitForChange),
        (Precondition::KeyAwaited, Disposition::Retry),
    ] {
        assert_eq!(error(precondition).disposition(), expected);
    }
}

#[test]
fn the_error_of_every_backend_can_be_downcast() {
    #[derive(Debug)]
    struct Throttled(u8);

    impl fmt::Display for Throttled {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(&"x".repeat(100))
        }
    }

    impl std::error::Error for Throttled {}

    for backend in [
        Backend::Keys,
        Backend::Credentials,
        Backend::Principals,
        Backend::ResourceSlicePolicy,
        Backend::Tokens,
        Backend::Approver,
    ] {
        let error = Error::backend(backend, Box::new(Throttled(7)));
        // Also in a copy, and after the error was moved to another place.
        let moved = error.clone().moved_to(None, "spec.csr");
        for error in [&error, &moved] {
            let source = error.source().unwrap();
            assert_eq!(source.downcast_ref::<Throttled>().unwrap().0, 7);
            assert_eq!(error.disposition(), Disposition::Retry);
            assert!(matches!(
                error.fault(),
                Fault::Local(LocalFault::Backend { backend: found, .. }) if *found == backend
            ));
        }
        let text = error.to_string();
        assert!(text.contains(&backend.to_string()), "{text}");
        assert!(text.ends_with("x…\""), "{text}");
        // Equality compares fault and place, not the source.
        assert_eq!(error, Error::backend(backend, Box::new(Throttled(8))));
        assert_ne!(error, moved);
    }
    assert!(error(Precondition::NoTenant).source().is_none());
}

#[test]
fn the_rules_count_from_one_to_eleven() {
    assert_eq!(Rule::RequestContent.to_string(), "rule 1");
    assert_eq!(Rule::SecretsAndLimits.to_string(), "rule 11");
}

fn error(fault: impl Into<Fault>) -> Error {
    Error::new(fault, None, "")
}
