//! The JSON form of each error code, compared with the files of
//! `tests/vectors/json/error`: one file for each code, with the code as its name.

use std::{collections::BTreeSet, fs, net::Ipv4Addr, path::Path};

use serde_json::{Value, json};

use super::{
    ApiMisuse, Backend, CommitmentFault, Error, Fault, LocalFault, PeerIncompatible,
    PeerMisbehaved, PolicyRefusal, Precondition, SuccessionFault,
};
use crate::{
    admission::{AdmissionRule, Denial},
    crypto::{
        CertificateError, CsrError, Fingerprint, KeyError, NonceError, PemError, SignatureError,
        TokenError,
    },
    model::{
        DocumentError, Kind, KubeconfigError, NameError, ObjectRef, ProtocolVersion, Timestamp,
        UrlError,
    },
};

#[test]
#[expect(clippy::disallowed_methods, reason = "the forms are files")]
fn each_code_has_its_json_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/json/error");
    let mut codes = BTreeSet::new();
    for error in errors() {
        let path = folder.join(format!("{}.json", error.code()));
        let text = fs::read(&path).unwrap_or_default();
        let expected: Value = serde_json::from_slice(&text).unwrap_or_default();
        let found = json!(error);
        assert_eq!(found, expected, "{}: found\n{found:#}", path.display());
        assert!(codes.insert(error.code()), "{} comes twice", error.code());
    }

    let listed = include_str!("codes.txt").lines();
    let in_use: BTreeSet<_> = listed
        .filter(|line| !line.ends_with(" (retired)"))
        .collect();
    assert_eq!(codes, in_use, "each code has one form");

    let files = fs::read_dir(&folder).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let expected = codes.iter().map(|code| format!("{code}.json"));
    assert_eq!(files, expected.collect(), "no file is left over");
}

/// One error of each code, at a place where it occurs.
fn errors() -> Vec<Error> {
    [
        of_a_consumer(),
        of_a_provider(),
        incompatible(),
        refused(),
        too_early(),
        local(),
        misuse(),
    ]
    .concat()
}

fn of_a_consumer() -> Vec<Error> {
    vec![
        in_tenant(
            "spec.clusterID",
            PeerMisbehaved::ClusterId(NameError::Character { at: 2 }),
        ),
        Error::new(
            PeerIncompatible::NameMismatch {
                expected: "cl-consumer".to_owned(),
                found: String::new(),
            },
            Some(ObjectRef::new(Kind::Tenant, "", "")),
            "metadata.name",
        ),
        in_slice(
            "metadata.name",
            PeerMisbehaved::SliceName {
                found: "My pool".to_owned(),
            },
        ),
        in_tenant(
            "spec.publicKey",
            PeerMisbehaved::PublicKey(KeyError::Length { found: 31 }),
        ),
        in_tenant(
            "spec.csr",
            PeerMisbehaved::Csr(CsrError::Pem(PemError::NoBlock)),
        ),
        in_tenant(
            "spec.signature",
            PeerIncompatible::NonceSignature(SignatureError::Mismatch),
        ),
        in_tenant(
            "spec.csr",
            PeerIncompatible::CsrKey {
                expected: Fingerprint::from_bytes([1; 32]),
                found: Fingerprint::from_bytes([2; 32]),
            },
        ),
        in_tenant("spec.signature", PeerIncompatible::NonceUsed),
        in_tenant(
            "spec.publicKey",
            PeerIncompatible::KeyChanged {
                pinned: format!("SHA256:{}", "1".repeat(64)),
                found: format!("SHA256:{}", "2".repeat(64)),
            },
        ),
        in_tenant(
            "metadata.annotations[liqo-auth/key-succession]",
            PeerIncompatible::KeySuccession(SuccessionFault::OtherKey),
        ),
        in_field("destinationClusterToken", PeerIncompatible::WrongToken),
        in_field(
            "originClusterToken",
            PeerMisbehaved::Token(TokenError::Character { at: 5 }),
        ),
    ]
}

