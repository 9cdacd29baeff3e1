//! A certificate that is in force is signed again, and the consumer gets it.

use crate::tool::Folder;

const BOTH: &str = "--home cl-consumer --remote-home cl-provider";
const NOW: &str = "--now 2026-11-20T13:00:00Z --write-at-this-time";
const DAY_LATER: &str = "--now 2026-11-21T13:00:00Z --write-at-this-time";
const TENANT: &str = "sign-again tenant cl-consumer --home cl-provider";
const SLICE: &str = "sign-again rs mypool --home cl-provider --remote-cluster-id cl-consumer";

#[test]
fn a_consumer_takes_a_certificate_that_is_signed_again() {
    let folder = with_slice();
    let error = folder.refused(&format!("{TENANT} {DAY_LATER}"), "", 4);
    assert!(error.contains("no request"), "{error}");
    let before = folder.snapshot();
    folder.ok(&format!("{TENANT} --force --dry-run {DAY_LATER}"));
    assert!(before == folder.snapshot());

    let run = folder.run(&format!("{TENANT} --force {DAY_LATER}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out,
        " INFO  The certificate of Tenant \"cl-consumer\" is signed again, until 2027-11-21T13:00:00Z\n"
    );
    assert!(
        run.err.contains("takes it from the status of its Renew"),
        "{run:?}"
    );
    let mut said = run.err;
    let run = folder.run(&format!("{SLICE} --force {DAY_LATER}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out
            .contains("ResourceSlice \"mypool\" is signed again, until 2027-11-21"),
        "{run:?}"
    );
    assert!(
        run.err
            .contains("takes it from the status of its ResourceSlice mypool"),
        "{run:?}"
    );
    said.push_str(&run.err);
    // By files, each of the two names what is carried.
    for what in ["renew controlplane-cl-provider", "resourceslice mypool"] {
        let generate =
            format!("generate {what} --home cl-provider --remote-cluster-id cl-consumer");
        assert_eq!(said.matches(&generate).count(), 1, "{said}");
    }
    let apply = "\nThen on cl-consumer: liqo-auth apply -f FILE\n";
    assert_eq!(said.matches(apply).count(), 2, "{said}");
    let ends = |home: &str| {
        let told = folder.ok(&format!("renew --home {home} {DAY_LATER}"));
        told.matches("until 2027-11-21T13:00:00Z").count()
    };
    assert_eq!((ends("cl-provider"), ends("cl-consumer")), (2, 0));
    folder.ok(&format!("replicate {BOTH} {DAY_LATER}"));
    assert_eq!(ends("cl-consumer"), 2);
}

#[test]
fn without_a_renew_the_identity_is_carried() {
    let folder = with_peering();
    // Nothing has carried the consumer's Renew.
    let run = folder.run(&format!("{TENANT} --force {DAY_LATER}"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.err
            .contains("generate identity --home cl-provider --remote-cluster-id cl-consumer"),
        "{run:?}"
    );
}

#[test]
fn what_is_not_in_force_is_not_signed_again() {
    let folder = with_slice();
    let unknown = SLICE.replace("mypool", "other");
    let error = folder.refused(&format!("{unknown} --force {DAY_LATER}"), "", 4);
    assert!(error.contains("nothing was changed"), "{error}");
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let before = folder.snapshot();
    for command in [TENANT, SLICE] {
        let error = folder.refused(&format!("{command} --force {DAY_LATER}"), "", 4);
        assert!(error.contains("the peer is Drained"), "{error}");
    }
    assert!(before == folder.snapshot());
}

#[test]
fn a_certificate_that_ends_earlier_takes_the_place_of_the_one_in_force() {
    let folder = with_peering();
    let generate = "generate identity --home cl-provider --remote-cluster-id cl-consumer";
    let earlier = folder.ok(&format!("{generate} {NOW}"));
    folder.write("earlier.yaml", &earlier);
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &format!("{settings}certificateLifetime: 30d\n"),
    );
    let printed = folder.ok(&format!("{TENANT} --force {DAY_LATER}"));
    assert!(printed.contains("2026-12-21"), "{printed}");
    let next = folder.ok(&format!("{generate} {DAY_LATER}"));
    folder.write("next.yaml", &next);
    let apply = "apply --home cl-consumer -f";
    folder.ok(&format!("{apply} next.yaml {DAY_LATER}"));
    let status = folder.ok(&format!("status --home cl-consumer {DAY_LATER}"));
    assert!(
        status.contains("Authenticated") && status.contains("30d"),
        "{status}"
    );
    // The longer one does not come back.
    let error = folder.refused(&format!("{apply} earlier.yaml {DAY_LATER}"), "", 3);
    assert!(error.contains("none that begins before"), "{error}");
}

/// A person carries the request to the cluster of the home.
#[test]
fn another_signer_is_waited_for() {
    let folder = with_peering();
    let settings = folder.read("cl-provider/home.yaml");
    folder.write(
        "cl-provider/home.yaml",
        &format!("{settings}signer: kubernetes\n"),
    );
    let run = folder.run(&format!("{TENANT} --force {DAY_LATER}"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.err.contains("kubectl certificate approve"), "{run:?}");
}

fn with_slice() -> Folder {
    let folder = with_peering();
    folder.ok(&format!("create rs mypool {BOTH} {NOW}"));
    folder.ok(&format!("replicate {BOTH} {NOW}"));
    folder
}

fn with_peering() -> Folder {
    let folder = Folder::new();
    folder.ok(&format!("init --home cl-consumer {NOW}"));
    folder.ok(&format!(
        "init --home cl-provider --api-server https://172.19.0.3:6443 {NOW}"
    ));
    folder.ok(&format!("authenticate {BOTH} {NOW}"));
    folder
}

#[test]
fn what_is_signed_again_is_carried_by_files_as_printed() {
    let folder = with_slice();
    for command in [TENANT, SLICE] {
        let run = folder.run(&format!("{command} --force {DAY_LATER}"));
        let (_, generate) = run.err.split_once("By files: liqo-auth ").unwrap();
        let (generate, apply) = generate.split_once('\n').unwrap();
        let text = folder.ok(&format!("{generate} {DAY_LATER}"));
        folder.write("carried.yaml", &text);
        let (_, apply) = apply.split_once("liqo-auth ").unwrap();
        let apply = apply.trim_end().replace("FILE", "carried.yaml");
        folder.ok(&format!("{apply} --home cl-consumer {DAY_LATER}"));
    }
    let told = folder.ok(&format!("renew --home cl-consumer {DAY_LATER}"));
    assert_eq!(
        told.matches("until 2027-11-21T13:00:00Z").count(),
        2,
        "{told}"
    );
}
