//! What a provider does with the resource slices of a peer.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // Tests may panic.

mod exchange;
mod pool;

use std::sync::Arc;

use core::time::Duration;

use liqo_auth::{
    crypto::{BoxError, CertificateError, CsrError, RecordKey, SigningKey, Subject},
    error::{ApiMisuse, Backend, Fault, LocalFault, PeerMisbehaved, PolicyRefusal},
    model::{
        Kind, Object, ObjectRef, ResourceSliceConditionStatus as Said,
        ResourceSliceConditionType as About, names,
    },
    provider::{
        Ceiling, Claimant, Grant, LiqoClasses, PrincipalName, Principals, ResourceSlicePolicy,
        Signing, SliceDecision, SliceRequest,
    },
    step::Awaited,
};

use pool::{NAMESPACE, Pool, key, replica, replica_of, resources};

const ACCEPTED: [Option<Said>; 2] = [Some(Said::Accepted), Some(Said::Accepted)];

#[test]
fn a_slice_is_signed_and_granted_as_by_liqo() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.refused, []);
    assert_eq!(pool.phase("mypool"), "Accepted");
    let status = &pool.slice("mypool").unwrap().status;
    let words: Vec<(&str, &str)> = status
        .conditions
        .iter()
        .map(|condition| (condition.reason.as_str(), condition.message.as_str()))
        .collect();
    assert_eq!(
        words,
        [
            (
                "ResourceSliceAuthenticationAccepted",
                "ResourceSlice authentication accepted"
            ),
            (
                "ResourceSliceResourcesAccepted",
                "ResourceSlice resources accepted"
            ),
        ]
    );
    assert_eq!(
        status.resources,
        resources(&[("cpu", "2"), ("memory", "4Gi")])
    );
    let parameters = status.auth_params.as_ref().unwrap();
    assert_eq!(parameters.api_server, exchange::API_SERVER);
    assert_eq!(
        pool.certificate("mypool").leaf().subject(),
        Subject::resource_slice("mypool", &pool::consumer()).to_string()
    );
    let kept = pool.kept("mypool").unwrap();
    assert_eq!(
        kept.metadata.labels[names::REMOTE_CLUSTER_ID_LABEL],
        "cl-consumer"
    );
    assert_eq!(
        kept.get(names::CERTIFICATE).unwrap(),
        parameters.signed_crt.as_slice()
    );
    assert_eq!(pool.signer.different(), 1);
    let events: Vec<&str> = pool
        .events
        .iter()
        .map(|event| event.decision.name())
        .collect();
    assert_eq!(events, ["CertificateIssued", "ResourcesGranted"]);
}

#[test]
fn a_slice_waits_for_its_peer_and_its_request() {
    let mut pool = Pool::new();
    let mut early = replica("early");
    let csr = std::mem::take(&mut early.spec.csr);
    pool.bring(early);
    let step = pool.look(usize::MAX);
    let id = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "early");
    assert!(step.wait.awaiting.contains(&Awaited::SliceRequest(id)));
    assert_eq!(pool.phase("early"), "AwaitsRequest");
    pool.edit("early", |slice| slice.spec.csr = csr).settle();
    assert_eq!(pool.said("early"), ACCEPTED);

    // Without a Tenant nobody is anybody's peer.
    let mut pool = Pool::new();
    let id = ObjectRef::new(Kind::Tenant, NAMESPACE, "cl-consumer");
    pool.at_provider.remove(&id).unwrap();
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.phase("mypool"), "AwaitsPeer");
    assert_eq!(pool.signer.different(), 0);
}

