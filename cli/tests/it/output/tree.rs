//! `status --tree`, and the lines of time of certificates.

use crate::tool::{Folder, Run};

const THEN: &str = "--now 2026-11-20T13:00:00Z --write-at-this-time";
const NOW: &str = "--now 2026-12-20T13:00:00Z";

/// A provider with a consumer that has a slice, and with one that has not answered.
fn with_peerings() -> Folder {
    let folder = Folder::new();
    for home in ["cl-consumer", "cl-provider"] {
        folder.ok(&format!(
            "init --home {home} --api-server https://172.19.0.3:6443 {THEN}"
        ));
    }
    let both = format!("--home cl-consumer --remote-home cl-provider {THEN}");
    folder.ok(&format!("authenticate {both}"));
    folder.ok(&format!("create rs mypool {both}"));
    folder.ok(&format!(
        "create nonce --home cl-provider --remote-cluster-id cl-other {NOW} --write-at-this-time"
    ));
    folder
}

/// A run in a locale.
fn run(folder: &Folder, arguments: &str, locale: &str) -> Run {
    let mut command = folder.command(arguments);
    command.env_remove("COLUMNS").env("LC_ALL", locale);
    Run::of(command.output().unwrap())
}

fn tree(folder: &Folder, home: &str, options: &str) -> String {
    let arguments = format!("status --tree --home {home} {options}");
    let run = run(folder, &arguments, "C.UTF-8");
    assert_eq!(run.code, 0, "{run:?}");
    run.out
}

#[test]
fn the_tree_in_the_reference_is_this_one() {
    let folder = with_peerings();
    let page = include_str!("../../../../docs/reference/pictures.md");
    let (_, shown) = page.split_once("```text\nCluster ").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let drawn = tree(&folder, "cl-provider", NOW);
    assert_eq!(drawn, format!("Cluster {shown}"));
    // It depends on nothing else.
    assert_eq!(drawn, tree(&folder, "cl-provider", NOW));
}

#[test]
fn a_locale_without_utf_8_has_ascii() {
    let folder = with_peerings();
    let lines = tree(&folder, "cl-consumer", NOW);
    let arguments = format!("status --tree --home cl-consumer {NOW}");
    let ascii = run(&folder, &arguments, "C").out;
    assert!(ascii.is_ascii(), "{ascii}");
    let mut same = lines;
    for (line, other) in [("├─ ", "|- "), ("└─ ", "`- "), ("│  ", "|  ")] {
        same = same.replace(line, other);
    }
    for (line, other) in [("├", "|"), ("┤", "|"), ("─", "-"), ("●", "*"), ("◆", "+")] {
        same = same.replace(line, other);
    }
    assert_eq!(ascii, same);
}

#[test]
fn what_is_wrong_has_its_remedy() {
    let folder = with_peerings();
    let later = "--now 2028-01-01T00:00:00Z";
    let provider = tree(&folder, "cl-provider", later);
    let ends = [
        "wrong: the certificate of cl-consumer ended at 2027-11-20T13:00:00Z\n",
        "remedy: `liqo-auth renew --home cl-provider` signs the next one.",
        "certificate: expired 41d ago\n",
        "┤●2027-11-20T13:00:00Z\n",
        "waits for this side: run `liqo-auth renew`\n",
    ];
    for part in ends {
        assert!(provider.contains(part), "{part}: {provider}");
    }
    let consumer = tree(&folder, "cl-consumer", later);
    assert!(consumer.contains("└─ cl-provider: Refused\n"), "{consumer}");
    assert!(
        consumer.contains("remedy: Check this cluster's clock"),
        "{consumer}"
    );
    for line in provider.lines().chain(consumer.lines()) {
        // A command is not broken, and begins its line.
        let content = line.trim_start_matches(['│', ' ', '(', '`']);
        let is_command = content.starts_with("liqo-auth ");
        assert!(line.chars().count() <= 80 || is_command, "{line}");
    }
    // What the record holds and the Tenant no longer says is told once, with its remedy.
    folder.ok("drain tenant cl-consumer --home cl-provider");
    let file = "cl-provider/manifests/liqo-tenant-cl-consumer/tenant.cl-consumer.yaml";
    let drained = folder.ok("status --home cl-provider --tree");
    assert!(drained.contains("cl-consumer: Drained\n"), "{drained}");
    let tenant = folder.read(file).replace("Drained", "Active");
    folder.write(file, &tenant);
    let held = tree(&folder, "cl-provider", NOW);
    assert!(held.contains("cl-consumer: Drained (held)\n"), "{held}");
    assert!(held.contains("wrong: cl-consumer stays Drained"), "{held}");
    assert!(!held.contains("waits for this side: `uncordon"), "{held}");
}

