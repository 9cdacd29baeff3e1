//! Resource slices.

use liqo_auth::{
    audit::Decision,
    consumer::{PeerSettings, ResourcesDecision, SliceOptions, SlicePhase},
    crypto::{CertificateError, Csr, Entropy, Subject},
    error::{Fault, LocalFault, PeerIncompatible, PeerMisbehaved, PolicyRefusal},
    machine::{Awaited, Concerns, Effect, Mirror},
    model::{
        AwsConfig, Bytes, Identity, IdentityType, Kind, Kubeconfig, Object, OwnerReference, Renew,
        Resource, ResourceSlice, ResourceSliceCondition,
        ResourceSliceConditionStatus::{Accepted, Denied},
        ResourceSliceConditionType, Secret, names,
    },
    policy::Policy,
};
use serde_json::json;

use crate::{
    exchange::{ed25519, id},
    home::{
        HOUR, Home, IDENTITY, MINUTE, NAMESPACE, YEAR, crash_everywhere, env, issue,
        issue_control_plane, mypool, object, provider,
    },
};

const SLICE_IDENTITY: &str = "resourceslice-mypool";

#[test]
fn a_slice_is_asked_for_as_liqoctl_and_liqo_do() {
    let mut home = Home::authenticated(YEAR);
    let step = home.request_slice();
    assert_eq!(step.events.len(), 1);
    assert_eq!(step.events[0].decision, Decision::SliceRequested);
    let slice = home.slice();
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    let csr = Csr::make(&subject, &*ed25519(1)).unwrap();
    let mut value = serde_json::to_value(&slice).unwrap();
    for assigned in ["uid", "resourceVersion"] {
        value["metadata"].as_object_mut().unwrap().remove(assigned);
    }
    assert_eq!(
        value,
        json!({
            "metadata": {
                "name": "mypool",
                "namespace": NAMESPACE,
                "annotations": { "liqo.io/create-virtual-node": "true" },
                "labels": {
                    "liqo.io/remote-cluster-id": "cl-provider",
                    "liqo.io/remoteID": "cl-provider",
                    "liqo.io/replication": "true",
                },
            },
            "spec": {
                "class": "default",
                "consumerClusterID": "cl-consumer",
                "providerClusterID": "cl-provider",
                "csr": serde_json::to_value(Bytes::from(csr.pem())).unwrap(),
                "resources": { "cpu": "2", "memory": "4Gi" },
            },
        })
    );
    assert_eq!(home.slice_phase(), "AwaitsDecision");
    let step = home.settle();
    assert!(
        step.wait
            .awaiting
            .contains(&Awaited::SliceDecision(slice.id()))
    );
}