#[test]
fn a_crash_after_any_effect_ends_the_same() {
    let mut undisturbed = Pool::new();
    undisturbed
        .bring(replica("one"))
        .bring(replica("two"))
        .settle();
    for looks_before in 0..6 {
        for effects in 0..6 {
            let mut pool = Pool::new();
            pool.bring(replica("one")).bring(replica("two"));
            for _ in 0..looks_before {
                pool.look(usize::MAX);
            }
            pool.look(effects);
            pool.settle();
            assert_eq!(pool.signer.different(), 2, "{looks_before}, {effects}");
            assert_eq!(pool.said("one"), ACCEPTED);
            assert_eq!(pool.said("two"), ACCEPTED);
            let ids = |pool: &Pool| -> Vec<ObjectRef> {
                pool.at_provider.iter().map(Object::id).collect()
            };
            assert_eq!(ids(&pool), ids(&undisturbed));
        }
    }
}

#[test]
fn what_the_peer_writes_on_its_slice_is_not_believed() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let told = pool.slice("mypool").unwrap().status.clone();
    let tampers: [fn(&mut liqo_auth::model::ResourceSlice); 8] = [
        |slice| slice.status = Default::default(),
        |slice| slice.status.resources = resources(&[("cpu", "1000"), ("gpu", "8")]),
        |slice| slice.status.auth_params = None,
        |slice| slice.status.auth_params.as_mut().unwrap().api_server = "https://evil".into(),
        |slice| slice.status.conditions[1].status = Said::Denied,
        |slice| slice.status.conditions.reverse(),
        |slice| {
            slice.status.conditions[0].last_transition_time =
                Some("2020-01-01T00:00:00Z".parse().unwrap());
        },
        |slice| {
            slice.status.node_selector.insert("a".into(), "b".into());
        },
    ];
    for tamper in tampers {
        pool.wait(Duration::from_secs(60));
        pool.edit("mypool", tamper).settle();
        assert_eq!(pool.slice("mypool").unwrap().status, told);
    }
    assert_eq!(pool.signer.different(), 1);

    // A status that is there before anybody decided.
    let mut boastful = replica("boastful");
    boastful.status = told;
    boastful.status.resources = resources(&[("cpu", "1000")]);
    pool.bring(boastful).settle();
    assert_eq!(
        pool.slice("boastful").unwrap().status.resources,
        resources(&[("cpu", "2"), ("memory", "4Gi")])
    );
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn a_certificate_that_the_peer_planted_is_replaced_by_the_one_on_record() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    let issued = pool.certificate("mypool");
    let mut planted = pool.kept("mypool").unwrap().clone();
    let other = pool.kept("other").unwrap().data[names::CERTIFICATE].clone();
    planted.data.insert(names::CERTIFICATE.to_owned(), other);
    pool.at_provider.insert(planted.into());
    pool.settle();
    let is_kept = |pool: &Pool| {
        pool.certificate("mypool").pem() == issued.pem()
            && pool.kept("mypool").unwrap().get(names::CERTIFICATE) == Some(issued.pem())
    };
    assert!(is_kept(&pool));

    let id = ObjectRef::new(Kind::Secret, NAMESPACE, "liqo-remote-certificate-mypool");
    pool.at_provider.remove(&id).unwrap();
    pool.settle();
    assert!(is_kept(&pool));
    let asked = pool.signer.asked.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(asked, 2, "nobody was asked again");

    // One that cannot be read is nobody's to replace; all else goes on.
    pool.at_provider
        .insert(Object::from_value(serde_json::json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "namespace": NAMESPACE, "name": "liqo-remote-certificate-mypool" },
            "data": 5,
        })));
    pool.edit("mypool", |slice| slice.status = Default::default());
    pool.bring(replica("third")).settle();
    assert_eq!(pool.said("third"), ACCEPTED);
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert!(matches!(
        pool.refused[..],
        [(_, ref error)] if matches!(error.fault(), Fault::Local(LocalFault::Unreadable { .. }))
    ));
}

