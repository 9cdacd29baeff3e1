//! Resource slices of a provider on EKS: each gets an AWS user.

use core::time::Duration;
use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    audit::Decision,
    crypto::Answer,
    error::{ApiMisuse, PolicyRefusal},
    machine::{Awaited, Holder, Step},
    model::{
        AuthzPolicy, AwsConfig, Kind, Object, ObjectRef, ResourceSliceConditionStatus::Accepted,
        Secret, TenantCondition,
    },
    policy::Policy,
    provider::{AwsIdentities, CredentialRequest, Renewal, SlicePhase},
    verify::Credentials,
};

use crate::clusters::{
    exchange::{API_SERVER, authority, id},
    iam::{Iam, SECRET, awaited_revocations, config},
    pool::{Pool, consumer, replica},
};

const RECORD: &str = "liqo-auth-provider-cl-consumer";

/// A provider on EKS whose peer already has its AWS user.
fn pool(iam: &Arc<Iam>) -> Pool {
    let identities: Arc<dyn AwsIdentities> = iam.clone();
    let mut pool = Pool::with(|builder| builder.aws(identities));
    pool.settle();
    assert_eq!(iam.made(), 1);
    pool
}

fn given(pool: &Pool, slice: &str) -> AwsConfig {
    let status = &pool.slice(slice).unwrap().status;
    let auth_params = status.auth_params.clone().unwrap();
    assert!(auth_params.signed_crt.is_empty());
    auth_params.aws_config.unwrap()
}

fn revoke(pool: &mut Pool, access_key_id: &str) {
    pool.administer(|provider, objects, _| {
        provider.aws_key_revoked(&objects.view(&consumer()), access_key_id)
    });
}

fn with_slice<T>(pool: &Pool, look: impl FnOnce(&SlicePhase) -> T) -> T {
    let peer = consumer();
    let view = pool.at_provider.view(&peer);
    let status = pool.provider.look(&view, pool.now).unwrap();
    look(&status.slices[0].phase)
}

#[test]
fn each_slice_gets_its_own_aws_user() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    pool.bring(replica("mypool"))
        .bring(replica("other"))
        .settle();
    assert_eq!(pool.refused, []);
    assert_eq!(pool.said("mypool"), [Some(Accepted); 2]);
    assert_eq!(iam.made(), 3);
    let requests = iam.given.lock().unwrap().clone();
    let request = requests
        .values()
        .find(|request| request.holder == Holder::Slice("mypool".to_owned()))
        .unwrap();
    assert_eq!(request.peer, consumer());
    assert_eq!(request.subject.organization(), "cl-consumer");
    assert!(request.subject.common_name().starts_with("mypool-"));

    let config = given(&pool, "mypool");
    assert_ne!(config, given(&pool, "other"));
    let ca = STANDARD.encode(STANDARD.encode(authority().ca_bundle().pem()));
    let auth_params = pool.slice("mypool").unwrap().status.auth_params.clone();
    assert_eq!(
        serde_json::to_string(&auth_params).unwrap(),
        format!(
            "{{\"ca\":\"{ca}\",\"apiServer\":\"{API_SERVER}\",\"awsConfig\":{{\
             \"awsUserArn\":\"arn:aws:iam::123456789012:user/liqo-Ab12\",\
             \"awsAccessKeyID\":\"{key}\",\"awsSecretAccessKey\":\"{SECRET}{key}\",\
             \"awsRegion\":\"eu-west-1\",\"awsClusterName\":\"provider\"}}}}",
            key = config.aws_access_key_id,
        )
    );
    with_slice(&pool, |phase| {
        let SlicePhase::Accepted(settled) = phase else {
            panic!("{phase:?}");
        };
        assert!(matches!(settled.credential.shown, Credentials::Aws(_)));
        assert_eq!(settled.credential.shown.certificate(), None);
        assert_eq!(settled.credential.shown.valid_until(), None);
        assert!(matches!(settled.renewal, Renewal::Never));
    });
    assert_eq!(pool.kept("mypool"), None);
    // Whatever the peer writes, a key on record is not requested again.
    iam.says(Err("nobody is there"));
    pool.edit("mypool", |slice| slice.status = Default::default());
    pool.settle();
    assert_eq!(given(&pool, "mypool"), config);
    let shown = format!("{:?} {:?}", pool.at_provider, pool.events);
    assert!(!shown.contains(SECRET), "{shown}");
}

