//! Keys, requests and nonces with one defect each. Each is refused with the
//! error that names its defect.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    crypto::{Csr, CsrError, KeyError, Nonce, NonceError, PublicKey, SignatureError, Subject},
    model::ClusterId,
    policy::Policy,
};
use serde_json::Value;

/// The first error in a Tenant's key, request or signature.
#[derive(Debug, PartialEq)]
enum Refusal {
    Key(KeyError),
    Csr(CsrError),
    Signature(SignatureError),
}

fn read(name: &str) -> Value {
    let path = format!("{}/vectors/corpus/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap()
}

fn check(case: &Value, policy: &Policy) -> Result<(), Refusal> {
    let spec = &case["tenant"]["spec"];
    let bytes = |name: &str| STANDARD.decode(spec[name].as_str().unwrap()).unwrap();
    let consumer: ClusterId = spec["clusterID"].as_str().unwrap().parse().unwrap();
    let key = PublicKey::from_tenant_field(&bytes("publicKey"), policy).map_err(Refusal::Key)?;
    let subject = Subject::control_plane(&consumer);
    Csr::verify(&bytes("csr"), &subject, &key, policy).map_err(Refusal::Csr)?;
    let nonce = case["nonce"].as_str().unwrap().as_bytes();
    key.verify(key.nonce_scheme(), nonce, &bytes("signature"), policy)
        .map_err(Refusal::Signature)
}

/// The verdicts of both policies about a Tenant.
fn verdicts(name: &str) -> (Result<(), Refusal>, Result<(), Refusal>) {
    let case = read(name);
    (
        check(&case, &Policy::strict()),
        check(&case, &Policy::compatible()),
    )
}

#[track_caller]
fn refused(name: &str, expected: impl Fn(&Refusal) -> bool) {
    let (strict, compatible) = verdicts(name);
    for verdict in [strict, compatible] {
        let error = verdict.expect_err(name);
        assert!(expected(&error), "{name}: {error:?}");
    }
}

#[track_caller]
fn refused_with(name: &str, expected: Refusal) {
    refused(name, |error| *error == expected);
}

#[track_caller]
fn strict_only(name: &str, expected: CsrError) {
    assert_eq!(
        verdicts(name),
        (Err(Refusal::Csr(expected)), Ok(())),
        "{name}"
    );
}

#[test]
fn honest_tenants_are_accepted() {
    assert_eq!(verdicts("T000-honest-ed25519"), (Ok(()), Ok(())));
    for name in [
        "T001-honest-rsa2048",
        "T001-honest-rsa3072",
        "T001-honest-rsa4096",
    ] {
        if cfg!(any(feature = "rsa", feature = "rustcrypto")) {
            assert_eq!(verdicts(name), (Ok(()), Ok(())), "{name}");
        } else {
            refused(name, |error| {
                matches!(
                    error,
                    Refusal::Key(KeyError::FeatureNotEnabled { feature: "rsa", .. })
                )
            });
        }
    }
    for name in ["T002-ecdsa-P384", "T003-ecdsa-malleated-S"] {
        if cfg!(any(feature = "ecdsa", feature = "rustcrypto")) {
            assert_eq!(verdicts(name), (Ok(()), Ok(())), "{name}");
        } else {
            refused(name, |error| {
                matches!(
                    error,
                    Refusal::Key(KeyError::FeatureNotEnabled {
                        feature: "ecdsa",
                        ..
                    })
                )
            });
        }
    }
}

#[test]
fn another_subject_is_refused_and_shown() {
    for (name, found) in [
        (
            "T010-O-kubeadm-admins",
            "O=liqo.io + O=kubeadm:cluster-admins, CN=cl-consumer",
        ),
        (
            "T011-O-other-tenant",
            "O=liqo.io + O=victim-cluster, CN=cl-consumer",
        ),
        ("T018-O-empty-list", "CN=cl-consumer"),
        ("T019-O-empty-string", "O=, CN=cl-consumer"),
        ("T020-O-case", "O=LIQO.IO, CN=cl-consumer"),
        ("T021-empty-subject", ""),
        ("T036-CN-homoglyph", r"O=liqo.io, CN=\u{441}l-consumer"),
        ("T035-CN-NUL", r"O=liqo.io, CN=cl-consumer\u{0}.evil"),
    ] {
        let expected = "O=liqo.io, CN=cl-consumer".to_owned();
        refused_with(
            name,
            Refusal::Csr(CsrError::Subject {
                expected,
                found: found.to_owned(),
            }),
        );
    }
    for name in [
        "T013-O-system-nodes",
        "T014-O-order",
        "T015-O-separate-RDNs",
        "T016-O-and-CN-one-RDN",
        "T030-CN-twice-last-good",
        "T031-CN-twice-first-good",
        "T039-extra-OU",
    ] {
        refused(name, |error| {
            matches!(error, Refusal::Csr(CsrError::Subject { .. }))
        });
    }
}

#[test]
fn a_subject_in_another_form_has_its_own_error() {
    let string_type = |found| CsrError::StringType {
        expected: "PrintableString",
        found,
    };
    strict_only("T032-CN-utf8string", string_type("UTF8String"));
    strict_only("T038-CN-before-O", CsrError::SubjectOrder);
    refused_with("T033-CN-bmpstring", Refusal::Csr(string_type("BMPString")));
    refused_with("T034-CN-t61string", Refusal::Csr(string_type("T61String")));
}

#[test]
fn all_other_parts_of_a_request_are_checked_too() {
    use liqo_auth::crypto::{DerError, SignatureScheme};

    let csr = Refusal::Csr;
    let length = SignatureError::Length {
        found: 0,
        expected: 64,
    };
    refused_with("T062-selfsig-empty", csr(CsrError::SelfSignature(length)));
    let mismatch = CsrError::SelfSignature(SignatureError::Mismatch);
    refused_with("T063-selfsig-other-key", csr(mismatch));
    refused_with(
        "T064-selfsig-alg-unknown",
        csr(CsrError::SignatureAlgorithm {
            found: "1.2.3.4".to_owned(),
            expected: SignatureScheme::Ed25519,
        }),
    );
    refused(
        "T066-csr-other-key",
        |error| matches!(error, Refusal::Csr(CsrError::Key { expected, found }) if expected != found),
    );
    for (name, found) in [
        ("T070-san", "1.2.840.113549.1.9.14"),
        ("T073-attr-challenge", "1.2.840.113549.1.9.7"),
    ] {
        refused_with(
            name,
            csr(CsrError::Attributes {
                found: found.to_owned(),
            }),
        );
    }
    refused_with("T074-attrs-missing", csr(CsrError::AttributesMissing));
    refused_with("T075-version-7", csr(CsrError::Version));
    refused_with(
        "T090-der-trailing",
        csr(CsrError::Der(DerError::TrailingBytes { count: 1 })),
    );
    refused_with("T091-der-long-length", csr(CsrError::Der(DerError::Length)));
}

#[test]
fn other_pem_framing_is_accepted_only_by_the_compatible_policy() {
    use liqo_auth::crypto::PemError;

    strict_only("T080-pem-leading-text", CsrError::Pem(PemError::TextBefore));
    strict_only(
        "T085-pem-trailing-newline",
        CsrError::Pem(PemError::TrailingSpace),
    );
    strict_only(
        "T086-pem-no-final-newline",
        CsrError::Pem(PemError::NoFinalNewline),
    );
    strict_only("T087-pem-crlf", CsrError::Pem(PemError::CarriageReturn));
    refused_with(
        "T093-raw-der",
        Refusal::Csr(CsrError::Pem(PemError::NoBlock)),
    );
    refused_with("T094-empty-csr", Refusal::Csr(CsrError::Empty));
}

#[test]
fn weak_and_malformed_keys_are_refused() {
    use liqo_auth::crypto::PemError;

    let found = "CERTIFICATE".to_owned();
    let label = PemError::Label {
        found,
        expected: "PUBLIC KEY",
    };
    let bits = |found| KeyError::RsaModulusBits {
        found,
        shortest: 2048,
        longest: 4096,
    };
    let dsa = KeyError::Algorithm {
        oid: "1.2.840.10040.4.1".to_owned(),
    };
    for (name, error) in [
        ("T101-pk-wrong-label", KeyError::Pem(label)),
        ("T102-pk-two-blocks", KeyError::Pem(PemError::SecondBlock)),
        ("T106-pk-empty", KeyError::Empty),
        ("T107-pk-31", KeyError::Length { found: 31 }),
        ("T109-pk-dsa", dsa),
        (
            "T111-pk-ed-params",
            KeyError::Parameters {
                algorithm: "Ed25519",
            },
        ),
        ("T121-ed-identity-key-raw", KeyError::Ed25519SmallOrder),
        ("T122-ed-small-order-2", KeyError::Ed25519SmallOrder),
        ("T122-ed-small-order-3", KeyError::Ed25519SmallOrder),
        ("T122-ed-small-order-5", KeyError::Ed25519SmallOrder),
        ("T122-ed-small-order-6", KeyError::Ed25519SmallOrder),
        ("T122-ed-small-order-7", KeyError::Ed25519SmallOrder),
        ("T123-ed-all-zero-key", KeyError::Ed25519SmallOrder),
        ("T124-ed-noncanonical-A-0", KeyError::Ed25519NonCanonical),
        ("T140-rsa-1536", bits(1536)),
        ("T140-rsa-768", bits(768)),
        ("T142-rsa-e1", KeyError::RsaExponent),
    ] {
        refused_with(name, Refusal::Key(error));
    }
    refused("T145-rsa-huge-16384", |error| {
        matches!(error, Refusal::Key(KeyError::TooLong { limit: 2048, .. }))
    });
    #[cfg(any(feature = "rsa", feature = "rustcrypto"))]
    refused_with(
        "T141-rsa-prime-modulus",
        Refusal::Key(KeyError::RsaModulusPrime),
    );
}

#[test]
fn wrong_signatures_are_refused() {
    let length = |found| SignatureError::Length {
        found,
        expected: 64,
    };
    for (name, error) in [
        ("T128-ed-small-order-R", SignatureError::Mismatch),
        ("T129-sig-len-0", length(0)),
        ("T129-sig-len-1", length(63)),
        ("T129-sig-len-2", length(65)),
        ("T129-sig-len-3", SignatureError::Mismatch),
    ] {
        refused_with(name, Refusal::Signature(error));
    }
}

#[test]
fn only_nonces_are_accepted_for_signing() {
    use NonceError::*;

    let (strict, compatible) = (Policy::strict(), Policy::compatible());
    let parse = |name: &str, policy| {
        let nonce = STANDARD
            .decode(read(name)["nonce"].as_str().unwrap())
            .unwrap();
        Nonce::parse(&nonce, policy).map(|parsed| assert_eq!(parsed.as_str().as_bytes(), nonce))
    };
    assert_eq!(parse("N000-honest", &strict), Ok(()));
    assert_eq!(parse("N000-honest", &compatible), Ok(()));
    for (name, error) in [
        (
            "N001-tls13-certverify",
            TooLong {
                found: 130,
                limit: 128,
            },
        ),
        ("N002-csr-tbs", Alphabet { at: 2 }),
        ("N003-jwt", Alphabet { at: 36 }),
        ("N005-empty", Empty),
        ("N012-invalid-utf8", Alphabet { at: 0 }),
        (
            "N020-live-oracle-tls13",
            TooLong {
                found: 130,
                limit: 128,
            },
        ),
    ] {
        assert_eq!(parse(name, &strict), Err(error), "{name}");
        assert_eq!(parse(name, &compatible), Err(error), "{name}");
    }
    for (name, error) in [
        (
            "N007-constant",
            NotRandom {
                found: 1,
                expected: 16,
            },
        ),
        ("N009-newline", FinalNewline),
        ("N010-urlsafe", UrlSafe),
        (
            "N011-44",
            TooShort {
                found: 44,
                shortest: 88,
            },
        ),
    ] {
        assert_eq!(parse(name, &strict), Err(error), "{name}");
        assert_eq!(parse(name, &compatible), Ok(()), "{name}");
    }
    let short = |shortest| Err(TooShort { found: 1, shortest });
    assert_eq!(parse("N006-1byte", &strict), short(88));
    assert_eq!(parse("N006-1byte", &compatible), short(24));
}