#[test]
fn both_sides_of_one_peer_are_apart() {
    let folder = with_peerings();
    folder.ok(&format!(
        "authenticate --home cl-provider --remote-home cl-consumer {THEN}"
    ));
    let drawn = tree(&folder, "cl-provider", NOW);
    let (consumers, providers) = drawn.split_once("└─ providers\n").unwrap();
    assert!(consumers.contains("├─ consumers\n│  ├─ cl-consumer: Authenticated, Active\n"));
    assert!(consumers.contains("slice mypool"), "{drawn}");
    assert!(
        providers.starts_with("   └─ cl-consumer: Authenticated\n"),
        "{drawn}"
    );
    let one = tree(
        &folder,
        "cl-provider",
        &format!("--remote-cluster-id cl-other {NOW}"),
    );
    assert_eq!(
        one.lines().nth(2).unwrap(),
        "   └─ cl-other: AwaitsTenant",
        "{one}"
    );
    // Nothing has an end, so no mark is explained.
    assert!(!one.contains('●'), "{one}");
    folder.ok("init --home alone");
    let run = run(&folder, "status --home alone --tree", "C");
    assert_eq!(
        (run.out.as_str(), run.err.as_str()),
        ("Cluster alone\n", "No peer.\n")
    );
    assert_eq!(folder.run("status --home alone --tree -o json").code, 2);
}

#[test]
fn what_begins_and_what_is_old_is_there() {
    let folder = with_peerings();
    let begins = tree(&folder, "cl-provider", NOW);
    let nonce = "cl-other: AwaitsTenant\n      ├─ nonce, valid until 2026-12-21T13:00:00Z\n";
    assert!(begins.contains(nonce), "{begins}");
    // The consumer refuses the address of this machine, and is a peer by then.
    let token = "--init --home cl-consumer --remote-home cl-old --trust-whoever-holds-the-token";
    folder.run(&format!("legacy authenticate {token}"));
    let old = tree(&folder, "cl-old", NOW);
    let peer = "Cluster cl-old\n└─ peers by the token protocol\n   └─ home cluster cl-consumer: ";
    assert!(old.starts_with(peer), "{old}");
}

/// A narrower terminal is respected, and a wider one is not used. A command is not broken.
#[test]
fn the_width_is_at_most_80() {
    let folder = with_peerings();
    let lengths = |columns: &str| {
        let arguments = "status --tree --home cl-consumer --now 2028-01-01T00:00:00Z";
        let mut command = folder.command(arguments);
        let run = Run::of(command.env("COLUMNS", columns).output().unwrap());
        let is_whole = |line: &str| {
            ["2026-11-20T", "`liqo-auth"]
                .iter()
                .any(|it| line.contains(it))
        };
        let prose = run.out.lines().filter(|line| !is_whole(line));
        let lengths = prose.map(|line| line.chars().count());
        lengths.max().unwrap()
    };
    let (narrow, wide) = (lengths("60"), lengths("200"));
    assert!(narrow <= 60 && (61..=80).contains(&wide), "{narrow} {wide}");
}

#[test]
fn peers_do_not_steer_the_terminal() {
    let folder = with_peerings();
    let file = |name: &str| format!("cl-provider/manifests/liqo-tenant-cl-consumer/{name}.yaml");
    let slice = folder.read(&file("resourceslice.mypool"));
    let slice = slice.replace("name: mypool", "name: \"my\\e[2Jpool\"");
    folder.write(&file("resourceslice.bad"), &slice);
    let drawn = tree(&folder, "cl-provider", NOW);
    assert!(
        !drawn.contains('\u{1b}') && drawn.contains("my\\u{1b}[2Jpool"),
        "{drawn}"
    );
}

#[test]
fn one_peering_has_its_lines_of_time() {
    let folder = with_peerings();
    let arguments = format!("status --home cl-provider --remote-cluster-id cl-consumer {NOW}");
    let shown = run(&folder, &arguments, "C").out;
    let line = "  2026-11-20T12:55:00Z |-*-------------+--------| 2027-11-20T13:00:00Z\n";
    let said = "ends in 335d; renewal in 213d, 2027-07-21T21:00:00Z";
    let end = format!(
        "\nThe certificate of cl-consumer: {said}\n{line}\
         \nThe certificate of cl-consumer for slice mypool: {said}\n{line}\
         \x20 * now, 2026-12-20T13:00:00Z   + renewal\n"
    );
    assert!(shown.ends_with(&end), "{shown}");
    // All peerings are shown as before.
    let all = folder.ok(&format!("status --home cl-provider {NOW}"));
    assert!(!all.contains("renewal"), "{all}");
    let other = format!("status --home cl-provider --remote-cluster-id cl-other {NOW}");
    assert!(!run(&folder, &other, "C").out.contains("renewal"));
}
