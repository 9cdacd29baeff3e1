//! All names of objects, labels, annotations and keys, in one place.
//!
//! Most of them are Liqo's own names, by which an unmodified peer finds objects.

use crate::model::ClusterId;

/// The API group of tenants and identities.
pub const API_GROUP: &str = "authentication.liqo.io";
/// The API version of tenants and identities that this library writes.
pub const API_VERSION: &str = "authentication.liqo.io/v1beta1";
/// The earlier API version, which this library also reads.
pub const API_VERSION_ALPHA: &str = "authentication.liqo.io/v1alpha1";
/// The API group of roles and their bindings.
pub const RBAC_API_GROUP: &str = "rbac.authorization.k8s.io";

/// The default namespace of Liqo.
pub const LIQO_NAMESPACE: &str = "liqo";
/// The config map that holds a cluster's own ID. Liqo finds it by
/// [`APP_NAME_LABEL`]` = `[`CLUSTER_ID_CONFIG_MAP_APP_NAME`].
pub const CLUSTER_ID_CONFIG_MAP: &str = "liqo-clusterid-configmap";
/// The key of the cluster ID in its config map.
pub const CLUSTER_ID_KEY: &str = "CLUSTER_ID";
/// The value of [`APP_NAME_LABEL`] on the config map with the cluster ID.
pub const CLUSTER_ID_CONFIG_MAP_APP_NAME: &str = "clusterid-configmap";

/// Label: the ID of the other cluster.
pub const REMOTE_CLUSTER_ID_LABEL: &str = "liqo.io/remote-cluster-id";
/// Label: the object is a tenant namespace.
pub const TENANT_NAMESPACE_LABEL: &str = "liqo.io/tenant-namespace";
/// Label: the Secret holds a nonce.
pub const NONCE_LABEL: &str = "liqo.io/nonce";
/// Label: the Secret holds a signed nonce.
pub const SIGNED_NONCE_LABEL: &str = "liqo.io/signed-nonce";
/// Label: the type of the identity in a kubeconfig.
pub const IDENTITY_TYPE_LABEL: &str = "liqo.io/identity-type";
/// Label: the resource slice that an identity belongs to.
pub const RESOURCE_SLICE_NAME_LABEL: &str = "liqo.io/resourceslice-name";
/// Label: whether Liqo replicates the object to another cluster.
pub const REPLICATION_LABEL: &str = "liqo.io/replication";
/// Label: the cluster to which an object is replicated.
pub const REPLICATION_DESTINATION_LABEL: &str = "liqo.io/remoteID";
/// Label of a replica: the cluster from which it comes.
pub const REPLICATION_ORIGIN_LABEL: &str = "liqo.io/originID";
/// Label: the object is a replica.
pub const REPLICATED_LABEL: &str = "liqo.io/replicated";
/// Label: the peering user for which the object was made.
pub const PEERING_USER_LABEL: &str = "liqo.io/peering-user-name";
/// Label: the part of an application that a role belongs to.
pub const APP_COMPONENT_LABEL: &str = "app.kubernetes.io/component";
/// Label: the certificate signing request was made for a tenant.
pub const REMOTE_TENANT_CSR_LABEL: &str = "liqo.io/remote-tenant-csr";
/// Label: the name of an application, or the purpose of a cluster role.
pub const APP_NAME_LABEL: &str = "app.kubernetes.io/name";
/// Label: the program that manages an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Label: the pod security standard that audits the pods of a namespace.
pub const POD_SECURITY_AUDIT_LABEL: &str = "pod-security.kubernetes.io/audit";
/// Label: the pod security standard that the pods of a namespace must meet.
pub const POD_SECURITY_ENFORCE_LABEL: &str = "pod-security.kubernetes.io/enforce";
/// Label: the pod security standard whose violations cause warnings.
pub const POD_SECURITY_WARN_LABEL: &str = "pod-security.kubernetes.io/warn";

