//! What people type by habit with liqoctl is taken, or refused with what to do instead, as the
//! reference says.

use std::collections::BTreeSet;

use crate::tool::Folder;

/// The commands of liqoctl 1.2.0 about authentication, without their other names, and the
/// options of each; of `create virtualnode`, those that name what the authentication has made.
/// Source: `cmd/liqoctl/cmd` and `pkg/liqoctl/rest` of that version.
const LIQOCTL: &[(&str, &str)] = &[
    (
        "authenticate",
        "--timeout --in-band --proxy-url -n --namespace --remote-namespace",
    ),
    (
        "unauthenticate",
        "--timeout --wait -n --namespace --remote-namespace",
    ),
    ("activate tenant", "--timeout"),
    ("cordon tenant", "--timeout"),
    ("cordon resourceslice", "--timeout --remote-cluster-id"),
    ("uncordon tenant", "--timeout"),
    ("uncordon resourceslice", "--timeout --remote-cluster-id"),
    ("drain tenant", "--timeout"),
    (
        "create nonce",
        "--remote-cluster-id -o --output -n --namespace --liqo-namespace",
    ),
    (
        "create resourceslice",
        "--remote-cluster-id -o --output --class --cpu --memory --pods --resource \
         --no-virtual-node -n --namespace --liqo-namespace",
    ),
    (
        "generate tenant",
        "--remote-cluster-id -o --output --remote-tenant-namespace --nonce --proxy-url \
         -n --namespace --liqo-namespace",
    ),
    (
        "generate identity",
        "--remote-cluster-id -o --output --remote-tenant-namespace \
         -n --namespace --liqo-namespace",
    ),
    (
        "generate peering-user",
        "--consumer-cluster-id --tls-compatibility-mode -n --namespace --liqo-namespace",
    ),
    ("get nonce", "--remote-cluster-id -n --namespace"),
    ("get kubeconfig", "--remote-cluster-id -n --namespace"),
    (
        "delete peering-user",
        "--consumer-cluster-id -n --namespace",
    ),
    ("version", "--client -n --namespace"),
    ("completion", "--no-descriptions"),
    (
        "peer",
        "--create-resource-slice --resource-slice-class --create-virtual-node --in-band \
         --proxy-url --cpu --memory --pods --resource --skip-validation --timeout \
         --networking-disabled --gw-server-service-location --gw-server-service-type \
         --gw-server-service-port --gw-server-service-nodeport \
         --gw-server-service-loadbalancerip --gw-client-address --gw-client-port --mtu \
         -n --namespace --remote-namespace",
    ),
    (
        "unpeer",
        "--delete-namespaces --wait --timeout -n --namespace --remote-namespace",
    ),
    ("info", "-o --output -g --get -v --verbose -n --namespace"),
    (
        "info peer",
        "-o --output -g --get -v --verbose -n --namespace",
    ),
    ("force unpeer", ""),
    (
        "create virtualnode",
        "--kubeconfig-secret-name --resource-slice-name",
    ),
    ("delete virtualnode", ""),
];

/// What liqoctl's commands and its options do here.
const COMMANDS: &str = include_str!("../../../../docs/reference/liqoctl-commands.md");
const OPTIONS: &str = include_str!("../../../../docs/reference/liqoctl-options.md");

/// The options that liqoctl has at every command. `AddFlags` hides most of those of kubectl.
const EVERYWHERE: &str = "--kubeconfig --context --cluster --user --skip-confirm --global-labels \
    --global-annotations -v --verbose -s --server --tls-server-name --certificate-authority \
    --insecure-skip-tls-verify --client-certificate --client-key --token --as --as-group --as-uid \
    --as-user-extra --request-timeout --cache-dir --disable-compression";

/// The options that liqoctl has where it works on two clusters, beside those of [`EVERYWHERE`].
const REMOTE: &str = "--remote-kubeconfig --remote-context --remote-cluster --remote-user";

