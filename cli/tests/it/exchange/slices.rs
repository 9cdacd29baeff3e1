//! A part of a provider's resources: asked for, answered, given back.

use crate::tool::{Folder, Run};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";
const CREATE: &str =
    "create resourceslice mypool --home cl-consumer --remote-home cl-provider --cpu 2 --memory 4Gi";
const DELETE: &str = "delete resourceslice mypool --home cl-consumer --remote-home cl-provider";
const REPLICATE: &str = "replicate --home cl-consumer --remote-home cl-provider";

#[test]
fn a_slice_is_asked_for_and_accepted_in_liqoctls_words() {
    let folder = authenticated();
    let run = folder.run(CREATE);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out,
        " INFO  ResourceSlice created\n \
         INFO  ResourceSlice authentication: Accepted\n \
         INFO  ResourceSlice resources: Accepted\n"
    );
    assert!(
        run.err.contains("kubeconfig-resourceslice-mypool"),
        "{}",
        run.err
    );
    let table = folder.ok("get resourceslices --home cl-consumer --now 2099-01-01T00:00:00Z");
    assert!(
        table.starts_with(
            "NAME     AUTHENTICATION   RESOURCES   AGE\nmypool   Accepted         Accepted    "
        ),
        "{table}"
    );
    let table = folder.ok("get rs -A --home cl-provider");
    assert!(
        table.starts_with("NAMESPACE                 NAME     AUTHENTICATION   RESOURCES   AGE\n"),
        "{table}"
    );
    let slice = folder.ok("get rs mypool --home cl-provider -o json");
    for part in [
        "\"liqo.io/originID\": \"cl-consumer\"",
        "\"reason\": \"ResourceSliceResourcesAccepted\"",
        "\"memory\": \"4Gi\"",
    ] {
        assert!(slice.contains(part), "{part}: {slice}");
    }
    let kubeconfig = folder.read(
        "cl-consumer/private/liqo-tenant-cl-provider/secret.kubeconfig-resourceslice-mypool.yaml",
    );
    assert!(kubeconfig.contains("liqo.io/identity-type: ResourceSlice"));
}

#[test]
fn once_more_it_changes_nothing() {
    let folder = authenticated();
    folder.ok(CREATE);
    let before = folder.snapshot();
    folder.ok(CREATE);
    folder.ok(REPLICATE);
    assert!(before == folder.snapshot());
}

#[test]
fn other_keys_have_slices_too() {
    for algorithm in ["rsa-2048", "ecdsa-p256"] {
        let folder = Folder::new();
        for home in ["cl-consumer", "cl-provider"] {
            folder.ok(&format!("init --home {home} --key-algorithm {algorithm}"));
        }
        folder.ok(AUTHENTICATE);
        folder.ok(CREATE);
        let before = folder.snapshot();
        folder.ok(REPLICATE);
        assert!(before == folder.snapshot(), "{algorithm}");
    }
}

