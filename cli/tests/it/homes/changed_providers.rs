//! A provider that was lost or has moved differs from what is pinned, and is taken again by what is
//! printed.

use std::fs;

use super::ways_out::{AUTHENTICATE, OF_CONSUMER, command_in, is_well, with_peering};
use crate::tool::{Folder, make_ca};

/// A lost provider has another CA, and one that has moved has another address.
#[test]
fn a_provider_that_was_lost_or_has_moved_is_taken_again() {
    let folder = with_peering();
    fs::remove_dir_all(folder.path("cl-provider")).unwrap();
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    taken_again(&folder, by_files);
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    taken_again(&folder, by_files);
}

/// Whoever has the present address has to do nothing.
#[test]
fn a_change_names_the_consumers_that_have_another_address() {
    let folder = with_peering();
    let first = folder.run(
        "get tenant cl-consumer --home cl-provider -o jsonpath={.status.authParams.apiServer}",
    );
    make_ca(&folder);
    let set = |change: &str| {
        let run = folder.run(&format!("set {change} --home cl-provider"));
        assert_eq!(run.code, 0, "{run:?}");
        run.err
    };
    for (changed, as_before) in [
        (
            "api-server https://172.19.0.4:6443",
            &*format!("api-server {}", first.out),
        ),
        ("ca ca.crt", "ca --default"),
    ] {
        let told = set(changed);
        assert!(told.contains("send them: cl-consumer. "), "{told}");
        assert_eq!(set(as_before), "");
    }
}

/// What the provider has told before is not compared with what is pinned now.
#[test]
fn a_provider_whose_answers_were_carried_is_taken_again() {
    let authenticates = |folder: &Folder, _: &str| {
        folder.ok(AUTHENTICATE);
    };
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    taken_again(&folder, authenticates);
    folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    folder.ok(AUTHENTICATE);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
    fs::remove_dir_all(folder.path("cl-provider")).unwrap();
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    taken_again(&folder, authenticates);
    folder.ok(&format!("{AUTHENTICATE} --now +400d --write-at-this-time"));
    for home in ["cl-consumer", "cl-provider"] {
        let run = folder.run(&format!("status --home {home} --now +400d --exit-code"));
        assert_eq!(run.code, 0, "{run:?}");
    }
}

/// By files, each step names the next one, also for what was carried before.
#[test]
fn what_was_carried_before_a_change_is_carried_again_by_what_is_printed() {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    taken_again(&folder, by_files);
    fs::remove_dir_all(folder.path("cl-provider")).unwrap();
    folder.ok("init --home cl-provider --api-server https://172.19.0.3:6443");
    taken_again(&folder, by_files);
}

/// The finding alone is enough: it names the same commands as the step before it.
#[test]
fn an_earlier_answer_is_carried_again_by_its_finding() {
    let folder = with_peering();
    folder.ok("create resourceslice mypool --home cl-consumer --remote-home cl-provider");
    folder.ok("replicate --home cl-consumer --remote-home cl-provider");
    folder.ok("set api-server https://172.19.0.4:6443 --home cl-provider");
    folder.ok("release --home cl-consumer --remote-cluster-id cl-provider --yes");
    authenticates_by_hand(&folder);
    carried_by_findings(&folder, 2);

    // An earlier key is like an earlier address. The provider then waits for the request.
    folder.ok("rotate key --home cl-consumer --remote-cluster-id cl-provider");
    authenticates_by_hand(&folder);
    carried_by_findings(&folder, 1);
    let run = folder.run("doctor --home cl-provider -o json");
    let (_, said) = run
        .out
        .split_once("By files, the administrator of cl-consumer")
        .unwrap();
    let commands = in_ticks(said);
    assert_eq!(
        commands,
        [
            "generate resourceslice mypool --remote-cluster-id cl-provider",
            "apply -f FILE --home cl-provider"
        ]
    );
    let asked = folder.ok(&format!("{} --home cl-consumer", commands[0]));
    folder.write("asked.yaml", &asked);
    let run = folder.run(&commands[1].replace("FILE", "asked.yaml"));
    let answer = folder.ok(&command_in(&run.err));
    folder.ok_with("apply --home cl-consumer -f -", &answer);
    is_well(&folder, "cl-consumer");
    is_well(&folder, "cl-provider");
}

