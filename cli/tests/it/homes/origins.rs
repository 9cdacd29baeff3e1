//! Slices for a provider that is a consumer of this cluster as well.

use crate::tool::{Folder, Run};

const SLICE: &str = "cl-consumer/manifests/liqo-tenant-cl-provider/resourceslice.pool.yaml";
const REFUSAL: &str = "the provider may have made or changed this resource slice";

fn replicated(folder: &Folder) -> Run {
    folder.run("replicate --home cl-consumer --remote-home cl-provider")
}

#[test]
fn a_slice_that_asks_for_something_else_is_refused_with_both_ways_out() {
    let folder = Folder::with_homes();
    folder.ok("set api-server https://172.19.0.2:6443 --home cl-consumer");
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("authenticate --home cl-provider --remote-home cl-consumer");
    let request = "create rs pool --home cl-consumer --remote-home cl-provider --cpu";
    folder.ok(&format!("{request} 2"));
    assert!(!replicated(&folder).err.contains(REFUSAL));

    let changed = folder.read(SLICE).replace("cpu: \"2\"", "cpu: \"64\"");
    assert_ne!(changed, folder.read(SLICE));
    folder.write(SLICE, &changed);
    let replicated_it = replicated(&folder);
    let found = folder.run("doctor --home cl-consumer");
    let printed = format!("{}{}", found.out, found.err).replace('\n', " ");
    for text in [&replicated_it.err, &printed] {
        for part in [
            "liqo-tenant-cl-provider/pool",
            REFUSAL,
            "(create resourceslice)",
            "signSlicesMadeByAnyone",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    for part in [
        "create resourceslice pool --home cl-consumer --remote-cluster-id cl-provider",
        "signSlicesMadeByAnyone: true under cl-provider in peers",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    folder.ok(&format!("{request} 64"));
    assert!(!replicated(&folder).err.contains(REFUSAL));
}