/// The value of a boolean label that is set.
pub const TRUE: &str = "true";
/// The value of [`APP_COMPONENT_LABEL`] on the roles of peering users.
pub const PEERING_USER_COMPONENT: &str = "peering-user";
/// The class of resource slices on which Liqo itself decides.
pub const DEFAULT_RESOURCE_SLICE_CLASS: &str = "default";
/// The value of [`MANAGED_BY_LABEL`] on the bindings that Liqo also makes.
pub const MANAGED_BY_LIQO: &str = "liqo";
/// The value of [`MANAGED_BY_LABEL`] on this library's own objects.
pub(crate) const MANAGED_BY_LIQO_AUTH: &str = "liqo-auth";
/// The value of the pod security labels of a tenant namespace.
pub const POD_SECURITY_PRIVILEGED: &str = "privileged";
/// The value of [`APP_NAME_LABEL`] on the cluster roles to which a consumer is
/// bound in its tenant namespace.
pub const CONTROL_PLANE_ROLE: &str = "remote-controlplane";
/// The value of [`APP_NAME_LABEL`] on the cluster roles to which a consumer's
/// virtual nodes are bound in the whole cluster.
pub const CLUSTER_WIDE_ROLE: &str = "virtual-kubelet-remote-clusterwide";

/// Annotation: the provider's tenant namespace that a kubeconfig is for.
pub const REMOTE_TENANT_NAMESPACE_ANNOTATION: &str = "liqo.io/remote-tenant-namespace";
/// Annotation: Liqo makes a virtual node for the resource slice.
pub const CREATE_VIRTUAL_NODE_ANNOTATION: &str = "liqo.io/create-virtual-node";
/// Annotation: the resource slice is cordoned.
pub const CORDON_ANNOTATION: &str = "liqo.io/cordon";
/// Annotation: the resource slice's tenant is cordoned.
pub const CORDON_TENANT_ANNOTATION: &str = "liqo.io/cordon-tenant";

/// Annotation of this library. If its value is the record's token, the Tenant's
/// condition replaces the recorded one.
pub const LIFT_CONDITION_ANNOTATION: &str = "liqo-auth/lift-condition";
/// The key of the token that lifts the recorded condition to `Active`, in the Secret of the
/// record.
pub const LIFT_CONDITION: &str = "liftCondition";
/// The key of the token that lifts a drain to `Cordoned`.
pub const LIFT_CONDITION_TO_CORDONED: &str = "liftConditionToCordoned";

/// Annotation of Liqo 1.0 and 1.1: it asks Liqo to renew the identity now.
pub const RENEW_ANNOTATION: &str = "liqo.io/renew";

/// The Secret with a cluster's own keys, in the Liqo namespace.
pub const CLUSTER_KEYS_SECRET: &str = "authentication-keys";
/// The key of the private key, PKCS#8 in PEM.
pub const PRIVATE_KEY: &str = "privateKey";
/// The key of the public key, PKIX in PEM.
pub const PUBLIC_KEY: &str = "publicKey";
/// The Secret with the nonce, in the provider's tenant namespace.
pub const NONCE_SECRET: &str = "liqo-nonce";
/// The Secret with the signed nonce, in the consumer's tenant namespace.
pub const SIGNED_NONCE_SECRET: &str = "liqo-signed-nonce";
/// The key of the nonce, in both Secrets.
pub const NONCE: &str = "nonce";
/// The key of the signature over the nonce.
pub const SIGNED_NONCE: &str = "signedNonce";
/// The Secret with the certificate that a provider issued, in its tenant
/// namespace.
pub const ISSUED_CERTIFICATE_SECRET: &str = "liqo-remote-certificate";
/// The key of the request that was signed.
pub const CSR: &str = "csr";
/// The key of the certificate that was issued.
pub const CERTIFICATE: &str = "certificate";
/// The key of a kubeconfig.
pub const KUBECONFIG: &str = "kubeconfig";
/// The key of the public part of an AWS access key.
pub const AWS_ACCESS_KEY_ID: &str = "awsAccessKeyID";
/// The key of the secret part of an AWS access key.
pub const AWS_SECRET_ACCESS_KEY: &str = "awsSecretAccessKey";
/// The key of the AWS region.
pub const AWS_REGION: &str = "awsRegion";
/// The key of the name of the EKS cluster.
pub const AWS_EKS_CLUSTER_ID: &str = "awsEksClusterID";
/// The key of the ARN of the AWS user.
pub const AWS_IAM_USER_ARN: &str = "awsIamUserArn";
/// The type of Secrets without a type of their own.
pub const OPAQUE: &str = "Opaque";

/// The finalizer that keeps a Tenant until its provider has revoked the rights.
pub const TENANT_FINALIZER: &str = "tenant.liqo.io/finalizer";

