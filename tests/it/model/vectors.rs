//! All objects that Liqo 1.2.0 left in a real exchange. Each is the same after
//! it is written and read again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use liqo_auth::{
    model::{
        AuthParams, AuthzPolicy, ClusterId, Identity, IdentityType, Kind, Kubeconfig, Namespace,
        Object, ObjectError, ObjectRef, Resource, Secret, Tenant, TenantCondition, UserCredential,
        manifest, names,
    },
    policy::Limits,
};

const EXCHANGE: &str = "liqo-1.2.0/exchange/1-authenticated";

#[test]
fn objects_of_liqo_are_the_same_after_writing_and_reading() {
    let mut count = 0;
    for file in manifests(&vectors("")) {
        for object in read(&file) {
            let at = format!("{}: {}", file.display(), object.id());
            if let Some(unreadable) = object.as_unreadable() {
                assert!(
                    matches!(unreadable.reason, ObjectError::UnknownKind { .. }),
                    "{at}"
                );
                assert!(unreadable.kind == "ForeignCluster", "{at}");
                continue;
            }
            for text in [manifest::write_json(&object), manifest::write_yaml(&object)] {
                assert_eq!(
                    manifest::read(text.as_bytes(), &Limits::default()).unwrap(),
                    core::slice::from_ref(&object),
                    "{at}"
                );
            }
            assert_eq!(Object::from_value(object.to_value()), object, "{at}");
            count += 1;
        }
    }
    assert!(count >= 50, "{count}");
}

#[test]
fn the_tenant_and_the_identity_are_written_byte_for_byte_like_liqos() {
    for name in ["tenant.yaml", "identity.yaml"] {
        let file = vectors("liqo-1.2.0/by-hand").join(name);
        let [object] = read(&file).try_into().unwrap();
        assert_eq!(
            manifest::write_yaml(&object),
            fs::read_to_string(&file).unwrap()
        );
    }
}

#[test]
fn the_tenant_and_the_identity_have_the_recorded_fields() {
    let tenants = read(&vectors(EXCHANGE).join("cluster-b/tenants.yaml"));
    let tenant = Tenant::from_object(&tenants[0]).unwrap();
    assert_eq!(
        tenant.id(),
        ObjectRef::new(Kind::Tenant, "liqo-tenant-cluster-a", "cluster-a")
    );
    assert_eq!(tenant.metadata.finalizers, [names::TENANT_FINALIZER]);
    assert_eq!(
        tenant.metadata.creation_timestamp.unwrap().to_string(),
        "2026-11-20T22:46:43Z"
    );
    assert_eq!(tenant.spec.authz_policy, Some(AuthzPolicy::KeysExchange));
    assert_eq!(tenant.spec.tenant_condition, Some(TenantCondition::Active));
    assert_eq!(tenant.spec.signature.len(), 64);
    assert!(
        tenant
            .spec
            .csr
            .as_slice()
            .starts_with(b"-----BEGIN CERTIFICATE REQUEST-----")
    );
    assert_eq!(tenant.status.tenant_namespace, "liqo-tenant-cluster-a");

    let identity = identity(EXCHANGE, "cluster-a");
    assert_eq!(identity.spec.identity_type, IdentityType::ControlPlane);
    assert_eq!(
        tenant.status.auth_params.as_ref(),
        Some(&identity.spec.auth_params)
    );
    assert_eq!(
        identity.status.kubeconfig_secret_ref.unwrap().name,
        names::kubeconfig_secret(&identity.metadata.name)
    );
}

#[test]
fn the_published_examples_of_the_earlier_version_are_read() {
    let [tenant] = read(&vectors("seed/tenant.yaml")).try_into().unwrap();
    let tenant = Tenant::from_object(&tenant).unwrap();
    assert_eq!(tenant.spec.cluster_id, "cl-consumer");
    assert_eq!(tenant.spec.public_key.len(), 32);
    assert_eq!(tenant.metadata.creation_timestamp, None);
    let [identity] = read(&vectors("seed/identity.yaml")).try_into().unwrap();
    assert_eq!(
        Identity::from_object(&identity)
            .unwrap()
            .spec
            .auth_params
            .api_server,
        "https://172.19.0.3:6443"
    );
    assert_eq!(identity.to_value()["apiVersion"], names::API_VERSION);
}

#[test]
fn a_tenant_namespace_equals_liqos() {
    let [made] = read(&vectors(EXCHANGE).join("cluster-b/namespaces.yaml"))
        .try_into()
        .unwrap();
    let mut made = Namespace::from_object(&made).unwrap().metadata.clone();
    // The API server adds its own label.
    made.labels.remove("kubernetes.io/metadata.name");
    let peer: ClusterId = "cluster-a".parse().unwrap();
    let ours = Namespace::for_tenant(&peer).metadata;
    assert_eq!((ours.name, ours.labels), (made.name, made.labels));
}