/// Each key makes the peer's record longer.
#[test]
fn the_number_of_access_keys_has_a_limit() {
    let iam = Arc::new(Iam::default());
    let identities: Arc<dyn AwsIdentities> = iam.clone();
    let mut policy = Policy::strict();
    policy.limits.access_keys = 2;
    let mut pool = Pool::with(|builder| {
        builder
            .aws(identities)
            .configure(|config| config.policy = policy)
    });
    for name in ["a", "b", "c"] {
        pool.bring(replica(name)).settle();
    }
    assert_eq!(pool.said("b"), [Some(Accepted); 2]);
    assert_eq!(pool.phase("c"), "NeedsCredential");
    let step = pool.reconcile();
    let codes: Vec<&str> = step.refused.iter().map(|it| it.error.code()).collect();
    assert_eq!(codes, ["too-many-access-keys"]);
    // The keys of two slices and the control plane's.
    assert_eq!(iam.made(), 3);
}

#[test]
fn pending_denied_and_malformed_answers_affect_one_slice() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    pool.bring(replica("mypool"));
    iam.says(Ok(Answer::Pending));
    pool.settle();
    assert_eq!(pool.phase("mypool"), "NeedsCredential");
    let awaits = |step: &Step| {
        let mut awaiting = step.wait.awaiting.iter();
        awaiting.any(|awaited| matches!(awaited, Awaited::Credential(_)))
    };
    assert!(awaits(&pool.reconcile()));

    iam.says(Ok(Answer::Denied("no more users".to_owned())));
    pool.settle();
    let reason = "no more users".to_owned();
    assert_eq!(
        pool.refused[0].1.fault(),
        &PolicyRefusal::CredentialDenied { reason }.into()
    );

    let mut malformed = config("AKIAIOSFODNN7EXAMPLE");
    malformed.aws_region = "nowhere".to_owned();
    iam.says(Ok(Answer::Ready(malformed)));
    pool.settle();
    let expected = "the name of an AWS region";
    assert_eq!(
        pool.refused[0].1.fault(),
        &ApiMisuse::CredentialForm { expected }.into()
    );

    with_slice(&pool, |phase| match phase {
        SlicePhase::NeedsCredential(needs) => {
            let CredentialRequest::Aws(request) = &needs.request else {
                panic!("{:?}", needs.request);
            };
            assert_eq!(request.holder, Holder::Slice("mypool".to_owned()));
        }
        other => panic!("{other:?}"),
    });
    iam.says(Ok(Answer::Ready(config("AKIAIOSFODNN7EXAMPLE"))));
    pool.settle();
    assert_eq!(given(&pool, "mypool"), config("AKIAIOSFODNN7EXAMPLE"));
}

#[test]
fn a_crash_after_any_effect_leads_to_one_key_for_each_slice() {
    for steps in 0..6 {
        for effects in 0..5 {
            let iam = Arc::new(Iam::default());
            let mut pool = pool(&iam);
            pool.bring(replica("mypool")).bring(replica("other"));
            for _ in 0..steps {
                pool.look(usize::MAX);
            }
            pool.look(effects);
            pool.settle();
            assert_eq!(pool.said("mypool"), [Some(Accepted); 2]);
            assert_eq!(pool.said("other"), [Some(Accepted); 2]);
            assert_eq!(iam.made(), 3, "{steps} {effects}");
            assert_eq!(awaited_revocations(&pool.reconcile()), [""; 0]);
        }
    }
}

