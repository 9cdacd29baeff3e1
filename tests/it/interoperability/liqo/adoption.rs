//! A provider takes over the running peerings of Liqo 1.2.0. Nobody vouches for Liqo's
//! nonces: the status of the Tenant, which no peer can write, shows whom Liqo has let in.

use core::time::Duration;
use std::sync::Arc;

use liqo_auth::{
    consumer::{Consumer, ConsumerConfig},
    crypto::{CaBundle, Csr, Entropy, Nonce, OneKey, RecordKey, Subject},
    error::{Fault, PeerIncompatible},
    machine::MessageBody,
    model::{Bytes, Object, ObjectRef, Resource, Secret, Tenant, TenantCondition, names},
    policy::Policy,
    provider::{Endpoint, NameTable, Phase, Provider},
};

use crate::{
    clusters::{
        exchange::{Exchange, RECORD_KEY, authority, ed25519, id, secret_ref},
        store,
    },
    recordings::{AUTHENTICATED, RSA_AND_PROXY, Recording, recordings},
};

/// Both clusters with Liqo's objects. The provider adopts them and has no signer, so that
/// every certificate is Liqo's.
fn taken_over(liqo: &Recording) -> Exchange {
    Exchange {
        provider: provider(liqo, true),
        vouched: Vec::new(),
        ..liqo.after()
    }
}

/// The peerings that have rights. Liqo grants none for a Tenant that is not in its tenant
/// namespace.
fn running() -> impl Iterator<Item = Recording> {
    recordings().filter(|liqo| !liqo.by_hand)
}

fn provider(liqo: &Recording, adopts: bool) -> Provider {
    let parameters = liqo.tenant.status.auth_params.as_ref().unwrap();
    let bundle = CaBundle::from_pem(parameters.ca.as_slice(), &Policy::strict()).unwrap();
    let endpoint = Endpoint::new(parameters.api_server.parse().unwrap(), Some(&bundle));
    let record_key = RecordKey::new(RECORD_KEY).unwrap();
    Provider::builder(id(liqo.provider_id()), endpoint, record_key)
        .principals(Arc::new(NameTable::default()))
        .key(Arc::clone(&liqo.provider_key))
        .configure(|config| config.adopt_from_liqo = adopts)
        .build()
}

fn settle(two: &mut Exchange) {
    two.refused.clear();
    two.turns_of_provider();
}

fn set_condition(two: &mut Exchange, condition: TenantCondition) {
    let step = two.provider.set_condition(&two.provider_view(), condition);
    two.carry_out(true, step.unwrap());
    settle(two);
    assert_eq!(two.refused, [], "{condition:?}");
}

fn rights(two: &Exchange) -> usize {
    let bindings = two.at_provider.iter();
    let bindings = bindings.filter(|it| matches!(it, Object::RoleBinding(_)));
    bindings.count()
}

/// The Tenant. The one that a person applied is not in its tenant namespace.
fn tenant(two: &Exchange) -> Tenant {
    let mut tenants = two.at_provider.iter().filter_map(Tenant::from_object);
    tenants.next().unwrap().clone()
}

fn change_tenant(two: &mut Exchange, change: impl FnOnce(&mut Tenant)) {
    let mut tenant = tenant(two);
    change(&mut tenant);
    two.at_provider.insert(tenant.into());
}

/// Replaces the nonce, as a peering user of Liqo can: it may delete and create Secrets.
fn replace_nonce(two: &mut Exchange) {
    let namespace = tenant(two).status.tenant_namespace;
    let nonce: &Secret = two
        .at_provider
        .get(&namespace, names::NONCE_SECRET)
        .unwrap();
    let mut nonce = nonce.clone();
    let other = Nonce::random(&Entropy::from_bytes([7; 32]));
    let text = other.as_str().as_bytes().to_vec();
    nonce.data.insert(names::NONCE.to_owned(), text.into());
    two.at_provider.insert(nonce.into());
}

#[track_caller]
fn assert_not_ours(two: &Exchange, why: &str) {
    let Phase::Refused(error) = two.provider_phase() else {
        panic!("{why}: {:?}", two.provider_phase());
    };
    let expected: Fault = PeerIncompatible::NonceNotOurs.into();
    assert_eq!(error.fault(), &expected, "{why}");
}

