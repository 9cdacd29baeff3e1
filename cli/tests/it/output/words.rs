//! Tables, explanations, completions and help.

use crate::tool::{Folder, vector};

#[test]
fn tables_are_kubectls() {
    let folder = Folder::with_homes();
    let at = "--now 2026-11-20T13:00:00Z --write-at-this-time";
    folder.ok("init --home cl-a --now 2026-11-20T12:00:00Z --write-at-this-time");
    folder.ok("init --home cl-b --now 2026-11-20T12:00:00Z --write-at-this-time");
    folder.ok(&format!("authenticate --home cl-a --remote-home cl-b {at}"));
    assert_eq!(
        folder.ok("get identities -A --home cl-a --now 2026-11-20T13:01:28Z"),
        "NAMESPACE          NAME                AGE   TYPE           KUBECONFIGSECRET\n\
         liqo-tenant-cl-b   controlplane-cl-b   88s   ControlPlane   kubeconfig-controlplane-cl-b\n"
    );
    assert_eq!(
        folder.ok("get tenant --home cl-b --now 2026-11-20T13:16:00Z"),
        "NAME   AGE   CONDITION\ncl-a   16m   Active\n"
    );
    assert_eq!(
        folder.ok("get nonce --home cl-b --now 2026-11-20T13:05:05Z"),
        "NAMESPACE          NAME         TYPE     DATA   AGE    EXPIRES\n\
         liqo-tenant-cl-a   liqo-nonce   Opaque   1      5m5s   23h\n"
    );
    let run = folder.run("get tenants --home cl-a");
    assert_eq!(
        (run.code, run.out.as_str(), run.err.as_str()),
        (0, "", "No Tenant found.\n")
    );
}

/// A home and a cluster on one command line contradict each other, wherever they stand.
#[test]
fn a_home_beside_a_cluster_is_refused() {
    let folder = Folder::with_homes();
    for arguments in [
        "status --home cl-consumer --kubeconfig x",
        "--home cl-consumer status --context x",
        "--kubeconfig x status --home cl-consumer",
        "status --home cl-consumer --in-cluster",
        "status --home cl-consumer --liqo-namespace x",
    ] {
        let error = folder.refused(arguments, "", 2);
        assert!(error.contains("--home names a folder"), "{error}");
    }
    let both = "authenticate --home cl-consumer --remote-home cl-provider --remote-context x";
    folder.refused(both, "", 2);
    // The environment names a home for the commands that do not name a cluster.
    let named = |arguments: &str| {
        let mut command = folder.command(arguments);
        let output = command.env("LIQO_AUTH_HOME", "cl-consumer").output();
        crate::tool::Run::of(output.unwrap())
    };
    assert_eq!(named("status").code, 0);
    let run = named("status --kubeconfig missing");
    assert!(run.code == 2 && run.err.contains("kubeconfig"), "{run:?}");
}

#[test]
fn manifests_come_in_json_and_yaml() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok("get tenants cl-consumer -o json --home cl-provider"))
            .unwrap();
    assert_eq!(json["spec"]["clusterID"], "cl-consumer");
    assert_eq!(json["spec"]["tenantCondition"], "Active");
    assert_eq!(json["metadata"]["name"], "cl-consumer");
    let none: serde_json::Value =
        serde_json::from_str(&folder.ok("get tenants -o json --home cl-consumer")).unwrap();
    assert_eq!(none["kind"], "List");
    let yaml = folder.ok("get identities -o yaml --home cl-consumer");
    assert!(
        yaml.starts_with("apiVersion: authentication.liqo.io/v1beta1\nkind: Identity\n"),
        "{yaml}"
    );
}

#[test]
fn the_published_tenant_is_of_another_subject_and_nothing_else_is_said() {
    let folder = Folder::new();
    let run = folder.run(&format!("inspect {}", vector("seed/tenant.yaml").display()));
    assert_eq!(run.code, 3, "{run:?}");
    let wrong: Vec<_> = run
        .out
        .lines()
        .filter(|line| line.trim_start().starts_with("Wrong"))
        .collect();
    assert_eq!(wrong.len(), 1, "{}", run.out);
    for part in ["spec.csr", "CN=cl01", "CN=cl-consumer", ", rule 1)"] {
        assert!(wrong[0].contains(part), "{part}: {}", run.out);
    }
    assert!(
        run.out
            .contains("SHA256:2607388d6d984f6d8f76836c4d8362869b91dae3c5fab0a5ae058986bbe8ae05")
    );
}

