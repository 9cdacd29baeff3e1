//! Certificates that were renewed once in each scheme, with the Renews of those
//! renewals.

use core::time::Duration;

use liqo_auth::{
    Machine,
    consumer::{PeerSettings, RenewalScheme},
    crypto::CertificateChain,
    model::{IdentityType, Renew, names},
};

use super::{
    KINDS,
    folder::Folder,
    key,
    replicated::{AT_CONSUMER, both, replicate, settle},
    settled, slices,
};
use crate::clusters::exchange::{Exchange, Setup};

const SLICE: &str = "mypool";
/// Certificates are valid for a year. This is two thirds of it, and some days.
const UNTIL_DUE: Duration = Duration::from_secs(250 * 86_400);

/// As from Liqo 1.2 on: the Renew stays, and slices have no Renew.
#[test]
fn renewals_by_the_provider_are_written_for_the_judge() {
    for (algorithm_name, algorithm) in KINDS {
        let mut setup = Setup::new();
        setup.consumer_key = key(algorithm);
        let mut two = with_slice(&setup);
        let first = certificates(&two);

        two.now = two.now + UNTIL_DUE;
        settle(&mut two);
        assert_renewed(&two, &first);
        let (channel, replica) = control_plane(&two);
        assert!(channel.spec.csr.is_empty());
        let slice = names::resource_slice_identity_name(SLICE);
        assert_eq!(two.at_consumer.get::<Renew>(AT_CONSUMER, &slice), None);

        let name = format!("{algorithm_name}-renewed-by-provider");
        let folder = Folder::new(&name, &two, two.stored_identity());
        slices::write(&folder, &two, SLICE);
        folder.object("renew-controlplane.yaml", channel);
        folder.object("renew-controlplane-replicated.yaml", replica);
        assert_eq!(
            renews(&folder),
            [
                "renew-controlplane-replicated.yaml",
                "renew-controlplane.yaml"
            ],
            "{name}"
        );
    }
}

/// As up to Liqo 1.1: each certificate has its own request, and the Renew is
/// deleted after the answer.
#[test]
fn renewals_by_the_consumer_are_written_for_the_judge() {
    for (algorithm_name, algorithm) in KINDS {
        let mut setup = Setup::new();
        setup.consumer_key = key(algorithm);
        setup.settings = PeerSettings {
            renewal: RenewalScheme::ByConsumer,
            ..PeerSettings::default()
        };
        let mut two = with_slice(&setup);
        let first = certificates(&two);

        two.now = two.now + UNTIL_DUE;
        two.turn_of_consumer();
        replicate(&mut two);
        two.turns_of_provider();
        replicate(&mut two);
        let of_control_plane = control_plane(&two);
        let of_slice: (Renew, Renew) = both(&two, &names::resource_slice_identity_name(SLICE));
        for (renew, replica) in [&of_control_plane, &of_slice] {
            assert!(!renew.spec.csr.is_empty());
            assert!(renew.status.auth_params.is_some());
            assert_eq!(renew.status, replica.status);
        }
        assert_eq!(
            of_slice.0.spec.identity_type,
            IdentityType::ResourceSlice,
            "{algorithm_name}"
        );

        settle(&mut two);
        assert_renewed(&two, &first);
        let name = format!("{algorithm_name}-renewed-by-consumer");
        let folder = Folder::new(&name, &two, two.stored_identity());
        slices::write(&folder, &two, SLICE);
        folder.object("renew-controlplane.yaml", of_control_plane.0);
        folder.object("renew-controlplane-replicated.yaml", of_control_plane.1);
        folder.object("renew-slice-mypool.yaml", of_slice.0);
        folder.object("renew-slice-mypool-replicated.yaml", of_slice.1);
        assert_eq!(
            renews(&folder),
            [
                "renew-controlplane-replicated.yaml",
                "renew-controlplane.yaml",
                "renew-slice-mypool-replicated.yaml",
                "renew-slice-mypool.yaml",
            ],
            "{name}"
        );
    }
}

fn with_slice(setup: &Setup) -> Exchange {
    let mut two = settled(setup);
    slices::request(&mut two, SLICE);
    settle(&mut two);
    two
}

fn control_plane(two: &Exchange) -> (Renew, Renew) {
    both(two, &names::identity_name(two.provider.cluster_id()))
}

/// The consumer's certificates, for the control plane and for the slice.
fn certificates(two: &Exchange) -> [CertificateChain; 2] {
    let slice = names::resource_slice_identity_name(SLICE);
    let slice: &liqo_auth::model::Identity = two.at_consumer.get(AT_CONSUMER, &slice).unwrap();
    [&two.stored_identity(), slice].map(|identity| {
        let pem = identity.spec.auth_params.signed_crt.as_slice();
        CertificateChain::from_pem(pem, &Default::default()).unwrap()
    })
}

fn assert_renewed(two: &Exchange, first: &[CertificateChain; 2]) {
    for (first, second) in first.iter().zip(certificates(two)) {
        assert!(second.leaf().not_before > first.leaf().not_before);
        assert!(second.leaf().not_after > first.leaf().not_after);
    }
}

fn renews(folder: &Folder) -> Vec<String> {
    let mut files = folder.more_files();
    files.retain(|file| file.starts_with("renew-"));
    files
}