fn of_a_provider() -> Vec<Error> {
    vec![
        in_nonce(PeerMisbehaved::NonceForm(NonceError::Empty)),
        in_nonce(PeerIncompatible::NonceForOthers),
        in_nonce(PeerIncompatible::NonceNotOurs),
        in_field(
            "",
            PeerMisbehaved::AnswerForm(DocumentError::Documents { found: 2 }),
        ),
        in_field("certificate", PeerMisbehaved::AnswerBase64),
        in_field("", PeerMisbehaved::Kubeconfig(KubeconfigError::NotConfig)),
        in_identity(
            "spec.authParams.signedCRT",
            PeerMisbehaved::Certificate(CertificateError::NotForClientAuthentication),
        ),
        in_identity(
            "spec.authParams.signedCRT",
            PeerIncompatible::CertificateKey {
                expected: Fingerprint::from_bytes([1; 32]),
                found: Fingerprint::from_bytes([2; 32]),
            },
        ),
        in_identity(
            "spec.authParams.ca",
            PeerMisbehaved::CaBundle(CertificateError::Empty),
        ),
        in_identity(
            "spec.authParams.apiServer",
            PeerMisbehaved::Url(UrlError::UserInformation),
        ),
        in_identity("spec.authParams.proxyURL", PeerIncompatible::ProxyMismatch),
        in_identity("spec.authParams", PeerMisbehaved::MixedCredentials),
        in_identity(
            "spec.authParams.awsConfig.awsRegion",
            PeerMisbehaved::AwsField {
                expected: "the name of an AWS region",
            },
        ),
        in_identity("spec.authParams", PeerIncompatible::OtherCredentials),
        in_identity(
            "metadata.annotations[liqo-auth/commitment]",
            PeerIncompatible::Commitment(CommitmentFault::Missing),
        ),
    ]
}

fn incompatible() -> Vec<Error> {
    vec![
        in_identity(
            "spec.authParams.signedCRT",
            PeerIncompatible::CertificateExpired {
                not_after: time(),
                now: later(),
            },
        ),
        in_identity(
            "spec.authParams.signedCRT",
            PeerIncompatible::CertificateNotYetValid {
                not_before: later(),
                now: time(),
            },
        ),
        in_identity(
            "spec.authParams.apiServer",
            PeerIncompatible::EndpointChanged,
        ),
        in_field("data.nonce", PeerIncompatible::NonceExpired { at: time() }),
        in_nonce(PeerIncompatible::NonceMissing),
        in_identity(
            "metadata.annotations[liqo-auth/commitment]",
            PeerIncompatible::CommitmentMissing,
        ),
        in_identity(
            "spec.namespace",
            PeerIncompatible::NamespaceName(NameError::Empty),
        ),
        in_identity(
            "spec.type",
            PeerIncompatible::IdentityType {
                found: "ResourceSlice".to_owned(),
            },
        ),
        in_field("", PeerIncompatible::Status { found: 503 }),
        in_field("", PeerIncompatible::NoTokenProtocol),
        in_field("", PeerIncompatible::SecondIdentity),
        in_identity("spec.authParams", PeerIncompatible::NoCertificate),
        in_identity("", PeerIncompatible::RenewalUnanswered { since: time() }),
        in_identity("", PeerIncompatible::RenewalUnusable { since: time() }),
    ]
}

