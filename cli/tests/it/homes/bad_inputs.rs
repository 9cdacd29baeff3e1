//! Wrong command lines and files: each is refused with its code, changes nothing, and says
//! what is wrong.

use std::{fs, io::Write};

use crate::tool::{Folder, with_files};

#[test]
fn what_is_no_home_is_an_error_of_the_command_line() {
    let folder = Folder::with_homes();
    folder.write("file", "");
    fs::create_dir(folder.path("empty")).unwrap();
    std::os::unix::fs::symlink("cl-provider", folder.path("link")).unwrap();
    for (home, says) in [
        ("file", "file: it is not a folder"),
        ("link", "link: it is a symbolic link"),
        (
            "empty",
            "empty is not a home. Make one with: liqo-auth init",
        ),
        ("nowhere", "nowhere is not a home"),
        ("file/below", "file/below"),
    ] {
        for command in [
            "status",
            "audit verify",
            "export",
            "create nonce --remote-cluster-id cl-x",
            "authenticate --remote-home cl-provider",
            "legacy status",
        ] {
            let error = folder.refused(&format!("{command} --home {home}"), "", 2);
            assert!(error.contains(says), "{command} --home {home}: {error}");
        }
    }
    folder.refused("init --home link", "", 2);
    folder.refused("init --home file", "", 2);
    folder.refused("man --dir file", "", 2);
}

#[test]
fn a_resource_that_is_requested_twice_is_refused() {
    let folder = with_files();
    folder.ok("apply --home cl-consumer -f identity.yaml");
    let create = "create rs mypool --home cl-consumer --remote-cluster-id cl-provider";
    for (amounts, says) in [
        (
            "--cpu 1 --resource cpu=2",
            "cpu is requested twice, as 1 and as 2",
        ),
        ("--resource a=1,b=1 --resource a=3", "a is requested twice"),
    ] {
        let error = folder.refused(&format!("{create} {amounts}"), "", 2);
        assert!(error.contains(says), "{error}");
    }
    // The same amount is no contradiction.
    folder.ok(&format!("{create} --cpu 1 --resource cpu=1"));
}

#[test]
fn a_peer_that_is_not_there_is_not_renewed() {
    let folder = Folder::with_homes();
    let renew = "renew --home cl-provider --remote-cluster-id cl-nobody";
    let error = folder.refused(renew, "", 4);
    assert!(error.contains("no peering with cl-nobody"), "{error}");
}

