//! A peering user: its objects on the provider, and its kubeconfig.

use liqo_auth::{
    crypto::Answer,
    model::{
        Bytes, CertificateSigningRequest, CertificateSigningRequestCondition,
        CertificateSigningRequestStatus, ClusterRole, Kind, Metadata, Object, Role, names,
    },
    provider::CsrSigner,
};

use super::{KINDS, folder::Folder, key, settled};
use crate::clusters::exchange::{Exchange, Ledger, Setup};

#[test]
fn a_peering_user_is_written_for_the_judge() {
    for (algorithm_name, algorithm) in KINDS {
        let mut setup = Setup::new();
        setup.consumer_key = key(algorithm);
        let mut exchange = settled(&setup);
        add_roles(&mut exchange);
        let new = exchange
            .provider
            .peering_user(&exchange.provider_view(), key(algorithm), exchange.env())
            .unwrap();
        let Answer::Ready(chain) = Ledger::new().sign(new.request()).unwrap() else {
            panic!("it is not issued");
        };
        let user = new.continue_with(&chain).unwrap();
        exchange.carry_out(true, user.step);

        let name = format!("{algorithm_name}-peering-user");
        let folder = Folder::new(&name, &exchange, exchange.identity());
        // The request, as the API server leaves it after signing.
        let request = CertificateSigningRequest {
            status: CertificateSigningRequestStatus {
                certificate: Bytes::from(chain.pem()),
                conditions: vec![CertificateSigningRequestCondition {
                    condition_type: "Approved".to_owned(),
                    status: "True".to_owned(),
                    ..CertificateSigningRequestCondition::default()
                }],
            },
            ..new.certificate_signing_request()
        };
        folder.object("peering-user/csr.yaml", request);
        let bindings: Vec<Object> = exchange
            .at_provider
            .iter()
            .filter(|object| {
                object.id().kind == Kind::RoleBinding
                    && object
                        .metadata()
                        .labels
                        .contains_key(names::PEERING_USER_LABEL)
            })
            .cloned()
            .collect();
        assert_eq!(bindings.len(), 2);
        folder.objects("peering-user/rolebindings.yaml", &bindings);
        let kubeconfig = user.kubeconfig.to_yaml();
        folder.text(
            "peering-user/kubeconfig.yaml",
            core::str::from_utf8(kubeconfig.expose()).unwrap(),
        );
        assert_eq!(folder.more_files(), ["peering-user"], "{name}");
    }
}

/// The roles for peering users, as Liqo's chart names them.
fn add_roles(exchange: &mut Exchange) {
    let metadata = |namespace: &str, name: &str| Metadata {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        labels: [(names::APP_COMPONENT_LABEL, names::PEERING_USER_COMPONENT)]
            .map(|(label, value)| (label.to_owned(), value.to_owned()))
            .into(),
        ..Metadata::default()
    };
    let reader = Role {
        metadata: metadata("liqo", "liqo-peering-user-liqo-ns"),
        ..Role::default()
    };
    let writer = ClusterRole {
        metadata: metadata("", "liqo-peering-user-tenant-ns"),
        ..ClusterRole::default()
    };
    exchange.at_provider.insert(reader.into());
    exchange.at_provider.insert(writer.into());
}
