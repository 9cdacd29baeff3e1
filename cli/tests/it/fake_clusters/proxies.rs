//! Kubeconfigs with a `proxy-url`, and an environment that names proxies.

use serde_json::{Value, json};

use super::Cluster;
use crate::{
    connect_proxy::{ConnectProxy, no_proxy_at},
    tool::{Folder, Run},
};

const AUTHENTICATE: &str = "authenticate --kubeconfig rome --remote-kubeconfig milan";

/// Sets a field of the cluster in a kubeconfig.
fn set(folder: &Folder, kubeconfig: &str, field: &str, value: &str) {
    let mut content: Value = serde_json::from_str(&folder.read(kubeconfig)).unwrap();
    content["clusters"][0]["cluster"][field] = json!(value);
    folder.write(kubeconfig, &content.to_string());
}

/// The API server that a kubeconfig names, as a proxy is asked for it.
fn target(folder: &Folder, kubeconfig: &str) -> String {
    let content: Value = serde_json::from_str(&folder.read(kubeconfig)).unwrap();
    let server = content["clusters"][0]["cluster"]["server"]
        .as_str()
        .unwrap();
    server.strip_prefix("http://").unwrap().to_owned()
}

#[test]
fn every_request_passes_the_proxy_of_the_kubeconfig() {
    let folder = Folder::new();
    let (_rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    milan.has_a_signer();
    let proxy = ConnectProxy::answering(200);
    let target = target(&folder, "milan");
    set(
        &folder,
        "milan",
        "proxy-url",
        &format!("http://{}", proxy.address),
    );
    // NO_PROXY is for the proxies of the environment.
    let run = folder
        .command(AUTHENTICATE)
        .env("NO_PROXY", "127.0.0.1,127.0.0.0/8")
        .output();
    let run = Run::of(run.unwrap());
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(milan.named("tenants", "rome").len(), 1);
    let requests = proxy.requests();
    assert!(!requests.is_empty());
    let connect = format!("CONNECT {target} HTTP/1.1\r\n");
    for request in requests {
        assert!(request.starts_with(&connect), "{request}");
    }
}

#[test]
fn a_proxy_that_fails_is_named_and_nothing_reaches_the_api_server() {
    let folder = Folder::new();
    let (_rome, milan) = (
        Cluster::start(&folder, "rome"),
        Cluster::start(&folder, "milan"),
    );
    let (wants_a_user, refuses) = (ConnectProxy::answering(407), ConnectProxy::answering(403));
    for (address, says) in [
        (wants_a_user.address, "wants a user and a password (407)"),
        (refuses.address, "It has to allow CONNECT to 127.0.0.1:"),
        (no_proxy_at(), "A proxy in Liqo's network"),
    ] {
        let url = format!("http://rome:secret@{address}");
        set(&folder, "milan", "proxy-url", &url);
        let run = folder.run(AUTHENTICATE);
        assert_eq!(run.code, 1, "{run:?}");
        let proxy = format!("by the proxy http://{address} (proxy-url of the kubeconfig): ");
        assert!(run.err.contains(&proxy), "{run:?}");
        assert!(run.err.contains(says), "{run:?}");
        assert!(!run.err.contains("secret"), "{run:?}");
        // The layers of the client have texts for developers.
        let (_, cause) = run.err.split_once(&proxy).unwrap();
        let (cause, _) = cause.split_once(". ").unwrap();
        assert!(cause.starts_with("the proxy "), "{cause}");
        assert!(
            !cause.contains(": ") && !cause.contains("tunnel"),
            "{cause}"
        );
    }
    set(
        &folder,
        "milan",
        "proxy-url",
        "socks5://rome:secret@127.0.0.1:1080",
    );
    let error = folder.refused(AUTHENTICATE, "", 2);
    let says = "the kubeconfig cannot be used: proxy-url of the kubeconfig: the proxy socks5://127.0.0.1:1080 cannot be used, since socks5 is not supported";
    assert!(error.contains(says), "{error}");
    assert!(!error.contains("secret"), "{error}");
    assert_eq!(milan.server.requests(), Vec::<String>::new());
}

#[test]
fn the_environments_proxy_counts_as_for_kubectl() {
    let folder = Folder::new();
    let milan = Cluster::start(&folder, "milan");
    let proxy = ConnectProxy::answering(403);
    let url = format!("http://{}", proxy.address);
    let status = || {
        let mut command = folder.command("status --kubeconfig milan");
        for variable in ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
            command.env_remove(variable);
        }
        command.env("HTTP_PROXY", &url);
        Run::of(command.output().unwrap())
    };
    folder.ok("create nonce --kubeconfig milan --remote-cluster-id rome");
    // A loopback address has no proxy.
    let run = status();
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(proxy.requests(), Vec::<String>::new());
    assert!(!milan.server.requests().is_empty());

    set(&folder, "milan", "server", "http://milan.example:6443");
    let run = status();
    assert_eq!(run.code, 1, "{run:?}");
    let says = format!("by the proxy {url} (HTTP_PROXY of the environment): ");
    assert!(run.err.contains(&says), "{run:?}");
    let requests = proxy.requests();
    assert!(
        requests[0].starts_with("CONNECT milan.example:6443 HTTP/1.1\r\n"),
        "{requests:?}"
    );
}
