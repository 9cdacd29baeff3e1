//! How a peering user is made, and when it is refused.

use std::sync::Arc;

use liqo_auth::{
    Machine,
    audit::Decision,
    crypto::{Answer, ClientKey, KeyPair, PublicKey, RecordKey, Signature, SigningKey, Subject},
    error::{ApiMisuse, Fault, LocalFault, PolicyRefusal, Precondition},
    machine::Effect,
    model::{Kind, Namespace, Object, ObjectRef, Resource, RoleBinding, RoleRef, names},
    provider::{Claimant, CsrSigner, NameRequest, NameTable, PrincipalName, Principals, Provider},
};

use super::{USER, begin, refused, signed, with_roles};
use crate::clusters::{
    bindings::{self, role},
    exchange::{API_SERVER, Ledger, RECORD_KEY, ed25519, endpoint, id},
};

#[test]
fn a_peering_user_has_the_rights_and_the_names_that_liqo_gives() {
    let mut exchange = with_roles();
    let new = begin(&exchange).unwrap();
    let name = name(&new).to_owned();
    let (prefix, suffix) = name.rsplit_once('-').unwrap();
    assert_eq!(prefix, USER);
    assert_eq!(suffix.len(), 32);
    assert!(suffix.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(
        new.request().subject.to_string(),
        format!("O=liqo.io, CN={name}")
    );
    assert_eq!(
        new.request().subject,
        Subject::peering_user(&id("cl-consumer"), hex(suffix))
    );

    let user = signed(&new).unwrap();
    let created: Vec<_> = user.step.effects.iter().map(Effect::id).collect();
    assert_eq!(
        created,
        [
            ObjectRef::new(Kind::Namespace, "", "liqo-tenant-cl-consumer"),
            ObjectRef::new(Kind::RoleBinding, "liqo", format!("{USER}-liqo-ns-reader")),
            ObjectRef::new(
                Kind::RoleBinding,
                "liqo-tenant-cl-consumer",
                format!("{USER}-tenant-ns-writer")
            ),
        ]
    );
    let step = exchange.carry_out(true, user.step);
    for (namespace, binding, role_ref) in [
        ("liqo", "liqo-ns-reader", role("liqo-peering-user-liqo-ns")),
        (
            "liqo-tenant-cl-consumer",
            "tenant-ns-writer",
            RoleRef::cluster_role("liqo-peering-user-tenant-ns"),
        ),
    ] {
        let binding: &RoleBinding = exchange
            .at_provider
            .get(namespace, &format!("{USER}-{binding}"))
            .unwrap();
        assert_eq!(binding.role_ref, role_ref);
        assert_eq!(binding.subjects, [bindings::user(&name)]);
        let labels: Vec<_> = binding.metadata.labels.iter().collect();
        assert_eq!(
            labels,
            [(&names::PEERING_USER_LABEL.to_owned(), &USER.to_owned())]
        );
    }
    let [event] = step.events.as_slice() else {
        panic!("{:?}", step.events);
    };
    assert_eq!(event.decision, Decision::PeeringUserMade { user: name });
    assert_eq!(event.key, Some(new.request().public_key.fingerprint()));

    let request = new.certificate_signing_request();
    assert_eq!(request.metadata.name, USER);
    assert_eq!(
        request
            .metadata
            .labels
            .get(names::PEERING_USER_LABEL)
            .unwrap(),
        USER
    );
    assert_eq!(request.spec.signer_name, names::CLIENT_SIGNER);
    assert_eq!(request.spec.request.as_slice(), new.request().csr.pem());
}

/// The provider does not request a lifetime that the Kubernetes API or its own policy
/// would refuse.
#[test]
fn the_requested_lifetime_is_one_that_kubernetes_and_the_policy_accept() {
    const YEAR: u64 = 365 * 24 * 3600;
    for (configured, asked) in [(30, 30), (20 * YEAR, 10 * YEAR - 600)] {
        let mut exchange = with_roles();
        let key = RecordKey::new(RECORD_KEY).unwrap();
        exchange.provider = Provider::builder(id("cl-provider"), endpoint(API_SERVER), key)
            .principals(Arc::new(NameTable::default()))
            .configure(|config| {
                config.certificate_lifetime = core::time::Duration::from_secs(configured)
            })
            .build();
        let new = begin(&exchange).unwrap();
        let lifetime = new.request().lifetime.as_secs();
        assert!(lifetime.abs_diff(asked) <= 3 * 24 * 3600, "{lifetime}");
        let request = new.certificate_signing_request();
        assert_eq!(
            request.spec.expiration_seconds,
            Some(new.request().expiration_seconds())
        );
        signed(&new).unwrap();
    }
}

#[test]
fn the_kubeconfig_has_the_form_of_liqos() {
    let exchange = with_roles();
    let user = signed(&begin(&exchange).unwrap()).unwrap();
    let text = String::from_utf8(user.kubeconfig.to_yaml().expose().to_vec()).unwrap();
    let shown: Vec<String> = text
        .lines()
        .map(|line| match line.split_once("-data: ") {
            Some((name, _)) => format!("{name}-data"),
            None => line.to_owned(),
        })
        .collect();
    let server = format!("    server: {API_SERVER}");
    assert_eq!(
        shown,
        [
            "apiVersion: v1",
            "clusters:",
            "- cluster:",
            "    certificate-authority-data",
            server.as_str(),
            "  name: cl-consumer",
            "contexts:",
            "- context:",
            "    cluster: cl-consumer",
            "    namespace: liqo-tenant-cl-consumer",
            "    user: cl-consumer-user",
            "  name: default-context",
            "current-context: default-context",
            "kind: Config",
            "users:",
            "- name: cl-consumer-user",
            "  user:",
            "    client-certificate-data",
            "    client-key-data",
        ]
    );
    assert!(!format!("{user:?}").contains("PRIVATE KEY"));
}

#[test]
fn a_missing_or_ambiguous_role_is_an_error() {
    for (kind, name) in [
        ("Role", "liqo-peering-user-liqo-ns"),
        ("ClusterRole", "liqo-peering-user-tenant-ns"),
    ] {
        let mut exchange = with_roles();
        let role = exchange
            .at_provider
            .iter()
            .find(|object| object.id().name == name)
            .unwrap()
            .clone();
        let mut second = role.clone();
        second.metadata_mut().name.push_str("-2");
        exchange.at_provider.insert(second);
        let other = exchange
            .at_provider
            .iter()
            .map(Object::id)
            .find(|id| id.name == format!("{name}-2"))
            .unwrap();
        refused(
            &exchange,
            LocalFault::Ambiguous {
                other: other.to_string(),
            },
            Some(role.id()),
        );
        exchange.at_provider.remove(&other);
        exchange.at_provider.remove(&role.id());
        refused(&exchange, Precondition::NoPeeringRole { kind }, None);
    }
}

#[test]
fn too_long_and_taken_names_are_refused() {
    let exchange = with_roles();
    let begin = |peer: &str| {
        let view = exchange.at_provider.view(&id(peer));
        let new = exchange
            .provider
            .peering_user(&view, ed25519(50), exchange.env());
        new.map(|new| name(&new).to_owned())
    };
    assert!(begin(&"a".repeat(48)).is_ok());
    let error = begin(&"a".repeat(49)).unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::ClusterIdTooLong {
            found: 49,
            limit: 48
        })
    );
    let error = begin("kubernetes-admin").unwrap_err();
    assert_eq!(
        error.fault(),
        &Fault::Policy(PolicyRefusal::NameTaken {
            name: "kubernetes-admin".to_owned()
        })
    );
    assert_eq!(
        begin("cl-provider").unwrap_err().fault(),
        &Fault::ApiMisuse(ApiMisuse::OwnCluster)
    );

    struct All;
    impl Principals for All {
        fn is_taken(
            &self,
            request: &NameRequest<'_>,
        ) -> Result<Answer<bool>, liqo_auth::crypto::BoxError> {
            let is_taken = matches!(
                request.name,
                PrincipalName::User(name) if name.starts_with(names::PEERING_USER_PREFIX)
            );
            Ok(Answer::Ready(is_taken))
        }
    }
    let provider = provider().principals(Arc::new(All)).build();
    let view = exchange.provider_view();
    let error = provider
        .peering_user(&view, ed25519(50), exchange.env())
        .unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::Policy(PolicyRefusal::NameTaken { name }) if name.starts_with(USER)
    ));
    assert_eq!(
        NameTable::default()
            .is_taken(&NameRequest {
                name: PrincipalName::User(USER),
                claimant: Claimant::PeeringUser(&"cl-consumer".parse().unwrap())
            })
            .unwrap(),
        Answer::Ready(false)
    );
}

