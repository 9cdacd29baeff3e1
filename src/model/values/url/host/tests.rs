use super::*;

#[test]
fn the_own_cluster_goes_by_many_names() {
    for text in [
        "kubernetes",
        "kubernetes.default",
        "KUBERNETES.default.svc",
        "kubernetes.default.svc.",
        "kubernetes.default.svc.cluster.local",
        "kubernetes.default.svc.corp.example",
    ] {
        assert!(Host::of(text).unwrap().is_own_cluster(), "{text}");
    }
    for text in [
        "kubernetes.example",
        "kubernetes-a",
        "a.kubernetes.default.svc",
        "127.0.0.1",
    ] {
        assert!(!Host::of(text).unwrap().is_own_cluster(), "{text}");
    }
}

#[test]
fn nobody_is_behind_some_addresses() {
    for text in [
        "169.254.169.254",
        "0.0.0.0",
        "0.1.2.3",
        "224.0.0.1",
        "255.255.255.255",
        "[fe80::1]",
        "[febf::1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[::ffff:0:169.254.169.254]",
        "[64:ff9b:1::a9fe:a9fe]",
        "[64:ff9b:1:a9fe:a9:fe00::]",
        "[64:ff9b:1:a9:fe:a9fe::]",
        "[64:ff9b:1:0:a9:fea9:fe00:0]",
        "[2001::f0f0:f0f0:5601:5601]",
        "[2001:0:a9fe:a9fe::1]",
        "[2001:db8::5efe:a9fe:a9fe]",
        "[::]",
        "[ff02::1]",
        "[fd00:ec2::254]",
    ] {
        assert!(Host::of(text).unwrap().is_never_an_api_server(), "{text}");
    }
    for text in [
        "127.0.0.1",
        "10.0.0.1",
        "[::1]",
        "[2001:db8::1]",
        "[fec0::1]",
        "[::ffff:10.0.0.1]",
        "[::ffff:0:10.0.0.1]",
        "[64:ff9b:1::a00:1]",
        "[64:ff9b:1:a00:0:100::]",
        "[2001::a00:1:0:0:f5ff:fffe]",
        "[2001:db8::5efe:a00:1]",
    ] {
        assert!(!Host::of(text).unwrap().is_never_an_api_server(), "{text}");
    }
}

#[test]
fn an_address_is_written_in_one_way() {
    for text in [
        "2852039166",
        "0xa9fea9fe",
        "0XA9.254.169.254",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.254.169.254.",
        "127.0.0.1.",
        "1.2.3.4.5",
        "a.0x",
        "a.1",
        "256.0.0.1",
        "[fe80::1%25eth0]",
        "[1.2.3.4]",
        "[::1",
        "",
        ".",
        "a..b",
        "-a",
        "a-",
        "a_b",
        "::1",
    ] {
        assert_eq!(Host::of(text).map(|_| ()), Err(UrlError::Host), "{text}");
    }
}
