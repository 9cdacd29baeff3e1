//! Output in 80 columns, as a person reads it.

use crate::tool::{Folder, Run, commands_of};

const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

/// A run beside a terminal of 80 columns.
fn run(folder: &Folder, arguments: &str) -> Run {
    let mut command = folder.command(arguments);
    Run::of(command.env("COLUMNS", "80").output().unwrap())
}

/// Asserts that the lines of a run fit. A value to copy, such as a nonce or a path, may be
/// longer on a line of its own, and so may a command.
fn assert_fits(arguments: &str, run: &Run) {
    for line in run.out.lines().chain(run.err.lines()) {
        assert_eq!(line, line.trim_end(), "{arguments}");
        let content = line.trim();
        let command = content.trim_start_matches(['(', '`', '│', ' ']);
        let is_command = ["liqo-auth ", "kubectl "]
            .iter()
            .any(|program| command.starts_with(program));
        let is_value = !content.contains(' ');
        assert!(
            line.chars().count() <= 80 || is_command || is_value,
            "{arguments}: {} columns: {line:?}",
            line.chars().count()
        );
    }
}

/// The commands in a text: between backticks, and after a colon or `is` to the end of the sentence.
fn commands_in(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let quoted = quoted.filter(|span| span.starts_with("liqo-auth "));
    let bare = ["command is ", "with: ", "here: "]
        .iter()
        .flat_map(|before| {
            let after = text.split(before).skip(1);
            let after = after.filter(|after| after.starts_with("liqo-auth "));
            after.filter_map(|after| after.split(['\n', ',']).next()?.split(". ").next())
        });
    let bare = bare.map(|command| command.trim_end_matches('.'));
    quoted.chain(bare).map(str::to_owned).collect()
}

