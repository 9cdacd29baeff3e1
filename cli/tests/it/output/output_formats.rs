//! `--output`: templates, names, documents, and what is no format.

use std::process::Command;

use crate::tool::{Folder, Run};

fn with_peering() -> Folder {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider --cpu 2");
    folder
}

#[test]
fn a_template_picks_what_kubectl_picks_from_the_same_object() {
    let folder = with_peering();
    let get = "get tenant cl-consumer --home cl-provider -o";
    folder.write("tenant.json", &folder.ok(&format!("{get} json")));
    for template in [
        "{.metadata.name}",
        "{.spec}",
        "{.metadata.labels.liqo\\.io/remote-cluster-id}",
        "{range.spec}{.clusterID}{\"\\n\"}{end}",
        "{.missing}",
        "{..clusterID}",
    ] {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["patch", "--local", "--type=merge", "-p", "{}"]);
        kubectl.args(["-f", "tenant.json", "-o"]);
        kubectl.arg(format!("jsonpath={template}"));
        let theirs = Run::of(kubectl.current_dir(folder.path("")).output().unwrap());
        assert_eq!(theirs.code, 0, "{theirs:?}");
        assert_eq!(folder.ok(&format!("{get} jsonpath={template}")), theirs.out);
    }
    let list = "get tenants --home cl-provider -o jsonpath={.items[*].metadata.name}";
    assert_eq!(folder.ok(list), "cl-consumer");
    folder.write("template", "{.kind} {.metadata.name}\n");
    let file = folder.ok(&format!("{get} jsonpath-file=template"));
    assert_eq!(file, "Tenant cl-consumer\n");
    let json = folder.ok(&format!("{get} jsonpath-as-json={{.metadata.name}}"));
    assert_eq!(json, "[\n    \"cl-consumer\"\n]\n");
}

#[test]
fn each_document_can_be_picked_from() {
    let folder = with_peering();
    let identity =
        folder.ok("generate identity --home cl-provider --remote-cluster-id cl-consumer");
    folder.write("identity.yaml", &identity);
    for (arguments, shown) in [
        (
            "status --home cl-provider -o jsonpath={.peerings[0].peer}",
            "cl-consumer",
        ),
        ("status --home cl-provider -o name", "cl-consumer\n"),
        (
            "inspect identity.yaml -o jsonpath={.objects[0].facts[0].value}",
            "cl-provider",
        ),
        (
            "audit show --home cl-provider -o jsonpath={[0].sequence}",
            "1",
        ),
        (
            "audit verify --home cl-provider -o jsonpath={.repairs}",
            "[]",
        ),
        ("doctor --home cl-provider -o jsonpath={.findings}", "[]"),
        ("version -o jsonpath={.liqo}", "1.0 to 1.2"),
        ("version -o yaml", "legacy: 0.2 to 0.10\nliqo: 1.0 to 1.2\n"),
        (
            "transcript --home cl-provider --remote-cluster-id cl-consumer -o jsonpath={.transcripts[0].direction}",
            "cl-consumer -> cl-provider",
        ),
        (
            "get rs --home cl-provider -o jsonpath={.items[*].metadata.name}",
            "mypool",
        ),
        ("get tenants --home cl-consumer -o jsonpath={.items}", "[]"),
        (
            "get identities --home cl-consumer -o name",
            "identity.authentication.liqo.io/controlplane-cl-provider\nidentity.authentication.liqo.io/resourceslice-mypool\n",
        ),
    ] {
        let out = folder.ok(arguments);
        assert!(
            out == shown || (shown.ends_with('\n') && out.starts_with(shown)),
            "{arguments}: {out}"
        );
    }
}

#[test]
fn what_is_no_format_is_refused() {
    let folder = with_peering();
    for (output, says) in [
        ("jsonpath", "such as jsonpath='{.metadata.name}'"),
        ("jsonpath=", "no template is given"),
        ("jsonpath={.a", "unclosed action"),
        ("jsonpath={.a[x]}", "invalid array index x"),
        ("jsonpath-file=nowhere", "nowhere"),
        ("JSON", "possible values: yaml, json, name, wide, jsonpath="),
        ("custom-columns=A:.a", "possible values"),
        ("", "possible values"),
    ] {
        let mut command = folder.command("get tenants --home cl-provider -o");
        let run = Run::of(command.arg(output).output().unwrap());
        assert_eq!(run.code, 2, "{output}: {run:?}");
        assert!(run.err.contains(says), "{output}: {}", run.err);
    }
    // An error of the evaluation is one of the command line, too.
    let error = folder.refused(
        "get tenants --home cl-provider -o jsonpath={.items[7]}",
        "",
        2,
    );
    assert!(
        error.contains("the template of --output: array index out of bounds: index 7, length 1"),
        "{error}"
    );
}

