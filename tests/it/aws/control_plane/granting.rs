//! How a peer gets its AWS user: late, after a refusal, after a crash.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    Machine,
    assurance::commitment::Assurance,
    audit::Decision,
    consumer,
    crypto::{Answer, CertificateChain},
    error::{ApiMisuse, Backend, LocalFault, PolicyRefusal},
    machine::{Awaited, Holder, Step},
    model::{
        AwsConfig, IdentityType, Metadata, Object, ObjectRef, Renew, RenewSpec, Resource, Secret,
        names,
    },
    provider::{CredentialRequest, Phase, Renewal},
    verify::Credentials,
};

use super::{authenticated, exchange_with, given};
use crate::clusters::{
    exchange::{API_SERVER, Exchange, authority, id},
    iam::{Iam, SECRET, config},
};

const NAMESPACE: &str = "liqo-tenant-cl-consumer";

/// An exchange in which the proof is on record, but no credential is given yet.
fn proven(iam: &Arc<Iam>) -> Exchange {
    iam.says(Ok(Answer::Pending));
    let mut exchange = exchange_with(iam);
    exchange.settle();
    assert_eq!(exchange.provider_phase().name(), "NeedsCredential");
    iam.works();
    exchange
}

#[test]
fn a_peer_of_a_provider_on_eks_gets_an_aws_user_and_no_certificate() {
    let iam = Arc::new(Iam::default());
    let exchange = authenticated(&iam);
    assert_eq!(exchange.refused, []);
    assert_eq!(iam.made(), 1);
    let request = iam.given.lock().unwrap().values().next().unwrap().clone();
    assert_eq!(request.peer, id("cl-consumer"));
    assert_eq!(request.holder, Holder::ControlPlane);
    assert_eq!(request.subject.common_name(), "cl-consumer");
    assert_eq!(request.subject.organization(), "liqo.io");

    let config = given(&exchange);
    let Phase::Authenticated(issued) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    let Credentials::Aws(user) = &issued.credential.shown else {
        panic!("{:?}", &issued.credential.shown);
    };
    assert_eq!(user.arn, config.aws_user_arn);
    assert_eq!(user.access_key_id, config.aws_access_key_id);
    assert_eq!(
        issued.credential.shown.certificate(),
        None::<&CertificateChain>
    );
    assert_eq!(issued.credential.shown.valid_until(), None);
    assert!(matches!(issued.renewal, Renewal::Never));

    // A provider on EKS proves its own key, too.
    let consumer::Phase::Authenticated(held) = exchange.consumer_phase() else {
        panic!("{:?}", exchange.consumer_phase());
    };
    assert_eq!(held.accepted.assurance, Assurance::Continuity);
    let at_provider = exchange.provider.transcript(&exchange.provider_view());
    let at_consumer = exchange.consumer.transcript(&exchange.consumer_view());
    let code = at_provider.unwrap().unwrap().code();
    assert_eq!(code, at_consumer.unwrap().unwrap().code());

    // The Secret that the consumer stored.
    let namespace = names::tenant_namespace(&id("cl-provider"));
    let secret: &Secret = exchange
        .at_consumer
        .get(&namespace, "kubeconfig-controlplane-cl-provider")
        .unwrap();
    let key = config.aws_secret_access_key.expose().as_bytes();
    assert_eq!(secret.get("awsSecretAccessKey"), Some(key));
    // Liqo's own Secret for certificates would be in the tenant namespace,
    // where the peer can write.
    let kept = exchange
        .at_provider
        .get::<Secret>(NAMESPACE, names::ISSUED_CERTIFICATE_SECRET);
    assert_eq!(kept, None);
}

/// Source: Liqo `authv1beta1.AwsConfig`, `iamIdentityProvider.ForgeAuthParams`.
#[test]
fn the_status_and_the_identity_are_as_liqo_writes_them() {
    let iam = Arc::new(Iam::default());
    let exchange = authenticated(&iam);
    let config = given(&exchange);
    // EKS gives its CA in base64. Liqo's consumers decode it once more after
    // the JSON.
    let ca = STANDARD.encode(STANDARD.encode(authority().ca_bundle().pem()));
    let expected = format!(
        "{{\"ca\":\"{ca}\",\"apiServer\":\"{API_SERVER}\",\"awsConfig\":{{\
         \"awsUserArn\":\"arn:aws:iam::123456789012:user/liqo-Ab12\",\
         \"awsAccessKeyID\":\"{key}\",\"awsSecretAccessKey\":\"{SECRET}{key}\",\
         \"awsRegion\":\"eu-west-1\",\"awsClusterName\":\"provider\"}}}}",
        key = config.aws_access_key_id,
    );
    let tenant = exchange.stored_tenant();
    let identity = exchange.identity();
    for auth_params in [
        tenant.status.auth_params.as_ref().unwrap(),
        &identity.spec.auth_params,
    ] {
        assert_eq!(serde_json::to_string(auth_params).unwrap(), expected);
    }
}

