//! Which proxy counts, and which proxy is refused.

use std::collections::BTreeMap;

use super::*;

fn from_environment(
    api_server: &str,
    variables: &[(&str, &str)],
) -> Option<(&'static str, String)> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    environment::proxy_for(&api_server.parse().unwrap(), |name| {
        variables.get(name).map(|&value| value.to_owned())
    })
}

#[test]
fn the_scheme_of_the_api_server_chooses_the_variable() {
    let both = [
        ("HTTPS_PROXY", "http://tls:1"),
        ("HTTP_PROXY", "http://plain:1"),
    ];
    let tls = from_environment("https://milan.example", &both);
    assert_eq!(tls, Some(("HTTPS_PROXY", "http://tls:1".to_owned())));
    let plain = from_environment("http://milan.example", &both);
    assert_eq!(plain, Some(("HTTP_PROXY", "http://plain:1".to_owned())));
    assert_eq!(from_environment("http://milan.example", &both[..1]), None);

    let cases = [("https_proxy", "lower:1"), ("HTTPS_PROXY", "upper:1")];
    let upper = from_environment("https://milan.example", &cases);
    assert_eq!(upper, Some(("HTTPS_PROXY", "http://upper:1".to_owned())));
    let lower = from_environment("https://milan.example", &cases[..1]);
    assert_eq!(lower, Some(("https_proxy", "http://lower:1".to_owned())));
}

#[test]
fn what_no_proxy_names_and_loopback_are_reached_directly() {
    let is_direct = |api_server: &str, no_proxy: &str| {
        let variables = [("HTTPS_PROXY", "http://proxy:1"), ("NO_PROXY", no_proxy)];
        from_environment(api_server, &variables).is_none()
    };
    for (api_server, no_proxy) in [
        ("https://localhost:6443", "other"),
        ("https://127.0.0.1:6443", "other"),
        ("https://[::1]:6443", "other"),
        ("https://milan.example:6443", "*"),
        ("https://milan.example:6443", "other, Milan.Example,"),
        ("https://milan.example:6443", "example"),
        ("https://milan.example:6443", ".example"),
        ("https://milan.example:6443", "*.example"),
        ("https://milan.example:6443", "milan.example:6443"),
        ("https://milan.example", "milan.example:443"),
        ("https://172.19.0.3:6443", "172.16.0.0/12"),
        ("https://172.19.0.3:6443", "172.19.0.3"),
        ("https://172.19.0.3:6443", "172.19.0.3:6443"),
        ("https://[2001:db8::1]:6443", "2001:db8::/32"),
        ("https://[2001:db8::1]:6443", "2001:db8::1"),
        ("https://[2001:db8::1]:6443", "[2001:db8::1]:6443"),
    ] {
        assert!(is_direct(api_server, no_proxy), "{api_server}, {no_proxy}");
    }
    for (api_server, no_proxy) in [
        ("https://milan.example:6443", "proxy"),
        ("https://milan.example:6443", "ilan.example"),
        ("https://milan.example:6443", ".milan.example"),
        ("https://milan.example:6443", "milan.example:443"),
        ("https://milan.example:6443", "172.16.0.0/12"),
        ("https://172.32.0.3:6443", "172.16.0.0/12"),
        ("https://172.19.0.3:6443", "172.19.0.3:443"),
        ("https://[2001:db8::1]:6443", "2001:db8::2"),
    ] {
        assert!(!is_direct(api_server, no_proxy), "{api_server}, {no_proxy}");
    }
}

#[test]
fn the_scheme_of_the_api_server_chooses_the_port_that_no_proxy_names() {
    let is_direct = |no_proxy: &str| {
        let variables = [("HTTP_PROXY", "http://proxy:1"), ("NO_PROXY", no_proxy)];
        from_environment("http://milan.example", &variables).is_none()
    };
    assert!(is_direct("milan.example:80"));
    assert!(!is_direct("milan.example:443"));
}

/// The proxy of a client by the context `milan`.
async fn of_kubeconfig(proxy_url: &str) -> Result<Option<String>, Error> {
    let text = format!(
        r#"{{
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "other",
            "contexts": [{{ "name": "milan", "context": {{ "cluster": "milan" }} }}],
            "clusters": [
                {{ "name": "other", "cluster": {{ "server": "https://other.example" }} }},
                {{
                    "name": "milan",
                    "cluster": {{ "server": "https://127.0.0.1:6443", "proxy-url": "{proxy_url}" }}
                }}
            ]
        }}"#
    );
    let options = KubeConfigOptions {
        context: Some("milan".to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = config_of(Kubeconfig::from_yaml(&text).unwrap(), &options).await?;
    Ok(config.proxy_url.map(|url| url.to_string()))
}

#[tokio::test]
async fn the_proxy_of_a_kubeconfig_also_counts_for_a_loopback_address() {
    for url in [
        "http://10.70.0.2:8118/",
        "https://rome:x@proxy.example:3128/",
    ] {
        assert_eq!(of_kubeconfig(url).await.unwrap().as_deref(), Some(url));
    }
    assert_eq!(of_kubeconfig("").await.unwrap(), None);
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_named_without_its_password() {
    for (url, says) in [
        (
            "socks5://rome:secret@10.0.0.9:1080",
            "the proxy socks5://10.0.0.9:1080 cannot be used, since socks5 is not supported",
        ),
        ("rome:secret@proxy:3128", "this is no URL of a proxy"),
        ("http://rome:secret@", "this is no URL of a proxy"),
        ("http://rome:sec ret@proxy", "this is no URL of a proxy"),
    ] {
        let error = of_kubeconfig(url).await.unwrap_err();
        assert!(matches!(error, Error::Proxy { .. }), "{error}");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(says), "{url}: {shown}");
        assert!(
            shown.starts_with("proxy-url of the kubeconfig: "),
            "{shown}"
        );
        assert!(!shown.contains("sec"), "{shown}");
    }
    // Also if a program has set it without `config_of`.
    let mut config = Config::new("https://milan.example".parse().unwrap());
    config.proxy_url = Some("socks5://rome:secret@10.0.0.9:1080".parse().unwrap());
    let error = client_of(config).err().unwrap();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("socks5 is not supported"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn the_url_of_an_api_server_loses_its_user_and_password_alone() {
    for (url, without) in [
        (
            "https://rome:hunter2@milan:6443/k8s",
            "https://milan:6443/k8s",
        ),
        ("https://rome@[::1]:6443", "https://[::1]:6443/"),
        ("rome:hunter2@milan:6443", "milan:6443"),
        ("https://milan:6443", "https://milan:6443/"),
    ] {
        let url: Uri = url.parse().unwrap();
        assert_eq!(without_login(url).to_string(), without);
    }
}