#[test]
fn the_names_of_liqos_objects_are_known() {
    let cluster_a: ClusterId = "cluster-a".parse().unwrap();
    let cluster_b: ClusterId = "cluster-b".parse().unwrap();
    let ids: Vec<_> = manifests(&vectors(EXCHANGE))
        .iter()
        .flat_map(|file| read(file))
        .map(|object| object.id())
        .collect();
    let (on_a, on_b) = (
        names::tenant_namespace(&cluster_b),
        names::tenant_namespace(&cluster_a),
    );
    let identity = names::identity_name(&cluster_b);
    for (kind, namespace, name) in [
        (
            Kind::Secret,
            names::LIQO_NAMESPACE,
            names::CLUSTER_KEYS_SECRET,
        ),
        (Kind::Secret, &on_b, names::NONCE_SECRET),
        (Kind::Secret, &on_a, names::SIGNED_NONCE_SECRET),
        (Kind::Secret, &on_b, names::ISSUED_CERTIFICATE_SECRET),
        (Kind::Secret, &on_a, &names::kubeconfig_secret(&identity)),
        (Kind::Identity, &on_a, &identity),
        (
            Kind::RoleBinding,
            &on_b,
            "liqo-binding-liqo-remote-controlplane",
        ),
        (
            Kind::ClusterRoleBinding,
            "",
            &format!("liqo-binding-liqo-virtual-kubelet-remote-clusterwide-{cluster_a}"),
        ),
    ] {
        let id = ObjectRef::new(kind, namespace, name);
        assert!(ids.contains(&id), "{id}");
    }
}

#[test]
fn a_kubeconfig_is_written_byte_for_byte_like_liqos() {
    let mut count = 0;
    for file in manifests(&vectors("")) {
        for object in read(&file) {
            let Some(text) =
                Secret::from_object(&object).and_then(|secret| secret.get(names::KUBECONFIG))
            else {
                continue;
            };
            let kubeconfig = Kubeconfig::parse(core::str::from_utf8(text).unwrap()).unwrap();
            assert_eq!(kubeconfig.to_yaml().expose(), text, "{}", file.display());
            count += 1;
        }
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn a_kubeconfig_is_made_from_the_identity() {
    for (folder, consumer) in [
        (EXCHANGE, "cluster-a"),
        ("liqo-1.2.0/rsa-and-proxy", "rsa-a"),
    ] {
        let identity = identity(folder, consumer);
        let secrets = read(&vectors(folder).join(consumer).join("secrets.yaml"));
        let value = |name: &str, key: &str| {
            let secret = secrets
                .iter()
                .filter_map(Secret::from_object)
                .find(|secret| secret.metadata.name == name);
            secret.unwrap().get(key).unwrap().to_vec()
        };
        let AuthParams {
            ca,
            signed_crt,
            api_server,
            proxy_url,
            ..
        } = identity.spec.auth_params;
        let kubeconfig = Kubeconfig {
            cluster: identity.spec.cluster_id,
            server: api_server,
            certificate_authority: ca,
            proxy_url,
            user: identity.metadata.name.clone(),
            credential: UserCredential::KeyData {
                certificate: signed_crt,
                key: value(names::CLUSTER_KEYS_SECRET, names::PRIVATE_KEY).into(),
            },
            namespace: identity.spec.namespace,
        };
        let name = names::kubeconfig_secret(&identity.metadata.name);
        assert_eq!(
            kubeconfig.to_yaml().expose(),
            value(&name, names::KUBECONFIG),
            "{folder}"
        );
    }
}

fn identity(folder: &str, consumer: &str) -> Identity {
    let objects = read(&vectors(folder).join(consumer).join("identities.yaml"));
    Identity::from_object(&objects[0]).unwrap().clone()
}

fn read(file: &Path) -> Vec<Object> {
    manifest::read(&fs::read(file).unwrap(), &Limits::default())
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn vectors(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("vectors")
        .join(folder)
}

fn manifests(folder: &Path) -> Vec<PathBuf> {
    // The other folders contain vectors of other kinds.
    const FOLDERS: [&str; 5] = [
        "exchange/1-authenticated",
        "exchange/2-resourceslice",
        "by-hand",
        "rsa-and-proxy",
        "seed",
    ];
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(manifests(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
            && FOLDERS
                .iter()
                .any(|folder| path.to_string_lossy().contains(&format!("/{folder}/")))
        {
            files.push(path);
        }
    }
    files.sort();
    files
}
