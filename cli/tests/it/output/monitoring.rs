//! `status` for programs and pictures, `doctor`, and the output formats.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
};

use crate::tool::Folder;
use serde_json::Value;

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

fn with_peering() -> Folder {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder
}

#[test]
fn monitoring_notices_what_ends_soon() {
    let folder = with_peering();
    for home in ["cl-consumer", "cl-provider"] {
        let status = format!("status --home {home} --fail-if-expiring");
        folder.ok(&format!("{status} 30d"));
        let run = folder.run(&format!("{status} 30d --now +340d"));
        assert_eq!(run.code, 4, "{run:?}");
        assert!(
            run.err.contains("at most 30d left: 2 certificates"),
            "{run:?}"
        );
        assert!(run.err.contains("for slice mypool ends in"), "{run:?}");
        assert_eq!(folder.run(&format!("{status} 400d -o json")).code, 4);
    }
    assert_eq!(
        folder
            .run("status --home cl-provider --fail-if-expiring soon")
            .code,
        2
    );
}

#[test]
fn one_peering_is_shown_alone() {
    let folder = with_peering();
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let shown = folder.ok("status --home cl-provider --remote-cluster-id cl-other -o json");
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["peerings"].as_array().unwrap().len(), 1);
    assert_eq!(shown["peerings"][0]["peer"], "cl-other");
    let run = folder.run("status --home cl-provider --remote-cluster-id cl-nobody");
    assert_eq!(run.code, 4, "{run:?}");
}

#[test]
fn pictures_are_of_graphviz_and_mermaid() {
    let folder = with_peering();
    assert_eq!(
        folder.ok("status --home cl-provider -o mermaid"),
        "flowchart LR\n  c0[\"cl-provider\"]\n  c1[\"cl-consumer\"]\n  \
         c1 -- \"Authenticated, 1 slice\" --> c0\n  style c0 stroke-width:3px\n"
    );
    assert_eq!(
        folder.ok("status --home cl-consumer -o dot"),
        "digraph peerings {\n  rankdir=LR;\n  \"cl-consumer\" [style=bold];\n  \
         \"cl-consumer\" -> \"cl-provider\" [label=\"Authenticated, 1 slice\"];\n}\n"
    );
    let one = "status --home cl-provider --remote-cluster-id cl-consumer";
    let phases = folder.ok(&format!("{one} -o mermaid"));
    assert!(phases.starts_with("stateDiagram-v2\n  Uninvited --> AwaitsTenant: create nonce\n"));
    assert!(
        phases.ends_with("  class Authenticated present\n"),
        "{phases}"
    );
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let phases = folder.ok(&format!("{one} -o dot"));
    assert!(phases.contains("  Drained [style=filled"), "{phases}");
    // The picture in the reference is this one.
    let page = include_str!("../../../../docs/reference/pictures.md");
    let (_, picture) = page.split_once("```mermaid\n").unwrap();
    let (picture, _) = picture.split_once("```").unwrap();
    assert_eq!(picture, folder.ok(&format!("{one} -o mermaid")));
}

#[test]
fn a_change_is_shown_while_somebody_watches() {
    let folder = with_peering();
    let mut watching = folder
        .command("status --home cl-provider --watch")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let seen = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.starts_with("cl-consumer "));
    assert!(seen.unwrap().contains("Active"));
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    let seen = lines
        .by_ref()
        .map(Result::unwrap)
        .find(|line| line.contains("Cordoned"));
    assert!(seen.unwrap().starts_with("cl-consumer "));
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_sick_home_has_findings_with_remedies() {
    let folder = with_peering();
    assert_eq!(
        folder.run("doctor --home cl-provider").err,
        "Nothing is wrong.\n"
    );
    folder.ok("set api-server https://localhost:6443 --home cl-provider");
    let key = "cl-provider/private/liqo/secret.authentication-keys.yaml";
    fs::set_permissions(folder.path(key), fs::Permissions::from_mode(0o644)).unwrap();
    folder.write(
        "cl-provider/manifests/_cluster/clusterrole.broken.yaml",
        "kind: [",
    );
    let log = folder.read("cl-provider/audit.log");
    folder.write(
        "cl-provider/audit.log",
        log.trim_end().strip_suffix('}').unwrap(),
    );
    let run = folder.run("doctor --home cl-provider -o json");
    assert_eq!(run.code, 4, "{run:?}");
    let all: Value = serde_json::from_str(&run.out).unwrap();
    let found: Vec<String> = all["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            format!(
                "{} => {}",
                found["what"].as_str().unwrap(),
                found["remedy"].as_str().unwrap()
            )
        })
        .collect();
    for part in [
        "only this machine reaches https://localhost:6443",
        "=> chmod go= -- cl-provider/private/liqo/secret.authentication-keys.yaml",
        "=> Restore cl-provider/manifests/_cluster/clusterrole.broken.yaml",
        "which audit.head names. Line 7 is incomplete",
    ] {
        assert!(
            found.iter().any(|found| found.contains(part)),
            "{part}: {found:?}"
        );
    }
    folder.write("cl-provider/audit.log", &log);
    let run = folder.run("doctor --home cl-provider --now 2020-01-01T00:00:00Z");
    assert!(
        run.out.contains("the clock says 2020-01-01T00:00:00Z"),
        "{run:?}"
    );
}