#[test]
fn a_slice_is_printed_instead_of_asked_for() {
    let folder = authenticated();
    let before = folder.snapshot();
    let text = folder.ok(
        "create rs mypool --home cl-consumer --remote-cluster-id cl-provider --class gpu --pods 30 --resource nvidia.com/gpu=2 --no-virtual-node -o yaml",
    );
    assert!(before == folder.snapshot());
    for part in [
        "kind: ResourceSlice\n",
        "  class: gpu\n",
        "    nvidia.com/gpu: \"2\"\n",
        "    pods: \"30\"\n",
        "    liqo.io/replication: \"true\"\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("create-virtual-node"), "{text}");
}

#[test]
fn what_cannot_be_asked_for_changes_nothing() {
    let folder = Folder::with_homes();
    let error = folder.refused(CREATE, "", 4);
    assert!(
        error.contains("there is no usable Identity of this provider"),
        "{error}"
    );
    folder.ok(AUTHENTICATE);
    let bad = "create rs My_Pool --home cl-consumer --remote-home cl-provider";
    let error = folder.refused(bad, "", 2);
    assert!(
        error.contains("cannot be the name of a resource slice"),
        "{error}"
    );
    let nobody = "create rs mypool --home cl-consumer --remote-cluster-id cl-other";
    folder.refused(nobody, "", 4);
    let unnamed = "create rs mypool --home cl-consumer";
    folder.refused(unnamed, "", 2);
    let other = format!("{CREATE} --remote-cluster-id cl-other");
    let error = folder.refused(&other, "", 2);
    assert!(error.contains("is the home of cl-provider"), "{error}");
    let error = folder.refused(&format!("{CREATE} --resource gpu"), "", 2);
    assert!(error.contains("NAME=QUANTITY"), "{error}");
}

/// The tool itself asks for no such thing; another consumer may.
#[test]
fn what_is_no_quantity_is_denied() {
    let folder = authenticated();
    folder.ok("create rs mypool --home cl-consumer --remote-cluster-id cl-provider --cpu 2");
    let asked = folder.ok("get rs mypool --home cl-consumer -o yaml");
    let odd = asked.replace("cpu: \"2\"", "cpu: lots");
    assert_ne!(odd, asked);
    folder.ok_with("apply --home cl-provider -f -", &odd);
    let answer = folder.ok("get rs mypool --home cl-provider -o json");
    assert!(answer.contains("is not a valid quantity"), "{answer}");
}

#[test]
fn files_are_enough() {
    let folder = authenticated();
    let run =
        folder.run("create rs mypool --home cl-consumer --remote-cluster-id cl-provider --cpu 2");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err.contains("It waits for cl-provider")
            && run.err.contains("generate resourceslice mypool"),
        "{}",
        run.err
    );
    let asked = folder.ok("get rs mypool --home cl-consumer -o yaml");
    let apply = "apply --home cl-provider -f -";
    assert_eq!(
        folder.ok_with(apply, &asked),
        "resourceslice.authentication.liqo.io/mypool created\n"
    );
    assert_eq!(
        folder.ok_with(apply, &asked),
        "resourceslice.authentication.liqo.io/mypool unchanged\n"
    );
    let answered = folder.ok("get rs mypool --home cl-provider -o json");
    let apply = "apply --home cl-consumer -f -";
    assert_eq!(
        folder.ok_with(apply, &answered),
        "resourceslice.authentication.liqo.io/mypool configured\n"
    );
    // Just what a network would have brought.
    let before = folder.snapshot();
    let slice = folder.ok("get rs mypool --home cl-consumer -o yaml");
    folder.ok(REPLICATE);
    assert_eq!(folder.ok("get rs mypool --home cl-consumer -o yaml"), slice);
    let identity =
        "cl-consumer/manifests/liqo-tenant-cl-provider/identity.resourceslice-mypool.yaml";
    assert_eq!(
        folder.snapshot()[&folder.path(identity)],
        before[&folder.path(identity)]
    );
    // And back: it is deleted on each side by hand.
    folder.ok("delete rs mypool --home cl-consumer --remote-cluster-id cl-provider");
    assert_eq!(
        folder.ok("delete rs mypool --home cl-provider --remote-cluster-id cl-consumer"),
        "resourceslice.authentication.liqo.io \"mypool\" deleted\n"
    );
    assert!(!folder.path(identity).exists());
    assert_eq!(slice_records(&folder), 1);
}

#[test]
fn a_slice_that_somebody_changed_is_refused() {
    let folder = authenticated();
    folder.ok("create rs mypool --home cl-consumer --remote-cluster-id cl-provider");
    let asked = folder.ok("get rs mypool --home cl-consumer -o yaml");
    let apply = "apply --home cl-provider -f -";
    let renamed = asked.replace("name: mypool", "name: other");
    let error = folder.refused(apply, &renamed, 3);
    assert!(
        error.contains("nothing was changed")
            && error.contains("spec.csr")
            && error.contains(", rule 1)"),
        "{error}"
    );
    // Another consumer cannot ask in its name.
    folder.ok("init --home cl-evil");
    folder.ok("authenticate --home cl-evil --remote-home cl-provider");
    let stolen = asked.replace(
        "consumerClusterID: cl-consumer",
        "consumerClusterID: cl-evil",
    );
    let error = folder.refused(apply, &stolen, 3);
    assert!(error.contains("ResourceSlice"), "{error}");
    // Nor whoever has not authenticated.
    let stranger = asked.replace("cl-consumer", "cl-stranger");
    let error = folder.refused(apply, &stranger, 4);
    assert!(error.contains("cl-stranger has no rights"), "{error}");
    folder.ok_with(apply, &asked);
}