#[test]
fn a_slice_of_somebody_else_or_somewhere_else_is_refused_and_left_alone() {
    let mut pool = Pool::new();
    pool.bring(replica("honest"));
    let mut elsewhere = replica("elsewhere");
    elsewhere.metadata.namespace = "liqo-tenant-victim".into();
    let victims = replica_of("victim", "victims", &key(1));
    let mut labelled = replica("labelled");
    labelled
        .metadata
        .labels
        .insert(names::REPLICATION_ORIGIN_LABEL.into(), "victim".into());
    let mut other_provider = replica("provided");
    other_provider.spec.provider_cluster_id = Some("cl-other".into());
    let mut unlabelled = replica("unlabelled");
    unlabelled
        .metadata
        .labels
        .remove(names::REPLICATION_ORIGIN_LABEL);
    let broken = Object::from_value(serde_json::json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": { "namespace": NAMESPACE, "name": "broken" },
        "spec": 5,
    }));
    for slice in [elsewhere, victims, labelled, other_provider, unlabelled] {
        pool.bring(slice);
    }
    pool.at_provider.insert(broken);
    pool.settle();
    assert_eq!(pool.said("honest"), ACCEPTED);
    assert_eq!(pool.signer.different(), 1);
    let mut refused: Vec<(String, Fault)> = pool
        .refused
        .iter()
        .map(|(object, error)| (object.clone().unwrap().name, error.fault().clone()))
        .collect();
    refused.sort_by(|one, other| one.0.cmp(&other.0));
    let mismatch = |expected: &str, found: &str| -> Fault {
        PeerMisbehaved::NameMismatch {
            expected: expected.into(),
            found: found.into(),
        }
        .into()
    };
    assert!(matches!(
        refused.remove(0),
        (name, Fault::Local(LocalFault::Unreadable { .. })) if name == "broken"
    ));
    assert_eq!(
        refused,
        [
            (
                "elsewhere".to_owned(),
                PolicyRefusal::UnexpectedNamespace {
                    expected: NAMESPACE.into(),
                    found: "liqo-tenant-victim".into(),
                }
                .into()
            ),
            ("labelled".to_owned(), mismatch("cl-consumer", "victim")),
            ("provided".to_owned(), mismatch("cl-provider", "cl-other")),
            ("unlabelled".to_owned(), mismatch("cl-consumer", "")),
            ("victims".to_owned(), mismatch("cl-consumer", "victim")),
        ]
    );
    for name in ["labelled", "provided", "unlabelled", "victims"] {
        assert_eq!(pool.said(name), [None, None], "{name}");
    }
}

#[test]
fn a_request_that_is_not_the_one_is_denied_and_its_status_wiped() {
    let mut pool = Pool::new();
    let mut boastful = replica_of("cl-consumer", "mypool", &key(9));
    boastful.status.resources = resources(&[("cpu", "1000")]);
    pool.bring(boastful).settle();
    assert_eq!(pool.said("mypool"), [Some(Said::Denied), None]);
    let status = &pool.slice("mypool").unwrap().status;
    assert_eq!(status.resources, resources(&[]));
    assert_eq!(
        (
            status.conditions[0].reason.as_str(),
            status.conditions[0].message.as_str()
        ),
        (
            "ResourceSliceAuthenticationDenied",
            "ResourceSlice authentication denied"
        )
    );
    assert!(matches!(
        pool.refused[0].1.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Key { .. }))
    ));
    assert_eq!(pool.signer.different(), 0);

    // Of another name: a slice becomes no other slice's user.
    let mut renamed = replica("mypool");
    renamed.metadata.name = "theirs".into();
    pool.bring(renamed).settle();
    assert!(matches!(
        pool.refused[1].1.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Subject { .. }))
    ));

    // Put right, it is taken.
    let right = replica("mypool").spec;
    pool.edit("mypool", |slice| slice.spec = right).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);

    // And wrong again: what was issued is on record, and no longer told.
    let wrong = replica_of("cl-consumer", "mypool", &key(9)).spec;
    pool.edit("mypool", |slice| slice.spec = wrong).settle();
    assert_eq!(pool.said("mypool"), [Some(Said::Denied), None]);
}

