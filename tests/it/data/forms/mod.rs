//! The JSON forms of `tests/vectors/json`: one folder for each type, with one file
//! for each variant.

mod exchanges;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use liqo_auth::{
    Machine,
    audit::{Decision, Event},
    crypto::{Entropy, Fingerprint, KeyPair, Nonce, RequestId, SigningKey},
    machine::{Awaited, Effect, Message, Notice, Part, Refused, Step, Version, Wait},
    model::{Identity, Kind, Namespace, Object, ObjectRef, Tenant, TenantCondition},
    policy::Policy,
};
use serde_json::{Value, json};

use self::exchanges::{
    another_name, backend_error, expired_nonce, misdelivered, name_taken, request_id, signature_id,
    too_early,
};
use crate::clusters::{
    exchange::{Setup, id, now},
    pool::{Pool, consumer, replica, resources as amounts},
};

#[test]
fn effects_have_their_json_forms() {
    let object = Object::from(Namespace::for_tenant(&id("cl-consumer")));
    let secret = Object::from_value(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "namespace": "liqo", "name": "record" },
        "data": { "key": "aHVudGVyMg==" },
    }));
    let patch = |part| Effect::Patch {
        id: tenant_ref(),
        version: version(),
        part,
        patch: json!({ "metadata": { "labels": { "a": null } } }),
    };
    check(
        "effect",
        [
            ("create", Effect::Create(object)),
            (
                "replace",
                Effect::Replace {
                    object: secret,
                    version: version(),
                },
            ),
            ("patch main", patch(Part::Main)),
            ("patch status", patch(Part::Status)),
            ("patch approval", patch(Part::Approval)),
            (
                "delete",
                Effect::Delete {
                    id: ObjectRef::new(Kind::ClusterRoleBinding, "", "b"),
                    version: version(),
                },
            ),
        ]
        .map(|(name, effect)| (name, parsed(effect.to_json().expose()))),
    );
}

#[test]
fn messages_have_their_json_forms_and_are_read_back() {
    let messages = messages();
    check(
        "message",
        messages
            .clone()
            .map(|message| (message.body.name(), parsed(message.to_json().expose()))),
    );
    for message in messages {
        let read = Message::from_json(message.to_json().expose(), &Policy::strict());
        assert_eq!(read, Ok(message));
    }
}

#[test]
fn notices_have_their_json_forms() {
    let identity = || ObjectRef::new(Kind::Identity, "a", "b");
    let notices = [
        Notice::SignedNonceIsStale,
        Notice::NonceAskedAfterEnd,
        Notice::NoClusterRole {
            label_value: "virtual-kubelet-remote",
        },
        Notice::ConditionHeld {
            condition: TenantCondition::Drained,
        },
        Notice::ProviderUnproven,
        Notice::ProviderKeyFirstSeen {
            fingerprint: fingerprint(),
        },
        Notice::IssuedByAnotherCa,
        Notice::RenewalNotCarried,
        Notice::CertificateDue {
            identity: identity(),
            until: now(),
        },
        Notice::CannotRenew {
            identity: identity(),
            until: now(),
            error: misdelivered(),
        },
        Notice::SignaturesWait { until: now() },
        Notice::GrantUnconfirmed {
            slice: ObjectRef::new(Kind::ResourceSlice, "a", "b"),
            resources: amounts(&[("cpu", "8")]),
        },
        Notice::SliceCordonHeld {
            slice: ObjectRef::new(Kind::ResourceSlice, "a", "b"),
        },
        Notice::NewKeyAwaitsNonce,
        Notice::KubeconfigNotNamed {
            secret: ObjectRef::new(Kind::Secret, "a", "b"),
            digest: fingerprint(),
        },
    ];
    check(
        "notice",
        notices.map(|notice| {
            let code = notice.remedy().map(|remedy| remedy.code());
            let mut step = Step::default();
            step.notices.push(notice);
            let form = parsed(step.to_json().expose())["notices"][0].take();
            assert_eq!(form["remedy"]["code"].as_str(), code);
            typed(form)
        }),
    );
}