#[test]
fn a_pending_answer_is_awaited() {
    let iam = Arc::new(Iam::default());
    let mut exchange = proven(&iam);
    let Phase::NeedsCredential(needs) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    let CredentialRequest::Aws(request) = needs.request else {
        panic!("{:?}", needs.request);
    };
    let request = request.id;
    iam.says(Ok(Answer::Pending));
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert!(step.outbox.is_empty());
    assert_eq!(step.wait.awaiting, [Awaited::Credential(request)]);

    // The AWS user is made by hand, without asking AWS.
    let key = config("AKIAIOSFODNN7EXAMPLE");
    iam.says(Ok(Answer::Ready(key.clone())));
    let step = exchange.turn_of_provider();
    let decisions: Vec<_> = step.events.iter().map(|event| &event.decision).collect();
    let expected = Decision::CredentialGiven {
        request,
        credential: key.aws_access_key_id.clone(),
    };
    assert_eq!(decisions, [&expected]);
    iam.says(Err("nobody is to be asked again"));
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    assert_eq!(given(&exchange), key);
}

#[test]
fn a_denial_and_a_failure_change_nothing() {
    let iam = Arc::new(Iam::default());
    let mut exchange = proven(&iam);
    iam.says(Ok(Answer::Denied("no more\nusers".to_owned())));
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    let tenant = exchange.stored_tenant().id();
    assert_eq!(step.refused.len(), 1);
    assert_eq!(step.refused[0].object, Some(tenant));
    let reason = "no more\nusers".to_owned();
    assert_eq!(
        policy_refusal(&step),
        PolicyRefusal::CredentialDenied { reason }
    );
    let shown = step.refused[0].error.to_string();
    assert!(!shown.contains('\n'), "{shown}");

    iam.says(Err("the network is down"));
    let view = exchange.provider_view();
    let error = exchange.provider.reconcile(&view, exchange.env());
    let error = error.unwrap_err();
    let expected = LocalFault::Backend {
        backend: Backend::Credentials,
        message: "the network is down".to_owned(),
    };
    assert_eq!(error.fault(), &expected.into());
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "the network is down");

    iam.works();
    exchange.settle();
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