#[test]
fn a_changed_request_of_the_same_key_is_a_new_one() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let first = pool.certificate("mypool");
    // The same slice made anew: another UID, the same request.
    pool.remove("mypool").bring(replica("mypool")).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.signer.different(), 2);
    assert_ne!(pool.certificate("mypool").pem(), first.pem());
}

#[test]
fn a_slice_that_goes_takes_what_was_kept_of_it() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    assert_eq!(pool.records().len(), 2);
    pool.remove("mypool");
    assert_eq!(pool.phase("mypool"), "LeftBehind");
    // A crash in between loses nothing.
    pool.look(1);
    assert_eq!(pool.records().len(), 2);
    assert!(pool.kept("mypool").is_none());
    pool.settle();
    assert_eq!(pool.records().len(), 1);
    assert!(pool.kept("other").is_some());
    assert_eq!(pool.said("other"), ACCEPTED);
    assert_eq!(pool.phase("mypool"), "none");
}

#[test]
fn a_record_that_is_not_ours_is_no_record() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    let records = pool.records();
    let mut forged = pool.secret("liqo", &records[0]).unwrap().clone();
    let other = pool.secret("liqo", &records[1]).unwrap();
    forged.data = other.data.clone();
    pool.at_provider.insert(forged.into());
    pool.settle();
    let [(_, error)] = &pool.refused[..] else {
        panic!("{:?}", pool.refused);
    };
    assert!(matches!(
        error.fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    let mut broken = pool.secret("liqo", &records[0]).unwrap().clone();
    broken.data.remove("seal");
    pool.at_provider.insert(broken.into());
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &Fault::Local(LocalFault::BrokenSeal)
    );
    assert_eq!(pool.signer.different(), 2);
}

#[test]
fn records_are_sealed_anew_under_a_new_key() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let name = pool.records().remove(0);
    let before = pool.secret("liqo", &name).unwrap().data["seal"].clone();
    let successor = RecordKey::new([2; 32]).unwrap();
    let successor = successor.with_predecessor(exchange::RECORD_KEY).unwrap();
    let objects = pool.at_provider.clone();
    let mut rotated = Pool::new();
    rotated.at_provider = objects;
    rotated.provider = exchange::Setup::new().provider(successor);
    rotated.settle();
    let after = &rotated.secret("liqo", &name).unwrap().data["seal"];
    assert_ne!(before.expose(), after.expose());
    assert_eq!(rotated.said("mypool"), ACCEPTED);
}

#[test]
fn one_peer_has_so_many_slices_and_no_more() {
    let mut pool = Pool::new();
    for number in 0..64 {
        pool.bring(replica(&format!("b{number:02}")));
    }
    pool.settle();
    // One whose name comes first drives out none that is known.
    pool.bring(replica("a")).settle();
    assert_eq!(
        pool.refused
            .iter()
            .map(|(_, error)| error.fault().clone())
            .collect::<Vec<_>>(),
        [PolicyRefusal::TooManySlices { limit: 64 }.into()]
    );
    assert_eq!(pool.said("b63"), ACCEPTED);
    assert_eq!(pool.said("a"), [None, None]);
    assert_eq!(pool.signer.different(), 64);
    pool.remove("b07").settle();
    assert_eq!(pool.said("a"), ACCEPTED);
}

/// A look-up that knows who has which name.
struct Registry;

impl Principals for Registry {
    fn is_taken(&self, name: &PrincipalName<'_>, claimant: Claimant<'_>) -> Result<bool, BoxError> {
        if matches!(
            claimant,
            Claimant::Slice {
                slice: "unsure",
                ..
            }
        ) {
            return Err("the look-up is away".into());
        }
        Ok(name.name.starts_with("taken-"))
    }
}