#[test]
fn an_answer_that_somebody_changed_is_refused() {
    let folder = authenticated();
    folder.ok("create rs mypool --home cl-consumer --remote-cluster-id cl-provider");
    let asked = folder.ok("get rs mypool --home cl-consumer -o yaml");
    folder.ok_with("apply --home cl-provider -f -", &asked);
    let answered = folder.ok("get rs mypool --home cl-provider -o yaml");
    let apply = "apply --home cl-consumer -f -";
    let redirected = answered.replace("172.19.0.3", "172.19.0.4");
    let error = folder.refused(apply, &redirected, 3);
    assert!(
        error.contains("apiServer") && error.contains(", rule 9)"),
        "{error}"
    );
    // What was never asked for is not answered.
    let other = answered.replace("name: mypool", "name: other");
    folder.refused(apply, &other, 4);
    folder.ok_with(apply, &answered);
}

#[test]
fn a_slice_is_given_back() {
    let folder = authenticated();
    let error = folder.refused(DELETE, "", 4);
    assert!(
        error.contains("there is no ResourceSlice mypool"),
        "{error}"
    );
    folder.ok(CREATE);
    assert_eq!(
        folder.ok(DELETE),
        "resourceslice.authentication.liqo.io \"mypool\" deleted\n"
    );
    for home in ["cl-consumer", "cl-provider"] {
        let run = folder.run(&format!("get rs --home {home}"));
        assert_eq!(
            (run.out.as_str(), run.err.as_str()),
            ("", "No ResourceSlice found.\n")
        );
    }
    let secrets = std::fs::read_dir(folder.path("cl-consumer/private/liqo-tenant-cl-provider"));
    let left = secrets.unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("mypool")
    });
    assert_eq!(left.count(), 0);
    assert_eq!(slice_records(&folder), 1);
    // It may come back.
    folder.ok(CREATE);
}

#[test]
fn a_slice_is_cordoned_and_uncordoned() {
    let folder = authenticated();
    folder.ok(CREATE);
    let cordon = "cordon resourceslice mypool --home cl-provider --remote-cluster-id cl-consumer";
    assert_eq!(
        folder.ok(cordon),
        " INFO  ResourceSlice \"mypool\" cordoned\n"
    );
    let slice = folder.ok("get rs mypool --home cl-provider -o yaml");
    assert!(slice.contains("liqo.io/cordon: \"true\""), "{slice}");
    // The peer may remove the annotation of its slice, and lifts nothing by that.
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/resourceslice.mypool.yaml";
    let marked = folder.read(file);
    folder.write(file, &marked.replace("    liqo.io/cordon: \"true\"\n", ""));
    assert!(shown_cordon(&folder));
    folder.write(file, &marked);
    let uncordon = format!("un{cordon}");
    assert_eq!(
        folder.ok(&uncordon),
        " INFO  ResourceSlice \"mypool\" uncordoned\n"
    );
    let slice = folder.ok("get rs mypool --home cl-provider -o yaml");
    assert!(!slice.contains("liqo.io/cordon"), "{slice}");
    assert!(!shown_cordon(&folder));
    let other = cordon.replace("mypool", "other");
    folder.refused(&other, "", 4);
}