#[test]
fn a_certificate_for_another_user_is_refused() {
    let exchange = with_roles();
    let new = begin(&exchange).unwrap();
    let other = begin(&exchange).unwrap();
    assert_ne!(name(&new), name(&other));
    let Answer::Ready(chain) = Ledger::new().sign(other.request()).unwrap() else {
        panic!("issued");
    };
    let error = new.continue_with(&chain).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::ApiMisuse(ApiMisuse::SignerCertificate(_))
    ));
}

#[test]
fn a_key_that_cannot_be_exported_makes_no_peering_user() {
    struct Buried(KeyPair);
    impl SigningKey for Buried {
        fn public_key(&self) -> &PublicKey {
            self.0.public_key()
        }
        fn sign(
            &self,
            payload: &liqo_auth::crypto::Payload<'_>,
        ) -> Result<Answer<Signature>, liqo_auth::crypto::BoxError> {
            self.0.sign(payload)
        }
        fn client_key(&self) -> ClientKey {
            ClientKey::NotExportable
        }
    }
    let exchange = with_roles();
    let entropy = liqo_auth::crypto::Entropy::from_bytes([50; 32]);
    let key = Arc::new(Buried(KeyPair::from_entropy(&entropy)));
    let new = exchange
        .provider
        .peering_user(&exchange.provider_view(), key, exchange.env())
        .unwrap();
    let error = signed(&new).unwrap_err();
    assert_eq!(error.fault(), &Fault::Local(LocalFault::KeyNotExportable));
}