#[test]
fn asking_again_changes_what_is_asked_for_and_nothing_else() {
    let mut home = Home::with_slice(YEAR);
    assert!(home.request_slice().is_settled());
    let before = home.slice();
    let options = SliceOptions {
        resources: [("cpu".to_owned(), "8".into())].into(),
        annotations: [("a".to_owned(), "b".to_owned())].into(),
        ..SliceOptions::named("mypool")
    };
    let step = home
        .consumer
        .request_slice(&home.view(), &options, env(home.now))
        .unwrap();
    home.carry_out(step);
    let mut expected = before;
    expected.spec.resources = options.resources;
    expected
        .metadata
        .annotations
        .insert("a".to_owned(), "b".to_owned());
    let mut slice = home.slice();
    slice.metadata.resource_version = expected.metadata.resource_version.clone();
    assert_eq!(slice, expected);
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn a_slice_is_refused_before_the_control_plane_and_under_a_bad_name() {
    let home = Home::new();
    let ask = |home: &Home, name: &str| {
        home.consumer
            .request_slice(&home.view(), &SliceOptions::named(name), env(home.now))
    };
    let error = ask(&home, "mypool").unwrap_err();
    assert_eq!(error.fault(), &LocalFault::NotAuthenticated.into());
    let home = Home::authenticated(YEAR);
    for name in ["", "-a", "A", "a_b", &"a".repeat(52), "a/../b"] {
        let error = ask(&home, name).unwrap_err();
        assert!(
            matches!(error.fault(), Fault::Local(LocalFault::SliceName { .. })),
            "{error}"
        );
    }
    assert!(ask(&home, &"a".repeat(51)).is_ok());
}

#[test]
fn a_slice_made_by_hand_is_completed() {
    let mut home = Home::authenticated(YEAR);
    home.objects.insert(by_hand());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    home.settle();
    let slice = home.slice();
    assert_eq!(
        slice.spec.consumer_cluster_id.as_deref(),
        Some("cl-consumer")
    );
    assert_eq!(
        slice.spec.provider_cluster_id.as_deref(),
        Some("cl-provider")
    );
    assert!(!slice.spec.csr.is_empty());
    assert_eq!(home.slice_phase(), "AwaitsDecision");
}

#[test]
fn what_is_no_request_of_this_side_is_left_alone() {
    for (label, value) in [
        ("liqo.io/replication", None),
        ("liqo.io/replication", Some("false")),
        ("liqo.io/remoteID", None),
        ("liqo.io/remoteID", Some("cl-other")),
        ("liqo.io/replicated", Some("true")),
    ] {
        let mut home = Home::authenticated(YEAR);
        let mut slice = by_hand();
        let labels = &mut slice.metadata_mut().unwrap().labels;
        match value {
            None => labels.remove(label),
            Some(value) => labels.insert(label.to_owned(), value.to_owned()),
        };
        home.objects.insert(slice);
        assert!(home.turn().is_settled(), "{label} {value:?}");
        assert!(home.peering(|peering| peering.slices.is_empty()));
    }
}

#[test]
fn a_slice_that_names_others_is_refused() {
    for (field, value, fault) in [
        (
            "/spec/consumerClusterID",
            "cl-other",
            Fault::from(LocalFault::Conflict),
        ),
        (
            "/spec/providerClusterID",
            "cl-other",
            LocalFault::Conflict.into(),
        ),
        (
            "/metadata/namespace",
            "default",
            PolicyRefusal::UnexpectedNamespace {
                expected: NAMESPACE.to_owned(),
                found: "default".to_owned(),
            }
            .into(),
        ),
    ] {
        let mut home = Home::authenticated(YEAR);
        home.request_slice();
        let mut object = Object::from(home.slice()).to_value();
        *object.pointer_mut(field).unwrap() = value.into();
        home.objects.remove(&object_ref());
        home.objects.insert(Object::from_value(object));
        let error = home.slice_refusal();
        assert_eq!(error.fault(), &fault, "{field}");
        assert!(home.turn().is_settled());
        assert_eq!(home.refused, [error]);
        assert_eq!(home.phase(), "Authenticated");
    }
}

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
    assert_eq!(secret.metadata.annotations, [].into());
    assert_eq!(
        secret.metadata.labels["liqo.io/identity-type"],
        "ResourceSlice"
    );
    assert_eq!(
        secret.metadata.owner_references,
        [OwnerReference::controller(&identity)]
    );
    let kubeconfig = Kubeconfig::parse(&home.kubeconfig(SLICE_IDENTITY).unwrap()).unwrap();
    assert_eq!(kubeconfig.namespace, None);
    assert_eq!(kubeconfig.user, SLICE_IDENTITY);
    // No Renew: in Liqo 1.2 the control plane alone has one.
    assert_eq!(home.get::<Renew>(SLICE_IDENTITY), None);
}