/// Whether the provider's `status` says that the slice is cordoned.
fn shown_cordon(folder: &Folder) -> bool {
    let json = folder.ok("status --home cl-provider -o json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cordoned = value["peerings"][0]["slices"][0]["cordoned"].as_bool();
    let table = folder.ok("status --home cl-provider");
    let row = table
        .lines()
        .find(|line| line.starts_with("mypool "))
        .unwrap();
    assert_eq!(row.contains(" yes "), cordoned == Some(true), "{table}");
    cordoned.unwrap()
}

#[test]
fn many_at_once_ask_for_one_slice() {
    let folder = authenticated();
    let runs: Vec<_> = (0..4)
        .map(|_| folder.command(CREATE).spawn().unwrap())
        .collect();
    for run in runs {
        let run = Run::of(run.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out.contains("ResourceSlice resources: Accepted"));
    }
    let names = std::fs::read_dir(folder.path("cl-provider/manifests/_cluster")).unwrap();
    let requests = names.filter(|name| {
        let name = name.as_ref().unwrap().file_name();
        name.to_string_lossy()
            .starts_with("certificatesigningrequest.")
    });
    assert_eq!(requests.count(), 2);
}

#[test]
fn two_clusters_may_be_each_others_consumers() {
    let folder = authenticated();
    let back = "--home cl-provider --remote-home cl-consumer";
    folder.ok("set api-server https://172.19.0.2:6443 --home cl-consumer");
    folder.ok(&format!("authenticate {back}"));
    folder.ok(CREATE);
    folder.ok(&format!("create rs theirs {back} --pods 7"));
    assert_eq!(
        folder.ok(REPLICATE),
        " INFO   (local) Slices and renewals are in sync with cl-provider\n \
         INFO   (remote) Slices and renewals are in sync with cl-consumer\n"
    );
    let told = folder
        .ok("renew --home cl-consumer --remote-home cl-provider --now +300d --write-at-this-time");
    assert_eq!(told.matches(": renewed, until ").count(), 8, "{told}");
    let status = folder.ok("status --home cl-consumer");
    for line in ["cl-provider   consumer   ", "cl-provider   provider   "] {
        assert!(status.contains(line), "{status}");
    }
    // Each direction that is closed says why.
    for (tenant, home) in [
        ("cl-consumer", "cl-provider"),
        ("cl-provider", "cl-consumer"),
    ] {
        folder.ok(&format!("drain tenant {tenant} --home {home}"));
    }
    let run = folder.run(REPLICATE);
    assert_eq!((run.code, run.out.as_str()), (4, ""), "{run:?}");
    let says = |provider: &str, consumer: &str| {
        format!(
            "Error: {provider} grants {consumer} no rights: nothing was carried. {consumer} is drained: it gets neither a certificate nor rights until that is lifted. The command is liqo-auth uncordon tenant {consumer} --home {provider}.\n"
        )
    };
    let (forth, back) = (
        says("cl-provider", "cl-consumer"),
        says("cl-consumer", "cl-provider"),
    );
    assert_eq!(run.err, format!("{forth}{back}"));
    folder.ok("uncordon tenant cl-provider --home cl-consumer");
    let run = folder.run(REPLICATE);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.out.contains("in sync with cl-consumer"), "{run:?}");
    folder.ok("uncordon tenant cl-consumer --home cl-provider");
    folder.ok(REPLICATE);
    // The end is that of one direction.
    folder.ok(DELETE);
    let unauthenticate = "unauthenticate --yes --home cl-consumer --remote-home cl-provider";
    folder.ok(&format!(
        "{unauthenticate} --now +300d --write-at-this-time"
    ));
    let status = folder.ok("status --home cl-consumer --now +300d");
    assert!(
        status.contains("cl-provider   consumer   Authenticated")
            && !status.contains("cl-provider   provider   Authenticated"),
        "{status}"
    );
}

#[test]
fn without_an_identity_nothing_is_carried() {
    let folder = Folder::with_homes();
    let error = folder.refused(REPLICATE, "", 4);
    assert!(error.contains("have no peering"), "{error}");
}

fn authenticated() -> Folder {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    folder
}

/// The slice's record stays until its certificate ends: it keeps the name of the
/// slice's user.
fn slice_records(folder: &Folder) -> usize {
    let records = records(folder);
    records.iter().filter(|name| name.contains("slice")).count()
}

fn records(folder: &Folder) -> Vec<String> {
    let records = std::fs::read_dir(folder.path("cl-provider/records")).unwrap();
    records
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}