#[test]
fn the_declared_interests_cover_all_objects_of_a_peering_user() {
    let mut exchange = with_roles();
    let user = signed(&begin(&exchange).unwrap()).unwrap();
    exchange.carry_out(true, user.step);
    let interests = exchange.provider.interests(&id("cl-consumer"));
    let matches = |object: &&Object| interests.iter().any(|interest| interest.matches(object));
    let seen: Vec<&Object> = exchange.at_provider.iter().filter(matches).collect();
    let bindings = seen
        .iter()
        .filter(|object| object.id().kind == Kind::RoleBinding);
    assert_eq!(bindings.count(), 2);
    assert!(
        seen.iter()
            .any(|object| Namespace::from_object(object).is_some())
    );
    let roles = seen
        .iter()
        .filter(|object| matches!(object.id().kind, Kind::Role | Kind::ClusterRole))
        .filter(|object| {
            let labels = &object.metadata().labels;
            labels.get(names::APP_COMPONENT_LABEL).map(String::as_str)
                == Some(names::PEERING_USER_COMPONENT)
        });
    assert_eq!(roles.count(), 2);
}

/// The CN of the user's certificate.
pub(super) fn name(new: &liqo_auth::provider::NewPeeringUser) -> &str {
    new.request().subject.common_name()
}

fn provider() -> liqo_auth::provider::ProviderBuilder {
    let key = RecordKey::new(RECORD_KEY).unwrap();
    Provider::builder(id("cl-provider"), endpoint(API_SERVER), key)
        .principals(Arc::new(NameTable::default()))
}

fn hex(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = text.get(2 * index..2 * index + 2).unwrap();
        *byte = u8::from_str_radix(digits, 16).unwrap();
    }
    bytes
}
