//! The kubeconfigs that a person names.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};

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

/// A kubeconfig with this cluster and this user.
fn with(folder: &Folder, cluster: &str, user: &str) {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\nclusters: [{{name: x, cluster: {cluster}}}]\nusers: [{{name: x, user: {user}}}]\n"
    );
    folder.write("named", &text);
}

#[test]
fn files_that_a_kubeconfig_names_have_an_end() {
    let folder = Folder::new();
    let large = folder.path("large");
    fs::File::create(&large)
        .unwrap()
        .set_len(16_777_217)
        .unwrap();
    let server = "{server: 'https://172.19.0.2:6443'}";
    let ca = "{server: 'https://172.19.0.2:6443', certificate-authority: /dev/zero}";
    for (cluster, user, says) in [
        (
            server,
            "{tokenFile: /dev/zero}",
            "/dev/zero is no regular file",
        ),
        (
            server,
            "{client-certificate: /dev/zero}",
            "/dev/zero is no regular file",
        ),
        (
            server,
            "{client-key: /dev/zero}",
            "/dev/zero is no regular file",
        ),
        (ca, "{}", "/dev/zero is no regular file"),
        (
            server,
            "{tokenFile: large}",
            "large has more than 16777216 bytes",
        ),
    ] {
        with(&folder, cluster, user);
        let error = folder.refused("status --kubeconfig named", "", 2);
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_no_request_can_have_is_named() {
    let folder = Folder::new();
    with(&folder, "{server: '127.0.0.1:6443'}", "{token: x}");
    let error = folder.refused("status --kubeconfig named", "", 2);
    assert!(error.contains("write https://127.0.0.1:6443"), "{error}");
    with(
        &folder,
        "{server: 'http://127.0.0.1:1'}",
        r#"{token: "Sesame\nSesame"}"#,
    );
    let error = folder.refused("status --kubeconfig named", "", 2);
    assert!(
        error.contains("the user's token has a character"),
        "{error}"
    );
    assert!(!error.contains("Sesame"), "{error}");
}

/// Each error names the kubeconfig and its field, and quotes nothing of it.
#[test]
fn what_cannot_be_read_of_a_kubeconfig_is_named() {
    let folder = Folder::new();
    folder.write(
        "damaged",
        "-----BEGIN CERTIFICATE-----\nSesame!\n-----END CERTIFICATE-----\n",
    );
    let server = "server: 'https://172.19.0.2:6443'";
    let no_pem = STANDARD.encode("Sesame");
    let of_cluster = |fields: &str| (format!("{{{server}, {fields}}}"), "{}".to_owned());
    let of_user = |fields: &str| (format!("{{{server}}}"), format!("{{{fields}}}"));
    for ((cluster, user), says) in [
        (
            of_cluster("certificate-authority-data: 'Sesame!'"),
            "certificate-authority-data of the cluster x is not base64",
        ),
        (
            of_cluster(&format!("certificate-authority-data: {no_pem}")),
            "certificate-authority-data of the cluster x has no PEM block CERTIFICATE",
        ),
        (
            of_cluster("certificate-authority: damaged"),
            "certificate-authority of the cluster x is damaged PEM",
        ),
        (
            of_cluster("certificate-authority: missing"),
            "certificate-authority of the cluster x: ",
        ),
        (
            of_user("client-certificate-data: 'Sesame!'"),
            "client-certificate-data of the user x is not base64",
        ),
        (
            of_user(&format!("client-key-data: {no_pem}")),
            "client-key-data of the user x has no PEM block PRIVATE KEY",
        ),
        (of_user("client-key: missing"), "client-key of the user x: "),
        (of_user("tokenFile: missing"), "tokenFile of the user x: "),
    ] {
        with(&folder, &cluster, &user);
        let error = folder.refused("status --kubeconfig named", "", 2);
        assert!(
            error.contains("--kubeconfig named: the kubeconfig cannot be used: "),
            "{error}"
        );
        assert!(error.contains(says), "{says}: {error}");
        assert!(!error.contains("Sesame"), "{error}");
    }
    // What another context has is of no concern.
    with(&folder, &format!("{{{server}}}"), "{tokenFile: missing}");
    let run = folder.run("status --kubeconfig named --user another");
    assert!(!run.err.contains("tokenFile"), "{run:?}");
}

/// What the program of a kubeconfig prints may be a token.
#[test]
fn no_error_quotes_what_a_program_that_logs_in_prints() {
    let folder = Folder::new();
    let program = |script: &str| {
        let user = format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, '{script}']}}}}"
        );
        with(&folder, "{server: 'http://127.0.0.1:1'}", &user);
        let error = folder.refused("status --kubeconfig named", "", 1);
        assert!(!error.contains("Sesame"), "{error}");
        error
    };
    let error = program("echo \"{token: Sesame,\"");
    assert!(error.contains("prints no ExecCredential"), "{error}");
    let error = program("echo Sesame; echo Sesame >&2; exit 3");
    assert!(error.contains("has ended with exit status: 3"), "{error}");
    with(
        &folder,
        "{server: 'http://127.0.0.1:1'}",
        "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: no-such-program}}",
    );
    let error = folder.refused("status --kubeconfig named", "", 1);
    assert!(error.contains("cannot be started: No such file"), "{error}");
}

/// No request has the user and the password of a URL, and so nothing else has them.
#[test]
fn no_output_has_the_password_in_a_url() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let login = "http://admin:Sesame@";
    let kubeconfig = folder.read("milan").replace("http://", login);
    assert!(kubeconfig.contains(login), "{kubeconfig}");
    folder.write("named", &kubeconfig);
    let create = "create nonce --kubeconfig named --remote-cluster-id rome -v=6";
    for command in [create, "status --kubeconfig named -v=6"] {
        let run = folder.run(command);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.err.contains("http.url=http://127.0.0.1:"), "{run:?}");
        assert!(!format!("{run:?}").contains("Sesame"), "{run:?}");
    }
    assert!(!milan.server.requests().is_empty());
    let shown = folder.ok("inspect named");
    assert!(shown.contains("http://***@127.0.0.1:"), "{shown}");
    assert!(!shown.contains("Sesame"), "{shown}");

    with(&folder, "{server: 'admin:Sesame@127.0.0.1:6443'}", "{}");
    let error = folder.refused("status --kubeconfig named", "", 2);
    assert!(error.contains("write https://127.0.0.1:6443"), "{error}");
    assert!(!error.contains("Sesame"), "{error}");

    let url = "https://admin:Sesame@172.19.0.2:6443";
    folder.ok("init --home rome");
    for command in ["init --home x --api-server", "set api-server --home rome"] {
        let error = folder.refused(&format!("{command} {url}"), "", 2);
        assert!(error.contains("https://***@172.19.0.2:6443"), "{error}");
        assert!(!error.contains("Sesame"), "{error}");
    }
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
