//! Several tenants in one command.

use crate::tool::{Folder, Run};

/// A provider with these consumers.
fn with_consumers(consumers: &[&str], options: &str) -> Folder {
    let folder = Folder::new();
    let provider = "init --home cl-provider --api-server https://172.19.0.3:6443";
    folder.ok(&format!("{provider} {options}"));
    for consumer in consumers {
        folder.ok(&format!("init --home {consumer}"));
        folder.run(&format!(
            "authenticate --home {consumer} --remote-home cl-provider"
        ));
    }
    folder
}

/// The conditions of the tenants, and the phases of the peerings.
fn stands(folder: &Folder) -> String {
    let template = "jsonpath={range.peerings[*]}{.peer}={.phase}/{.condition};{end}";
    folder.ok(&format!("status --home cl-provider -o {template}"))
}

fn at(folder: &Folder, command: &str) -> Run {
    folder.run(&format!("{command} --home cl-provider"))
}

#[test]
fn each_tenant_gets_the_condition() {
    let folder = with_consumers(&["cl-a", "cl-b", "cl-c"], "");
    let run = at(&folder, "cordon tenant cl-a cl-b");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out,
        " INFO  Tenant \"cl-a\" cordoned\n INFO  Tenant \"cl-b\" cordoned\n"
    );
    let (a, b) = ("cl-a=Authenticated/Cordoned", "cl-b=Authenticated/Cordoned");
    let c = "cl-c=Authenticated/Active";
    assert_eq!(stands(&folder), format!("{a};{b};{c};"));
    for (command, condition) in [
        ("uncordon tenants cl-b cl-a", "Authenticated/Active"),
        ("drain tenant cl-a cl-b", "Drained/Drained"),
        ("activate tenant cl-a cl-b", "Authenticated/Active"),
    ] {
        let run = at(&folder, command);
        assert_eq!(run.code, 0, "{run:?}");
        let both = format!("cl-a={condition};cl-b={condition};{c};");
        assert_eq!(stands(&folder), both, "{command}");
    }
}

#[test]
fn a_failure_holds_up_no_other_tenant() {
    let folder = with_consumers(&["cl-a", "cl-b"], "");
    let run = at(&folder, "cordon tenant cl-x cl-a cl-y cl-b");
    assert_eq!(run.code, 4, "{run:?}");
    let missing = |name: &str| {
        format!(
            "Error: {name}: unable to get tenant: there is no Tenant of {name} in cl-provider\n"
        )
    };
    let last = "Error: 2 of 4 tenants failed: cl-x, cl-y\n";
    assert_eq!(run.err, missing("cl-x") + &missing("cl-y") + last);
    let condition = "Authenticated/Cordoned";
    assert_eq!(
        stands(&folder),
        format!("cl-a={condition};cl-b={condition};")
    );
    // One tenant fails as before.
    let run = at(&folder, "cordon tenant cl-x");
    assert!(
        run.err.starts_with("Error: unable to get tenant"),
        "{run:?}"
    );
    // The first failure says the exit code.
    let record = "cl-provider/records/secret.liqo-auth-provider-cl-a.yaml";
    let text = folder.read(record);
    folder.write(record, &text.replace("seal: ", "seal: AAAA"));
    for (command, code) in [
        ("uncordon tenant cl-x cl-a cl-b", 4),
        ("cordon tenant cl-a cl-x cl-b", 5),
    ] {
        let run = at(&folder, command);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.out.contains("Tenant \"cl-b\""), "{run:?}");
    }
    // What is wrong with the command line is told once.
    let run = folder.run("cordon tenant cl-a cl-b --home nowhere");
    assert_eq!((run.code, run.err.lines().count()), (2, 1), "{run:?}");
    assert_eq!(at(&folder, "cordon tenant").code, 2);
    assert_eq!(at(&folder, "cordon tenant cl-a not/an/id").code, 2);
}

#[test]
fn several_requests_are_decided() {
    let folder = with_consumers(&["cl-a", "cl-b", "cl-c", "cl-d"], "--require-approval");
    let run = at(&folder, "approve tenant cl-a cl-x cl-b");
    assert_eq!(run.code, 4, "{run:?}");
    assert!(
        run.err.ends_with("Error: 1 of 3 tenants failed: cl-x\n"),
        "{run:?}"
    );
    for name in ["cl-a", "cl-b"] {
        let approved = format!("Tenant \"{name}\" approved\n");
        assert!(run.out.contains(&approved), "{run:?}");
    }
    let run = at(&folder, "deny tenant cl-c cl-d --reason unknown");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out,
        " INFO  Tenant \"cl-c\" denied\n INFO  Tenant \"cl-d\" denied\n"
    );
    let stands = stands(&folder);
    for part in [
        "cl-a=Authenticated/",
        "cl-b=Authenticated/",
        "cl-c=Refused/",
        "cl-d=Refused/",
    ] {
        assert!(stands.contains(part), "{part}: {stands}");
    }
}

#[test]
fn a_trial_shows_all_of_them() {
    let folder = with_consumers(&["cl-a", "cl-b"], "");
    let shown = folder.ok("cordon tenant cl-a cl-b --home cl-provider --dry-run");
    let begin = "In cl-provider, 4 objects would be changed.\n\n";
    assert!(shown.starts_with(begin), "{shown}");
    for name in ["cl-a", "cl-b"] {
        let tenant = format!("+++ cl-provider/manifests/liqo-tenant-{name}/tenant.{name}.yaml\n");
        assert!(shown.contains(&tenant), "{shown}");
    }
    let active = "Authenticated/Active";
    assert_eq!(stands(&folder), format!("cl-a={active};cl-b={active};"));
}
