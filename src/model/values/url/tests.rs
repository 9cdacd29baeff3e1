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