fn refused() -> Vec<Error> {
    let (found, limit) = (70, 63);
    vec![
        in_tenant(
            "spec.clusterID",
            PolicyRefusal::ClusterIdTooLong { found, limit },
        ),
        in_slice(
            "metadata.name",
            PolicyRefusal::SliceNameTooLong { found, limit },
        ),
        in_slice("", PolicyRefusal::TooManySlices { limit }),
        in_slice("", PolicyRefusal::TooManySliceRecords { limit }),
        in_tenant("", PolicyRefusal::TooManyAccessKeys { limit }),
        in_field(
            "spec.clusterID",
            PolicyRefusal::NameTaken {
                name: "admin".to_owned(),
            },
        ),
        in_field(
            "clusterID",
            PolicyRefusal::SecretNameTaken {
                name: "authentication-keys".to_owned(),
            },
        ),
        in_identity(
            "metadata.namespace",
            PolicyRefusal::UnexpectedNamespace {
                expected: "liqo-tenant-cl-provider".to_owned(),
                found: "default".to_owned(),
            },
        ),
        in_identity("spec.authParams.ca", PolicyRefusal::NoCaBundle),
        in_identity(
            "spec.authParams.apiServer",
            PolicyRefusal::AddressRefused {
                address: Ipv4Addr::LOCALHOST.into(),
            },
        ),
        in_identity("spec.authParams.awsConfig", PolicyRefusal::AwsNotAccepted),
        in_identity("", PolicyRefusal::PeeringEnded),
        in_slice("", PolicyRefusal::SliceNotRequested),
        in_tenant("spec.authzPolicy", PolicyRefusal::SelfDeclaredPolicy),
        in_slice("", PolicyRefusal::TenantNotOnRecord),
        in_nonce(PolicyRefusal::NonceNotOnRecord),
        in_identity("data.kubeconfig", PolicyRefusal::OtherKubeconfig),
        in_field("", PolicyRefusal::TokenProtocolOff),
        in_field(
            "",
            PolicyRefusal::TokenProtocolVersion {
                found: ProtocolVersion::V0_2,
            },
        ),
        in_tenant(
            "metadata.name",
            PolicyRefusal::NotAdmitted(Denial {
                rule: AdmissionRule::TenantName,
                field: "metadata.name",
            }),
        ),
        in_tenant(
            "spec.csr",
            PolicyRefusal::CredentialDenied { reason: reason() },
        ),
        in_tenant(
            "spec.csr",
            PolicyRefusal::RenewalEndsNoLater {
                found: time(),
                present: later(),
            },
        ),
        in_tenant(
            "status.authParams.signedCRT",
            PolicyRefusal::CertificateNotTrusted,
        ),
        in_tenant("spec.csr", PolicyRefusal::Disapproved { reason: reason() }),
    ]
}

fn too_early() -> Vec<Error> {
    vec![
        in_field("", Precondition::NoTenant),
        in_field("", Precondition::NoSlice),
        in_field("", Precondition::NoForeignCluster),
        in_field("", Precondition::NotAuthenticated),
        in_field("", Precondition::NothingToApprove { phase: "Uninvited" }),
        in_field("", Precondition::KeyAwaited),
        in_field(
            "",
            Precondition::MirrorIncomplete {
                missing: Kind::Tenant,
            },
        ),
        in_field(
            "",
            Precondition::SlicesRemain {
                found: 2,
                one: "mypool".to_owned(),
            },
        ),
        in_field("", Precondition::StillEnding),
        in_field(
            "",
            Precondition::NoPeeringRole {
                kind: "ClusterRole",
            },
        ),
        in_identity(
            "spec.authParams.signedCRT",
            Precondition::NotNewer {
                found: time(),
                held: later(),
            },
        ),
        in_identity(
            "spec.authParams.signedCRT",
            Precondition::Older {
                found: time(),
                none_before: later(),
            },
        ),
    ]
}

