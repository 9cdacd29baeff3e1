//! [`Arbitrary`] values and objects of the exchange, honest and hostile, with the
//! feature `proptest`.
//!
//! # Examples
//! ```
//! use liqo_auth::model::{Object, Tenant};
//! use proptest::{arbitrary::any, strategy::Strategy, test_runner::TestRunner};
//!
//! TestRunner::default().run(&any::<Tenant>().prop_map(Object::from), |object| {
//!     assert_eq!(Object::from_value(object.to_value()), object);
//!     Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod slice;
mod text;

use slice::{any_renew, any_resource_slice};
use text::any_map;
pub(crate) use text::{any_text, any_url, matching};

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::{Arbitrary, Just, any},
    prop_oneof,
    strategy::{BoxedStrategy, Strategy},
};

use super::{
    AuthParams, AuthzPolicy, AwsConfig, Bytes, CertificateSigningRequest,
    CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus, ClusterId, ClusterRole, ClusterRoleBinding, ConfigMap,
    ForeignCluster, Identity, IdentitySpec, IdentityStatus, IdentityType, LocalObjectReference,
    Metadata, Namespace, NamespaceMap, Object, OwnerReference, PolicyRule, RbacSubject, Renew,
    ResourceSlice, Role, RoleBinding, RoleRef, Secret, SecretBytes, ServiceAccount, Tenant,
    TenantCondition, TenantSpec, TenantStatus, Timestamp,
};

/// Gives each type its strategy.
macro_rules! arbitrary {
    ($($Type:ty: $strategy:ident;)*) => {$(
        impl Arbitrary for $Type {
            type Parameters = ();
            type Strategy = BoxedStrategy<Self>;

            fn arbitrary_with((): ()) -> BoxedStrategy<Self> {
                $strategy()
            }
        }
    )*};
}

arbitrary! {
    AuthParams: any_auth_params;
    Bytes: any_bytes;
    CertificateSigningRequest: any_signing_request;
    ClusterId: cluster_id;
    Identity: any_identity;
    Metadata: any_metadata;
    Object: any_object;
    Renew: any_renew;
    ResourceSlice: any_resource_slice;
    Secret: any_secret;
    Tenant: any_tenant;
    TenantCondition: tenant_condition;
    Timestamp: timestamp;
}

/// Any cluster ID that fits into the name of a default tenant namespace.
fn cluster_id() -> BoxedStrategy<ClusterId> {
    matching("[a-z0-9]([-a-z0-9]{0,49}[a-z0-9])?")
        .prop_filter_map("a DNS label", |text| text.parse().ok())
        .boxed()
}

/// Any valid timestamp.
fn timestamp() -> BoxedStrategy<Timestamp> {
    (-62_167_219_200..=253_402_300_799_i64)
        .prop_filter_map("a year of four digits", |seconds| {
            Timestamp::from_unix(seconds).ok()
        })
        .boxed()
}

/// Any bytes, few or many.
fn any_bytes() -> BoxedStrategy<Bytes> {
    prop_oneof![Just(Vec::new()), vec(any::<u8>(), 1..200)]
        .prop_map(Bytes::from)
        .boxed()
}

/// Any metadata.
fn any_metadata() -> BoxedStrategy<Metadata> {
    let names = (any_text(), any_text(), any_text(), any_text(), any_text());
    let times = (
        option::of(timestamp()),
        option::of(timestamp()),
        any::<i64>(),
    );
    let maps = (any_map(), any_map());
    (
        names,
        times,
        maps,
        vec(any_text(), 0..3),
        vec(owner_reference(), 0..3),
    )
        .prop_map(
            |(names, times, maps, finalizers, owner_references)| Metadata {
                name: names.0,
                generate_name: names.1,
                namespace: names.2,
                uid: names.3,
                resource_version: names.4,
                creation_timestamp: times.0,
                deletion_timestamp: times.1,
                generation: times.2,
                labels: maps.0.into_iter().collect(),
                annotations: maps.1.into_iter().collect(),
                finalizers,
                owner_references,
            },
        )
        .boxed()
}