/// Authenticates by files once more, and carries nothing else.
fn authenticates_by_hand(folder: &Folder) {
    folder.ok(&format!("create nonce {OF_CONSUMER} --replace"));
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = "generate tenant --home cl-consumer --remote-cluster-id cl-provider --nonce -";
    let tenant = folder.ok_with(generate, &nonce);
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    let identity = folder.ok(&format!("generate identity {OF_CONSUMER}"));
    folder.ok_with("apply --home cl-consumer -f -", &identity);
}

/// The commands between backticks, without the program.
pub(super) fn in_ticks(text: &str) -> Vec<&str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans
        .filter_map(|span| span.strip_prefix("liqo-auth "))
        .collect()
}

/// Follows what the consumer's doctor finds: so many answers are from before.
fn carried_by_findings(folder: &Folder, expected: usize) {
    let run = folder.run("doctor --home cl-consumer -o json");
    assert_eq!(run.code, 4, "{run:?}");
    let all: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let findings = all["findings"].as_array().unwrap();
    assert_eq!(findings.len(), expected, "{run:?}");
    for found in findings {
        let remedy = found["remedy"].as_str().unwrap();
        let (_, carried) = remedy
            .split_once("the present answer is carried by")
            .unwrap();
        let [ask, receive, answer, take] = in_ticks(carried)[..] else {
            panic!("{remedy}");
        };
        carried_again(folder, [ask, receive, answer, take]);
    }
    is_well(folder, "cl-consumer");
}

/// Carries one object to the provider and back, by the printed commands.
fn carried_again(folder: &Folder, [ask, receive, answer, take]: [&str; 4]) {
    folder.write("asked.yaml", &folder.ok(ask));
    folder.ok(&format!(
        "{} --home cl-provider",
        receive.replace("FILE", "asked.yaml")
    ));
    let answered = folder.ok(&format!("{answer} --home cl-provider"));
    folder.write("answered.yaml", &answered);
    folder.ok(&take.replace("FILE", "answered.yaml"));
}

fn taken_again(folder: &Folder, authenticates: fn(&Folder, &str)) {
    let run = folder.run(AUTHENTICATE);
    assert_eq!(run.code, 3, "{run:?}");
    let (_, command) = run.err.split_once("The command is ").unwrap();
    // Nobody can be asked here.
    let released = folder.ok(&format!("{} --yes", command_in(command)));
    let run = folder.run("status --home cl-consumer");
    assert!(!run.err.contains("misbehaved"), "{run:?}");
    authenticates(folder, &released);
    is_well(folder, "cl-consumer");
    is_well(folder, "cl-provider");
}

/// Authenticates as a message says that it is done by files.
fn by_files(folder: &Folder, said: &str) {
    let (_, said) = said.split_once("By files, ").unwrap();
    let [invite, generate, receive, answer, take] = in_ticks(said)[..] else {
        panic!("{said}");
    };
    let expected = "create nonce --remote-cluster-id cl-consumer --replace";
    assert_eq!(invite, expected);
    folder.ok(&format!("{invite} --home cl-provider"));
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = generate.strip_suffix(" NONCE").unwrap();
    let tenant = folder.ok_with(&format!("{generate} -"), &nonce);
    folder.write("tenant.yaml", &tenant);
    folder.ok(&format!(
        "{} --home cl-provider",
        receive.replace("FILE", "tenant.yaml")
    ));
    let identity = folder.ok(&format!("{answer} --home cl-provider"));
    folder.write("identity.yaml", &identity);
    let run = folder.run(&take.replace("FILE", "identity.yaml"));
    assert_eq!(run.code, 0, "{run:?}");
    carried_as_printed(folder, &run.err);
}

/// Carries what an `apply` of an Identity names.
pub(super) fn carried_as_printed(folder: &Folder, said: &str) {
    let lines: Vec<&str> = said.lines().collect();
    let from = lines
        .iter()
        .position(|line| line.starts_with("The answer in "));
    for step in lines[from.unwrap_or(lines.len())..].chunks(4) {
        let [_, ask, there, take] = step else {
            panic!("{said}");
        };
        let (receive, answer) = there.split_once(", and ").unwrap();
        let commands = [ask, receive, answer, take].map(command_in);
        carried_again(folder, commands.each_ref().map(String::as_str));
    }
}