/// As kubectl does, a name that is not there fails in every format.
#[test]
fn a_missing_object_is_missing_in_every_format() {
    let folder = with_peering();
    for kind in ["tenant", "identity", "rs", "renew"] {
        for format in ["yaml", "json", "name", "wide", "jsonpath={.kind}"] {
            let arguments = format!("get {kind} nobody --home cl-provider -o {format}");
            let error = folder.refused(&arguments, "", 4);
            assert!(
                error.contains("nobody in this home"),
                "{arguments}: {error}"
            );
        }
    }
}

#[test]
fn verbosity_has_levels() {
    let folder = Folder::with_homes();
    let nonce = "create nonce --home cl-provider --remote-cluster-id";
    let quiet = folder.run(&format!("{nonce} cl-a"));
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    let run = folder.run(&format!("{nonce} cl-b -v"));
    assert!(run.err.contains("writes"), "{run:?}");
    assert!(run.err.contains("saved"), "{run:?}");
    assert!(!run.err.contains("objects="), "{run:?}");
    let run = folder.run(&format!("{nonce} cl-c -v=4"));
    assert!(run.err.contains("objects="), "{run:?}");
    // No level logs what is secret.
    let stored = folder.ok("get nonce --home cl-provider --remote-cluster-id cl-c");
    assert!(!run.err.contains(&stored), "{run:?}");
    for wrong in ["-v=11", "-v=x", "--verbose=-1"] {
        folder.refused(&format!("status --home cl-provider {wrong}"), "", 2);
    }
    let error = folder.refused("run --in-cluster -v", "", 2);
    assert!(error.contains("--log"), "{error}");
    // The option takes the next word for no level.
    folder.ok("-v status --home cl-provider");
}

const END: &str =
    "unauthenticate --yes --wait --timeout 1s --home cl-consumer --remote-home cl-provider";
const TENANT: &str = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
const IDENTITY: &str =
    "cl-consumer/manifests/liqo-tenant-cl-provider/identity.controlplane-cl-provider.yaml";

/// A peering whose objects in these files another program holds.
fn with_held(files: &[&str]) -> Folder {
    let folder = with_peering();
    folder.ok("delete rs mypool --home cl-consumer --remote-home cl-provider");
    for file in files {
        let text = folder.read(file);
        let without = "metadata:\n  finalizers:\n";
        let text = match text.contains("  finalizers:\n") {
            true => text,
            false => text.replacen("metadata:\n", without, 1),
        };
        let held = text.replacen(
            "  finalizers:\n",
            "  finalizers:\n  - example.org/other\n",
            1,
        );
        assert!(held.contains("example.org/other"), "{held}");
        folder.write(file, &held);
    }
    folder
}

#[test]
fn the_end_is_awaited() {
    with_held(&[]).ok(END);
    let folder = with_held(&[TENANT]);
    let end = "unauthenticate --yes --home cl-provider --remote-cluster-id cl-consumer";
    let run = folder.run(&format!("{end} --wait --timeout 1s"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err.contains("it waits for example.org/other"),
        "{run:?}"
    );
    // Nobody works in a home meanwhile, so nothing is awaited by default.
    with_held(&[TENANT]).ok(end);
    with_held(&[TENANT]).ok(&format!("{end} --wait=false"));
}

/// A finalizer at the consumer does not keep the provider's half of the peering.
#[test]
fn both_halves_end_before_anything_is_awaited() {
    let folder = with_held(&[IDENTITY]);
    for _ in 0..2 {
        let run = folder.run(END);
        assert_eq!(run.code, 4, "{run:?}");
        assert!(
            run.err
                .contains("Identity liqo-tenant-cl-provider/controlplane-cl-provider is deleted"),
            "{run:?}"
        );
        assert!(!folder.path(TENANT).exists(), "{run:?}");
    }
    let run = with_held(&[IDENTITY, TENANT]).run(END);
    assert_eq!(run.code, 4, "{run:?}");
    for object in [
        "Identity liqo-tenant-cl-provider/controlplane-cl-provider is deleted",
        "Tenant liqo-tenant-cl-consumer/cl-consumer is deleted",
    ] {
        assert!(run.err.contains(object), "{object}: {run:?}");
    }
}
