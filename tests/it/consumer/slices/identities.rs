//! The Identity of a slice: how it is stored, replaced and deleted.

use std::collections::BTreeSet;

use liqo_auth::{
    consumer::{ResourcesDecision, SlicePhase},
    crypto::{CertificateError, Csr, Entropy, Subject},
    error::{Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal, Precondition},
    machine::Awaited,
    model::{
        AwsConfig, Bytes, Identity, IdentityType, Kubeconfig, Namespace, Object, OwnerReference,
        Renew, ResourceSlice, ResourceSliceCondition,
        ResourceSliceConditionStatus::{Accepted, Denied},
        ResourceSliceConditionType, Secret,
    },
    policy::Policy,
    verify::{self, IdentityExpectation},
};

use super::{SLICE_IDENTITY, object_ref};
use crate::{
    clusters::exchange::{self, ed25519, id},
    consumer::home::{
        HOUR, Home, IDENTITY, MINUTE, NAMESPACE, YEAR, crash_everywhere, env, issue,
        issue_control_plane, issue_slice, mypool,
    },
};

#[test]
fn an_accepted_slice_gets_an_identity_and_a_kubeconfig_as_liqo_makes_them() {
    let mut home = Home::authenticated(YEAR);
    home.request_slice();
    home.accept_slice(YEAR);
    assert_eq!(home.slice_phase(), "NeedsIdentity");
    home.turn();
    assert_eq!(home.slice_phase(), "NeedsKubeconfig");
    home.settle();
    assert_eq!(home.slice_phase(), "Held");

    let slice = home.slice();
    let identity = home.identity_of(SLICE_IDENTITY);
    assert_eq!(
        identity.metadata.labels,
        [
            ("liqo.io/remote-cluster-id", "cl-provider"),
            ("liqo.io/resourceslice-name", "mypool")
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
    );
    assert_eq!(
        identity.metadata.owner_references,
        [OwnerReference::controller(&slice)]
    );
    assert_eq!(identity.spec.identity_type, IdentityType::ResourceSlice);
    assert_eq!(identity.spec.namespace, None);
    assert_eq!(
        Some(&identity.spec.auth_params),
        slice.status.auth_params.as_ref()
    );

    let secret: Secret = home.get("kubeconfig-resourceslice-mypool").unwrap();
    assert!(secret.metadata.annotations.is_empty());
    assert_eq!(
        secret.metadata.labels.get("liqo.io/identity-type").unwrap(),
        "ResourceSlice"
    );
    assert_eq!(
        secret.metadata.owner_references,
        [OwnerReference::controller(&identity)]
    );
    let kubeconfig = Kubeconfig::parse(&home.kubeconfig(SLICE_IDENTITY).unwrap()).unwrap();
    assert_eq!(kubeconfig.namespace, None);
    assert_eq!(kubeconfig.user, SLICE_IDENTITY);
    // There is no Renew. In Liqo 1.2 only the control plane has one.
    assert_eq!(home.get::<Renew>(SLICE_IDENTITY), None);
}

/// Its owner is the slice, and an owner is in the same namespace.
#[test]
fn the_identity_of_a_slice_is_in_the_namespace_of_the_slice() {
    let mut home = Home::new();
    let mut namespace = Namespace::for_tenant(&id("cl-provider"));
    namespace.metadata.name = "renamed".to_owned();
    home.objects.insert(namespace.into());
    let mut home = home.authenticate(YEAR);
    home.request_slice();
    let slice = home.objects.get::<ResourceSlice>("renamed", "mypool");
    let mut slice = slice.unwrap().clone();
    let key = ed25519(1);
    let given = issue_slice(&slice, key.public_key(), home.now, YEAR);
    slice.status.auth_params = Some(given);
    slice.status.conditions = vec![ResourceSliceCondition {
        condition_type: ResourceSliceConditionType::Authentication,
        status: Accepted,
        last_transition_time: Some(home.now),
        reason: String::new(),
        message: String::new(),
    }];
    home.objects.insert(slice.into());
    home.settle();
    assert_eq!(home.slice_phase(), "Held");
    let names = home.names().into_iter();
    let made: BTreeSet<String> = names.filter(|made| made.contains("mypool")).collect();
    let expected = [
        "Identity renamed/resourceslice-mypool",
        "ResourceSlice renamed/mypool",
        "Secret renamed/kubeconfig-resourceslice-mypool",
    ];
    assert_eq!(made, expected.map(str::to_owned).into());
}

/// The rights of a slice are not limited to a namespace, so its Identity names none.
#[test]
fn the_identity_of_a_slice_names_no_namespace() {
    let home = Home::with_slice(YEAR);
    let (consumer, provider, key) = (id("cl-consumer"), id("cl-provider"), ed25519(1));
    let expectation = IdentityExpectation {
        slice: Some("mypool"),
        ..IdentityExpectation::new(&consumer, &provider, key.public_key(), home.now)
    };
    let mut identity = home.identity_of(SLICE_IDENTITY);
    for policy in [Policy::strict(), Policy::compatible()] {
        for namespace in ["liqo-tenant-cl-consumer", "kube-system"] {
            identity.spec.namespace = Some(namespace.to_owned());
            let error = verify::identity(&identity, &expectation, &policy).unwrap_err();
            let refusal = PolicyRefusal::UnexpectedNamespace {
                expected: String::new(),
                found: namespace.to_owned(),
            };
            assert_eq!(*error.fault(), refusal.into());
            assert_eq!(error.at().field, "spec.namespace");
        }
        for namespace in [None, Some(String::new())] {
            identity.spec.namespace = namespace;
            let verified = verify::identity(&identity, &expectation, &policy).unwrap();
            assert_eq!(verified.namespace, None);
        }
    }
}

#[test]
fn bad_credentials_of_a_provider_are_refused_field_by_field() {
    type Tamper = fn(&mut liqo_auth::model::AuthParams, &Home);
    type Expected = fn(&Fault) -> bool;
    let cases: [(&str, Tamper, Expected, &str); 8] = [
        (
            "another key's certificate",
            |given, home| *given = issue_control_plane(&*ed25519(3), home.now, YEAR),
            |fault| {
                matches!(
                    fault,
                    Fault::PeerIncompatible(PeerIncompatible::CertificateKey { .. })
                )
            },
            "status.authParams.signedCRT",
        ),
        (
            "the control plane's certificate",
            |given, home| *given = home.issue(YEAR),
            |fault| {
                is_certificate(fault, |error| {
                    matches!(error, CertificateError::Subject { .. })
                })
            },
            "status.authParams.signedCRT",
        ),
        (
            "another slice's certificate",
            |given, home| {
                let subject = Subject::resource_slice("other", &id("cl-consumer"));
                let key = ed25519(1);
                let csr = Csr::make(&subject, &*key).unwrap().at_once().unwrap();
                let authority = exchange::authority();
                *given = issue(&authority, &csr, &subject, key.public_key(), home.now, YEAR);
            },
            |fault| {
                is_certificate(fault, |error| {
                    matches!(error, CertificateError::Subject { .. })
                })
            },
            "status.authParams.signedCRT",
        ),
        (
            "another API server",
            |given, _| given.api_server = "https://203.0.113.9:6443".to_owned(),
            |fault| *fault == PeerIncompatible::EndpointChanged.into(),
            "status.authParams.apiServer",
        ),
        (
            "another CA",
            |given, home| {
                let other = liqo_auth::crypto::Authority::new(
                    "other",
                    home.now,
                    YEAR,
                    &Entropy::from_bytes([77; 32]),
                );
                given.ca = Bytes::from(other.unwrap().ca_bundle().pem());
            },
            |fault| *fault == PeerIncompatible::EndpointChanged.into(),
            "status.authParams.ca",
        ),
        (
            "a proxy",
            |given, _| given.proxy_url = Some("http://203.0.113.9:8118".to_owned()),
            |fault| *fault == PeerIncompatible::ProxyMismatch.into(),
            "status.authParams.proxyURL",
        ),
        (
            "AWS keys as well",
            |given, _| given.aws_config = Some(AwsConfig::default()),
            |fault| *fault == PeerMisbehaved::MixedCredentials.into(),
            "status.authParams.awsConfig",
        ),
        (
            "nothing",
            |given, _| given.signed_crt = Bytes::default(),
            |fault| *fault == PeerIncompatible::NoCertificate.into(),
            "status.authParams.signedCRT",
        ),
    ];
    for (name, tamper, expected, field) in cases {
        // If no Identity is held, none is made.
        let mut home = Home::authenticated(YEAR);
        home.request_slice();
        home.settle();
        let mut given = home.issue_slice(YEAR);
        tamper(&mut given, &home);
        home.answer_slice(Accepted, Some(given.clone()));
        let error = home.slice_refusal();
        assert!(expected(error.fault()), "{name}: {error}");
        assert_eq!(error.at().field, field, "{name}");
        assert_eq!(error.at().object, Some(object_ref()), "{name}");
        assert!(home.turn().is_settled(), "{name}");
        assert_eq!(home.get::<Identity>(SLICE_IDENTITY), None);

        // If an Identity is held, it stays.
        let mut home = Home::with_slice(HOUR);
        home.now = home.now + MINUTE;
        let before = home.objects.clone();
        let mut given = home.issue_slice(YEAR);
        tamper(&mut given, &home);
        home.answer_slice(Accepted, Some(given));
        assert!(home.turn().is_settled(), "{name}");
        assert_eq!(home.slice_phase(), "Held", "{name}");
        assert!(
            matches!(&home.refused[..], [error] if expected(error.fault())),
            "{name}: {:?}",
            home.refused
        );
        for kept in [SLICE_IDENTITY, "kubeconfig-resourceslice-mypool"] {
            assert_eq!(
                home.get::<Identity>(kept),
                before.get::<Identity>(NAMESPACE, kept).cloned()
            );
        }
    }
}

#[test]
fn an_expired_or_older_certificate_does_not_replace_the_current_one() {
    let mut home = Home::with_slice(HOUR);
    let held = home.identity_of(SLICE_IDENTITY);
    let older = home.issue_slice(MINUTE);
    home.answer_slice(Accepted, Some(older.clone()));
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.refused[0].fault(),
        Fault::Precondition(Precondition::NotNewer { .. })
    ));
    home.now = home.now + MINUTE + MINUTE;
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.refused[0].fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateExpired { .. })
    ));
    assert_eq!(home.identity_of(SLICE_IDENTITY), held);
    assert_eq!(home.slice_phase(), "Held");

    // A newer certificate replaces the old one, and the kubeconfig follows.
    home.accept_slice(HOUR);
    home.settle();
    assert_eq!(home.refused, []);
    assert_eq!(
        Some(home.identity_of(SLICE_IDENTITY).spec.auth_params),
        home.slice().status.auth_params
    );
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn an_expired_certificate_is_replaced_by_a_valid_one() {
    let mut home = Home::with_slice(HOUR);
    home.now = home.now + HOUR + MINUTE;
    assert!(matches!(
        home.slice_refusal().fault(),
        Fault::PeerIncompatible(PeerIncompatible::CertificateExpired { .. })
    ));
    // The control plane's certificate has expired, too. The slice is still
    // visible.
    assert_eq!(home.phase(), "Refused");
    home.accept_slice(HOUR);
    home.turn();
    home.turn();
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn a_denied_slice_loses_its_identity_and_may_get_another() {
    let mut home = Home::with_slice(YEAR);
    home.answer_slice(Denied, None);
    match home.status().slices.pop().unwrap().phase {
        SlicePhase::Denied { reason, message } => {
            assert_eq!(reason, "Reason");
            assert_eq!(message, "the message");
        }
        other => panic!("{other:?}"),
    }
    home.settle();
    assert_eq!(home.get::<Identity>(SLICE_IDENTITY), None);
    assert_eq!(home.kubeconfig(SLICE_IDENTITY), None);
    assert_eq!(home.phase(), "Authenticated");
    home.accept_slice(YEAR);
    home.settle();
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn resources_and_identity_are_decided_separately() {
    let mut home = Home::with_slice(YEAR);
    let resources = |home: &Home| home.status().slices.remove(0).resources;
    assert_eq!(resources(&home), ResourcesDecision::Undecided);
    let mut slice = home.slice();
    slice.status.conditions.push(ResourceSliceCondition {
        condition_type: ResourceSliceConditionType::Resources,
        status: Denied,
        last_transition_time: None,
        reason: "Full".to_owned(),
        message: "there is no room".to_owned(),
    });
    home.objects.insert(slice.clone().into());
    assert_eq!(
        resources(&home),
        ResourcesDecision::Denied {
            reason: "Full".to_owned(),
            message: "there is no room".to_owned()
        }
    );
    assert_eq!(home.slice_phase(), "Held");
    slice.status.conditions[1].status = Accepted;
    slice.status.resources = [("cpu".to_owned(), "1".into())].into();
    home.objects.insert(slice.clone().into());
    assert_eq!(
        resources(&home),
        ResourcesDecision::Granted(slice.status.resources)
    );
}

#[test]
fn a_fault_of_one_slice_does_not_delay_other_slices() {
    let mut home = Home::with_slice(YEAR);
    let mut bad = Object::from(home.slice()).to_value();
    bad["metadata"]["name"] = "bad".into();
    bad["status"]["authParams"]["signedCRT"] = 5.into();
    home.objects.insert(Object::from_value(bad));
    let mut wrong = home.slice();
    wrong.metadata.name = "wrong".to_owned();
    wrong.spec.csr = Bytes::default();
    home.objects.insert(wrong.into());
    home.put_on_record(&["mypool", "wrong"]);
    let step = home.settle();
    let phases = home
        .status()
        .slices
        .iter()
        .map(|slice| (slice.slice.name.clone(), slice.phase.name()))
        .collect::<Vec<_>>();
    // The status was copied with its certificate. That certificate is for the
    // original slice.
    assert_eq!(
        phases,
        [
            ("bad".to_owned(), "Refused"),
            ("mypool".to_owned(), "Held"),
            ("wrong".to_owned(), "Refused")
        ]
    );
    assert_eq!(step.refused.len(), 2);
    assert!(
        !home
            .get::<ResourceSlice>("wrong")
            .unwrap()
            .spec
            .csr
            .is_empty()
    );
    assert_eq!(home.phase(), "Authenticated");
}

#[test]
fn the_identity_of_a_deleted_slice_is_deleted() {
    let mut home = Home::with_slice(YEAR);
    let step = home.consumer.delete_slice(&home.view(), "mypool").unwrap();
    assert_eq!(step.effects.len(), 1);
    home.carry_out(step);
    home.settle();
    assert_eq!(home.get::<Identity>(SLICE_IDENTITY), None);
    assert_eq!(home.kubeconfig(SLICE_IDENTITY), None);
    assert_eq!(home.record().get("slices"), None);
    assert!(home.kubeconfig(IDENTITY).is_some());
    assert!(
        home.consumer
            .delete_slice(&home.view(), "mypool")
            .unwrap()
            .is_settled()
    );
}

#[test]
fn the_identity_of_a_slice_that_is_being_deleted_stays() {
    let mut home = Home::with_slice(YEAR);
    let mut slice = home.slice();
    slice.metadata.finalizers = vec!["crdreplicator.liqo.io/resource".to_owned()];
    home.objects.insert(slice.into());
    let step = home.consumer.delete_slice(&home.view(), "mypool").unwrap();
    home.carry_out(step);
    assert_eq!(home.slice_phase(), "Ending");
    let step = home.settle();
    assert!(step.wait.awaiting.contains(&Awaited::End(object_ref())));
    assert!(home.kubeconfig(SLICE_IDENTITY).is_some());
}

#[test]
fn an_unreadable_slice_keeps_its_identity() {
    let mut home = Home::with_slice(YEAR);
    let mut slice = Object::from(home.slice()).to_value();
    slice["status"]["conditions"] = 5.into();
    home.objects.insert(Object::from_value(slice));
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.slice_refusal().fault(),
        Fault::Local(LocalFault::Unreadable { .. })
    ));
    assert!(home.kubeconfig(SLICE_IDENTITY).is_some());
}

