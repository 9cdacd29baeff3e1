//! A plugin of Nagios that looks at a cluster.

use super::Cluster;
use crate::tool::Folder;

/// The first exchange makes the keys of a cluster.
#[test]
fn a_cluster_without_a_peering_is_well_and_one_that_is_gone_is_unknown() {
    let folder = Folder::new();
    let rome = Cluster::start(&folder, "rome");
    let run = folder.run("status --kubeconfig rome -o nagios");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.starts_with("LIQO-AUTH OK - "), "{run:?}");
    assert_eq!(folder.run("status --kubeconfig rome").code, 0);
    drop(rome);
    let run = folder.run("status --kubeconfig rome -o nagios");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.out.starts_with("LIQO-AUTH UNKNOWN - "), "{run:?}");
    assert_eq!(run.out.lines().count(), 1, "{run:?}");
}
