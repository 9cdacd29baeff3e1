use super::*;
use crate::{
    crypto::{CsrError, Entropy, KeyPair, SigningKey},
    error::{Fault, PeerIncompatible, PeerMisbehaved, Rule},
    model::{Metadata, ResourceSliceSpec},
};

fn consumer() -> ClusterId {
    "cl-consumer".parse().unwrap()
}

fn key(number: u8) -> KeyPair {
    KeyPair::from_entropy(&Entropy::from_bytes([number; 32]))
}

fn slice(name: &str) -> ResourceSlice {
    let subject = Subject::resource_slice(name, &consumer());
    ResourceSlice {
        metadata: Metadata {
            name: name.to_owned(),
            namespace: "liqo-tenant-cl-consumer".to_owned(),
            labels: [("liqo.io/remote-cluster-id", "cl-consumer")].into(),
            ..Metadata::default()
        },
        spec: ResourceSliceSpec {
            consumer_cluster_id: Some("cl-consumer".to_owned()),
            provider_cluster_id: Some("cl-provider".to_owned()),
            csr: Csr::make(&subject, &key(1))
                .unwrap()
                .at_once()
                .unwrap()
                .pem()
                .into(),
            ..ResourceSliceSpec::default()
        },
        ..ResourceSlice::default()
    }
}

fn judged(slice: &ResourceSlice, key: Option<&PublicKey>) -> Result<VerifiedSlice, Error> {
    let (consumer, provider) = (consumer(), "cl-provider".parse().unwrap());
    let expectation = ResourceSliceExpectation {
        consumer: &consumer,
        provider: Some(&provider),
        namespace: Some("liqo-tenant-cl-consumer"),
        tenant_key: key,
    };
    resource_slice(slice, &expectation, &Policy::strict())
}

#[test]
fn a_slice_speaks_for_the_tenants_key_or_for_its_own() {
    let key = key(1);
    let verified = judged(&slice("mypool"), Some(key.public_key())).unwrap();
    assert_eq!(verified.name, "mypool");
    let verified = judged(&slice("my.pool"), None).unwrap();
    assert_eq!(&verified.public_key, key.public_key());
    assert_eq!(
        verified.subject().common_name(),
        Subject::resource_slice("my.pool", &consumer()).common_name()
    );
}

#[test]
fn each_name_has_to_be_right() {
    let key = key(1);
    let refused = |edit: fn(&mut ResourceSlice)| {
        let mut slice = slice("mypool");
        edit(&mut slice);
        let error = judged(&slice, Some(key.public_key())).unwrap_err();
        (error.fault().clone(), error.at().field)
    };
    let mismatch = |expected: &str, found: &str| -> Fault {
        PeerIncompatible::NameMismatch {
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
        .into()
    };
    assert_eq!(
        refused(|slice| slice.spec.consumer_cluster_id = Some("victim".into())),
        (mismatch("cl-consumer", "victim"), "spec.consumerClusterID")
    );
    assert_eq!(
        refused(|slice| slice.spec.consumer_cluster_id = None),
        (mismatch("cl-consumer", ""), "spec.consumerClusterID")
    );
    assert_eq!(
        refused(|slice| slice.spec.provider_cluster_id = Some("other".into())),
        (mismatch("cl-provider", "other"), "spec.providerClusterID")
    );
    assert_eq!(
        refused(|slice| slice.metadata.labels.clear()),
        (
            mismatch("cl-consumer", ""),
            "metadata.labels[liqo.io/remote-cluster-id]"
        )
    );
    assert_eq!(
        refused(|slice| {
            let labels = &mut slice.metadata.labels;
            labels.insert("liqo.io/originID".into(), "victim".into());
        }),
        (
            mismatch("cl-consumer", "victim"),
            "metadata.labels[liqo.io/originID]"
        )
    );
    assert_eq!(
        refused(|slice| slice.metadata.namespace = "liqo-tenant-victim".into()),
        (
            PolicyRefusal::UnexpectedNamespace {
                expected: "liqo-tenant-cl-consumer".into(),
                found: "liqo-tenant-victim".into(),
            }
            .into(),
            "metadata.namespace"
        )
    );
}

#[test]
fn the_request_is_for_this_name_and_key() {
    let (own, other) = (key(1), key(2));
    let mut renamed = slice("mypool");
    renamed.metadata.name = "victimpool".into();
    let error = judged(&renamed, Some(own.public_key())).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerMisbehaved(PeerMisbehaved::Csr(CsrError::Subject { .. }))
    ));
    let error = judged(&slice("mypool"), Some(other.public_key())).unwrap_err();
    assert!(matches!(
        error.fault(),
        Fault::PeerIncompatible(PeerIncompatible::CsrKey { .. })
    ));
    assert_eq!(error.rule().map(Rule::number), Some(2));
}

#[test]
fn a_name_is_an_objects_and_leaves_room_for_the_hash() {
    let key = key(1);
    let longest = "a".repeat(51);
    assert!(judged(&slice(&longest), Some(key.public_key())).is_ok());
    let error = judged(&slice(&"a".repeat(52)), Some(key.public_key())).unwrap_err();
    assert_eq!(
        error.fault(),
        &PolicyRefusal::SliceNameTooLong {
            found: 52,
            limit: 51
        }
        .into()
    );
    for name in ["", "A", "a_b", "-a", "a-", "a..b", ".a", "a/b", "a b"] {
        let error = judged(&slice(name), Some(key.public_key())).unwrap_err();
        let found = name.to_owned();
        assert_eq!(
            error.fault(),
            &PeerMisbehaved::SliceName { found }.into(),
            "{name:?}"
        );
    }
}
