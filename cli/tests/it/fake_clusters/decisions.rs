//! On a cluster, `create resourceslice` waits for the provider's decision, as liqoctl does.

use std::{
    process::Child,
    time::{Duration, Instant},
};

use super::Cluster;
use crate::tool::{Folder, Run};

const BOTH: &str = "--kubeconfig rome --remote-kubeconfig milan";
const CREATE: &str =
    "create resourceslice pool --kubeconfig rome --remote-cluster-id milan --cpu 2";

fn authenticated(folder: &Folder) -> (Cluster, Cluster) {
    let rome = Cluster::start(folder, "rome");
    let milan = Cluster::start(folder, "milan");
    milan.has_a_signer();
    folder.ok(&format!("authenticate {BOTH}"));
    (rome, milan)
}

fn end(child: Child) -> Run {
    Run::of(child.wait_with_output().unwrap())
}

#[test]
fn a_slice_waits_for_the_decision_of_the_provider() {
    let folder = Folder::new();
    let (rome, _milan) = authenticated(&folder);
    let waiting = folder.command(&format!("{CREATE} --timeout 1m0s")).spawn();
    let waiting = waiting.unwrap();
    while rome.named("resourceslices", "pool").is_empty() {
        std::thread::sleep(Duration::from_millis(50));
    }
    folder.ok(&format!("replicate {BOTH}"));
    let run = end(waiting);
    assert_eq!(run.code, 0, "{run:?}");
    for said in [
        "ResourceSlice created",
        "ResourceSlice authentication: Accepted",
        "ResourceSlice resources: Accepted",
    ] {
        assert!(run.out.contains(said), "{run:?}");
    }
    // One that is decided does not wait.
    let again = folder.run(CREATE);
    assert!(again.out.contains("resources: Accepted"), "{again:?}");
}

#[test]
fn a_slice_that_nobody_carries_is_awaited_for_the_timeout_alone() {
    let folder = Folder::new();
    let (rome, milan) = authenticated(&folder);
    let begin = Instant::now();
    for wait in ["", "--wait", "--wait=true"] {
        let run = folder.run(&format!("{CREATE} {wait} --timeout 500ms"));
        assert_eq!(run.code, 4, "{run:?}");
        assert!(
            run.err.contains("milan has not decided on the slice pool")
                && run.err.contains("generate resourceslice pool"),
            "{run:?}"
        );
    }
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(1500), "{took:?}");
    assert_eq!(rome.named("resourceslices", "pool").len(), 1);

    let begin = Instant::now();
    let run = folder.run(&format!("{CREATE} --wait=false --timeout 1h"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("It waits for milan"), "{run:?}");
    // Neither a trial nor a printed slice waits.
    folder.ok(&format!("{CREATE} --timeout 1h --dry-run"));
    folder.ok(&format!("{CREATE} --timeout 1h -o yaml"));
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert!(milan.named("resourceslices", "pool").is_empty());
}

/// Nobody else works on a home while its owner waits.
#[test]
fn a_home_waits_only_if_it_is_told_to() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let create = "create rs pool --home cl-consumer --remote-cluster-id cl-provider";
    let run = folder.run(create);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("It waits for cl-provider"), "{run:?}");
    let run = folder.run(&format!("{create} --wait --timeout 500ms"));
    assert_eq!(run.code, 4, "{run:?}");
}