#[test]
fn what_liqo_made_by_hand_is_right() {
    let folder = Folder::new();
    let nonce = std::fs::read_to_string(vector("liqo-1.2.0/by-hand/get-nonce.txt")).unwrap();
    let tenant = vector("liqo-1.2.0/by-hand/tenant.yaml");
    let out = folder.ok_with(&format!("inspect --nonce - {}", tenant.display()), &nonce);
    assert!(
        out.contains("Verified        the key signed the nonce\n"),
        "{out}"
    );
    let out = folder.ok(&format!("inspect {}", tenant.display()));
    assert!(
        out.contains("Not verified    the signature over the nonce"),
        "{out}"
    );

    let identity = vector("liqo-1.2.0/by-hand/identity.yaml");
    let out = folder.ok(&format!(
        "inspect --now 2026-11-21T00:00:00Z {}",
        identity.display()
    ));
    for part in [
        "Provider        cluster-b\n",
        "Consumer        cluster-a\n",
        "Dates           2026-11-20T22:41:43Z to 2027-11-20T22:40:04Z (ends in 364d)\n",
        "Verified        the certificate is for cluster-a",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let run = folder.run(&format!(
        "inspect --now 2028-01-01T00:00:00Z {}",
        identity.display()
    ));
    assert_eq!(run.code, 3);
    assert!(
        run.out.contains("expired") && run.out.contains(", rule 9)"),
        "{}",
        run.out
    );
}

#[test]
fn a_home_judges_what_it_would_take() {
    let folder = Folder::with_homes();
    folder.write("tenant.yaml", &folder.tenant());
    let before = folder.snapshot();
    let out = folder.ok("inspect --home cl-provider tenant.yaml");
    assert!(
        out.contains("this provider accepts this Tenant from cl-consumer"),
        "{out}"
    );
    assert!(before == folder.snapshot());
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-consumer --replace");
    let run = folder.run("inspect --home cl-provider tenant.yaml");
    assert_eq!(run.code, 3);
    assert!(run.out.contains("spec.signature"), "{}", run.out);
}

#[test]
fn a_peers_text_does_not_steer_the_terminal() {
    let folder = Folder::new();
    folder.write(
        "tenant.yaml",
        "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nmetadata:\n  name: \"a\\e[2Jb\"\nspec:\n  clusterID: \"a\\e[2Jb\"\n",
    );
    let run = folder.run("inspect tenant.yaml");
    assert_eq!(run.code, 3);
    assert!(
        !run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'),
        "{run:?}"
    );
    folder.ok("init --home cl-b");
    let error = folder.refused("apply --home cl-b -f tenant.yaml", "", 3);
    assert!(!error.contains('\u{1b}'), "{error}");
}

#[test]
fn colours_come_only_when_asked_for_or_on_a_terminal() {
    let folder = Folder::with_homes();
    let plain = folder.run("authenticate --home cl-consumer --remote-home cl-provider");
    assert!(!plain.out.contains('\u{1b}'));
    let painted =
        folder.ok("authenticate --home cl-consumer --remote-home cl-provider --color always");
    assert!(
        painted
            .starts_with("\u{1b}[36m INFO \u{1b}[0m  (local) Tenant namespace correctly ensured\n"),
        "{painted}"
    );
}

#[test]
fn completions_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.ok(&format!("completion {shell}"));
        // The script asks the program, which completions.rs does.
        assert!(script.contains("COMPLETE"), "{shell}");
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = Folder::new();
    let help = folder.ok("--help");
    for part in [
        "Examples:",
        "liqo-auth generate tenant",
        "Exit codes:",
        "  3  the input from the peer was refused",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    for command in [
        "init",
        "authenticate",
        "create",
        "generate",
        "apply",
        "inspect",
    ] {
        assert!(
            folder
                .ok(&format!("{command} --help"))
                .contains("Examples:"),
            "{command}"
        );
    }
    assert_eq!(folder.run("frobnicate").code, 2);
    assert_eq!(folder.run("get tenants").code, 2);
}

#[test]
fn each_command_explains_itself() {
    let folder = Folder::new();
    for command in [
        "create resourceslice",
        "create rs",
        "delete resourceslice",
        "get resourceslices",
        "get renews",
        "status",
        "replicate",
        "renew",
        "cordon tenant",
        "cordon resourceslice",
        "uncordon tenant",
        "uncordon resourceslice",
        "drain tenant",
        "approve tenant",
        "deny tenant",
        "release",
        "unauthenticate",
    ] {
        let help = folder.ok(&format!("{command} --help"));
        assert!(help.contains("Usage: liqo-auth"), "{command}: {help}");
    }
}