/// Whatever is wrong, and however narrow it is.
#[test]
fn no_command_is_broken() {
    let folder = Folder::new();
    folder.ok("init --home cl-consumer --api-server https://172.19.0.2:6443");
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    folder.ok(AUTHENTICATE);
    folder.ok("create rs mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok("create nonce --home cl-provider --remote-cluster-id cl-other");
    let now = "--now +600d";
    for (state, expected) in [("", 10), ("release", 3), ("moved", 20), ("drained", 3)] {
        match state {
            "release" => {
                folder.ok("release --yes --home cl-provider --remote-cluster-id cl-consumer");
            }
            "moved" => {
                folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
                folder.ok("release --yes --home cl-consumer --remote-cluster-id cl-provider");
            }
            "drained" => {
                folder.ok("drain tenant cl-consumer --home cl-provider");
            }
            _ => {}
        }
        let mut count = 0;
        for home in ["cl-consumer", "cl-provider"] {
            for command in ["doctor", "status", "status --tree", "renew"] {
                let arguments = format!("{command} --home {home} {now}");
                let whole = folder.run(&arguments);
                let commands = [commands_in(&whole.out), commands_in(&whole.err)].concat();
                count += commands.len();
                for columns in ["50", "80", "100"] {
                    let mut narrow = folder.command(&arguments);
                    let run = Run::of(narrow.env("COLUMNS", columns).output().unwrap());
                    let text = format!("{}{}", run.out, run.err);
                    for command in &commands {
                        assert!(text.contains(command), "{columns}: {command}\n{text}");
                    }
                }
            }
        }
        assert!(count >= expected, "{state}: {count}");
    }
}

#[test]
fn each_help_page_fits() {
    let folder = Folder::new();
    let mut paths = vec![String::new()];
    let mut count = 0;
    while let Some(path) = paths.pop() {
        let long = run(&folder, &format!("{path} --help"));
        paths.extend(
            commands_of(&long.out)
                .iter()
                .map(|name| format!("{path} {name}")),
        );
        for form in ["-h", "--help"] {
            let arguments = format!("{path} {form}");
            let shown = run(&folder, &arguments);
            assert_eq!(shown.code, 0, "{arguments}: {shown:?}");
            for line in shown.out.lines() {
                assert!(line.chars().count() <= 80, "{arguments}: {line:?}");
            }
            // An example is continued as a shell reads it: no line begins inside a command.
            let examples = shown.out.split_once("Examples:\n");
            let examples = examples.and_then(|(_, after)| after.split("\n\n").next());
            for line in examples.into_iter().flat_map(joined) {
                let begins = |sign: &&str| line.starts_with(*sign);
                let is_inside = ["-", ">", "<", "|"].iter().any(begins);
                assert!(!is_inside && !line.ends_with('\\'), "{arguments}: {line:?}");
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count} pages");
}

/// With `-h`, a person sees all commands in groups, but no options.
#[test]
fn the_first_page_is_one_screen() {
    let folder = Folder::new();
    let short = run(&folder, "-h");
    assert_eq!((short.code, short.err.as_str()), (0, ""), "{short:?}");
    assert!(short.out.lines().count() <= 45, "{}", short.out);
    assert!(
        short.out.contains("\nRepair:\n  doctor ") && !short.out.contains("--home"),
        "{}",
        short.out
    );
}

/// Without a command, a person sees where to begin. What is printed is done as it is printed.
#[test]
fn the_tool_alone_prints_a_short_start() {
    let folder = Folder::new();
    let bare = run(&folder, "");
    assert_eq!((bare.code, bare.out.as_str()), (2, ""), "{bare:?}");
    let lines: Vec<&str> = bare.err.lines().collect();
    assert!(lines.len() <= 12, "{bare:?}");
    let begins = "\nAuthenticate Liqo clusters, by their API servers or by files\n";
    assert!(bare.err.starts_with(begins), "{bare:?}");
    assert!(lines.iter().all(|it| it.chars().count() <= 80), "{bare:?}");
    let commands = lines
        .iter()
        .filter_map(|it| it.strip_prefix("  liqo-auth "));
    let (named, typed): (Vec<&str>, Vec<&str>) = commands.partition(|it| it.contains("FILE"));
    let known = format!("{} --help", named[0].split_once(' ').unwrap().0);
    assert_eq!(run(&folder, &known).code, 0, "{known}");
    for command in &typed {
        let run = run(&folder, command);
        assert_eq!(run.code, 0, "{command}: {run:?}");
    }
    for shown in ["-h", "status --home rome"] {
        assert!(typed.contains(&shown), "{bare:?}");
    }
    // The page of a command below has its own list.
    let create = run(&folder, "create");
    assert_eq!(create.code, 2, "{create:?}");
    assert!(create.err.contains("Commands:\n  nonce"), "{create:?}");
}

/// Lines, with those joined that a backslash continues.
fn joined(text: &str) -> Vec<String> {
    let text = text.replace(" \\\n", " ");
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn what_a_life_of_a_peering_prints_fits() {
    let folder = Folder::new();
    folder.write("approval.yaml", "");
    for (arguments, code) in [
        ("init --home cl-consumer --cluster-id cl-consumer", 0),
        (
            "init --home cl-provider --api-server https://172.19.0.3:6443",
            0,
        ),
        ("init --home cl-cluster --signer kubernetes", 0),
        ("init --home cl-provider", 2),
        (
            "create nonce --home cl-provider --remote-cluster-id cl-consumer",
            0,
        ),
        (
            "create nonce --home cl-provider --remote-cluster-id cl-consumer",
            0,
        ),
        (
            "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider",
            4,
        ),
        (
            "generate identity --home cl-provider --remote-cluster-id cl-consumer",
            4,
        ),
        (AUTHENTICATE, 0),
        (
            "create rs mypool --home cl-consumer --remote-home cl-provider --cpu 2",
            0,
        ),
        (
            "create rs alone --home cl-consumer --remote-cluster-id cl-provider",
            0,
        ),
        ("get tenants -A --home cl-provider", 0),
        ("get identities -A --home cl-consumer", 0),
        ("get rs -A --home cl-provider", 0),
        ("get renews --home cl-provider", 0),
        ("get nonce --home cl-provider", 0),
        (
            "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice x",
            4,
        ),
        ("status --home cl-provider", 0),
        ("status --home cl-consumer", 0),
        ("status --home cl-consumer --fail-if-expiring 900d", 4),
        ("doctor --home cl-provider", 0),
        ("doctor --home cl-consumer", 4),
        (
            "transcript --home cl-provider --remote-cluster-id cl-consumer",
            0,
        ),
        ("audit show --home cl-provider", 0),
        ("audit verify --home cl-provider", 0),
        ("renew --home cl-consumer", 0),
        ("cordon tenant cl-consumer --home cl-provider", 0),
        ("uncordon tenant cl-consumer --home cl-provider", 0),
        ("cordon tenant cl-nobody --home cl-provider", 4),
        ("approve tenant cl-consumer --home cl-provider", 4),
        (
            "delete rs alone --home cl-consumer --remote-home cl-provider",
            0,
        ),
        (
            "delete rs mypool --home cl-consumer --remote-home cl-provider",
            0,
        ),
        (
            "release --yes --home cl-provider --remote-cluster-id cl-consumer",
            0,
        ),
        (
            "release --yes --home cl-consumer --remote-cluster-id cl-provider",
            0,
        ),
        ("legacy status --home cl-provider", 0),
        ("legacy get token --home cl-provider", 4),
        ("rbac", 0),
        ("version", 0),
        (
            "unauthenticate --yes --home cl-provider --remote-home cl-consumer",
            2,
        ),
        (
            "unauthenticate --yes --home cl-consumer --remote-home cl-provider",
            0,
        ),
        ("status --home cl-provider", 0),
        ("set api-server https://10.0.0.1:6443 --home cl-provider", 0),
        ("status", 2),
        ("status --home nowhere", 2),
        ("apply --home cl-provider -f approval.yaml", 3),
        ("inspect nowhere.yaml", 2),
        (
            "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce x",
            3,
        ),
    ] {
        let shown = run(&folder, arguments);
        assert_eq!(shown.code, code, "{arguments}: {shown:?}");
        assert_fits(arguments, &shown);
    }
}

#[test]
fn a_command_to_copy_has_a_line_of_its_own() {
    let folder = Folder::with_homes();
    let shown = run(&folder, AUTHENTICATE);
    let copied = "  liqo-auth get kubeconfig --home cl-consumer --remote-cluster-id cl-provider";
    assert!(
        shown.out.lines().any(|line| line == copied),
        "{}",
        shown.out
    );
    // A program that reads gets one line.
    let said = folder.ok(AUTHENTICATE);
    assert!(
        said.contains(&format!("Print it with: {}\n", copied.trim())),
        "{said}"
    );
}

/// A line that is exactly as wide as the terminal is not broken.
#[test]
fn a_line_of_progress_uses_the_whole_width() {
    let folder = Folder::with_homes();
    let line = " INFO   (remote) Tenant correctly applied on provider cluster";
    let mut command = folder.command(AUTHENTICATE);
    let shown = Run::of(
        command
            .env("COLUMNS", line.len().to_string())
            .output()
            .unwrap(),
    );
    assert!(shown.out.lines().any(|shown| shown == line), "{shown:?}");
}

#[test]
fn a_wide_table_has_all_columns() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let narrow = run(&folder, "status --home cl-provider");
    assert!(!narrow.out.contains("FINGERPRINT"), "{}", narrow.out);
    let wide = run(&folder, "status --home cl-provider -o wide");
    for title in [
        "IS",
        "CERTIFICATE",
        "RENEWED",
        "CERTIFICATE ENDS",
        "FINGERPRINT",
    ] {
        let titles = wide.out.lines().find(|line| line.starts_with("PEER"));
        assert!(titles.unwrap().contains(title), "{title}: {}", wide.out);
    }
    let log = run(&folder, "audit show --home cl-provider -o wide");
    assert!(log.out.starts_with("TIME "), "{}", log.out);
    assert!(
        log.out.lines().next().unwrap().contains("RULE"),
        "{}",
        log.out
    );
}

/// A person compares and copies fingerprints, so that none is cut.
#[test]
fn the_log_shows_fingerprints_whole() {
    let folder = Folder::with_homes();
    folder.ok(AUTHENTICATE);
    let template = "jsonpath={[?(@.decision==\"CertificateIssued\")].details.certificate}";
    let log = "audit show --home cl-provider";
    let certificate = folder.ok(&format!("{log} -o {template}"));
    assert_eq!(certificate.len(), "SHA256:".len() + 64, "{certificate}");
    let shown = folder.ok(log);
    let named = format!("certificate={certificate}");
    assert!(shown.contains(&named), "{shown}");
    let shown = run(&folder, log).out;
    assert!(
        shown.lines().any(|line| line.trim() == certificate),
        "{shown}"
    );
}