#[test]
fn a_slice_is_not_signed_into_a_name_that_is_somebody_elses() {
    let mut pool = Pool::with(|builder| builder.principals(Arc::new(Registry)));
    pool.bring(replica("taken"))
        .bring(replica("unsure"))
        .bring(replica("free"))
        .settle();
    let common_name = Subject::resource_slice("taken", &pool::consumer());
    let faults: Vec<Fault> = pool
        .refused
        .iter()
        .map(|(_, error)| error.fault().clone())
        .collect();
    assert_eq!(
        faults,
        [
            PolicyRefusal::NameTaken {
                name: common_name.common_name().to_owned()
            }
            .into(),
            LocalFault::Backend {
                backend: Backend::Principals,
                message: "the look-up is away".into()
            }
            .into(),
        ]
    );
    assert_eq!(pool.said("taken"), [Some(Said::Denied), None]);
    assert_eq!(pool.said("unsure"), [None, None]);
    assert_eq!(pool.said("free"), ACCEPTED);
    assert_eq!(pool.wake_at, Some(pool.now + Duration::from_secs(60)));
}

/// Decides by the class.
struct ByClass;

impl ResourceSlicePolicy for ByClass {
    fn decide(&self, request: &SliceRequest<'_>) -> Result<SliceDecision, BoxError> {
        Ok(match request.class {
            "never" => SliceDecision::Deny {
                reason: "OutOfStock".into(),
                message: "there is nothing left".into(),
            },
            "later" => SliceDecision::Pending,
            "broken" => return Err("out of order".into()),
            _ => return LiqoClasses::default().decide(request),
        })
    }
}

#[test]
fn the_class_policy_denies_waits_leaves_to_others_or_fails() {
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(ByClass)));
    for class in ["never", "later", "broken", "theirs", ""] {
        let mut slice = replica(&format!("of-{class}x"));
        slice.spec.class = class.to_owned();
        // What another controller, or the peer, put there.
        slice.status.resources = resources(&[("cpu", "7")]);
        pool.bring(slice);
    }
    let step = pool.settle().reconcile();
    assert_eq!(
        pool.said("of-neverx"),
        [Some(Said::Accepted), Some(Said::Denied)]
    );
    let denied = pool.condition("of-neverx", About::Resources).unwrap();
    assert_eq!(
        (denied.reason.as_str(), denied.message.as_str()),
        ("OutOfStock", "there is nothing left")
    );
    assert_eq!(pool.phase("of-neverx"), "Denied");

    assert_eq!(pool.said("of-laterx"), [Some(Said::Accepted), None]);
    assert_eq!(
        pool.slice("of-laterx").unwrap().status.resources,
        resources(&[])
    );
    assert_eq!(pool.phase("of-laterx"), "NeedsDecision");
    let waits = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "of-laterx");
    assert!(step.wait.awaiting.contains(&Awaited::Resources(waits)));

    assert_eq!(
        pool.refused[0].1.fault(),
        &LocalFault::Backend {
            backend: Backend::ResourceSlicePolicy,
            message: "out of order".into()
        }
        .into()
    );

    assert_eq!(pool.said("of-brokenx"), [Some(Said::Accepted), None]);
    assert_eq!(pool.wake_at, Some(pool.now + Duration::from_secs(60)));

    assert_eq!(pool.said("of-theirsx"), [Some(Said::Accepted), None]);
    assert_eq!(
        pool.slice("of-theirsx").unwrap().status.resources,
        resources(&[("cpu", "7")])
    );
    pool.edit("of-theirsx", |slice| {
        let mut accepted = slice.status.conditions[0].clone();
        accepted.condition_type = About::Resources;
        slice.status.conditions.push(accepted);
    })
    .settle();
    assert_eq!(pool.said("of-theirsx"), ACCEPTED);
    assert_eq!(pool.said("of-x"), ACCEPTED);
}