/// Any Secret.
fn any_secret() -> BoxedStrategy<Secret> {
    let value = any_bytes().prop_map(|bytes| SecretBytes::from(bytes.to_vec()));
    (
        any_metadata(),
        btree_map(any_text(), value, 0..4),
        option::of(any_text()),
        any::<bool>(),
    )
        .prop_map(|(metadata, data, secret_type, immutable)| Secret {
            metadata,
            data,
            secret_type,
            immutable,
        })
        .boxed()
}

/// Any certificate and address, with or without AWS.
fn any_auth_params() -> BoxedStrategy<AuthParams> {
    let aws_config = (any_text(), any_text(), any_text(), any_text(), any_text()).prop_map(
        |(arn, id, secret, region, cluster)| AwsConfig {
            aws_user_arn: arn,
            aws_access_key_id: id,
            aws_secret_access_key: secret.into(),
            aws_region: region,
            aws_cluster_name: cluster,
        },
    );
    (
        any_bytes(),
        any_bytes(),
        any_url(),
        option::of(any_url()),
        option::of(aws_config),
    )
        .prop_map(
            |(ca, signed_crt, api_server, proxy_url, aws_config)| AuthParams {
                ca,
                signed_crt,
                api_server,
                proxy_url,
                aws_config,
            },
        )
        .boxed()
}

/// Any Tenant. Its fields need not fit each other.
fn any_tenant() -> BoxedStrategy<Tenant> {
    let policy = prop_oneof![
        Just(AuthzPolicy::KeysExchange),
        Just(AuthzPolicy::TolerateNoHandshake)
    ];
    let spec = (
        any_text(),
        option::of(policy),
        (any_bytes(), any_bytes(), any_bytes()),
        option::of(any_url()),
        option::of(tenant_condition()),
    )
        .prop_map(
            |(cluster_id, authz_policy, bytes, proxy_url, tenant_condition)| TenantSpec {
                cluster_id,
                authz_policy,
                public_key: bytes.0,
                csr: bytes.1,
                signature: bytes.2,
                proxy_url,
                tenant_condition,
            },
        );
    let status =
        (any_text(), option::of(any_auth_params())).prop_map(|(tenant_namespace, auth_params)| {
            TenantStatus {
                tenant_namespace,
                auth_params,
            }
        });
    (any_metadata(), spec, status)
        .prop_map(|(metadata, spec, status)| Tenant {
            metadata,
            spec,
            status,
        })
        .boxed()
}

/// Any Identity. Its fields need not fit each other.
fn any_identity() -> BoxedStrategy<Identity> {
    let identity_type = prop_oneof![
        Just(IdentityType::ControlPlane),
        Just(IdentityType::ResourceSlice)
    ];
    let spec = (
        any_text(),
        identity_type,
        any_auth_params(),
        option::of(any_text()),
    )
        .prop_map(
            |(cluster_id, identity_type, auth_params, namespace)| IdentitySpec {
                cluster_id,
                identity_type,
                auth_params,
                namespace,
            },
        );
    let reference = any_text().prop_map(|name| LocalObjectReference { name });
    (any_metadata(), spec, option::of(reference))
        .prop_map(|(metadata, spec, kubeconfig_secret_ref)| Identity {
            metadata,
            spec,
            status: IdentityStatus {
                kubeconfig_secret_ref,
            },
        })
        .boxed()
}

