//! Colours: of what is refused or expired, and of what waits for a person.

use super::terminal::at_terminal_with;
use crate::tool::Folder;

const THEN: &str = "--now 2026-11-20T13:00:00Z --write-at-this-time";
const LATER: &str = "--now 2028-01-01T00:00:00Z";
const AUTHENTICATE: &str = "authenticate --home cl-consumer --remote-home cl-provider";

fn red(text: &str) -> String {
    format!("\u{1b}[31m{text}\u{1b}[0m")
}

fn yellow(text: &str) -> String {
    format!("\u{1b}[33m{text}\u{1b}[0m")
}

fn with_peering() -> Folder {
    let folder = Folder::new();
    for home in ["cl-consumer", "cl-provider"] {
        folder.ok(&format!(
            "init --home {home} --api-server https://172.19.0.3:6443 {THEN}"
        ));
    }
    folder.ok(&format!("{AUTHENTICATE} {THEN}"));
    folder.ok(&format!(
        "create rs mypool --home cl-consumer --remote-home cl-provider {THEN}"
    ));
    folder
}

/// What is painted, and the same run without colours.
fn painted(folder: &Folder, arguments: &str, parts: &[String]) {
    let shown = folder.run(&format!("{arguments} --color always"));
    for part in parts {
        assert!(shown.out.contains(part), "{part:?}: {shown:?}");
    }
    let mut plain = shown.out;
    for escape in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"] {
        plain = plain.replace(escape, "");
    }
    for never in ["", "--color never"] {
        assert_eq!(folder.run(&format!("{arguments} {never}")).out, plain);
    }
}

#[test]
fn what_is_expired_or_refused_is_red() {
    let folder = with_peering();
    let expired = [red("Refused") + "   ", red("expired")];
    painted(
        &folder,
        &format!("status --home cl-consumer {LATER}"),
        &expired,
    );
    let parts = [
        red("cl-provider: Refused"),
        red("certificate: expired 41d ago"),
    ];
    painted(
        &folder,
        &format!("status --tree --home cl-consumer {LATER}"),
        &parts,
    );
    painted(
        &folder,
        &format!("doctor --home cl-consumer {LATER}"),
        &[red("Wrong")],
    );
    // The last second is no end.
    let last = "status --home cl-consumer --color always --now 2027-11-20T13:00:00Z";
    assert!(!folder.ok(last).contains(&red("0s")));
    // What is as it should be has no colour.
    for tree in ["", "--tree"] {
        let good = format!("status --home cl-consumer {tree} --color always {THEN}");
        assert!(!folder.ok(&good).contains('\u{1b}'));
    }
    folder.ok("cordon tenant cl-consumer --home cl-provider");
    folder.ok("create rs denied --home cl-consumer --remote-home cl-provider --wait=false");
    let status = "status --home cl-provider --now 2027-01-01T00:00:00Z";
    painted(&folder, status, &[red("Denied")]);
    let slice = "slice denied: Denied, authentication Accepted, resources Denied,";
    painted(&folder, &format!("{status} --tree"), &[red(slice)]);
    let record = "cl-provider/records/secret.liqo-auth-provider-cl-consumer.yaml";
    let text = folder.read(record);
    folder.write(record, &text.replace("seal: ", "seal: AAAA"));
    painted(&folder, status, &[red("Unknown")]);
}

#[test]
fn what_waits_for_a_person_is_yellow() {
    let folder = with_peering();
    folder.ok(&format!(
        "create nonce --home cl-provider --remote-cluster-id cl-other {LATER} --write-at-this-time"
    ));
    let waits = "this side: run `liqo-auth renew`";
    let table = format!("status --home cl-provider {LATER}");
    let parts = [yellow(waits), "cl-other: its Tenant".to_owned()];
    painted(&folder, &table, &parts);
    let tree = format!("status --tree --home cl-provider {LATER}");
    painted(&folder, &tree, &[yellow(&format!("waits for {waits}"))]);
    // A peer's part has no colour.
    let shown = folder.ok(&format!("{table} --color always"));
    assert!(!shown.contains(&yellow("cl-other: its Tenant")), "{shown}");
}

#[test]
fn a_terminal_has_colours_unless_it_asks_for_none() {
    let folder = with_peering();
    let status = format!("status --home cl-consumer {LATER}");
    for (set, has_colors) in [
        (&[("TERM", "xterm")][..], true),
        (&[("TERM", "xterm"), ("NO_COLOR", "")], true),
        (&[("TERM", "xterm"), ("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
    ] {
        let (code, shown) = at_terminal_with(&folder, &status, "", set);
        assert_eq!(code, 0, "{shown}");
        assert_eq!(
            shown.contains(&red("Refused")),
            has_colors,
            "{set:?}: {shown}"
        );
    }
    let always = format!("{status} --color always");
    let (_, shown) = at_terminal_with(&folder, &always, "", &[("NO_COLOR", "1")]);
    assert!(shown.contains(&red("Refused")), "{shown}");
    let never = format!("{status} --color never");
    let (_, shown) = at_terminal_with(&folder, &never, "", &[("TERM", "xterm")]);
    assert!(!shown.contains('\u{1b}'), "{shown}");
}