#[test]
fn another_request_for_resources_is_decided_on_again_and_the_same_is_not() {
    let policy = Ceiling::new(LiqoClasses::new(Grant {
        resources: resources(&[("pods", "110"), ("cpu", "1")]),
        node_labels: [("region".to_owned(), "europe".to_owned())].into(),
        ..Grant::default()
    }))
    .at_most("memory", "2Gi".into())
    .unwrap()
    .at_most("cpu", "64".into())
    .unwrap()
    .at_most_for(pool::consumer(), "cpu", "1500m".into())
    .unwrap();
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(policy)));
    pool.bring(replica("mypool")).settle();
    let status = &pool.slice("mypool").unwrap().status;
    assert_eq!(
        status.resources,
        resources(&[("cpu", "1500m"), ("memory", "2Gi"), ("pods", "110")])
    );
    assert_eq!(status.node_labels["region"], "europe");
    let since = status.conditions[1].last_transition_time;

    pool.wait(Duration::from_secs(3600));
    pool.edit("mypool", |slice| {
        slice.spec.resources = resources(&[("cpu", "500m"), ("memory", "2000Mi")]);
    })
    .settle();
    let status = &pool.slice("mypool").unwrap().status;
    assert_eq!(
        status.resources,
        resources(&[("cpu", "500m"), ("memory", "2000Mi"), ("pods", "110")])
    );
    assert_eq!(status.conditions[1].last_transition_time, since);

    // What is no quantity is denied.
    for quantity in ["much", "-1"] {
        pool.edit("mypool", |slice| {
            slice.spec.resources = resources(&[("cpu", quantity)]);
        })
        .settle();
        assert_eq!(
            pool.said("mypool"),
            [Some(Said::Accepted), Some(Said::Denied)],
            "{quantity}"
        );
        assert_eq!(
            pool.slice("mypool").unwrap().status.resources,
            resources(&[])
        );
    }
    assert_eq!(pool.signer.different(), 1);
}

#[test]
fn the_administrator_has_a_slice_decided_on_anew() {
    let mut pool = Pool::with(|builder| builder.slices(Arc::new(ByClass)));
    let mut slice = replica("mypool");
    slice.spec.class = "never".into();
    pool.bring(slice).settle();
    let granting = Pool::new();
    pool.provider = granting.provider;
    pool.edit("mypool", |slice| slice.spec.class = "default".into());
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);

    pool.administer(|provider, objects, _| {
        provider.reconsider_slice(&objects.view(&pool::consumer()), "mypool")
    });
    assert_eq!(pool.phase("mypool"), "NeedsDecision");
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    let error = pool
        .provider
        .reconsider_slice(&pool.at_provider.view(&pool::consumer()), "nothere")
        .unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(LocalFault::NoSlice));
}

#[test]
fn a_signer_answers_later_or_not_at_all() {
    let mut pool = Pool::new();
    pool.signer.answer(Some(Signing::Pending));
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.phase("mypool"), "NeedsCertificate");
    let step = pool.reconcile();
    let awaited = |awaited: &Awaited| matches!(awaited, Awaited::Certificate(_));
    assert!(step.wait.awaiting.iter().any(awaited));
    pool.signer
        .answer(Some(Signing::Denied("not today".into())));
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::SigningDenied {
            reason: "not today".into()
        }
        .into()
    );
    // A certificate for another key.
    let mut other = Pool::new();
    other.bring(replica("other")).settle();
    pool.signer
        .answer(Some(Signing::Issued(other.certificate("other"))));
    pool.settle();
    assert!(matches!(
        pool.refused[0].1.fault(),
        Fault::ApiMisuse(ApiMisuse::SignerCertificate(
            CertificateError::Subject { .. }
        ))
    ));
    pool.signer.answer(None);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.signer.different(), 1);
}