#[test]
fn awaited_things_have_their_json_forms() {
    let request = request_id();
    let awaited = [
        Awaited::Invitation,
        Awaited::Nonce,
        Awaited::Tenant,
        Awaited::Names,
        Awaited::Approval,
        Awaited::Credential(request),
        Awaited::Identity,
        Awaited::SliceDecision(tenant_ref()),
        Awaited::Renewal(tenant_ref()),
        Awaited::End(tenant_ref()),
        Awaited::OwnKey,
        Awaited::Signature(signature_id()),
        Awaited::Uid(tenant_ref()),
        Awaited::SliceRequest(tenant_ref()),
        Awaited::Resources(tenant_ref()),
        Awaited::AwsRevocation {
            user_arn: "arn:aws:iam::1:user/a".to_owned(),
            access_key_id: "AKIA".to_owned(),
        },
        Awaited::Token(tenant_ref()),
    ];
    check(
        "awaited",
        awaited.map(|awaited| {
            let code = awaited.remedy().map(|remedy| remedy.code());
            let wait = Wait {
                wake_at: None,
                awaiting: vec![awaited],
            };
            let form = json!(wait)["awaiting"][0].take();
            assert_eq!(form["remedy"]["code"].as_str(), code);
            typed(with_ones(&form, request))
        }),
    );
}

#[test]
fn a_status_has_its_json_form() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    for condition in [TenantCondition::Cordoned, TenantCondition::Active] {
        pool.write_condition(condition).settle();
    }
    let provider: &dyn Machine = &pool.provider;
    let status = provider.look(&pool.at_provider.view(&consumer()), pool.now);
    let status = status.unwrap();
    // Each run has other certificates.
    let certificates = status.holders().filter_map(|it| it.certificate.as_ref());
    let text = certificates.fold(json!(status).to_string(), |text, certificate| {
        let fingerprint = certificate.fingerprint().to_string();
        text.replace(&fingerprint, &format!("SHA256:{}", "1".repeat(64)))
    });
    let awaits = Setup::new().exchange();
    let view = awaits.consumer_view();
    let consumers: &dyn Machine = &awaits.consumer;
    let unanswered = consumers.look(&view, awaits.now);
    check(
        "status",
        [
            ("a provider", parsed(text.as_bytes())),
            ("a consumer", json!(unanswered.unwrap())),
        ],
    );
}

#[test]
fn events_have_their_json_forms() {
    let request = request_id();
    let text = || "a reason".to_owned();
    let user = || "a-user".to_owned();
    let access_key_id = || "AKIA".to_owned();
    let decisions = [
        Decision::Invited,
        Decision::NonceMade,
        Decision::HandshakeVerified,
        Decision::KeySucceeded {
            predecessor: fingerprint(),
        },
        Decision::Approved,
        Decision::Disapproved { reason: text() },
        Decision::CertificateIssued {
            request,
            certificate: fingerprint(),
            until: now(),
            replaces: Some(fingerprint()),
        },
        Decision::CredentialGiven {
            request,
            credential: access_key_id(),
        },
        Decision::AwsKeyRevoked {
            access_key_id: access_key_id(),
        },
        Decision::RightsGranted,
        Decision::RightsWithdrawn,
        Decision::ConditionRecorded {
            condition: TenantCondition::Cordoned,
        },
        Decision::ConditionLifted,
        Decision::KeyReleased,
        Decision::ResourcesGranted,
        Decision::ResourcesAdopted {
            resources: amounts(&[("cpu", "4"), ("memory", "4Gi")]),
            unconfirmed: amounts(&[("cpu", "8")]),
        },
        Decision::ResourcesConfirmed,
        Decision::ResourcesDenied { reason: text() },
        Decision::ResourcesReconsidered,
        Decision::SliceCordoned,
        Decision::SliceUncordoned,
        Decision::Ended,
        Decision::Forgotten,
        Decision::PeeringUserMade { user: user() },
        Decision::PeeringUserDeleted { user: user() },
        Decision::NonceSigned,
        Decision::IdentityTaken {
            certificate: Some(fingerprint()),
        },
        Decision::PinsReleased,
        Decision::SliceRequested,
        Decision::RenewalRequested,
        Decision::LogRepaired {
            bytes: 9,
            found: text(),
        },
        Decision::Refused(misdelivered()),
    ];
    check(
        "event",
        decisions.map(|decision| {
            let mut event = Event::refused(&id("cl-consumer"), &misdelivered());
            event.object = Some(tenant_ref());
            event.key = Some(fingerprint());
            event.decision = decision;
            (event.decision.name(), with_ones(&json!(event), request))
        }),
    );
}

#[test]
fn errors_have_their_json_forms_without_the_text_of_a_backend() {
    let of_backend = backend_error();
    assert!(of_backend.to_string().contains("hunter2"), "{of_backend}");
    let expired = expired_nonce();
    let refused = Refused {
        object: Some(tenant_ref()),
        error: expired.clone(),
    };
    check("refused", [("a refusal", json!(refused))]);

    // A unit test has a form for each code. The library gives these in use.
    for error in [
        misdelivered(),
        of_backend,
        expired,
        too_early(),
        name_taken(),
        another_name(),
    ] {
        let form = json!(error);
        assert!(!form.to_string().contains("hunter2"), "{form}");
        assert_eq!(form, file("error", error.code()), "{}", error.code());
    }
}

