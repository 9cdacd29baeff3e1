//! The kubeconfigs that a person names.

use std::fs;

use super::Cluster;
use crate::tool::{Folder, Run};

/// A kubeconfig whose token lies on a line that is no YAML, and one with a wrong type.
const BROKEN: [(&str, &str); 3] = [
    (
        "apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user:\n   token: Sesame-1\n    client-key-data: Sesame-2\n",
        "at line",
    ),
    ("users: Sesame-1\n", "at line 1, column 8"),
    (
        "users: [{name: x, user: Sesame-2}]\n",
        "at line 1, column 25",
    ),
];

#[test]
fn no_error_quotes_a_kubeconfig() {
    let folder = Folder::new();
    for (text, place) in BROKEN {
        folder.write("broken", text);
        for run in [
            folder.run("status --kubeconfig broken"),
            by_environment(&folder, "broken"),
        ] {
            assert_eq!(run.code, 2, "{run:?}");
            let says = "the kubeconfig broken cannot be used: it is not the YAML of a kubeconfig";
            assert!(run.err.contains(says), "{run:?}");
            assert!(run.err.contains(place), "{run:?}");
            assert!(!format!("{run:?}").contains("Sesame"), "{run:?}");
        }
    }
    fs::write(folder.path("broken"), b"users: \xff").unwrap();
    let error = folder.refused("status --kubeconfig broken", "", 2);
    assert!(error.contains("the byte 7 is no UTF-8"), "{error}");
}

#[test]
fn files_without_end_are_not_read_to_their_end() {
    let folder = Folder::new();
    let says = "/dev/zero has more than 16777216 bytes";
    let error = folder.refused("status --kubeconfig /dev/zero", "", 2);
    assert!(error.contains(says), "{error}");
    let run = by_environment(&folder, "/dev/zero");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains(says), "{run:?}");
    let error = folder.refused("get tenants -o jsonpath-file=/dev/zero", "", 2);
    assert!(error.contains(says), "{error}");
}

#[test]
fn paths_in_a_kubeconfig_begin_at_its_folder() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    fs::create_dir(folder.path("there")).unwrap();
    let token = r#""tokenFile":"token""#;
    let kubeconfig = folder.read("milan").replace(r#""token":"x""#, token);
    assert!(kubeconfig.contains(token), "{kubeconfig}");
    folder.write("there/milan", &kubeconfig);
    let error = folder.run("status --kubeconfig there/milan");
    assert_ne!(error.code, 0, "{error:?}");
    folder.write("there/token", "x");
    folder.ok("status --kubeconfig there/milan");
    assert!(!milan.server.requests().is_empty());
}

#[test]
fn kubeconfigs_in_the_environment_are_merged() {
    let folder = Folder::new();
    let _milan = Cluster::start(&folder, "milan");
    folder.write("first", r#"{"apiVersion": "v1", "kind": "Config"}"#);
    let run = by_environment(&folder, ":first:milan");
    assert_eq!(run.code, 0, "{run:?}");
    folder.write("other", r#"{"apiVersion": "v2", "kind": "Config"}"#);
    let run = by_environment(&folder, "milan:other");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err.contains("the kubeconfig other cannot be used"),
        "{run:?}"
    );
}

fn by_environment(folder: &Folder, files: &str) -> Run {
    let mut command = folder.command("status --context milan");
    command.env("KUBECONFIG", files);
    Run::of(command.output().unwrap())
}