/// Where liqoctl works on two clusters.
const ON_TWO_CLUSTERS: [&str; 4] = ["authenticate", "unauthenticate", "peer", "unpeer"];

/// How the table says that every command has an option.
const EVERY: &str = "every command";

/// A row of a table: how a person types it, at which commands, and what becomes of it here.
struct Row {
    typed: Vec<String>,
    commands: Vec<String>,
    is_taken: bool,
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<String> {
    let parts = cell.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

/// The rows of the table on this page.
fn table(page: &str) -> Vec<Row> {
    let lines = page.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let rows = rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (verdict, commands) = match cells.as_slice() {
            [_, verdict, _] => (*verdict, Vec::new()),
            [_, "every command", verdict, _] => (*verdict, vec![EVERY.to_owned()]),
            [_, commands, verdict, _] => (*verdict, quoted(commands)),
            _ => panic!("a row of another form: {line}"),
        };
        let is_taken = match verdict {
            "same" | "better" | "different" => true,
            "not taken" => false,
            _ => panic!("{verdict}: {line}"),
        };
        Row {
            typed: quoted(cells[0]),
            commands,
            is_taken,
        }
    });
    rows.collect()
}

/// The command with the word that a person gives it, if it takes one.
fn with_name(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let takes_name = matches!(
        words.as_slice(),
        ["cordon" | "uncordon" | "drain" | "activate", ..]
            | ["create", "resourceslice" | "resourceslices" | "rs"]
            | ["get", "kubeconfig" | "kc"]
    );
    match command {
        "completion" => "completion bash".to_owned(),
        _ if takes_name => format!("{command} pool"),
        _ => command.to_owned(),
    }
}

/// The option of a text such as `--cpu 2`, without its value.
fn option(typed: &str) -> &str {
    typed.split([' ', '=']).next().unwrap()
}

fn is_taken(folder: &Folder, line: &str) {
    let run = folder.run(&format!("{line} --help"));
    assert!(
        run.code == 0 && run.out.contains("Usage: liqo-auth"),
        "{line}: {run:?}"
    );
}

fn is_refused_with_advice(folder: &Folder, line: &str) {
    let run = folder.run(line);
    assert!(
        run.code == 2 && run.err.contains("  tip: "),
        "{line}: {run:?}"
    );
}

#[test]
fn each_command_of_liqoctl_does_what_the_table_says() {
    let folder = Folder::new();
    let rows = table(COMMANDS);
    for row in &rows {
        for command in &row.typed {
            match row.is_taken {
                true => is_taken(&folder, &with_name(command)),
                false => is_refused_with_advice(&folder, command),
            }
        }
    }
    let told: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.typed.iter().map(String::as_str))
        .collect();
    for (command, _) in LIQOCTL {
        assert!(told.contains(command), "the table lacks {command}");
    }
}

#[test]
fn each_option_of_liqoctl_does_what_the_table_says() {
    let folder = Folder::new();
    let rows = table(OPTIONS);
    let mut told = BTreeSet::new();
    for row in &rows {
        for command in &row.commands {
            for typed in &row.typed {
                told.insert((command.as_str(), option(typed)));
                // One of every command stands before the command, or after it.
                let lines = match command.as_str() {
                    EVERY => vec![format!("{typed} version"), format!("version {typed}")],
                    _ => vec![format!("{} {typed}", with_name(command))],
                };
                for line in lines {
                    match row.is_taken {
                        true => is_taken(&folder, &line),
                        false => is_refused_with_advice(&folder, &line),
                    }
                }
            }
        }
    }
    let everywhere = [(EVERY, EVERYWHERE)];
    let remote = ON_TWO_CLUSTERS.map(|command| (command, REMOTE));
    let all = LIQOCTL.iter().chain(&everywhere).chain(&remote);
    let all: BTreeSet<(&str, &str)> = all
        .flat_map(|(command, options)| options.split_whitespace().map(|it| (*command, it)))
        .collect();
    assert_eq!(told, all, "the table, and what liqoctl has");
}

