//! Kubeconfigs that an administrator has made, in place of an Identity.

use std::{slice, sync::Arc};

use liqo_auth::{
    consumer::{KubeconfigByHand, PeerSettings, Phase},
    crypto::{Fingerprint, OneKey},
    error::{Error, Fault, LocalFault, PeerIncompatible, Precondition},
    machine::{Awaited, Holder, Machine, Notice, Remedy, Stage},
    model::{
        Bytes, Kind, Kubeconfig, Metadata, Namespace, ResourceSliceConditionStatus::Accepted,
        Secret, SecretText, UserCredential, names,
    },
};
use sha2::{Digest, Sha256};

use super::home::{HOUR, Home, MINUTE, NAMESPACE, YEAR, consumer, env, mypool, object, provider};
use crate::clusters::exchange::ed25519;

const SECRET: &str = "cplane-secret";

/// A kubeconfig with a client certificate, as an administrator of the provider makes it.
fn made(home: &Home) -> Kubeconfig {
    let issued = home.issue(HOUR);
    Kubeconfig {
        cluster: "milan".to_owned(),
        server: issued.api_server,
        certificate_authority: issued.ca,
        proxy_url: None,
        user: "rome-user".to_owned(),
        credential: UserCredential::KeyData {
            certificate: issued.signed_crt,
            key: b"hunter2".as_slice().into(),
        },
        namespace: None,
    }
}

fn with_token(home: &Home) -> Kubeconfig {
    Kubeconfig {
        credential: UserCredential::Token(SecretText::from("hunter2")),
        ..made(home)
    }
}

fn digest_of(text: &[u8]) -> Fingerprint {
    let digits: String = Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("SHA256:{digits}").parse().unwrap()
}

fn secret(name: &str, text: &[u8]) -> Secret {
    let labels = [
        (names::IDENTITY_TYPE_LABEL, "ControlPlane"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-provider"),
    ];
    let labels = labels.map(|(label, value)| (label.to_owned(), value.to_owned()));
    Secret {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: NAMESPACE.to_owned(),
            labels: labels.into(),
            ..Metadata::default()
        },
        data: [(names::KUBECONFIG.to_owned(), text.into())].into(),
        ..Secret::default()
    }
}

fn text_of(kubeconfig: &Kubeconfig) -> Vec<u8> {
    kubeconfig.to_yaml().expose().to_vec()
}

/// A home with this text in a Secret, whose settings name the digest.
fn named(text: &[u8]) -> Home {
    let mut home = Home::with(PeerSettings {
        kubeconfig_digest: Some(digest_of(text)),
        ..PeerSettings::default()
    });
    let namespace = Namespace::for_tenant(&provider());
    home.objects
        .extend([namespace.into(), secret(SECRET, text).into()]);
    home
}

fn by_hand(home: &Home) -> KubeconfigByHand {
    match home.status().phase {
        Phase::KubeconfigByHand(by_hand) => *by_hand,
        other => panic!("{other:?}"),
    }
}

