//! Refusals by this side's policy.

use core::net::IpAddr;

#[cfg(test)]
use super::family::every_fact;
use super::{
    Rule,
    family::{
        Basis::{Broken, NoRule},
        Facts, facts, family,
    },
};
use crate::{
    admission::Denial,
    model::{ProtocolVersion, Timestamp},
};

family! {
    /// A refusal by this side's policy.
    #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum PolicyRefusal {
        /// The cluster ID is longer than the policy allows.
        #[error("the cluster ID has {found} characters, and {limit} are allowed")]
        ClusterIdTooLong {
            /// Characters found.
            found: usize,
            /// Characters allowed.
            limit: usize,
        } => {
            code: "cluster-id-too-long",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Choose the compatible policy and a tenant namespace of your own for this \
                     peer, since another cluster ID would break every peering that the cluster \
                     has.",
        },
        /// The name of a resource slice is longer than the policy allows.
        #[error("the resource slice's name has {found} characters, and {limit} are allowed")]
        SliceNameTooLong {
            /// Characters found.
            found: usize,
            /// Characters allowed.
            limit: usize,
        } => {
            code: "slice-name-too-long",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Have the consumer make the resource slice under a shorter name, or choose \
                     the compatible policy, which allows 63 characters.",
        },
        /// The peer has more resource slices than the policy allows.
        #[error("the peer has more than {limit} resource slices")]
        TooManySlices {
            /// Slices allowed.
            limit: usize,
        } => {
            code: "too-many-slices",
            rule: Broken(Rule::SecretsAndLimits),
            advice: "Have the consumer delete the resource slices that it does not need, or raise \
                     the limit for this peer.",
        },
        /// A new slice would need one more record than the policy allows. The record
        /// of a deleted slice counts while a certificate of the slice may be valid.
        #[error("the peer has {limit} records of resource slices, and a new slice needs another")]
        TooManySliceRecords {
            /// Records allowed.
            limit: usize,
        } => {
            code: "too-many-slice-records",
            rule: Broken(Rule::OwnRecords),
            advice: "Have the consumer keep its resource slices instead of making new ones, or \
                     wait until certificates of deleted slices have expired, or raise the limit \
                     for this peer.",
        },
        /// The peer has as many access keys on record as the policy allows.
        #[error("the peer has {limit} access keys on record, and needs another")]
        TooManyAccessKeys {
            /// Keys allowed.
            limit: usize,
        } => {
            code: "too-many-access-keys",
            rule: Broken(Rule::OwnRecords),
            advice: "Delete at AWS the access keys that are reported for deletion, and report \
                     them as deleted, or raise the limit for this peer.",
        },
        /// A Kubernetes user or group already has this name.
        #[error("a Kubernetes user or group is already named {name:?}")]
        NameTaken {
            /// The name.
            name: String,
        } => {
            code: "name-taken",
            rule: Broken(Rule::UniquePrincipal),
            advice: "Find the Kubernetes user or group that has the name, and rename the cluster \
                     or resource slice unless that user or group is no longer needed.",
        },
        /// The cluster ID is the name of a Secret that does not belong to the home
        /// cluster. The role of 0.2 lets a home cluster read the Secret with the name
        /// of its ID.
        #[error("{name:?} is the name of a Secret that does not belong to this home cluster")]
        SecretNameTaken {
            /// The name.
            name: String,
        } => {
            code: "secret-name-taken",
            rule: Broken(Rule::UniquePrincipal),
            advice: "Rename the home cluster, or delete the Secret of that name in the namespace \
                     of the service accounts if nobody needs it.",
        },
        /// The namespace is not the tenant namespace expected.
        #[error("expected the namespace {expected:?}, found {found:?}")]
        UnexpectedNamespace {
            /// The namespace expected.
            expected: String,
            /// The namespace found, shortened and escaped.
            found: String,
        } => {
            code: "namespace-unexpected",
            rule: Broken(Rule::IdentityContent),
            advice: "Put the object into the expected namespace, or enter the found namespace in \
                     this peer's settings, if the peer uses it.",
        },
        /// The CA bundle is empty, and the peer's settings do not say that the
        /// provider's certificate is publicly trusted.
        #[error("the CA bundle is empty")]
        NoCaBundle => {
            code: "ca-bundle-missing",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider put the CA of its API server into the Identity, or say in \
                     this peer's settings that the API server's certificate is publicly trusted, \
                     if that is true.",
        },
        /// The policy does not allow the address of the API server, or of the proxy in
        /// front of it.
        #[error("{address} is an address of this machine, or in a range that is refused")]
        AddressRefused {
            /// The address.
            address: IpAddr,
        } => {
            code: "address-refused",
            rule: Broken(Rule::IdentityContent),
            advice: "Have the provider give the URL by which other clusters reach its API server, \
                     or allow the address in `addresses.allowed` of this side's settings, if it \
                     is right.",
        },
        /// The Identity carries AWS keys, and the peer's settings do not say that
        /// the provider runs on EKS.
        #[error("AWS keys are not accepted from this provider")]
        AwsNotAccepted => {
            code: "aws-not-accepted",
            rule: Broken(Rule::IdentityContent),
            advice: "Say in this peer's settings that the provider runs on EKS, if that is true.",
        },
        /// This side ended the peering and has signed no nonce since.
        #[error("this side ended the peering, and has signed no nonce since")]
        PeeringEnded => {
            code: "peering-ended",
            rule: NoRule("the end of a peering is this side's own decision"),
            advice: "Authenticate again: ask the provider for a nonce, and sign it.",
        },
        /// The resource slice is for this provider, and the provider may have made or changed it:
        /// it is a consumer of this cluster as well, and so has rights in its tenant namespace.
        #[error("the provider may have made or changed this resource slice, since it is a \
                 consumer of this cluster as well")]
        SliceNotRequested => {
            code: "slice-not-requested",
            rule: Broken(Rule::OwnRecords),
            advice: "Delete the slice; but if an administrator of this cluster made it, request \
                     it by the same name (create resourceslice), or let the settings for this \
                     provider sign slices made by anyone (signSlicesMadeByAnyone).",
        },
        /// The Tenant asks to be accepted without a handshake, and the settings do not let its
        /// peer in so. An administrator may have made this Tenant.
        #[error(
            "the Tenant asks for authzPolicy TolerateNoHandshake, and the settings do not let this \
             peer in without a handshake"
        )]
        SelfDeclaredPolicy => {
            code: "self-declared-policy",
            rule: Broken(Rule::OwnPolicy),
            advice: "Have the consumer authenticate with its keys (authzPolicy KeysExchange); but \
                     if an administrator of this cluster wants to let it in without a handshake, \
                     write `tolerateNoHandshake: true` under this peer in `peers` of the settings.",
        },
        /// No Tenant of this peer was verified in front of Liqo.
        #[error("no Tenant of this peer is on record")]
        TenantNotOnRecord => {
            code: "tenant-not-on-record",
            rule: Broken(Rule::OwnRecords),
            advice: "End the peering, and let the peer authenticate again; or, if an administrator \
                     trusts the peering that Liqo has made before, let the guard adopt it (run \
                     --guard --adopt).",
        },
        /// The nonce is not one that Liqo has made while a guard was in front of it.
        #[error("the nonce is not on record: it was there before the guard, or Liqo has not made it")]
        NonceNotOnRecord => {
            code: "nonce-not-on-record",
            rule: Broken(Rule::Nonce),
            advice: "Delete the Secret of the nonce, and let the peer authenticate again: Liqo makes \
                     another nonce, which counts; or, if an administrator trusts the Tenant that \
                     Liqo has let in before, let the guard adopt its peering (label the stored \
                     Tenant with liqo-auth/adopt=true, or run --guard --adopt).",
        },
        /// The kubeconfig is not what the verified Identity and this cluster's own key give.
        #[error("the Secret does not have the kubeconfig of a verified Identity")]
        OtherKubeconfig => {
            code: "kubeconfig-of-no-identity",
            rule: Broken(Rule::IdentityContent),
            advice: "Delete the Secret, and let it be made from the Identity.",
        },
        /// The token protocol is off.
        #[error("the token protocol is off")]
        TokenProtocolOff => {
            code: "token-protocol-off",
            rule: NoRule("the token protocol is this side's own choice"),
            advice: "Enable the token protocol only if the peer supports no other protocol: any \
                     cluster that has the token is trusted.",
        },
        /// The peer uses a form of the token protocol that this policy refuses.
        #[error("the policy does not allow the form {found} of the token protocol")]
        TokenProtocolVersion {
            /// The form that the peer uses.
            found: ProtocolVersion,
        } => {
            code: "token-protocol-version-refused",
            rule: NoRule("the forms of the token protocol are this side's own choice"),
            advice: "Update the peer, or choose the compatible policy for the peer if an update \
                     is impossible.",
        },
        /// Liqo's admission rules deny the object.
        #[error("the object is not admitted: {}", .0.rule)]
        NotAdmitted(Denial) => {
            code: "not-admitted",
            rule: NoRule("admission has rules of its own, which are Liqo's"),
            advice: "Give each consumer one Tenant, in its own tenant namespace, with its cluster \
                     ID as name and label.",
        },
        /// The signer, or the backend for AWS, denied the request.
        #[error("the request for a credential was denied: {reason:?}")]
        CredentialDenied {
            /// The reason that the backend gave.
            reason: String,
        } => {
            code: "credential-denied",
            rule: NoRule("the signer and the backend for AWS decide by their own rules"),
            advice: "Ask the administrator of the signer, or of the AWS account, why the request \
                     was denied.",
        },
        /// The signer's new certificate does not end later than the present one.
        #[error("the signer's certificate ends at {found}; the present one ends at {present}")]
        RenewalEndsNoLater {
            /// When the certificate that was given ends.
            found: Timestamp,
            /// When the present certificate ends.
            present: Timestamp,
        } => {
            code: "renewal-ends-no-later",
            rule: NoRule("the present certificate stays valid, so nothing is broken"),
            advice: "Check when the signer's own CA certificate ends and which lifetime the \
                     signer allows, and extend the one that is too short.",
        },
        /// No client CA of the API server has issued the certificate on record.
        #[error("the API server does not accept the certificate: it trusts other CAs for clients")]
        CertificateNotTrusted => {
            code: "certificate-not-trusted",
            rule: NoRule("the API server decides whom it lets in"),
            advice: "Wait until the certificate is signed anew by itself; if the next one is not \
                     accepted either, put the signer's CA among the client CAs of the API server, \
                     or have the signer use one of these, and have the certificate signed again \
                     even if it is in force (`sign-again --force`).",
        },
        /// The approver denied the request.
        #[error("the request was not approved: {reason:?}")]
        Disapproved {
            /// The reason that the approver gave.
            reason: String,
        } => {
            code: "approval-denied",
            rule: NoRule("the approver decides by its own rules"),
            advice: "Approve the request, or have the consumer make another one.",
        },
    }
}
