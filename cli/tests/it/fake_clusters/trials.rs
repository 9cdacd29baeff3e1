//! `--dry-run` on clusters.

use super::Cluster;
use crate::tool::{Folder, Run};

const BOTH: &str = "--kubeconfig rome --remote-kubeconfig milan";

#[test]
fn a_trial_on_two_clusters_writes_nothing() {
    let folder = Folder::new();
    let (rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    let run = folder.run(&format!("authenticate {BOTH} --dry-run"));
    ends_at_the_signer(&run);
    for line in [
        "+kind: Tenant",
        "+kind: CertificateSigningRequest",
        "+  nonce: <",
        "+  signedNonce: <",
    ] {
        assert!(run.out.contains(line), "{line}: {}", run.out);
    }
    let first = "In the cluster of --kubeconfig milan, 7 objects would be created.\n\
                 In the cluster of --kubeconfig rome, 5 objects would be created, 1 changed.\n\n";
    assert!(run.out.starts_with(first), "{}", run.out);
    // Each difference names its cluster. The first command makes the keys of a cluster.
    for header in [
        "+++ the cluster of --kubeconfig rome: Secret liqo/authentication-keys\n",
        "+++ the cluster of --kubeconfig milan: Secret liqo/authentication-keys\n",
        "+++ the cluster of --kubeconfig milan: Secret liqo/liqo-auth-record-key\n",
        "+++ the cluster of --kubeconfig rome: Secret liqo/liqo-auth-settings\n",
        "+++ the cluster of --kubeconfig milan: Tenant liqo-tenant-rome/rome\n",
        "+++ the cluster of --kubeconfig rome: Secret liqo-tenant-milan/liqo-signed-nonce\n",
    ] {
        assert!(run.out.contains(header), "{header}: {}", run.out);
    }
    assert!(!run.out.contains("PRIVATE KEY"), "{}", run.out);
    assert_eq!(rome.writes(), Vec::<String>::new());
    assert_eq!(milan.writes(), Vec::<String>::new());
}

#[test]
fn a_trial_on_two_clusters_shows_a_slice_as_far_as_the_signer() {
    let folder = Folder::new();
    let (rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok(&format!("authenticate {BOTH}"));
    let before = (rome.writes(), milan.writes());
    let run = folder.run(&format!(
        "create resourceslice pool {BOTH} --cpu 2 --dry-run"
    ));
    ends_at_the_signer(&run);
    for header in [
        "+++ the cluster of --kubeconfig rome: ResourceSlice liqo-tenant-milan/pool\n",
        "+++ the cluster of --kubeconfig milan: ResourceSlice liqo-tenant-rome/pool\n",
    ] {
        assert!(run.out.contains(header), "{header}: {}", run.out);
    }
    assert!(run.out.contains("+    cpu: \"2\"\n"), "{}", run.out);
    assert_eq!((rome.writes(), milan.writes()), before);
}

#[test]
fn a_trial_on_authenticated_clusters_goes_to_the_end() {
    let folder = Folder::new();
    let (rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    folder.ok(&format!("authenticate {BOTH}"));
    let before = (rome.writes(), milan.writes());
    let run = folder.run(&format!("authenticate {BOTH} --dry-run"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(!run.err.contains("The trial ends here"), "{run:?}");
    assert_eq!((rome.writes(), milan.writes()), before);
}

/// A trial succeeds as far as milan's signer, and says so.
pub(super) fn ends_at_the_signer(run: &Run) {
    assert_eq!(run.code, 0, "{run:?}");
    for said in [
        "The trial ends here: milan's signer would have to answer.",
        "Nothing was changed (--dry-run).",
    ] {
        assert!(run.err.contains(said), "{run:?}");
    }
}
