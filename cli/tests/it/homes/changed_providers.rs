//! A provider that was lost or has moved differs from what is pinned, and is taken again by what is
//! printed.

use std::fs;

use super::ways_out::{AUTHENTICATE, OF_CONSUMER, command_in, is_well, with_peering};
use crate::tool::Folder;

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
    let (at_provider, here) = said.split_once(", and this side").unwrap();
    let invite = format!("{} --home cl-provider", command_in(at_provider));
    let expected = "create nonce --remote-cluster-id cl-consumer --replace --home cl-provider";
    assert_eq!(invite, expected);
    folder.ok(&invite);
    let nonce = folder.ok(&format!("get nonce {OF_CONSUMER}"));
    let generate = command_in(here);
    let generate = generate.strip_suffix(" NONCE").unwrap();
    let tenant = folder.ok_with(&format!("{generate} -"), &nonce);
    folder.ok_with("apply --home cl-provider -f -", &tenant);
    let identity = folder.ok(&format!("generate identity {OF_CONSUMER}"));
    folder.ok_with("apply --home cl-consumer -f -", &identity);
}