/// The prefix of the names of Liqo's CertificateSigningRequests.
pub const CSR_GENERATE_NAME: &str = "liqo-identity-";
/// The prefix of the names of this library's CertificateSigningRequests.
pub const SIGNING_REQUEST_PREFIX: &str = "liqo-auth-";
/// The signer of client certificates.
pub const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// The reason of an approval.
pub const APPROVAL_REASON: &str = "IdentityManagerApproval";
/// The key usages in a request for a client certificate.
pub const CLIENT_USAGES: [&str; 3] = ["digital signature", "key encipherment", "client auth"];

/// The organization in the subject of a control-plane certificate.
pub const CONTROL_PLANE_ORGANIZATION: &str = "liqo.io";
/// The name of a kubeconfig's only context.
pub const KUBECONFIG_CONTEXT: &str = "default-context";

/// The API group of foreign clusters and peering requests, in Liqo 0.2 to
/// 0.10.
pub const DISCOVERY_API_GROUP: &str = "discovery.liqo.io";
/// Label of Liqo 0.2 to 0.10: the ID of the other cluster.
pub const DISCOVERY_CLUSTER_ID_LABEL: &str = "discovery.liqo.io/cluster-id";
/// Label of Liqo 0.2 to 0.10: the object is a tenant namespace.
pub const DISCOVERY_TENANT_NAMESPACE_LABEL: &str = "discovery.liqo.io/tenant-namespace";
/// Label of Liqo 0.2 to 0.10: the Secret holds another cluster's token.
pub const AUTH_TOKEN_LABEL: &str = "discovery.liqo.io/auth-token";
/// Label of Liqo 0.2: the Secret holds an identity of another cluster.
pub const REMOTE_IDENTITY_LABEL: &str = "discovery.liqo.io/remote-identity";
/// Label of Liqo 0.2: Liqo made the object for a home cluster.
pub const LIQO_MANAGED_LABEL: &str = "discovery.liqo.io/liqo-managed";
/// Finalizer of Liqo 0.2: the cluster-wide rights have to be deleted first.
pub const GARBAGE_COLLECTION_FINALIZER: &str = "discovery.liqo.io/garbage-collection";
/// Label of Liqo 0.3 to 0.10: the phase in which Liqo binds a home cluster to a
/// ClusterRole.
pub const PEERING_PERMISSIONS_LABEL: &str = "auth.liqo.io/remote-peering-permissions";
/// The value of [`PEERING_PERMISSIONS_LABEL`] on the roles that a home cluster
/// gets with its identity.
pub const BASIC_PERMISSIONS: &str = "basic";
/// The Secret with a cluster's own token.
pub const AUTH_TOKEN_SECRET: &str = "auth-token";
/// The key of a token.
pub const TOKEN: &str = "token";
/// The prefix of the names of Secrets with a received identity.
pub const REMOTE_IDENTITY_PREFIX: &str = "remote-identity-";
/// The type of Secrets with the token of a service account.
pub const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
/// Annotation: the service account that a token is for.
pub const SERVICE_ACCOUNT_NAME_ANNOTATION: &str = "kubernetes.io/service-account.name";

/// The name of a home cluster's service account, roles and bindings in Liqo 0.2:
/// `remote-<home>`.
pub fn remote_account(home: &ClusterId) -> String {
    format!("remote-{home}")
}

/// The Secret with another cluster's token: `remote-token-<cluster>`.
pub(crate) fn remote_token_secret(cluster: &ClusterId) -> String {
    format!("remote-token-{cluster}")
}

/// The prefix of the names of a provider's records of its peers, which are Secrets in its own
/// namespace.
pub const PROVIDER_RECORD_PREFIX: &str = "liqo-auth-provider-";

/// The provider's record of a peer: `liqo-auth-provider-<peer>`.
pub(crate) fn provider_record(peer: &ClusterId) -> String {
    format!("{PROVIDER_RECORD_PREFIX}{peer}")
}

/// The prefix of the names of a consumer's records of its peers, which are Secrets in its own
/// namespace.
pub const CONSUMER_RECORD_PREFIX: &str = "liqo-auth-consumer-";

/// The consumer's record of a peer: `liqo-auth-consumer-<peer>`.
pub(crate) fn consumer_record(peer: &ClusterId) -> String {
    format!("{CONSUMER_RECORD_PREFIX}{peer}")
}