/// The slice's record keeps the name, as the key still belongs to that user.
/// The peer's record keeps the key.
#[test]
fn the_key_of_a_deleted_slice_awaits_revocation() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    pool.bring(replica("mypool")).settle();
    let first = given(&pool, "mypool").aws_access_key_id;
    assert_eq!(awaited_revocations(&pool.reconcile()), [""; 0]);
    pool.remove("mypool").settle();
    let record = pool.secret("liqo", &pool.records()[0]).unwrap();
    let record = record.data["record"].expose();
    assert_eq!(record, br#"{"slice":"mypool"}"#, "no secret part of a key");
    assert_eq!(awaited_revocations(&pool.reconcile()), [first.as_str()]);

    // A new slice of the same name is another slice and gets another key.
    pool.bring(replica("mypool")).settle();
    let second = given(&pool, "mypool").aws_access_key_id;
    assert_ne!(first, second);
    assert_eq!(awaited_revocations(&pool.reconcile()), [first.as_str()]);
    revoke(&mut pool, &first);
    let decision = Decision::AwsKeyRevoked {
        access_key_id: first,
    };
    assert_eq!(pool.events.last().unwrap().decision, decision);
    assert_eq!(awaited_revocations(&pool.reconcile()), [""; 0]);
    assert_eq!(given(&pool, "mypool").aws_access_key_id, second);

    pool.remove("mypool").settle();
    assert_eq!(pool.records().len(), 1);
    revoke(&mut pool, &second);
    pool.settle();
    assert_eq!(pool.records(), [""; 0]);
}

/// The peer can write its slice so that nobody can read it. The slice is still there. An
/// unreadable slice of another name is another slice.
#[test]
fn the_key_of_an_unreadable_slice_does_not_await_revocation() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    pool.bring(replica("mypool")).settle();
    let key = given(&pool, "mypool").aws_access_key_id;
    let mut spoilt = Object::from(pool.slice("mypool").unwrap().clone()).to_value();
    spoilt["spec"] = 7.into();
    let mut other = spoilt.clone();
    other["metadata"]["name"] = "other".into();
    let [spoilt, other] = [spoilt, other].map(Object::from_value);
    assert!(spoilt.as_unreadable().is_some() && other.as_unreadable().is_some());
    pool.at_provider.insert(spoilt);
    assert_eq!(awaited_revocations(&pool.reconcile()), [""; 0]);
    pool.remove("mypool");
    pool.at_provider.insert(other);
    assert_eq!(awaited_revocations(&pool.reconcile()), [key.as_str()]);
}

/// A step has one effect on the peer's record. That effect records all keys.
#[test]
fn keys_of_slices_that_are_made_at_once_are_all_recorded() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    let names = ["a", "b", "c"];
    for name in names {
        pool.bring(replica(name));
    }
    pool.settle();
    let mut keys: Vec<String> = names
        .map(|name| given(&pool, name).aws_access_key_id)
        .into();
    for name in names {
        pool.remove(name);
    }
    pool.settle();
    let step = pool.reconcile();
    let mut awaited = awaited_revocations(&step);
    awaited.sort_unstable();
    keys.sort_unstable();
    assert_eq!(awaited, keys);
}

/// Nobody deletes the keys at AWS, and the peer makes its slices again and again.
#[test]
fn keys_that_nobody_deletes_do_not_make_a_record_too_large() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    let mut refused = 0;
    for round in 0..8 {
        for number in 0..48 {
            pool.bring(replica(&format!("pool{number}x{round}")));
        }
        pool.settle();
        refused += pool.refused.len();
        for number in 0..48 {
            pool.remove(&format!("pool{number}x{round}"));
        }
        pool.wait(Duration::from_secs(24 * 3600)).settle();
    }
    assert!(iam.made() <= 256, "{}", iam.made());
    assert!(refused > 0);
    let record: &Secret = pool.at_provider.get("liqo", RECORD).unwrap();
    let record = Object::from_value(Object::from(record.clone()).to_value());
    assert!(record.as_unreadable().is_none());
    // A key that is deleted makes room for another one.
    let step = pool.reconcile();
    let one = awaited_revocations(&step)[0].to_owned();
    revoke(&mut pool, &one);
    pool.bring(replica("another")).settle();
    assert_eq!(pool.refused, []);
    assert_ne!(given(&pool, "another").aws_access_key_id, one);
}