/// The hidden options of kubectl are refused for the other cluster, too.
#[test]
fn what_is_refused_for_one_cluster_is_refused_for_the_other() {
    let folder = Folder::new();
    for option in ["--remote-token", "--remote-as", "--remote-request-timeout"] {
        is_refused_with_advice(&folder, &format!("authenticate {option}=x"));
    }
    let run = folder.run("generate tenant --in-band");
    assert!(run.err.contains("--proxy-url"), "{run:?}");
    assert!(!run.err.contains("similar"), "{run:?}");
    // What nobody types by habit gets clap's own advice.
    let run = folder.run("status --wtch");
    assert!(run.code == 2 && run.err.contains("--watch"), "{run:?}");
}

/// What people type by habit with other tools.
#[test]
fn other_words_lead_to_the_right_command() {
    let folder = Folder::new();
    for (word, command) in [
        ("revoke", "liqo-auth unauthenticate"),
        ("logs", "liqo-auth audit show"),
        ("pin", "liqo-auth release"),
        ("peer", "liqo-auth authenticate"),
        ("info", "liqo-auth status"),
        ("list", "liqo-auth status"),
        ("describe", "liqo-auth inspect"),
        ("verify", "liqo-auth inspect"),
        ("repair", "liqo-auth doctor"),
        ("invite", "liqo-auth create nonce"),
        ("uninvite", "liqo-auth delete nonce"),
        ("delete peer b", "liqo-auth unauthenticate"),
        ("delete tenant b", "liqo-auth unauthenticate"),
        ("create vn b", "liqo-auth create resourceslice"),
    ] {
        let run = folder.run(word);
        let tip = run.err.split_once("  tip: ").map(|(_, tip)| tip);
        let is_named = tip.is_some_and(|tip| tip.contains(command));
        assert!(run.code == 2 && is_named, "{word}: {run:?}");
    }
}

