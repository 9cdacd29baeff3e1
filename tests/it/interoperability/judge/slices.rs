//! Slices that were granted: originals and replicas, their Identities and
//! kubeconfigs.

use liqo_auth::{
    consumer::SliceOptions,
    model::{Identity, ResourceSlice, Secret, names},
};

use super::{
    KINDS,
    folder::Folder,
    key,
    replicated::{AT_CONSUMER, both, settle},
    settled,
};
use crate::clusters::exchange::{Exchange, Setup};

/// One name has a dot. It must appear in the certificate in full.
const SLICES: [&str; 2] = ["gpu.pool-1", "mypool"];

#[test]
fn slices_are_written_for_the_judge() {
    for (algorithm_name, algorithm) in KINDS {
        let mut setup = Setup::new();
        setup.consumer_key = key(algorithm);
        write_granted(&format!("{algorithm_name}-slices"), &setup);
    }
}

/// The slices use the same proxy that the Tenant asked for.
#[test]
fn slices_through_a_proxy_are_written_for_the_judge() {
    let mut setup = Setup::new();
    setup.settings.proxy_url = Some("http://10.70.0.2:8118".parse().unwrap());
    write_granted("ed25519-proxy-slices", &setup);
}

fn write_granted(name: &str, setup: &Setup) {
    let mut two = settled(setup);
    for slice in SLICES {
        request(&mut two, slice);
    }
    settle(&mut two);
    let folder = Folder::new(name, &two, two.stored_identity());
    for slice in SLICES {
        write(&folder, &two, slice);
    }
    assert_eq!(
        folder.more_files(),
        [
            "slice-gpu.pool-1-replicated.yaml",
            "slice-gpu.pool-1.yaml",
            "slice-identity-gpu.pool-1.yaml",
            "slice-identity-mypool.yaml",
            "slice-kubeconfig-gpu.pool-1.yaml",
            "slice-kubeconfig-mypool.yaml",
            "slice-mypool-replicated.yaml",
            "slice-mypool.yaml",
        ],
        "{name}"
    );
}

pub(crate) fn request(two: &mut Exchange, slice: &str) {
    let options = SliceOptions {
        resources: [("cpu".to_owned(), "2".into())].into(),
        ..SliceOptions::named(slice)
    };
    let step = two
        .consumer
        .request_slice(&two.consumer_view(), &options, two.env());
    two.carry_out(false, step.unwrap());
}

pub(crate) fn write(folder: &Folder, two: &Exchange, slice: &str) {
    let (original, replica): (ResourceSlice, ResourceSlice) = both(two, slice);
    assert!(original.status.auth_params.is_some(), "{slice}");
    assert_eq!(original.status, replica.status, "{slice}");
    folder.object(&format!("slice-{slice}.yaml"), original);
    folder.object(&format!("slice-{slice}-replicated.yaml"), replica);

    let identity = names::resource_slice_identity_name(slice);
    let secret = names::kubeconfig_secret(&identity);
    let identity: &Identity = two.at_consumer.get(AT_CONSUMER, &identity).unwrap();
    folder.object(&format!("slice-identity-{slice}.yaml"), identity.clone());
    let secret: &Secret = two.at_consumer.get(AT_CONSUMER, &secret).unwrap();
    let kubeconfig = secret.get(names::KUBECONFIG).unwrap();
    folder.text(
        &format!("slice-kubeconfig-{slice}.yaml"),
        core::str::from_utf8(kubeconfig).unwrap(),
    );
}
