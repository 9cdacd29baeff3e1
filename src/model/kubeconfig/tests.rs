use super::*;

#[test]
fn a_program_hands_out_the_key() {
    let kubeconfig = Kubeconfig {
        cluster: "123".into(),
        server: "https://[2001:db8::1]:6443".into(),
        certificate_authority: Bytes::default(),
        proxy_url: Some("socks5://proxy:1080".into()),
        user: "on".into(),
        credential: UserCredential::Exec(ExecCredential {
            api_version: "client.authentication.k8s.io/v1".into(),
            command: "liqo-auth".into(),
            args: vec!["exec credential".into(), "--key".into()],
            env: vec![("A".into(), "b: c\n".into())],
        }),
        namespace: None,
    };
    let expected = r#"apiVersion: v1
clusters:
- cluster:
    proxy-url: socks5://proxy:1080
    server: https://[2001:db8::1]:6443
  name: "123"
contexts:
- context:
    cluster: "123"
    user: "on"
  name: default-context
current-context: default-context
kind: Config
users:
- name: "on"
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      args:
      - "exec credential"
      - "--key"
      command: liqo-auth
      env:
      - name: A
        value: "b: c\n"
      interactiveMode: Never
      provideClusterInfo: false
"#;
    let text = kubeconfig.to_yaml();
    assert_eq!(core::str::from_utf8(text.expose()).unwrap(), expected);
}

#[test]
fn the_buffer_never_grows() {
    // Each byte is escaped.
    let text = || "\u{1}".repeat(700);
    let (certificate, secret) = (Bytes::from(vec![1; 700]), vec![1; 700]);
    for credential in [
        UserCredential::KeyData {
            certificate: certificate.clone(),
            key: secret.into(),
        },
        UserCredential::KeyFile {
            certificate,
            key: text(),
        },
        UserCredential::Exec(ExecCredential {
            api_version: text(),
            command: text(),
            args: vec![text(), text()],
            env: vec![(text(), text()); 100],
        }),
        UserCredential::Exec(ExecCredential {
            args: vec![String::new(); 900],
            env: vec![(String::new(), String::new()); 900],
            ..ExecCredential::default()
        }),
        UserCredential::Token(text().into()),
        UserCredential::Elsewhere,
    ] {
        let kubeconfig = Kubeconfig {
            cluster: text(),
            server: text(),
            certificate_authority: Bytes::from(vec![1; 700]),
            proxy_url: Some(text()),
            user: text(),
            credential,
            namespace: Some(text()),
        };
        let length = kubeconfig.to_yaml().expose().len();
        assert!(length <= kubeconfig.capacity(), "{kubeconfig:?}");
    }
}

#[test]
fn the_key_is_not_shown() {
    let credential = UserCredential::KeyData {
        certificate: Bytes::default(),
        key: b"hunter2".as_slice().into(),
    };
    assert!(!format!("{credential:?}").contains("hunter2"));
}