#[test]
fn what_a_provider_may_not_give_is_refused_field_by_field() {
    type Tamper = fn(&mut liqo_auth::model::AuthParams, &Home);
    type Expected = fn(&Fault) -> bool;
    let cases: [(&str, Tamper, Expected, &str); 8] = [
        (
            "another key's certificate",
            |given, home| *given = issue_control_plane(&*ed25519(3), home.now, YEAR),
            |fault| is_certificate(fault, |error| matches!(error, CertificateError::Key { .. })),
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
                let csr = Csr::make(&subject, &*key).unwrap();
                let authority = crate::exchange::authority();
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
            |fault| *fault == PeerMisbehaved::EndpointChanged.into(),
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
            |fault| *fault == PeerMisbehaved::EndpointChanged.into(),
            "status.authParams.ca",
        ),
        (
            "a proxy",
            |given, _| given.proxy_url = Some("http://203.0.113.9:8118".to_owned()),
            |fault| *fault == PeerMisbehaved::ProxyMismatch.into(),
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
        // Nothing is held yet: nothing is made.
        let mut home = Home::authenticated(YEAR);
        home.request_slice();
        let mut given = home.issue_slice(YEAR);
        tamper(&mut given, &home);
        home.answer_slice(Accepted, Some(given.clone()));
        let error = home.slice_refusal();
        assert!(expected(error.fault()), "{name}: {error}");
        assert_eq!(error.at().field, field, "{name}");
        assert_eq!(error.at().object, Some(object_ref()), "{name}");
        assert!(home.turn().is_settled(), "{name}");
        assert_eq!(home.get::<Identity>(SLICE_IDENTITY), None);

        // Something is held: it stays.
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
fn a_certificate_that_expired_or_is_older_takes_no_place() {
    let mut home = Home::with_slice(HOUR);
    let held = home.identity_of(SLICE_IDENTITY);
    let older = home.issue_slice(MINUTE);
    home.answer_slice(Accepted, Some(older.clone()));
    assert!(home.turn().is_settled());
    assert!(matches!(
        home.refused[0].fault(),
        Fault::PeerIncompatible(PeerIncompatible::NotNewer { .. })
    ));
    home.now = home.now + MINUTE + MINUTE;
    assert!(home.turn().is_settled());
    assert!(is_certificate(home.refused[0].fault(), |error| matches!(
        error,
        CertificateError::Expired { .. }
    )));
    assert_eq!(home.identity_of(SLICE_IDENTITY), held);
    assert_eq!(home.slice_phase(), "Held");

    // A newer one does, and the kubeconfig follows.
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
fn what_expired_here_is_replaced_by_what_holds() {
    let mut home = Home::with_slice(HOUR);
    home.now = home.now + HOUR + MINUTE;
    assert!(matches!(
        home.slice_refusal().fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Certificate(
            CertificateError::Expired { .. }
        ))
    ));
    // The control plane expired as well, and hides nothing of the slice.
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
    home.peering(|mut peering| match peering.slices.pop().unwrap().phase {
        SlicePhase::Denied(denied) => {
            assert_eq!(denied.reason(), "Reason");
            assert_eq!(denied.message(), "the message");
        }
        other => panic!("{other:?}"),
    });
    home.settle();
    assert_eq!(home.get::<Identity>(SLICE_IDENTITY), None);
    assert_eq!(home.kubeconfig(SLICE_IDENTITY), None);
    assert_eq!(home.phase(), "Authenticated");
    home.accept_slice(YEAR);
    home.settle();
    assert_eq!(home.slice_phase(), "Held");
}

#[test]
fn resources_are_decided_on_apart_from_the_identity() {
    let mut home = Home::with_slice(YEAR);
    let resources = |home: &Home| home.peering(|mut peering| peering.slices.remove(0).resources);
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
fn one_slices_fault_starves_no_other() {
    let mut home = Home::with_slice(YEAR);
    let mut bad = Object::from(home.slice()).to_value();
    bad["metadata"]["name"] = "bad".into();
    bad["status"]["authParams"]["signedCRT"] = 5.into();
    home.objects.insert(Object::from_value(bad));
    let mut wrong = home.slice();
    wrong.metadata.name = "wrong".to_owned();
    wrong.spec.csr = Bytes::default();
    home.objects.insert(wrong.into());
    let step = home.settle();
    let phases = home.peering(|peering| {
        peering
            .slices
            .iter()
            .map(|slice| (slice.slice.name.clone(), slice.phase.name()))
            .collect::<Vec<_>>()
    });
    // The certificate in the copied status is for the slice that it was copied
    // from.
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
fn a_slice_that_is_gone_takes_its_identity_along() {
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
fn a_slice_that_is_being_deleted_is_waited_for() {
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
fn a_kubeconfig_that_someone_changed_is_put_right() {
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

#[test]
fn whom_a_change_concerns() {
    let home = Home::with_slice(YEAR);
    let mirror = Mirror::default();
    let of = |object: &Object| home.consumer.concerns(object, &mirror);
    let slice = home.slice();
    assert_eq!(of(&slice.clone().into()), Concerns::Peer(provider()));
    let mut replica = slice.clone();
    replica
        .metadata
        .labels
        .insert(names::REPLICATED_LABEL.to_owned(), "true".to_owned());
    assert_eq!(of(&replica.into()), Concerns::Nobody);
    let mut unreadable = Object::from(slice).to_value();
    unreadable["spec"] = 5.into();
    assert_eq!(
        of(&Object::from_value(unreadable)),
        Concerns::Peer(provider())
    );
    assert_eq!(
        of(&home.identity_of(SLICE_IDENTITY).into()),
        Concerns::Peer(provider())
    );
    assert_eq!(
        of(&home.renew().unwrap().into()),
        Concerns::Peer(provider())
    );
}

#[cfg(feature = "ecdsa")]
#[test]
fn a_request_that_comes_out_differently_each_time_is_kept() {
    use std::sync::Arc;

    use liqo_auth::crypto::{Algorithm, KeyPair, OneKey, SigningKey};

    let key: Arc<dyn SigningKey> =
        Arc::new(KeyPair::generate(Algorithm::EcdsaP256, &mut getrandom::SysRng).unwrap());
    let keys = Arc::new(OneKey(Arc::clone(&key)));
    let mut home = Home::with_keys(PeerSettings::default(), keys);
    home.sign_nonce(7);
    let identity = home.identity(&issue_control_plane(&*key, home.now, YEAR));
    home.receive(liqo_auth::machine::Message::Identity(Box::new(identity)))
        .unwrap();
    home.settle();
    home.request_slice();
    let csr = home.slice().spec.csr;
    for _ in 0..2 {
        assert!(home.request_slice().is_settled());
        home.settle();
    }
    assert_eq!(home.slice().spec.csr, csr);
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    assert!(
        Csr::verify(
            csr.as_slice(),
            &subject,
            key.public_key(),
            &Policy::strict()
        )
        .is_ok()
    );
}

#[test]
fn a_request_for_a_key_that_is_not_this_clusters_is_made_anew() {
    let mut home = Home::with_slice(YEAR);
    let mut slice = home.slice();
    let right = slice.spec.csr.clone();
    let subject = Subject::resource_slice("mypool", &id("cl-consumer"));
    slice.spec.csr = Bytes::from(Csr::make(&subject, &*ed25519(3)).unwrap().pem());
    home.objects.insert(slice.into());
    assert_eq!(home.slice_phase(), "NeedsRequest");
    let step = home.turn();
    assert!(
        matches!(&step.effects[..], [Effect::Patch { id, .. }] if id.kind == Kind::ResourceSlice)
    );
    assert_eq!(home.slice().spec.csr, right);
}

fn object_ref() -> liqo_auth::model::ObjectRef {
    object(Kind::ResourceSlice, "mypool")
}

/// As the documentation of Liqo has people write it.
fn by_hand() -> Object {
    Object::from_value(json!({
        "apiVersion": "authentication.liqo.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {
            "name": "mypool",
            "namespace": NAMESPACE,
            "labels": {
                "liqo.io/remote-cluster-id": "cl-provider",
                "liqo.io/remoteID": "cl-provider",
                "liqo.io/replication": "true",
            },
        },
        "spec": { "class": "default", "resources": { "cpu": 2 } },
    }))
}

fn is_certificate(fault: &Fault, is: impl Fn(&CertificateError) -> bool) -> bool {
    matches!(fault, Fault::PeerMisbehaved(PeerMisbehaved::Certificate(error)) if is(error))
}