fn local() -> Vec<Error> {
    let foreign_cluster = |field, fault: LocalFault| {
        let id = ObjectRef::new(Kind::ForeignCluster, "", "cl-provider");
        Error::new(fault, Some(id), field)
    };
    let own_secret = |name, field, fault: LocalFault| {
        let id = ObjectRef::new(Kind::Secret, "liqo", name);
        Error::new(fault, Some(id), field)
    };
    let record = "liqo-auth-provider-cl-consumer";
    vec![
        in_tenant("", LocalFault::Unreadable { reason: reason() }),
        in_tenant(
            "",
            LocalFault::Ambiguous {
                other: "Tenant default/cl-consumer".to_owned(),
            },
        ),
        own_secret(record, "data.seal", LocalFault::BrokenSeal),
        own_secret(record, "", LocalFault::Conflict),
        Error::new(
            LocalFault::NamespaceHeld {
                holder: "it is another Namespace of \"cl-provider\"".to_owned(),
            },
            Some(ObjectRef::new(
                Kind::Namespace,
                "",
                "liqo-tenant-cl-consumer",
            )),
            "metadata.labels",
        ),
        own_secret(
            "auth-token",
            "data.token",
            LocalFault::Token(TokenError::Empty),
        ),
        foreign_cluster(
            "spec.foreignAuthUrl",
            LocalFault::AuthUrl(UrlError::Fragment),
        ),
        foreign_cluster("status.authStatus", LocalFault::IdentityLost),
        in_field(
            "",
            LocalFault::SliceName {
                found: "-pool".to_owned(),
            },
        ),
        in_field("", LocalFault::PeeringUserExists),
        in_field("", LocalFault::KeyNotExportable),
        in_field(
            "data.kubeconfig",
            LocalFault::KubeconfigUnusable {
                reason: "found 2 clusters, expected one".to_owned(),
            },
        ),
        // The form leaves out the text of the backend's own error.
        Error::backend(Backend::Keys, "hunter2".into()),
    ]
}

fn misuse() -> Vec<Error> {
    let other = || "cl-other".parse().unwrap();
    let consumer = || "cl-consumer".parse().unwrap();
    vec![
        in_field("", ApiMisuse::OwnCluster),
        in_field("", ApiMisuse::OtherPeer),
        in_field(
            "",
            ApiMisuse::OtherAddressee {
                found: other(),
                expected: consumer(),
            },
        ),
        in_field(
            "",
            ApiMisuse::OtherSender {
                found: other(),
                expected: consumer(),
            },
        ),
        in_field("", ApiMisuse::UnexpectedMessage { message: "Tenant" }),
        in_tenant("", ApiMisuse::NotAddressable),
        in_field(
            "",
            ApiMisuse::SignerCertificate(CertificateError::NotYetValid {
                not_before: later(),
                now: time(),
            }),
        ),
        in_field("", ApiMisuse::AccountsInOwnNamespace),
        in_field(
            "",
            ApiMisuse::CredentialForm {
                expected: "the ARN of an IAM user",
            },
        ),
    ]
}

fn in_tenant(field: &'static str, fault: impl Into<Fault>) -> Error {
    at_provider(Kind::Tenant, "cl-consumer", field, fault)
}

fn in_slice(field: &'static str, fault: impl Into<Fault>) -> Error {
    at_provider(Kind::ResourceSlice, "mypool", field, fault)
}

fn in_nonce(fault: impl Into<Fault>) -> Error {
    at_provider(Kind::Secret, "liqo-nonce", "data.nonce", fault)
}

fn at_provider(kind: Kind, name: &str, field: &'static str, fault: impl Into<Fault>) -> Error {
    let id = ObjectRef::new(kind, "liqo-tenant-cl-consumer", name);
    Error::new(fault, Some(id), field)
}

fn in_identity(field: &'static str, fault: impl Into<Fault>) -> Error {
    let name = "controlplane-cl-provider";
    let id = ObjectRef::new(Kind::Identity, "liqo-tenant-cl-provider", name);
    Error::new(fault, Some(id), field)
}

fn in_field(field: &'static str, fault: impl Into<Fault>) -> Error {
    Error::new(fault, None, field)
}

fn reason() -> String {
    "a reason".to_owned()
}

fn time() -> Timestamp {
    "2026-11-21T13:00:00Z".parse().unwrap()
}

fn later() -> Timestamp {
    "2026-11-22T13:00:00Z".parse().unwrap()
}