/// A server that cannot begin leaves no token behind.
#[test]
fn a_server_without_a_certificate_does_not_begin() {
    let folder = Folder::with_homes();
    folder.write("empty", "");
    folder.write("text", "no certificate\n");
    let serve =
        "legacy serve --home cl-provider --trust-whoever-holds-the-token --listen 127.0.0.1:0";
    for files in ["empty", "text", "cl-provider/home.yaml"] {
        let arguments = format!("{serve} --tls-cert {files} --tls-key {files}");
        let before = folder.snapshot();
        let run = folder.run(&arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert_eq!(run.out, "", "{run:?}");
        assert!(run.err.contains("in PEM"), "{run:?}");
        // The lock is marked when the home is opened for writing.
        let lock = folder.path("cl-provider/lock");
        let without_lock = |mut files: std::collections::BTreeMap<_, _>| {
            files.remove(&lock);
            files
        };
        assert!(
            without_lock(before) == without_lock(folder.snapshot()),
            "{files}"
        );
    }
}

/// A misspelt cluster ID would otherwise leave settings that nobody reads.
#[test]
fn the_renewal_is_set_for_a_provider_that_is_there() {
    let folder = with_files();
    let set = "set renewal by-hand --home";
    let error = folder.refused(
        &format!("{set} cl-consumer --remote-cluster-id cl-nobody"),
        "",
        4,
    );
    assert!(error.contains("no provider cl-nobody"), "{error}");
    // The other direction has no renewal to set.
    folder.refused(
        &format!("{set} cl-provider --remote-cluster-id cl-consumer"),
        "",
        4,
    );
    folder.ok(&format!(
        "{set} cl-consumer --remote-cluster-id cl-provider"
    ));
}

#[test]
fn a_file_without_an_object_is_named_as_such() {
    let folder = Folder::with_homes();
    folder.write(
        "cl-provider/manifests/_cluster/namespace.liqo.yaml",
        "words\n",
    );
    let run = folder.run("get tenants --home cl-provider");
    assert!(
        run.err
            .contains("the file does not contain an object of Kubernetes"),
        "{run:?}"
    );
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_an_error_of_the_command_line() {
    let error = Folder::new().refused("status --kubeconfig nowhere", "", 2);
    assert_eq!(error.matches("No such file").count(), 1, "{error}");
}

/// Of two clusters, a person has to know which one does not answer.
#[test]
fn a_cluster_that_does_not_answer_is_named_once() {
    let folder = Folder::with_homes();
    let kubeconfig = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "users": [{"name": "x", "user": {"token": "x"}}]}"#;
    folder.write("milan", kubeconfig);
    let authenticate = "authenticate --home cl-consumer --remote-kubeconfig milan";
    let error = folder.refused(authenticate, "", 1);
    assert_eq!(
        error,
        "Error: the cluster of --kubeconfig milan: cannot reach the API server http://127.0.0.1:1: Connection refused (os error 111)\n"
    );
}

#[test]
fn clusters_without_a_peering_are_not_renewed() {
    let folder = Folder::with_homes();
    let renew = "renew --home cl-consumer --remote-home cl-provider";
    let error = folder.refused(renew, "", 4);
    assert!(
        error.contains("cl-consumer and cl-provider have no peering"),
        "{error}"
    );
}

/// Like other programs, the tool prints no error if nobody reads its output, such as
/// after `| head`.
#[test]
fn a_reader_that_has_gone_is_no_error_to_tell() {
    let folder = Folder::new();
    let mut run = folder.command("inspect -").spawn().unwrap();
    drop(run.stdout.take());
    run.stdin.take().unwrap().write_all(b"{}").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_hint_names_the_home() {
    let folder = with_files();
    let get = "get kubeconfig --home cl-consumer --remote-cluster-id cl-provider --resourceslice x";
    let error = folder.refused(get, "", 4);
    let hint =
        "liqo-auth create resourceslice x --home cl-consumer --remote-cluster-id cl-provider";
    assert!(error.contains(hint), "{error}");
}

#[test]
fn an_empty_object_is_inspected_under_a_title() {
    let run = Folder::new().run_with("inspect -", "{}");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.out.starts_with("An object without a kind\n  Wrong "),
        "{run:?}"
    );
}

/// Forms of text that people's tools make of a good manifest are read, or are named.
#[test]
fn each_form_of_text_is_read_or_named() {
    let folder = with_files();
    let good = folder.read("tenant.yaml");
    let apply = "apply --home cl-provider -f -";
    folder.ok_with(apply, &format!("\u{feff}{good}"));
    folder.ok_with(apply, &good.replace('\n', "\r\n"));
    folder.ok_with(apply, &format!("---\n{good}---\n"));
    for (text, says) in [
        (String::new(), "there is no object in it"),
        ("---\n---\n".to_owned(), "there is no object in it"),
        ("# words\n".to_owned(), "there is no object in it"),
        (
            "{}".to_owned(),
            "nothing was changed: found no map with apiVersion and kind",
        ),
        (
            good.replace("  name: cl-consumer\n", "  name: \"\"\n"),
            "nothing was changed: Tenant, metadata.name: the name is empty",
        ),
        (good.replace("  ", "\t"), "indented with a tab"),
        (good.replace("kind: Tenant", "kind: Pod"), "Pod"),
        (good.replace("v1beta1", "v9"), "v9"),
        (
            format!("{}1{}", "[".repeat(5000), "]".repeat(5000)),
            "refused",
        ),
        ("a: &a [*a, *a]\n".to_owned(), "refused"),
    ] {
        let error = folder.refused(apply, &text, 3);
        let begin: String = text.chars().take(40).collect();
        assert!(error.contains(says), "{begin:?}: {error}");
        assert!(error.contains("nothing was changed"), "{begin:?}: {error}");
    }
}