/// The prefix of the names of tenant namespaces.
pub const TENANT_NAMESPACE_PREFIX: &str = "liqo-tenant-";

/// The tenant namespace of a peer: `liqo-tenant-<peer>`.
pub fn tenant_namespace(peer: &ClusterId) -> String {
    format!("{TENANT_NAMESPACE_PREFIX}{peer}")
}

/// The prefix of the names of control-plane identities.
pub const CONTROL_PLANE_IDENTITY_PREFIX: &str = "controlplane-";

/// The control-plane identity of a provider: `controlplane-<provider>`.
pub fn identity_name(provider: &ClusterId) -> String {
    format!("{CONTROL_PLANE_IDENTITY_PREFIX}{provider}")
}

/// The prefix of the names of the identities of resource slices.
pub const RESOURCE_SLICE_IDENTITY_PREFIX: &str = "resourceslice-";

/// The identity of a resource slice: `resourceslice-<slice>`.
pub fn resource_slice_identity_name(slice: &str) -> String {
    format!("{RESOURCE_SLICE_IDENTITY_PREFIX}{slice}")
}

/// The Secret with the kubeconfig of an identity: `kubeconfig-<identity>`.
pub fn kubeconfig_secret(identity: &str) -> String {
    format!("kubeconfig-{identity}")
}

/// The Secret with the certificate that was issued for a resource slice:
/// `liqo-remote-certificate-<slice>`.
pub(crate) fn issued_certificate_secret_of_slice(slice: &str) -> String {
    format!("{ISSUED_CERTIFICATE_SECRET}-{slice}")
}

/// The prefix of the names of peering users.
pub const PEERING_USER_PREFIX: &str = "liqo-peer-user-";

/// The name of a peering user's objects: `liqo-peer-user-<consumer>`.
pub fn peering_user(consumer: &ClusterId) -> String {
    format!("{PEERING_USER_PREFIX}{consumer}")
}

/// The binding of a peering user in Liqo's namespace:
/// `liqo-peer-user-<consumer>-liqo-ns-reader`.
pub(crate) fn peering_user_reader(consumer: &ClusterId) -> String {
    format!("{PEERING_USER_PREFIX}{consumer}-liqo-ns-reader")
}

/// The binding of a peering user in the tenant namespace:
/// `liqo-peer-user-<consumer>-tenant-ns-writer`.
pub(crate) fn peering_user_writer(consumer: &ClusterId) -> String {
    format!("{PEERING_USER_PREFIX}{consumer}-tenant-ns-writer")
}

/// The label of this library's own records, whose value is the peer's ID.
pub const RECORD_PEER_LABEL: &str = "liqo-auth/peer";
/// The labels of objects in a tenant namespace that this library reads.
pub(crate) const LABELS_OF_OBJECTS: [&str; 10] = [
    REMOTE_CLUSTER_ID_LABEL,
    NONCE_LABEL,
    SIGNED_NONCE_LABEL,
    IDENTITY_TYPE_LABEL,
    RESOURCE_SLICE_NAME_LABEL,
    REPLICATION_LABEL,
    REPLICATION_DESTINATION_LABEL,
    REPLICATION_ORIGIN_LABEL,
    REPLICATED_LABEL,
    RECORD_PEER_LABEL,
];

/// The prefix of the names of bindings.
pub const BINDING_PREFIX: &str = "liqo-binding-";

/// The binding of a role in a tenant namespace: `liqo-binding-<role>`.
pub(crate) fn role_binding(role: &str) -> String {
    format!("{BINDING_PREFIX}{role}")
}

/// The binding of a role in the whole cluster:
/// `liqo-binding-<role>-<consumer>`.
pub(crate) fn cluster_role_binding(role: &str, consumer: &ClusterId) -> String {
    format!("{BINDING_PREFIX}{role}-{consumer}")
}

/// The type of the condition of a ForeignCluster with the result of the request for an
/// identity. Source: Liqo `discoveryv1alpha1.AuthenticationStatusCondition`.
pub(crate) const AUTHENTICATION_STATUS: &str = "AuthenticationStatus";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_default_tenant_namespace_is_a_dns_label() {
        let peer: ClusterId = "a".repeat(51).parse().unwrap();
        assert_eq!(tenant_namespace(&peer).len(), 63);
    }
}