#[test]
fn what_is_refused_expired_or_held_is_a_finding() {
    let folder = with_peering();
    let found = |home: &str, now: &str| {
        let run = folder.run(&format!("doctor --home {home} --now {now}"));
        (run.code, run.out)
    };
    let (code, out) = found("cl-provider", "2028-01-01T00:00:00Z");
    assert_eq!(code, 4, "{out}");
    for part in [
        "the certificate of cl-consumer ended at ",
        "`liqo-auth renew --home cl-provider` signs the next one",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (code, out) = found("cl-consumer", "2028-01-01T00:00:00Z");
    assert_eq!(code, 4, "{out}");
    assert!(
        out.contains("Wrong           cl-provider: Identity liqo-tenant-cl-provider/controlplane-cl-provider, spec.authParams.signedCRT"),
        "{out}"
    );
    for part in [
        "expired: client certificate",
        "have the provider issue a new certificate",
        "run `liqo-auth authenticate --home cl-consumer --remote-home DIR`",
        "runs `liqo-auth create nonce --remote-cluster-id cl-consumer --replace`",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("misbehaved"), "{out}");

    let path = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let tenant = folder.read(path);
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    folder.write(path, &tenant);
    let run = folder.run("doctor --home cl-provider");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.out.contains("cl-consumer stays Cordoned")
            && run
                .out
                .contains("`uncordon tenant cl-consumer` lifts Cordoned"),
        "{run:?}"
    );
    folder.ok("uncordon tenant cl-consumer --home cl-provider");
    folder.ok("doctor --home cl-provider");
}

/// The provider may be gone for good.
#[test]
fn what_liqos_replicator_keeps_is_a_finding() {
    let folder = with_peering();
    let path = "cl-consumer/manifests/liqo-tenant-cl-provider/resourceslice.mypool.yaml";
    let slice = folder.read(path);
    let held = "metadata:\n  finalizers:\n  - crdreplicator.liqo.io/resource\n  deletionTimestamp: '2026-01-01T00:00:00Z'\n";
    folder.write(path, &slice.replacen("metadata:\n", held, 1));
    let run = folder.run("doctor --home cl-consumer");
    assert_eq!(run.code, 4, "{run:?}");
    for part in [
        "ResourceSlice liqo-tenant-cl-provider/mypool is deleted",
        "cl-provider liqo.io/foreign-cluster-permanently-unreachable=true",
    ] {
        assert!(run.out.contains(part), "{part}: {run:?}");
    }
}

/// Other commands fail on such a home, so the doctor has to say why.
#[test]
fn a_home_that_lost_a_key_has_findings() {
    let folder = with_peering();
    for name in [
        "authentication-keys",
        "liqo-auth-record-key",
        "liqo-auth-authority",
    ] {
        let file = format!("cl-provider/private/liqo/secret.{name}.yaml");
        let text = folder.read(&file);
        fs::remove_file(folder.path(&file)).unwrap();
        let run = folder.run("doctor --home cl-provider -o json");
        assert_eq!(run.code, 4, "{name}: {run:?}");
        let all: Value = serde_json::from_str(&run.out).unwrap();
        let found = &all["findings"][0];
        assert!(found["what"].as_str().unwrap().starts_with(&file), "{all}");
        let remedy = found["remedy"].as_str().unwrap();
        assert!(
            remedy.starts_with("Restore the file from a backup"),
            "{all}"
        );
        folder.write(&file, &text);
        fs::set_permissions(folder.path(&file), fs::Permissions::from_mode(0o600)).unwrap();
    }
    folder.ok("doctor --home cl-provider");
}