#[test]
fn requests_have_their_json_forms() {
    let secret = Object::from_value(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "namespace": "liqo", "name": "record" },
        "data": { "key": "aHVudGVyMg==" },
    }));
    let effects = [
        ("post", Effect::Create(secret.clone())),
        (
            "put",
            Effect::Replace {
                object: secret,
                version: version(),
            },
        ),
        (
            "patch",
            Effect::Patch {
                id: tenant_ref(),
                version: version(),
                part: Part::Status,
                patch: json!({ "status": { "tenantNamespace": "a" } }),
            },
        ),
        (
            "delete",
            Effect::Delete {
                id: ObjectRef::new(Kind::ClusterRoleBinding, "", "b: \"c\""),
                version: version(),
            },
        ),
    ];
    check(
        "request",
        effects.map(|(name, effect)| {
            let request = effect.request().unwrap();
            (name, parsed(request.to_json().expose()))
        }),
    );
}

#[test]
fn a_step_has_its_json_form() {
    let mut step = Step::default();
    assert_eq!(
        parsed(step.to_json().expose()),
        json!({
            "effects": [], "outbox": [], "refused": [], "notices": [], "events": [],
            "wait": { "awaiting": [] },
        })
    );
    step.effects = vec![Effect::Delete {
        id: tenant_ref(),
        version: version(),
    }];
    step.outbox = vec![messages()[0].clone()];
    step.refused = vec![Refused {
        object: None,
        error: misdelivered(),
    }];
    step.notices = vec![Notice::NewKeyAwaitsNonce];
    step.events = vec![Event::refused(&id("cl-consumer"), &misdelivered())];
    step.wait = Wait {
        wake_at: Some(now()),
        awaiting: vec![Awaited::Tenant],
    };
    check("step", [("a whole step", parsed(step.to_json().expose()))]);
}

/// Compares the forms with the files of the folder. The files are only written by
/// hand.
pub(super) fn check<const N: usize>(folder: &str, forms: [(impl Into<String>, Value); N]) {
    let mut names = BTreeSet::new();
    for (name, found) in forms {
        let name = name.into().replace(' ', "-");
        let expected = file(folder, &name);
        assert_eq!(found, expected, "{folder}/{name}: found\n{found:#}");
        assert!(names.insert(name), "each form has a name of its own");
    }
    let files = fs::read_dir(vectors().join(folder)).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(files, names, "a form for each file of {folder}");
}

/// The form in a file; null if the file is missing.
fn file(folder: &str, name: &str) -> Value {
    let path = vectors().join(folder).join(format!("{name}.json"));
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/json")
}

/// A form, together with the name of its type.
fn typed(form: Value) -> (String, Value) {
    (form["type"].as_str().unwrap().to_owned(), form)
}

/// The form in which ones replace the request's ID, because the ID differs each
/// time.
fn with_ones(form: &Value, request: RequestId) -> Value {
    let text = form.to_string();
    let text = text.replace(&request.to_string(), &"1".repeat(64));
    parsed(text.as_bytes())
}

fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

fn messages() -> [Message; 3] {
    let (provider, consumer) = (id("cl-provider"), id("cl-consumer"));
    let mut tenant = Tenant::default();
    tenant.metadata.name = "cl-consumer".to_owned();
    tenant.spec.cluster_id = "cl-consumer".to_owned();
    let mut identity = Identity::default();
    identity.metadata.name = "controlplane-cl-provider".to_owned();
    identity.spec.cluster_id = "cl-provider".to_owned();
    [
        Message::new(&provider, &consumer, nonce()),
        Message::new(&consumer, &provider, tenant),
        Message::new(&provider, &consumer, identity),
    ]
}

fn nonce() -> Nonce {
    Nonce::random(&Entropy::from_bytes([7; 32]))
}

fn key() -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([3; 32]))
}

fn fingerprint() -> Fingerprint {
    key().public_key().fingerprint()
}

fn tenant_ref() -> ObjectRef {
    ObjectRef::new(Kind::Tenant, "liqo-tenant-cl-consumer", "cl-consumer")
}

fn version() -> Version {
    Version {
        uid: "u".to_owned(),
        resource_version: "7".to_owned(),
    }
}
