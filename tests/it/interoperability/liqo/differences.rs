//! Replays an exchange that Liqo 1.2.0 recorded. This library's objects differ
//! from Liqo's only in the fields of a table, which gives the reasons.

use crate::recordings::{
    AUTHENTICATED, BY_HAND, RSA_AND_PROXY, Recording, differences::differences, recordings, values,
};

/// Replays the exchange with this library alone: with the same keys, nonce,
/// names, times and URLs, and with the certificate that Kubernetes signed.
#[test]
fn our_objects_differ_from_liqos_only_where_intended() {
    for liqo in recordings() {
        let ours = liqo.replayed();
        assert_eq!(ours.refused, [], "{}", liqo.name);
        let mut found = differences(&values(&liqo.at_provider), &values(&ours.at_provider));
        found.extend(differences(
            &values(&liqo.at_consumer),
            &values(&ours.at_consumer),
        ));
        found.sort();
        let mut expected: Vec<String> = DIFFERENCES
            .iter()
            .filter(|difference| difference.exchanges.contains(&liqo.name))
            .map(|difference| line(difference, &liqo))
            .collect();
        expected.sort();
        assert_eq!(
            found,
            expected,
            "\n{}: found\n{}\n",
            liqo.name,
            found.join("\n")
        );
    }
}

/// A field in which Liqo's object and ours differ, and the reason. An empty
/// path means the whole object.
struct Difference {
    exchanges: &'static [&'static str],
    object: &'static str,
    path: &'static str,
    liqo: &'static str,
    ours: &'static str,
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    why: &'static str,
}

const ALL: &[&str] = &[BY_HAND, AUTHENTICATED, RSA_AND_PROXY];

/// `{tenant}` and `{identity}` stand for the namespaces of these objects.
const DIFFERENCES: &[Difference] = &[
    Difference {
        exchanges: ALL,
        object: "Secret liqo/liqo-auth-provider-{consumer}",
        path: "",
        liqo: "absent",
        ours: "present",
        why: "pin, proof and used nonces, out of the peer's reach",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo/liqo-auth-consumer-{provider}",
        path: "",
        liqo: "absent",
        ours: "present",
        why: "the request that was sent, and what was pinned the first time",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "metadata.annotations.liqo-auth/commitment",
        liqo: "absent",
        ours: "key and signature",
        why: "the provider proves its own key",
    },
    Difference {
        exchanges: ALL,
        object: "Identity {identity}/controlplane-{provider}",
        path: "metadata.annotations.liqo-auth/commitment",
        liqo: "absent",
        ours: "key and signature",
        why: "the provider proves its own key",
    },
    Difference {
        exchanges: &[BY_HAND, AUTHENTICATED],
        object: "Tenant {tenant}/{consumer}",
        path: "spec.publicKey",
        liqo: "PEM PUBLIC KEY",
        ours: "32 raw bytes",
        why: "Liqo before 1.0.2 reads raw Ed25519 keys only, and later versions both",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "status.authParams.ca",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "Liqo decodes an overriding CA into a buffer that is too long",
    },
    Difference {
        exchanges: ALL,
        object: "Identity {identity}/controlplane-{provider}",
        path: "spec.authParams.ca",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "data.kubeconfig.certificate-authority-data",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "PEM CERTIFICATE",
        why: "the same bytes",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "metadata.finalizers",
        liqo: r#"["crdreplicator.liqo.io/operator"]"#,
        ours: "absent",
        why: "Liqo's CRD replicator puts it there, and takes it off",
    },
    Difference {
        exchanges: &[BY_HAND],
        object: "Tenant {tenant}/{consumer}",
        path: "spec.authzPolicy",
        liqo: "KeysExchange",
        ours: "absent",
        why: "the API server's default; it is ours to write only where we apply the Tenant",
    },
    Difference {
        exchanges: ALL,
        object: "Tenant {tenant}/{consumer}",
        path: "spec.tenantCondition",
        liqo: "Active",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{consumer}/liqo-nonce",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{consumer}/liqo-remote-certificate",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret liqo-tenant-{provider}/liqo-signed-nonce",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "Secret {identity}/kubeconfig-controlplane-{provider}",
        path: "type",
        liqo: "Opaque",
        ours: "absent",
        why: "the API server's default",
    },
    Difference {
        exchanges: ALL,
        object: "CertificateSigningRequest liqo-identity-…",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "it is the signer's, and the signer is the embedder's",
    },
    Difference {
        exchanges: ALL,
        object: "ForeignCluster {consumer}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "a summary that Liqo's own controller draws up",
    },
    Difference {
        exchanges: ALL,
        object: "ForeignCluster {provider}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "a summary that Liqo's own controller draws up",
    },
    Difference {
        exchanges: ALL,
        object: "Renew {identity}/controlplane-{provider}",
        path: "metadata.finalizers",
        liqo: r#"["crdreplicator.liqo.io/resource"]"#,
        ours: "absent",
        why: "Liqo's CRD replicator puts it there, and takes it off",
    },
    Difference {
        exchanges: &[AUTHENTICATED],
        object: "Renew {identity}/controlplane-{provider}",
        path: "status.authParams.apiServer",
        liqo: "https://127.0.0.1:6543",
        ours: "absent",
        why: "nothing replicates it here, so that no provider fills it",
    },
    Difference {
        exchanges: &[AUTHENTICATED],
        object: "Renew {identity}/controlplane-{provider}",
        path: "status.authParams.ca",
        liqo: "PEM CERTIFICATE, 2 NUL bytes",
        ours: "absent",
        why: "nothing replicates it here, so that no provider fills it",
    },
    Difference {
        exchanges: &[AUTHENTICATED],
        object: "Renew {identity}/controlplane-{provider}",
        path: "status.authParams.signedCRT",
        liqo: "PEM CERTIFICATE",
        ours: "absent",
        why: "nothing replicates it here, so that no provider fills it",
    },
    Difference {
        exchanges: &[AUTHENTICATED],
        object: "Renew {tenant}/controlplane-{provider}",
        path: "",
        liqo: "present",
        ours: "absent",
        why: "nothing replicates it here",
    },
];

/// A row of the table, filled in for this exchange.
fn line(difference: &Difference, liqo: &Recording) -> String {
    let Difference {
        object,
        path,
        liqo: theirs,
        ours,
        ..
    } = difference;
    format!("{object} | {path} | {theirs} | {ours}")
        .replace("{consumer}", liqo.consumer_id())
        .replace("{provider}", liqo.provider_id())
        .replace("{tenant}", &liqo.tenant.metadata.namespace)
        .replace("{identity}", &liqo.identity.metadata.namespace)
}