/// Why the kubeconfig cannot be used.
fn unusable(text: &[u8]) -> String {
    let home = named(text);
    let error = home.consumer.look(&home.view(), home.now).unwrap_err();
    assert_eq!(error.at().object, Some(object(Kind::Secret, SECRET)));
    assert_eq!(error.at().field, "data.kubeconfig");
    match error.fault() {
        Fault::Local(LocalFault::KubeconfigUnusable { reason }) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_named_kubeconfig_takes_the_place_of_an_identity() {
    let new = Home::new();
    let kubeconfig = made(&new);
    let mut home = named(&text_of(&kubeconfig));
    let step = home.settle();
    assert!(step.wait.awaiting.is_empty() && home.notices.is_empty());
    let found = by_hand(&home);
    assert_eq!(found.kubeconfig, kubeconfig);
    assert_eq!(found.secret, object(Kind::Secret, SECRET));
    assert_eq!(found.namespace.as_str(), "liqo-tenant-cl-consumer");
    assert_eq!(found.valid_until, Some(home.now + HOUR));
    let certificate = found.certificate.as_ref().unwrap();
    assert_eq!(certificate.not_after, home.now + HOUR);
    assert_eq!(step.wait.wake_at, Some(home.now + HOUR + MINUTE / 60));
    let status = Machine::look(&home.consumer, &home.view(), home.now).unwrap();
    let holder = &status.control_plane;
    assert_eq!(holder.holder, Holder::ControlPlane);
    assert_eq!(
        (holder.phase, holder.stage),
        ("KubeconfigByHand", Stage::Authenticated)
    );
    assert_eq!(holder.valid_until, Some(home.now + HOUR));
    assert_eq!(holder.certificate, found.certificate);
    // The digest holds for the text, and for nothing else.
    assert!(!format!("{found:?}").contains("hunter2"));
}

#[test]
fn the_slices_of_a_named_kubeconfig_get_identities_at_its_api_server() {
    let mut home = named(&text_of(&with_token(&Home::new())));
    home.settle();
    assert_eq!(by_hand(&home).valid_until, None);
    home.request_slice();
    assert_eq!(home.slice_phase(), "AwaitsDecision");
    home.accept_slice(YEAR);
    home.settle();
    assert_eq!(home.slice_phase(), "Held", "{:?}", home.refused);
    // Another API server is refused.
    let mut moved = home.issue_slice(YEAR + HOUR);
    moved.api_server = "https://198.51.100.7:6443".to_owned();
    home.answer_slice(Accepted, Some(moved));
    home.settle();
    let [error] = home.refused.as_slice() else {
        panic!("{:?}", home.refused);
    };
    assert_eq!(error.fault(), &PeerIncompatible::EndpointChanged.into());
}

#[test]
fn a_kubeconfig_that_no_setting_names_does_not_count() {
    let text = text_of(&made(&Home::new()));
    let mut home = Home::new();
    let namespace = Namespace::for_tenant(&provider());
    home.objects
        .extend([namespace.into(), secret(SECRET, &text).into()]);
    let step = home.settle();
    let notice = Notice::KubeconfigNotNamed {
        secret: object(Kind::Secret, SECRET),
        digest: digest_of(&text),
    };
    assert_eq!(home.notices, slice::from_ref(&notice));
    assert_eq!(home.status().notices, slice::from_ref(&notice));
    let digest = digest_of(&text);
    assert_eq!(notice.remedy(), Some(Remedy::NameKubeconfig { digest }));
    assert_eq!(step.wait.awaiting, [Awaited::Nonce]);
    assert_eq!(home.phase(), "AwaitsNonce");
    let error = request_refused(&home);
    assert_eq!(error.fault(), &Precondition::NotAuthenticated.into());
    // Nor does another text than the one that is named.
    let mut home = named(b"another text");
    home.objects.insert(secret(SECRET, &text).into());
    home.settle();
    assert_eq!(home.phase(), "AwaitsNonce");
    assert_eq!(home.notices, [notice]);
}

fn request_refused(home: &Home) -> Error {
    let view = home.view();
    let refused = home.consumer.request_slice(&view, &mypool(), env(home.now));
    refused.unwrap_err()
}

/// What Liqo would not take for the kubeconfig of this control plane.
#[test]
fn a_secret_without_its_labels_or_elsewhere_is_no_kubeconfig() {
    let text = text_of(&made(&Home::new()));
    let changes: [fn(&mut Secret); 7] = [
        |secret| secret.metadata.namespace = "liqo".to_owned(),
        |secret| drop(secret.metadata.labels.remove(names::IDENTITY_TYPE_LABEL)),
        |secret| {
            let labels = &mut secret.metadata.labels;
            labels.insert(
                names::IDENTITY_TYPE_LABEL.to_owned(),
                "ResourceSlice".to_owned(),
            );
        },
        |secret| {
            let labels = &mut secret.metadata.labels;
            labels.insert(
                names::REMOTE_CLUSTER_ID_LABEL.to_owned(),
                "cl-other".to_owned(),
            );
        },
        |secret| secret.metadata.name = "kubeconfig-controlplane-cl-provider".to_owned(),
        |secret| secret.metadata.deletion_timestamp = Some("2026-11-20T13:00:00Z".parse().unwrap()),
        |secret| secret.data.clear(),
    ];
    for change in changes {
        let mut home = named(&text);
        let mut other = secret(SECRET, &text);
        home.objects.remove(&object(Kind::Secret, SECRET)).unwrap();
        change(&mut other);
        home.objects.insert(other.clone().into());
        home.settle();
        assert_eq!(home.phase(), "AwaitsNonce", "{other:?}");
        assert!(home.notices.is_empty(), "{other:?}");
    }
}

#[test]
fn an_identity_takes_the_place_of_a_named_kubeconfig() {
    let mut home = named(&text_of(&made(&Home::new())));
    home.request_slice();
    home.accept_slice(YEAR);
    home.settle();
    home.sign_nonce(7);
    home.settle();
    assert_eq!(home.phase(), "AwaitsIdentity");
    // Meanwhile, the kubeconfig still says where the provider is.
    assert_eq!(home.slice_phase(), "Held");
    let mut home = home.authenticate(YEAR);
    assert_eq!(home.slice_phase(), "Held");
    // It does not come back: there is an Identity, which cannot be used.
    let mut identity = home.identity_of("controlplane-cl-provider");
    identity.spec.auth_params.signed_crt = Bytes::default();
    home.objects.insert(identity.into());
    home.settle();
    assert_eq!(home.phase(), "Refused");
}

#[test]
fn a_named_kubeconfig_leads_to_the_pinned_api_server() {
    let mut kubeconfig = made(&Home::new());
    kubeconfig.server = "https://198.51.100.7:6443".to_owned();
    let text = text_of(&kubeconfig);
    let mut home = Home::authenticated(YEAR);
    let gone = object(Kind::Identity, "controlplane-cl-provider");
    home.objects.remove(&gone).unwrap();
    let nonce = object(Kind::Secret, names::SIGNED_NONCE_SECRET);
    home.objects.remove(&nonce).unwrap();
    home.objects.insert(secret(SECRET, &text).into());
    let settings = PeerSettings {
        kubeconfig_digest: Some(digest_of(&text)),
        ..PeerSettings::default()
    };
    home.consumer = consumer(settings, Arc::new(OneKey(ed25519(1))));
    match home.status().phase {
        Phase::Refused(error) => {
            assert_eq!(error.fault(), &PeerIncompatible::EndpointChanged.into());
            assert_eq!(error.at().field, "data.kubeconfig");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_named_kubeconfig_that_cannot_be_used_says_why() {
    let new = Home::new();
    let (kubeconfig, issued) = (made(&new), new.issue(HOUR));
    let form = unusable(b"hunter2");
    assert!(
        form.starts_with("it does not consist of one cluster") && !form.contains("hunter2"),
        "{form}"
    );
    let said = |change: &dyn Fn(&mut Kubeconfig)| {
        let mut changed = kubeconfig.clone();
        change(&mut changed);
        unusable(&text_of(&changed))
    };
    let credential = "it contains neither a certificate with its key nor a token";
    let key_file = said(&|it| {
        it.credential = UserCredential::KeyFile {
            certificate: issued.signed_crt.clone(),
            key: "/etc/passwd".to_owned(),
        };
    });
    assert_eq!(key_file, credential);
    assert_eq!(
        said(&|it| it.credential = UserCredential::Exec(Default::default())),
        credential
    );
    assert_eq!(
        said(&|it| it.credential = UserCredential::Elsewhere),
        credential
    );
    let no_certificate = said(&|it| {
        let certificate = Bytes::default();
        let key = b"key".as_slice().into();
        it.credential = UserCredential::KeyData { certificate, key };
    });
    assert_eq!(no_certificate, credential);
    assert!(said(&|it| it.server = "http://172.19.0.3".to_owned()).contains("https"));
    assert!(said(&|it| it.certificate_authority = Bytes::default()).contains("CA"));
    assert!(said(&|it| it.certificate_authority = b"AA".as_slice().into()).contains("PEM"));
    let proxy = said(&|it| it.proxy_url = Some("http://10.70.0.2:8118".to_owned()));
    assert!(proxy.contains("proxy"), "{proxy}");
}

#[test]
fn a_named_kubeconfig_may_expire() {
    let mut home = named(&text_of(&made(&Home::new())));
    let not_after = home.now + HOUR;
    home.now = not_after;
    assert_eq!(home.phase(), "KubeconfigByHand");
    home.now = not_after + MINUTE;
    let Phase::Refused(error) = home.status().phase else {
        panic!("{:?}", home.status().phase);
    };
    let now = home.now;
    let expired = PeerIncompatible::CertificateExpired { not_after, now };
    assert_eq!(error.fault(), &expired.into());
}

#[test]
fn a_named_kubeconfig_is_at_an_allowed_address() {
    let mut kubeconfig = made(&Home::new());
    kubeconfig.server = "https://127.0.0.1:6443".to_owned();
    let home = named(&text_of(&kubeconfig));
    let Phase::Refused(error) = home.status().phase else {
        panic!("{:?}", home.status().phase);
    };
    assert_eq!(error.code(), "address-refused");
}