#[test]
fn lists_have_names_and_wide_tables() {
    let folder = with_peering();
    assert_eq!(
        folder.ok("get tenants -o name --home cl-provider"),
        "tenant.authentication.liqo.io/cl-consumer\n"
    );
    assert_eq!(
        folder.ok("get rs -o name --home cl-consumer"),
        "resourceslice.authentication.liqo.io/mypool\n"
    );
    let wide = folder.ok("get identities -o wide --home cl-consumer");
    let titles = wide.lines().next().unwrap();
    assert!(
        titles.ends_with("PROVIDER      API SERVER                CERTIFICATE ENDS"),
        "{wide}"
    );
    assert!(wide.contains("https://172.19.0.3:6443"), "{wide}");
    let wide = folder.ok("get rs -o wide --home cl-provider");
    assert!(
        wide.lines()
            .nth(1)
            .unwrap()
            .ends_with("cl-consumer   cl-provider   default"),
        "{wide}"
    );
}

#[test]
fn a_kubeconfig_is_named_by_its_identity() {
    let folder = with_peering();
    let named = folder.ok("get kubeconfig resourceslice-mypool --home cl-consumer");
    assert_eq!(
        named,
        folder.ok("get kubeconfig --remote-cluster-id cl-provider --resourceslice mypool --home cl-consumer")
    );
    let error = folder.refused("get kubeconfig nobody --home cl-consumer", "", 4);
    assert!(
        error.contains("controlplane-cl-provider, resourceslice-mypool"),
        "{error}"
    );
    let all = folder.ok("get kubeconfigs --home cl-consumer");
    let named: Vec<&str> = all
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(
        named,
        [
            "IDENTITY",
            "controlplane-cl-provider",
            "resourceslice-mypool"
        ]
    );
}

#[test]
fn a_command_waits_for_an_answer_as_long_as_it_is_told() {
    let folder = with_peering();
    let create = "create rs other --home cl-consumer --remote-cluster-id cl-provider --wait";
    let run = folder.run(&format!("{create} --timeout 1s"));
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err
            .contains("cl-provider has not decided on the slice other"),
        "{run:?}"
    );
    let waiting = folder.command(create).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    let run = crate::tool::Run::of(waiting.wait_with_output().unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("ResourceSlice resources: Accepted"),
        "{run:?}"
    );
}

#[test]
fn the_program_says_its_version_and_is_a_plug_in_of_kubectl() {
    let folder = Folder::new();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        folder
            .ok("version")
            .starts_with(&format!("Client version: {version}\n"))
    );
    let json: Value = serde_json::from_str(&folder.ok("version -o json")).unwrap();
    assert_eq!(json["version"], version);
    assert!(folder.ok("man").contains(".TH liqo-auth 1"));
    folder.ok("man --dir pages");
    // Examples keep their lines, in which they can be copied.
    let page = folder.read("pages/liqo-auth-create-nonce.1");
    let (_, examples) = page.split_once("\n.SH EXAMPLES\n.nf\n").unwrap();
    let (examples, after) = examples.split_once("\n.fi\n").unwrap();
    assert!(after.starts_with(".SH VERSION"), "{after}");
    let line = "  liqo\\-auth create nonce \\-\\-home ./cl\\-provider \\-\\-remote\\-cluster\\-id cl\\-consumer\n";
    assert!(examples.starts_with(line), "{examples}");
    assert!(folder.read("pages/liqo-auth.1").contains("\n.nf\n"));
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_liqo-auth"),
        folder.path("kubectl-liqo_auth"),
    )
    .unwrap();
    for command in [
        "cordon tenant",
        "generate resourceslice",
        "legacy authenticate",
    ] {
        let help = std::process::Command::new(folder.path("kubectl-liqo_auth"))
            .args(command.split(' '))
            .arg("--help")
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let usage = format!("Usage: kubectl liqo-auth {command} ");
        assert!(help.contains(&usage), "{help}");
        assert!(help.contains("`kubectl liqo-auth options`"), "{help}");
        let examples = help.lines().map(str::trim_start);
        assert!(
            examples
                .clone()
                .any(|line| line.starts_with("kubectl liqo-auth ")),
            "{help}"
        );
        assert!(
            !examples.clone().any(|line| line.starts_with("liqo-auth ")),
            "{help}"
        );
    }
}

#[test]
fn doctor_names_the_commands_after_a_change_of_the_providers_api_server() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    let renewed = folder.run("renew --home cl-consumer --remote-home cl-provider");
    assert_eq!(renewed.code, 3, "{renewed:?}");
    let doctor = folder.run("doctor --home cl-consumer");
    assert_eq!(doctor.code, 4, "{doctor:?}");
    let release = "release --home cl-consumer --remote-cluster-id cl-provider";
    assert!(doctor.out.contains(release), "{doctor:?}");
    let released = folder.ok(&format!("{release} --yes"));
    assert!(
        released.contains("authenticate --home cl-consumer"),
        "{released}"
    );
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let doctor = folder.run("doctor --home cl-consumer");
    assert!(!doctor.out.contains("pinned"), "{doctor:?}");
}
