//! How a provider answers the resource slices of a peer.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    Machine,
    crypto::{Answer, BoxError, CsrError, Subject},
    error::{Backend, Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    machine::{Awaited, Concerns, Mirror, View},
    model::{
        Kind, Object, ObjectRef, ResourceSlice, ResourceSliceConditionStatus as Said, Secret, names,
    },
    provider::{Claimant, NameRequest, PrincipalName, Principals},
};

use crate::clusters::{
    exchange,
    pool::{self, NAMESPACE, Pool, key, replica, replica_of, resources},
};

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
        kept.metadata
            .labels
            .get(names::REMOTE_CLUSTER_ID_LABEL)
            .unwrap(),
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
    // The consumer completes what a person has made.
    let complete = std::mem::take(&mut early.spec);
    pool.bring(early);
    let step = pool.look(usize::MAX);
    let id = ObjectRef::new(Kind::ResourceSlice, NAMESPACE, "early");
    assert!(step.wait.awaiting.contains(&Awaited::SliceRequest(id)));
    assert_eq!(pool.phase("early"), "AwaitsRequest");
    pool.edit("early", |slice| slice.spec = complete).settle();
    assert_eq!(pool.said("early"), ACCEPTED);

    // Without a Tenant, the peer is not known.
    let mut pool = Pool::new();
    let id = ObjectRef::new(Kind::Tenant, NAMESPACE, "cl-consumer");
    pool.at_provider.remove(&id).unwrap();
    pool.bring(replica("mypool")).settle();
    assert_eq!(pool.phase("mypool"), "AwaitsPeer");
    assert_eq!(pool.signer.different(), 0);
}

#[test]
fn a_crash_after_any_effect_leads_to_the_same_objects() {
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
fn a_status_that_the_peer_writes_is_overwritten() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let told = pool.slice("mypool").unwrap().status.clone();
    let tampering: [fn(&mut ResourceSlice); 8] = [
        |slice: &mut ResourceSlice| slice.status = Default::default(),
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
    for tamper in tampering {
        pool.wait(Duration::from_secs(60));
        pool.edit("mypool", tamper).settle();
        assert_eq!(pool.slice("mypool").unwrap().status, told);
    }
    assert_eq!(pool.signer.different(), 1);

    // The peer writes a status before any decision.
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
fn a_certificate_that_the_peer_stored_is_replaced_by_the_one_on_record() {
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

    // An unreadable Secret is not replaced. Everything else continues.
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
fn a_slice_of_another_peer_or_namespace_is_refused_and_left_alone() {
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
        PeerIncompatible::NameMismatch {
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
            ("labelled".to_owned(), mismatch("cl-consumer", "victim")),
            ("provided".to_owned(), mismatch("cl-provider", "cl-other")),
            ("unlabelled".to_owned(), mismatch("cl-consumer", "")),
            ("victims".to_owned(), mismatch("cl-consumer", "victim")),
        ]
    );
    for name in ["labelled", "provided", "unlabelled", "victims"] {
        assert_eq!(pool.said(name), [None, None], "{name}");
    }
    // The objects of a tenant namespace belong to its peer, whatever their
    // labels are. If a view also has objects of other namespaces, those are
    // refused.
    let view = View::of(&pool::consumer(), pool.at_provider.iter());
    let step = pool.provider.reconcile(&view, pool.env()).unwrap();
    let elsewhere = step.refused.iter().find(|refused| {
        let object = refused.object.as_ref();
        object.is_some_and(|object| object.name == "elsewhere")
    });
    assert_eq!(
        elsewhere.unwrap().error.fault(),
        &Fault::from(PolicyRefusal::UnexpectedNamespace {
            expected: NAMESPACE.into(),
            found: "liqo-tenant-victim".into(),
        })
    );
}

#[test]
fn a_wrong_request_is_denied_and_its_status_is_cleared() {
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
        Fault::PeerIncompatible(PeerIncompatible::CsrKey { .. })
    ));
    assert_eq!(pool.signer.different(), 0);

    // A request with the name of another slice is refused: a slice cannot get
    // another slice's user.
    let mut renamed = replica("mypool");
    renamed.metadata.name = "theirs".into();
    pool.bring(renamed).settle();
    assert!(matches!(
        pool.refused[1].1.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Subject { .. }))
    ));

    // A corrected slice is accepted.
    let right = replica("mypool").spec;
    pool.edit("mypool", |slice| slice.spec = right).settle();
    assert_eq!(pool.said("mypool"), ACCEPTED);

    // A slice that becomes wrong again is denied. Its certificate stays on
    // record but is not handed out.
    let wrong = replica_of("cl-consumer", "mypool", &key(9)).spec;
    pool.edit("mypool", |slice| slice.spec = wrong).settle();
    assert_eq!(pool.said("mypool"), [Some(Said::Denied), None]);
}

#[test]
fn the_number_of_slices_of_a_peer_is_limited() {
    let mut pool = Pool::new();
    for number in 0..64 {
        pool.bring(replica(&format!("b{number:02}")));
    }
    pool.settle();
    // A new slice does not displace a known one, even if its name sorts first.
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

/// A look-up that knows the owner of each name.
struct Registry;

impl Principals for Registry {
    fn is_taken(&self, request: &NameRequest<'_>) -> Result<Answer<bool>, BoxError> {
        if matches!(
            request.claimant,
            Claimant::Slice {
                slice: "unsure",
                ..
            }
        ) {
            return Err("the look-up is away".into());
        }
        let PrincipalName::User(name) = request.name else {
            return Ok(Answer::Ready(false));
        };
        Ok(Answer::Ready(name.starts_with("taken-")))
    }
}

#[test]
fn a_slice_whose_user_name_is_taken_is_denied() {
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

#[test]
fn all_objects_of_slices_are_looked_up_and_watched_for_the_peer() {
    let mut pool = Pool::new();
    pool.bring(replica("mypool")).settle();
    let consumer = pool::consumer();
    let (interests, watches) = (pool.provider.interests(&consumer), pool.provider.watches());
    let mirror = Mirror::default();
    let objects = pool.at_provider.iter();
    for object in objects.filter(|object| object.id().kind != Kind::ClusterRole) {
        let covered = interests.iter().any(|interest| interest.matches(object));
        assert!(covered, "{}", object.id());
        let watched = watches.iter().any(|watch| watch.covers(object));
        assert!(watched, "{}", object.id());
        assert_eq!(
            pool.provider.concerns(object, &mirror),
            Concerns::Peer(consumer.clone()),
            "{}",
            object.id()
        );
    }
    // A Secret of the same name without the label is seen, too. It does not
    // count as absent.
    let certificate = "liqo-remote-certificate-mypool";
    let certificate = pool.at_provider.get::<Secret>(NAMESPACE, certificate);
    let mut certificate = certificate.unwrap().clone();
    certificate.metadata.labels.clear();
    let certificate = Object::from(certificate);
    assert!(
        interests
            .iter()
            .any(|interest| interest.matches(&certificate))
    );
    // A slice that is not replicated concerns no peer.
    let mut local = replica("local");
    local.metadata.labels.remove(names::REPLICATED_LABEL);
    let concerns = pool.provider.concerns(&local.into(), &mirror);
    assert_eq!(concerns, Concerns::Nobody);
}