#[test]
fn durations_are_gos_or_ours() {
    let folder = Folder::with_homes();
    for good in ["2m0s", "1h30m", "1.5h", "90s", "500ms", "24h", "7d", "0"] {
        folder.ok(&format!("status --home cl-consumer --timeout {good}"));
        folder.ok(&format!("status --home cl-consumer --timeout={good}"));
    }
    folder.ok("status --home cl-consumer --fail-if-expiring 720h0m0s");
    folder.ok("status --home cl-consumer --now +1d12h");
    folder.ok("status --home cl-consumer --now +1.5h");
    for (option, text) in [
        ("--timeout 90", "such as 90s, 1h30m, 1.5h or 7d"),
        ("--timeout 1.5", "such as 90s, 1h30m, 1.5h or 7d"),
        ("--timeout 200000d", "at most 106751d"),
        ("--fail-if-expiring 500ms", "whole seconds"),
        ("--now +1500ms", "whole seconds"),
    ] {
        let line = format!("status --home cl-consumer {option}");
        let error = folder.refused(&line, "", 2);
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn switches_are_set_as_with_pflag() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let slice = "create rs mypool --home cl-consumer --remote-home cl-provider -o yaml";
    let annotation = |options: &str| {
        let yaml = folder.ok(&format!("{slice} {options}"));
        let line = yaml.lines().find(|line| line.contains("virtual-node"));
        line.map(|line| line.trim().to_owned())
    };
    let with = annotation("");
    let without = annotation("--no-virtual-node");
    assert_ne!(with, without);
    assert_eq!(annotation("--no-virtual-node=true"), without);
    assert_eq!(annotation("--no-virtual-node=false"), with);
    folder.ok("version --client=true");
    folder.ok("cordon tenant cl-consumer --home cl-provider --skip-confirm=true");
    folder.ok("status --home cl-provider --verbose=true");
    folder.ok("status --home cl-provider --verbose=false");

    let trial = "uncordon tenant cl-consumer --home cl-provider";
    let before = folder.snapshot();
    folder.ok(&format!("{trial} --dry-run=true"));
    assert!(before == folder.snapshot());
    folder.ok(&format!("{trial} --dry-run=false"));
    assert!(before != folder.snapshot());

    let error = folder.refused("status --home cl-provider --dry-run=perhaps", "", 2);
    assert!(error.contains("expected true or false"), "{error}");
    // The pages stay as they are.
    let page = folder.ok("unauthenticate --help");
    assert!(page.contains("--delete-offloaded\n"), "{page}");
    // A consent is given, or not. A file is not forgotten by accident.
    let consent = "legacy serve --home cl-provider --trust-whoever-holds-the-token=false";
    folder.refused(consent, "", 2);
    let error = folder.refused("set ca --default=false --home cl-provider", "", 2);
    assert!(error.contains("--default"), "{error}");
}

#[test]
fn kinds_have_the_short_names_of_kubectl() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    folder.ok("create rslice mypool --home cl-consumer --remote-home cl-provider");
    let same = |short: &str, long: &str| {
        assert_eq!(folder.ok(short), folder.ok(long), "{short}");
    };
    let name = "--home cl-provider -o name";
    same(&format!("get tn {name}"), &format!("get tenants {name}"));
    same(
        &format!("get rslice {name}"),
        &format!("get resourceslices {name}"),
    );
    // At one moment: the table says how old a nonce is, and in what time it expires.
    let now = "--home cl-provider --now 2100-01-01T00:00:00Z";
    same(&format!("get nonces {now}"), &format!("get nonce {now}"));
    let name = "--home cl-consumer -o name";
    same(&format!("get id {name}"), &format!("get identities {name}"));
    let of = "--home cl-provider --remote-cluster-id cl-consumer";
    same(
        &format!("generate id {of}"),
        &format!("generate identity {of}"),
    );
    for command in ["cordon", "uncordon"] {
        folder.ok(&format!("{command} rslice mypool {of}"));
        folder.ok(&format!("{command} tn cl-consumer --home cl-provider"));
    }
    folder.ok("drain tn cl-consumer --home cl-provider");
    folder.ok("activate tn cl-consumer --home cl-provider");
    for command in [
        "generate tn",
        "generate rslice",
        "delete rslice",
        "approve tn",
        "approve rslice",
        "deny tn",
        "sign-again tn",
        "sign-again rslice",
    ] {
        folder.ok(&format!("{command} --help"));
    }
}

/// liqoctl names Liqo's namespace by `--namespace` where it works on two clusters.
#[test]
fn the_namespace_of_liqo_has_two_names() {
    let folder = Folder::with_homes();
    for command in ["authenticate", "unauthenticate"] {
        let beside = format!("{command} --home cl-consumer --remote-home cl-provider -n liqo");
        let error = folder.refused(&beside, "", 2);
        assert!(error.contains("--namespace is for a cluster"), "{error}");
        let differ = format!(
            "{command} --kubeconfig x --remote-home cl-provider -n one --liqo-namespace two"
        );
        let error = folder.refused(&differ, "", 2);
        assert!(error.contains("they differ: one and two"), "{error}");
    }
    // `get` has it for the objects, as kubectl does.
    folder.ok("get identities -n liqo-tenant-cl-provider --home cl-consumer");
}

/// liqoctl takes the name of the Identity and its cluster together.
#[test]
fn a_kubeconfig_is_found_by_its_name_and_its_cluster() {
    let folder = Folder::with_homes();
    folder.ok("authenticate --home cl-consumer --remote-home cl-provider");
    let by_name = "get kubeconfig controlplane-cl-provider --home cl-consumer";
    let both = format!("{by_name} --remote-cluster-id cl-provider");
    assert_eq!(folder.ok(&both), folder.ok(by_name));
    let other = format!("{by_name} --remote-cluster-id cl-other");
    let error = folder.refused(&other, "", 4);
    assert!(error.contains("for cl-other"), "{error}");
    assert!(error.contains("its Identities: none"), "{error}");
}
