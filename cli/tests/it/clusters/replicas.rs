//! Several controllers of one cluster, which are killed at any moment.

use std::{thread::sleep, time::Duration};

use super::{BOTH, Clusters, controllers::start};
use crate::tool::running::Running;

#[test]
#[ignore = "needs the clusters that e2e/run starts"]
fn killed_replicas_leave_one_request_and_nothing_behind() {
    let clusters = Clusters::new();
    clusters.ends_what_is_there();
    let mut providers = [(); 3].map(|()| Some(provider(&clusters)));
    let _consumers = [(); 2].map(|()| start(&clusters, "rome-service", "--consumer"));
    let requests = clusters.kubectl("milan", "get csr -o name").lines().count();
    for round in 0..20 {
        let mut authenticate = clusters.0.command(&format!("authenticate {BOTH}"));
        let authenticate = authenticate.spawn().unwrap();
        // Another moment of the exchange in each round, which takes half a second.
        sleep(Duration::from_millis(25 * round));
        let killed = &mut providers[usize::try_from(round).unwrap() % 3];
        killed.take().unwrap().kill();
        *killed = Some(provider(&clusters));
        let run = crate::tool::Run::of(authenticate.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "round {round}: {run:?}");
        assert_eq!(clusters.whoami(""), "rome");
        clusters.ends();
    }
    let after = clusters.kubectl("milan", "get csr -o name").lines().count();
    // The key and the name stay the same, so that the certificate does, too.
    assert!(after - requests <= 1, "{requests} and then {after}");
}

fn provider(clusters: &Clusters) -> Running {
    start(clusters, "milan-service", "--provider")
}