/// Any readable object of the exchange.
fn any_object() -> BoxedStrategy<Object> {
    prop_oneof![
        4 => any_secret().prop_map(Object::from),
        4 => any_tenant().prop_map(Object::from),
        4 => any_identity().prop_map(Object::from),
        4 => any_resource_slice().prop_map(Object::from),
        4 => any_renew().prop_map(Object::from),
        1 => any_metadata().prop_map(|metadata| Namespace { metadata }.into()),
        1 => any_metadata().prop_map(|metadata| NamespaceMap { metadata }.into()),
        1 => (any_metadata(), any_rules()).prop_map(|(metadata, rules)| {
            ClusterRole { metadata, rules }.into()
        }),
        1 => (any_metadata(), any_rules()).prop_map(|(metadata, rules)| {
            Role { metadata, rules }.into()
        }),
        1 => (any_metadata(), any_map()).prop_map(|(metadata, data)| {
            ConfigMap { metadata, data }.into()
        }),
        1 => any_signing_request().prop_map(Object::from),
        1 => (any_metadata(), any_text(), any_text()).prop_map(|(metadata, url, id)| {
            let mut cluster = ForeignCluster { metadata, ..ForeignCluster::default() };
            cluster.spec.foreign_auth_url = url;
            cluster.spec.cluster_identity.cluster_id = id;
            cluster.into()
        }),
        1 => (any_metadata(), vec(any_text(), 0..3)).prop_map(|(metadata, names)| {
            let secrets = names.into_iter().map(|name| LocalObjectReference { name }).collect();
            ServiceAccount { metadata, secrets }.into()
        }),
        1 => any_grant().prop_map(|(metadata, role_ref, subjects)| {
            RoleBinding { metadata, role_ref, subjects }.into()
        }),
        1 => any_grant().prop_map(|(metadata, role_ref, subjects)| {
            ClusterRoleBinding { metadata, role_ref, subjects }.into()
        }),
    ]
    .boxed()
}

/// A CertificateSigningRequest with any request, answered or not.
fn any_signing_request() -> BoxedStrategy<CertificateSigningRequest> {
    let condition = (any_text(), any_text(), any_text(), any_text()).prop_map(
        |(condition_type, status, reason, message)| CertificateSigningRequestCondition {
            condition_type,
            status,
            reason,
            message,
        },
    );
    let spec = (
        any_bytes(),
        any_text(),
        vec(any_text(), 0..3),
        option::of(any::<i32>()),
    )
        .prop_map(|(request, signer_name, usages, expiration_seconds)| {
            CertificateSigningRequestSpec {
                request,
                signer_name,
                usages,
                expiration_seconds,
            }
        });
    let status = (any_bytes(), vec(condition, 0..2)).prop_map(|(certificate, conditions)| {
        CertificateSigningRequestStatus {
            certificate,
            conditions,
        }
    });
    (any_metadata(), spec, status)
        .prop_map(|(metadata, spec, status)| CertificateSigningRequest {
            metadata,
            spec,
            status,
        })
        .boxed()
}

/// Rules of a role, with any texts in them.
fn any_rules() -> BoxedStrategy<Vec<PolicyRule>> {
    let texts = || vec(any_text(), 0..3);
    let rule = (texts(), texts(), texts(), texts()).prop_map(
        |(api_groups, resources, resource_names, verbs)| PolicyRule {
            api_groups,
            resources,
            resource_names,
            verbs,
            ..PolicyRule::default()
        },
    );
    vec(rule, 0..3).boxed()
}

/// Any condition of a tenant.
fn tenant_condition() -> BoxedStrategy<TenantCondition> {
    prop_oneof![
        Just(TenantCondition::Active),
        Just(TenantCondition::Cordoned),
        Just(TenantCondition::Drained),
    ]
    .boxed()
}

fn any_grant() -> BoxedStrategy<(Metadata, RoleRef, Vec<RbacSubject>)> {
    let role_ref =
        (any_text(), any_text(), any_text()).prop_map(|(api_group, kind, name)| RoleRef {
            api_group,
            kind,
            name,
        });
    let subject = (any_text(), any_text(), any_text(), any_text()).prop_map(
        |(api_group, kind, name, namespace)| RbacSubject {
            api_group,
            kind,
            name,
            namespace,
        },
    );
    (any_metadata(), role_ref, vec(subject, 0..3)).boxed()
}

fn owner_reference() -> BoxedStrategy<OwnerReference> {
    let names = (any_text(), any_text(), any_text(), any_text());
    (names, option::of(any::<bool>()), option::of(any::<bool>()))
        .prop_map(|(names, controller, block_owner_deletion)| OwnerReference {
            api_version: names.0,
            kind: names.1,
            name: names.2,
            uid: names.3,
            controller,
            block_owner_deletion,
        })
        .boxed()
}

#[cfg(test)]
mod tests;
