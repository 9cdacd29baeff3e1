use super::*;

fn api_server(text: &str) -> Result<String, UrlError> {
    text.parse()
        .map(|url: ApiServerUrl| url.as_str().to_owned())
}

#[test]
fn honest_api_servers_are_taken_as_they_are() {
    for text in [
        "https://127.0.0.1:6443",
        "https://localhost:6443/",
        "https://172.19.0.3:6443",
        "https://[2001:db8::1]:6443",
        "https://api.provider.example",
        "https://rancher.example/k8s/clusters/c-m-abc:p",
        "https://EXAMPLE.eks.amazonaws.com",
        "https://kubernetes.example",
        "https://api.provider.example.:6443",
    ] {
        assert_eq!(api_server(text).as_deref(), Ok(text));
    }
}

#[test]
fn a_message_says_what_was_found() {
    for (text, says) in [
        ("http://api.example", "does not begin as expected"),
        ("https://a@api.example", "the URL has user information"),
        ("https://api.example/?a", "the URL has a query"),
        ("https://api.example/#a", "the URL has a fragment"),
        ("https://api.example/..", "an API server has `.`, `..`"),
        ("https://", "the host of the URL is not a DNS name"),
        (
            "https://api.example:0",
            "the port of the URL is not a number",
        ),
    ] {
        let error = api_server(text).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let long = api_server(&format!("https://{}", "a".repeat(2041)));
    let expected = "the URL has 2049 bytes, expected at most 2048";
    assert_eq!(long.unwrap_err().to_string(), expected);
}

#[test]
fn each_part_that_does_not_belong_is_named() {
    for (text, error) in [
        ("", UrlError::Scheme),
        ("http://api.example", UrlError::Scheme),
        ("HTTPS://api.example", UrlError::Scheme),
        ("https:/api.example", UrlError::Scheme),
        ("https://", UrlError::Host),
        ("https://:6443", UrlError::Host),
        ("https:///path", UrlError::Host),
        ("https://user@api.example", UrlError::UserInformation),
        (
            "https://user:password@api.example",
            UrlError::UserInformation,
        ),
        ("https://api.example/?watch=1", UrlError::Query),
        ("https://api.example/#a", UrlError::Fragment),
        ("https://api.example#@kubernetes", UrlError::Fragment),
        ("https://api.example/../a", UrlError::Path),
        ("https://api.example//a@b", UrlError::Path),
        ("https://api.example:0", UrlError::Port),
        ("https://api.example:65536", UrlError::Port),
        ("https://api.example:+443", UrlError::Port),
        ("https://api.example:", UrlError::Port),
        ("https://api.example:1:2", UrlError::Port),
        ("https://[::1]443", UrlError::Host),
        ("https://api.exam ple", UrlError::Character { at: 16 }),
        (
            "https://api.example\\@kubernetes",
            UrlError::Character { at: 19 },
        ),
        ("https://api.example\n", UrlError::Character { at: 19 }),
        ("https://%6b", UrlError::Character { at: 8 }),
        ("https://ćapi.example", UrlError::Character { at: 8 }),
    ] {
        assert_eq!(api_server(text), Err(error), "{text:?}");
    }
    assert_eq!(
        api_server(&format!("https://{}", "a".repeat(2041))),
        Err(UrlError::TooLong {
            found: 2049,
            limit: 2048
        })
    );
}

#[test]
fn a_proxy_has_no_path_and_no_credentials() {
    for text in [
        "http://10.70.0.2:8118",
        "https://proxy.example/",
        "socks5://[::1]:1080",
    ] {
        assert_eq!(
            text.parse::<ProxyUrl>()
                .map(|url| url.as_str().to_owned())
                .as_deref(),
            Ok(text)
        );
    }
    for (text, error) in [
        ("socks5h://proxy", UrlError::Scheme),
        ("socks5://user:password@proxy", UrlError::UserInformation),
        ("http://proxy/path", UrlError::Path),
        ("http://169.254.169.254", UrlError::Address),
    ] {
        assert_eq!(text.parse::<ProxyUrl>(), Err(error), "{text:?}");
    }
}