#[test]
fn a_crash_anywhere_loses_nothing() {
    let start = Home::authenticated(YEAR);
    crash_everywhere(&start, |home| {
        home.consumer
            .request_slice(&home.view(), &mypool(), env(home.now))
            .unwrap()
    });
    let mut start = Home::authenticated(YEAR);
    start.request_slice();
    start.accept_slice(YEAR);
    crash_everywhere(&start, Home::reconciled);
    let mut start = Home::with_slice(HOUR);
    start.now = start.now + MINUTE;
    start.accept_slice(HOUR);
    crash_everywhere(&start, Home::reconciled);
    let mut start = Home::with_slice(YEAR);
    start.answer_slice(Denied, None);
    crash_everywhere(&start, Home::reconciled);
    let mut start = Home::with_slice(YEAR);
    start.objects.remove(&object_ref());
    crash_everywhere(&start, Home::reconciled);
}

#[test]
fn a_changed_kubeconfig_is_restored() {
    let mut home = Home::with_slice(YEAR);
    let mut secret: Secret = home.get("kubeconfig-resourceslice-mypool").unwrap();
    let before = home.kubeconfig(SLICE_IDENTITY);
    secret
        .data
        .insert("kubeconfig".to_owned(), b"evil".as_slice().into());
    home.objects.insert(secret.into());
    assert_eq!(home.slice_phase(), "NeedsKubeconfig");
    home.settle();
    assert_eq!(home.kubeconfig(SLICE_IDENTITY), before);
}

fn is_certificate(fault: &Fault, is: impl Fn(&CertificateError) -> bool) -> bool {
    matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(error)) if is(error))
}