#[test]
fn a_running_peering_is_cordoned_drained_and_uncordoned() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        settle(&mut two);
        assert_eq!(two.refused, [], "{}", liqo.name);
        let before = rights(&two);
        for condition in [TenantCondition::Cordoned, TenantCondition::Drained] {
            set_condition(&mut two, condition);
            set_condition(&mut two, TenantCondition::Active);
            let Phase::Authenticated(issued) = two.provider_phase() else {
                panic!("{}: {:?}", liqo.name, two.provider_phase());
            };
            let until = liqo.certificate().leaf().not_after;
            assert_eq!(issued.credential.shown.valid_until(), Some(until));
            assert_eq!(rights(&two), before, "{}: {condition:?}", liqo.name);
        }
    }
}

#[test]
fn without_the_setting_liqos_nonce_is_refused() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        two.provider = provider(&liqo, false);
        assert_not_ours(&two, liqo.name);
    }
}

#[test]
fn a_tenant_that_liqo_did_not_let_in_is_refused() {
    type Change = fn(&mut Tenant);
    let changes: [(&str, Change); 3] = [
        ("no answer", |tenant| tenant.status.auth_params = None),
        ("no certificate", |tenant| {
            tenant.status.auth_params.as_mut().unwrap().signed_crt = Bytes::from(b"x".as_slice());
        }),
        ("another key", |tenant| {
            tenant.spec.public_key = Bytes::from([9; 32].as_slice());
        }),
    ];
    for (why, change) in changes {
        for liqo in running() {
            let mut two = taken_over(&liqo);
            change_tenant(&mut two, change);
            assert_not_ours(&two, why);
        }
    }
}

/// A peering user reads Liqo's nonce, and may have a person apply another Tenant.
#[test]
fn another_key_that_signs_liqos_nonce_is_refused() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        let consumer = ConsumerConfig::new(id(liqo.consumer_id()));
        two.consumer = Consumer::new(consumer, Arc::new(OneKey(ed25519(9))));
        two.at_consumer = store::empty();
        two.hand_over(MessageBody::Nonce(liqo.nonce.clone()))
            .unwrap();
        let (sent, before) = (two.tenant(), two.at_provider.clone());
        let error = two.hand_over(sent).unwrap_err();
        assert_eq!(error.fault(), &PeerIncompatible::NonceNotOurs.into());
        assert_eq!(two.at_provider, before, "{}", liqo.name);
    }
}

/// A peering user may write the Tenant, and with it a milder condition. If the ClusterRoles
/// are gone, too, no binding is missing.
#[test]
fn a_peer_that_liqo_has_drained_does_not_let_itself_in() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        change_tenant(&mut two, |tenant| {
            tenant.spec.tenant_condition = Some(TenantCondition::Drained);
        });
        settle(&mut two);
        assert_eq!(rights(&two), 0, "{}", liqo.name);
        change_tenant(&mut two, |tenant| tenant.spec.tenant_condition = None);
        assert_not_ours(&two, liqo.name);
        let objects = two.at_provider.iter().cloned();
        let without_roles = objects.filter(|object| !matches!(object, Object::ClusterRole(_)));
        two.at_provider = store::holding(without_roles);
        assert_not_ours(&two, liqo.name);
    }
}

#[test]
fn the_certificate_of_another_peer_does_not_count() {
    let liqo = Recording::read(AUTHENTICATED, "cluster-b", "cluster-a");
    let other = Recording::read(RSA_AND_PROXY, "rsa-b", "rsa-a");
    let mut two = taken_over(&liqo);
    change_tenant(&mut two, |tenant| {
        tenant.status.auth_params = other.tenant.status.auth_params;
        tenant.spec.public_key = other.tenant.spec.public_key;
    });
    assert_not_ours(&two, liqo.name);
}

/// The key is that of the Tenant, and the certificate is for another user.
#[test]
fn the_certificate_of_a_slice_does_not_count() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        let key = liqo.consumer_key.as_ref();
        let subject = Subject::resource_slice("mypool", &id(liqo.consumer_id()));
        let csr = Csr::make(&subject, key).unwrap().at_once().unwrap();
        let entropy = Entropy::from_bytes([7; 32]);
        let (public_key, year) = (key.public_key(), Duration::from_secs(365 * 86_400));
        let chain = authority().issue(&csr, &subject, public_key, two.now, year, &entropy);
        change_tenant(&mut two, |tenant| {
            let given = tenant.status.auth_params.as_mut().unwrap();
            given.signed_crt = chain.unwrap().pem().into();
        });
        assert_not_ours(&two, liqo.name);
    }
}

