//! A command waits for a home that another process holds, and says so.

use std::{
    fs::File,
    io::{BufRead, BufReader},
};

use crate::tool::Folder;

const WAITING: &str = "Waiting for another process that has locked cl-provider/lock";

#[test]
fn a_wait_for_a_lock_is_told() {
    let folder = Folder::with_homes();
    for (command, is_shared) in [
        ("status --home cl-provider", false),
        (
            "create nonce --home cl-provider --remote-cluster-id cl-a --dry-run",
            false,
        ),
        (
            "create nonce --home cl-provider --remote-cluster-id cl-a",
            true,
        ),
    ] {
        let lock = File::open(folder.path("cl-provider/lock")).unwrap();
        match is_shared {
            true => lock.lock_shared().unwrap(),
            false => lock.lock().unwrap(),
        }
        let mut child = folder.command(command).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), WAITING, "{command}");
        assert!(child.try_wait().unwrap().is_none(), "{command}");
        lock.unlock().unwrap();
        assert!(child.wait().unwrap().success(), "{command}");
        let others: Vec<String> = said.map(Result::unwrap).collect();
        assert!(!others.iter().any(|line| line == WAITING), "{others:?}");
    }
}

#[test]
fn who_reads_does_not_wait_for_others_that_read() {
    let folder = Folder::with_homes();
    let lock = File::open(folder.path("cl-provider/lock")).unwrap();
    lock.lock_shared().unwrap();
    let run = folder.run("status --home cl-provider");
    assert_eq!((run.code, run.err.as_str()), (0, "No peer.\n"));
}