#[test]
fn a_revoked_key_is_replaced_even_after_a_crash() {
    for effects in 0..3 {
        let iam = Arc::new(Iam::default());
        let mut pool = pool(&iam);
        pool.bring(replica("mypool")).settle();
        let first = given(&pool, "mypool").aws_access_key_id;
        let view_of = consumer();
        let step = pool
            .provider
            .aws_key_revoked(&pool.at_provider.view(&view_of), &first)
            .unwrap();
        assert_eq!(step.effects.len(), 2);
        for effect in step.effects.iter().take(effects) {
            pool.at_provider.apply(effect).unwrap();
        }
        pool.settle();
        revoke(&mut pool, &first);
        pool.settle();
        assert_ne!(given(&pool, "mypool").aws_access_key_id, first);
        assert_eq!(iam.made(), 3, "{effects}");
        assert_eq!(awaited_revocations(&pool.reconcile()), [""; 0]);
    }
}

#[test]
fn an_ended_peer_stays_on_record_until_all_keys_are_revoked() {
    let iam = Arc::new(Iam::default());
    let mut pool = pool(&iam);
    pool.bring(replica("mypool")).settle();
    let of_slice = given(&pool, "mypool").aws_access_key_id;
    pool.write_condition(TenantCondition::Drained).settle();
    assert_eq!(pool.slice("mypool"), None);
    assert_eq!(awaited_revocations(&pool.reconcile()), [of_slice.as_str()]);
    pool.administer(|provider, objects, _| provider.end(&objects.view(&consumer())));
    pool.settle();
    pool.administer(|provider, objects, _| provider.lift_condition(&objects.view(&consumer())));
    pool.wait(Duration::from_secs(30 * 365 * 86_400));
    pool.settle();
    let step = pool.reconcile();
    let awaited: Vec<String> = awaited_revocations(&step)
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(awaited.len(), 2);
    for key in awaited {
        assert!(pool.at_provider.get::<Secret>("liqo", RECORD).is_some());
        revoke(&mut pool, &key);
        pool.settle();
    }
    assert_eq!(pool.at_provider.get::<Secret>("liqo", RECORD), None);
    assert_eq!(pool.records(), [""; 0]);
    assert_eq!(id("cl-consumer"), consumer());
}

/// A slice of a peer without a record. Its key would not be on any record.
#[test]
fn no_key_is_requested_for_a_peer_without_a_record() {
    let iam = Arc::new(Iam::default());
    let identities: Arc<dyn AwsIdentities> = iam.clone();
    let mut pool = Pool::with(|builder| {
        builder.aws(identities).configure(|config| {
            config
                .peers
                .entry(consumer())
                .or_default()
                .tolerate_no_handshake = true
        })
    });
    pool.edit_tenant(|tenant| tenant.spec.authz_policy = Some(AuthzPolicy::TolerateNoHandshake));
    pool.bring(replica("mypool"));
    iam.says(Ok(Answer::Pending));
    pool.settle();
    assert_eq!(pool.phase("mypool"), "NeedsCredential");
    let id = ObjectRef::new(Kind::Secret, "liqo", RECORD);
    pool.at_provider.remove(&id).unwrap();
    assert_eq!(pool.phase("mypool"), "AwaitsPeer");
    iam.works();
    pool.settle();
    assert_eq!(iam.made(), 1);
    assert!(given(&pool, "mypool").aws_access_key_id.starts_with("AKIA"));
}