fn policy_refusal(step: &Step) -> PolicyRefusal {
    match step.refused[0].error.fault() {
        liqo_auth::error::Fault::Policy(refusal) => refusal.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_aws_user_that_a_consumer_would_refuse_is_not_handed_out() {
    type Tamper = fn(&mut AwsConfig);
    let cases: [(&str, Tamper); 5] = [
        ("the ARN of an IAM user", |config| {
            config.aws_user_arn = "arn:aws:iam::1:user/x".to_owned();
        }),
        ("the ID of an access key", |config| {
            config.aws_access_key_id = "x".to_owned();
        }),
        ("a secret access key", |config| {
            config.aws_secret_access_key = "hunter2".into();
        }),
        ("the name of an AWS region", |config| {
            config.aws_region = "eu-west-1.evil.example/".to_owned();
        }),
        ("the name of an EKS cluster", |config| {
            config.aws_cluster_name = String::new();
        }),
    ];
    let iam = Arc::new(Iam::default());
    let exchange = proven(&iam);
    for (expected, tamper) in cases {
        let mut config = config("AKIAIOSFODNN7EXAMPLE");
        tamper(&mut config);
        iam.says(Ok(Answer::Ready(config)));
        let view = exchange.provider_view();
        let error = exchange
            .provider
            .reconcile(&view, exchange.env())
            .unwrap_err();
        assert_eq!(
            error.fault(),
            &ApiMisuse::CredentialForm { expected }.into()
        );
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

/// AWS shows the secret part of a key once. If it is lost, another key is
/// needed.
#[test]
fn a_crash_after_any_effect_leads_to_one_key_only() {
    let mut undisturbed = authenticated(&Arc::new(Iam::default()));
    undisturbed.settle();
    for steps in 0..8 {
        for effects in 0..5 {
            let iam = Arc::new(Iam::default());
            let mut crashing = exchange_with(&iam);
            let mut made = 0;
            for _ in 0..steps {
                crashing.turn_of_provider();
                crashing.deliver("nonce");
                crashing.turn_of_consumer();
                crashing.deliver("Tenant");
            }
            let step = crashing
                .provider
                .reconcile(&crashing.provider_view(), crashing.env())
                .unwrap();
            for effect in step.effects.iter().take(effects) {
                crashing.at_provider.apply(effect).unwrap();
            }
            made += iam.made();
            crashing.settle();
            assert_eq!(crashing.phases(), ("Authenticated", "Authenticated"));
            assert_eq!(iam.made(), 1, "{steps} {effects}, {made} before");
            let ids = |exchange: &Exchange| -> Vec<ObjectRef> {
                exchange.at_provider.iter().map(Object::id).collect()
            };
            assert_eq!(ids(&crashing), ids(&undisturbed));
        }
    }
}

/// Once the key is on record, AWS is not asked.
#[test]
fn a_key_on_record_is_not_requested_again() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    let before = given(&exchange);
    iam.says(Err("nobody is there"));
    exchange.edit_tenant(|tenant| tenant.status = Default::default());
    exchange.settle();
    assert_eq!(given(&exchange), before);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
}

#[test]
fn no_secret_is_shown() {
    let iam = Arc::new(Iam::default());
    let mut exchange = exchange_with(&iam);
    let mut shown = String::new();
    for _ in 0..12 {
        let step = exchange.turn_of_provider();
        shown += &format!("{step:?} {:?}", exchange.provider_phase());
        for event in &step.events {
            shown += &event.to_string();
        }
        exchange.deliver("nonce");
        shown += &format!("{:?}", exchange.turn_of_consumer());
        exchange.deliver("Tenant");
        exchange.deliver("Identity");
    }
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange.at_provider.insert(renew());
    shown += &format!("{:?}", exchange.turn_of_provider());
    let config = given(&exchange);
    shown += &format!("{:?}", Answer::Ready(config.clone()));
    shown += &format!("{:?}", exchange.at_provider);
    shown += &format!("{:?}", exchange.at_consumer);
    shown += &format!("{:?}", exchange.provider);
    shown += &format!("{:?} {:?}", exchange.sent, exchange.identity());
    let Phase::Authenticated(issued) = exchange.provider_phase() else {
        panic!("{:?}", exchange.provider_phase());
    };
    shown += &format!("{:?} {:?}", &issued.credential.shown, issued.renewal);
    // The secret exists, but no output contains it.
    let secret = config.aws_secret_access_key.expose();
    assert!(secret.starts_with(SECRET));
    assert!(shown.contains(&config.aws_access_key_id));
    assert!(!shown.contains(SECRET), "{shown}");
    // Only the first bytes, because the last digits depend on the bytes that
    // follow.
    let encoded = STANDARD.encode(&SECRET.as_bytes()[..30]);
    assert!(!shown.contains(&encoded), "{shown}");
}

#[test]
fn a_renew_is_answered_with_the_same_key() {
    let iam = Arc::new(Iam::default());
    let mut exchange = authenticated(&iam);
    exchange.at_provider.insert(renew());
    exchange.settle();
    let renew: &Renew = exchange
        .at_provider
        .get(NAMESPACE, "controlplane-cl-provider")
        .unwrap();
    let status = exchange.stored_tenant().status;
    assert_eq!(renew.status.auth_params, status.auth_params);
    assert_eq!(iam.made(), 1);
    let step = exchange.turn_of_provider();
    assert!(step.is_settled());
    assert_eq!(step.wait.wake_at, None);
}

fn renew() -> Object {
    Renew {
        metadata: replica("controlplane-cl-provider"),
        spec: RenewSpec {
            consumer_cluster_id: "cl-consumer".to_owned(),
            identity_type: IdentityType::ControlPlane,
            ..RenewSpec::default()
        },
        ..Renew::default()
    }
    .into()
}

fn replica(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        namespace: NAMESPACE.to_owned(),
        labels: [
            (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
            (names::REPLICATED_LABEL, "true"),
        ]
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .into(),
        ..Metadata::default()
    }
}