#[test]
fn a_certificate_of_90_seconds_is_renewed_in_time_and_in_no_loop() {
    let mut pool = Pool::with(|builder| builder.certificate_lifetime(Duration::from_secs(90)));
    pool.bring(replica("mypool")).settle();
    let start = pool.now;
    let mut certificates = vec![pool.certificate("mypool")];
    for _ in 0..600 {
        // As an embedder does: it sleeps until it is told to look.
        let Some(wake_at) = pool.settle().wake_at else {
            panic!("it does not say when to look again");
        };
        assert!(wake_at > pool.now, "it would look again at once");
        assert!(wake_at <= pool.certificate("mypool").leaf().not_after());
        pool.now = wake_at;
        let old = pool.certificate("mypool");
        // Crash between record and Secret, and between Secret and status: what
        // is told is the old certificate until the new one is there.
        pool.look(1);
        assert_eq!(pool.certificate("mypool").pem(), old.pem());
        pool.look(usize::MAX);
        pool.settle();
        let new = pool.certificate("mypool");
        if new.pem() != old.pem() {
            assert!(new.leaf().not_after() > old.leaf().not_after());
            certificates.push(new);
        }
        if pool.now.since(start) > Duration::from_secs(3599) {
            break;
        }
    }
    assert_eq!(certificates.len(), 61, "one at the start, and each minute");
    assert_eq!(pool.signer.different(), 61, "each was asked for once");
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(
        pool.condition("mypool", About::Authentication)
            .unwrap()
            .last_transition_time,
        Some(start)
    );
    assert_eq!(
        key(1).public_key().spki_der(),
        certificates[3].leaf().spki_der()
    );
}

#[test]
fn a_renewal_that_does_not_come_leaves_the_certificate_until_it_expires() {
    let mut pool = Pool::with(|builder| builder.certificate_lifetime(Duration::from_secs(90)));
    pool.bring(replica("mypool")).settle();
    let issued = pool.certificate("mypool");
    pool.now = pool.wake_at.unwrap();
    pool.signer.answer(Some(Signing::Pending));
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_eq!(pool.certificate("mypool").pem(), issued.pem());
    let expired = issued.leaf().not_after() + Duration::from_secs(1);
    assert_eq!(pool.wake_at, Some(expired));

    // A signer that fails is asked again soon, and holds nothing else up.
    pool.signer
        .fails
        .store(true, std::sync::atomic::Ordering::Relaxed);
    pool.edit("mypool", |slice| slice.status = Default::default())
        .settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &LocalFault::Backend {
            backend: Backend::CsrSigner,
            message: "the signer is away".into()
        }
        .into()
    );
    assert_eq!(pool.said("mypool"), ACCEPTED);
    let expired = issued.leaf().not_after() + Duration::from_secs(1);
    assert_eq!(
        pool.wake_at,
        Some(expired.min(pool.now + Duration::from_secs(60)))
    );
    pool.signer
        .fails
        .store(false, std::sync::atomic::Ordering::Relaxed);

    // The same certificate again is no renewal, and no loop.
    pool.signer.answer(Some(Signing::Issued(issued.clone())));
    pool.settle();
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::RenewalEndsNoLater {
            found: issued.leaf().not_after(),
            present: issued.leaf().not_after(),
        }
        .into()
    );
    // It is asked for again after a pause, whatever the peer writes meanwhile.
    let asked = |pool: &Pool| pool.signer.asked.load(std::sync::atomic::Ordering::Relaxed);
    let (before, again_at) = (asked(&pool), pool.now + Duration::from_secs(10));
    assert_eq!(pool.wake_at, Some(again_at));
    for _ in 0..4 {
        pool.edit("mypool", |slice| slice.status = Default::default())
            .settle();
        assert_eq!(asked(&pool), before);
        assert_eq!(pool.wake_at, Some(again_at));
    }
    pool.now = again_at;
    pool.signer
        .answer(Some(Signing::Denied("not today".into())));
    pool.settle();
    pool.settle();
    assert_eq!(asked(&pool), before + 1);
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::SigningDenied {
            reason: "not today".into()
        }
        .into()
    );

    pool.now = expired;
    pool.signer.answer(None);
    pool.settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);
    assert_ne!(pool.certificate("mypool").pem(), issued.pem());
}