#[test]
fn an_expired_certificate_of_liqo_is_not_adopted() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        two.now = liqo.certificate().leaf().not_after;
        assert!(
            !matches!(two.provider_phase(), Phase::Refused(_)),
            "{}",
            liqo.name
        );
        two.now = two.now + Duration::from_secs(1);
        assert_not_ours(&two, liqo.name);
    }
}

/// Once there is a record, it says who the peer is, and which nonces count.
#[test]
fn a_nonce_that_a_peering_user_writes_later_does_not_count() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        settle(&mut two);
        let step = two.provider.release_key(&two.provider_view()).unwrap();
        two.carry_out(true, step);
        // Liqo's own nonce is used up.
        let Phase::Refused(error) = two.provider_phase() else {
            panic!("{}: {:?}", liqo.name, two.provider_phase());
        };
        let expected: Fault = PeerIncompatible::NonceUsed.into();
        assert_eq!(error.fault(), &expected, "{}", liqo.name);
        replace_nonce(&mut two);
        assert_not_ours(&two, liqo.name);
    }
}

/// Liqo makes all bindings of a peer that is not drained. A part of them shows another
/// thing: somebody has taken rights back.
#[test]
fn a_peer_that_lacks_a_binding_is_not_adopted() {
    for liqo in running() {
        let stored = taken_over(&liqo).at_provider;
        let bindings = stored
            .iter()
            .filter(|it| matches!(it, Object::RoleBinding(_) | Object::ClusterRoleBinding(_)));
        let bindings: Vec<ObjectRef> = bindings.map(Object::id).collect();
        assert_eq!(bindings.len(), 2, "{}", liqo.name);
        for binding in bindings {
            let mut two = taken_over(&liqo);
            two.at_provider.remove(&binding);
            assert_not_ours(&two, &binding.to_string());
        }
    }
}

/// The peer can write the Secret in which Liqo keeps the certificate.
#[test]
fn liqos_certificate_counts_for_the_request_beside_it() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        assert_eq!(two.provider_phase().name(), "Authenticated");
        let namespace = tenant(&two).status.tenant_namespace;
        let name = names::ISSUED_CERTIFICATE_SECRET;
        let kept: &Secret = two.at_provider.get(&namespace, name).unwrap();
        let mut kept = kept.clone();
        let other = b"other".as_slice().into();
        kept.data.insert(names::CSR.to_owned(), other).unwrap();
        two.at_provider.insert(kept.into());
        assert_eq!(two.provider_phase().name(), "NeedsProof", "{}", liqo.name);
        settle(&mut two);
        assert_eq!(two.provider_phase().name(), "NeedsCredential");
    }
}

/// The embedder vouches for the nonce, and with it for a certificate that is valid.
#[test]
fn an_expired_certificate_of_liqo_is_not_used_for_a_vouched_nonce() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        two.vouched.push(liqo.nonce.clone());
        two.now = liqo.certificate().leaf().not_after;
        assert_eq!(two.provider_phase().name(), "Authenticated");
        two.now = two.now + Duration::from_secs(1);
        assert_eq!(two.provider_phase().name(), "NeedsProof", "{}", liqo.name);
    }
}

/// The peer may delete the Secret that keeps the certificate, and still has the certificate.
#[test]
fn the_name_of_a_peer_is_taken_until_liqos_certificate_ends() {
    for liqo in running() {
        let mut two = taken_over(&liqo);
        let namespace = tenant(&two).status.tenant_namespace;
        let kept = secret_ref(&namespace, "liqo-remote-certificate");
        two.at_provider.remove(&kept).unwrap();
        settle(&mut two);
        assert_eq!(two.provider_phase().name(), "NeedsCredential");
        let step = two.provider.end(&two.provider_view()).unwrap();
        two.carry_out(true, step);
        let record = format!("liqo-auth-provider-{}", liqo.consumer_id());
        let mut knows_the_key_at = |now| {
            two.now = now;
            settle(&mut two);
            let record: &Secret = two.at_provider.get("liqo", &record).unwrap();
            let text = str::from_utf8(record.get("record").unwrap());
            text.unwrap().contains("publicKey")
        };
        let until = liqo.certificate().leaf().not_after;
        assert!(knows_the_key_at(until), "{}", liqo.name);
        assert!(!knows_the_key_at(until + Duration::from_secs(1)));
    }
}
