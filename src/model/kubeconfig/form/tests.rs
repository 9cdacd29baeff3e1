use serde_json::{Value, json};

use super::*;
use crate::model::ObjectError;

fn config() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "c",
        "clusters": [{ "name": "a", "cluster": { "server": "https://a" } }],
        "contexts": [{ "name": "c", "context": { "cluster": "a", "user": "u" } }],
        "users": [{ "name": "u", "user": { "client-key": "/key.pem" } }],
    })
}

fn parse(config: &Value) -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::parse(&config.to_string())
}

#[test]
fn the_one_form_is_read() {
    let kubeconfig = parse(&config()).unwrap();
    assert_eq!(kubeconfig.server, "https://a");
    assert_eq!(
        kubeconfig.credential,
        UserCredential::KeyFile {
            certificate: Bytes::default(),
            key: "/key.pem".into()
        }
    );
}

#[test]
fn a_user_without_a_credential_authenticates_in_another_way() {
    let mut config = config();
    config["users"][0]["user"] = json!({});
    let credential = parse(&config).unwrap().credential;
    assert_eq!(credential, UserCredential::Elsewhere);
}

#[test]
fn a_field_that_could_change_the_trust_is_refused() {
    for (pointer, field, path) in [
        (
            "/clusters/0/cluster",
            "insecure-skip-tls-verify",
            "clusters[0].cluster.insecure-skip-tls-verify",
        ),
        (
            "/clusters/0/cluster",
            "tls-server-name",
            "clusters[0].cluster.tls-server-name",
        ),
        ("/users/0/user", "tokenFile", "users[0].user.tokenFile"),
        (
            "/users/0/user",
            "auth-provider",
            "users[0].user.auth-provider",
        ),
        (
            "/clusters/0/cluster",
            "certificate-authority",
            "clusters[0].cluster.certificate-authority",
        ),
        ("/users/0/user", "as", "users[0].user.as"),
        ("", "extensions", "extensions"),
    ] {
        let mut config = config();
        config.pointer_mut(pointer).unwrap()[field] = "hunter2".into();
        let error = parse(&config).unwrap_err();
        let KubeconfigError::Document(DocumentError::Field(ObjectError::Field {
            path: found,
            reason,
        })) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(found, path);
        assert!(
            reason.starts_with("found a field that is not known, expected "),
            "{reason}"
        );
        assert!(!reason.contains("hunter2"), "{reason}");
    }
}

#[test]
fn names_and_numbers_have_to_fit() {
    for (pointer, value, error) in [
        ("/kind", json!("Secret"), KubeconfigError::NotConfig),
        (
            "/users",
            json!([]),
            KubeconfigError::Count {
                what: "users",
                found: 0,
            },
        ),
        ("/current-context", json!("d"), KubeconfigError::Context),
        (
            "/contexts/0/context/user",
            json!("v"),
            KubeconfigError::Context,
        ),
        (
            "/users/0/user",
            json!({ "client-certificate-data": "YQ==" }),
            KubeconfigError::Credential,
        ),
        (
            "/users/0/user",
            json!({ "client-key": "a", "client-key-data": "YQ==" }),
            KubeconfigError::Credential,
        ),
        (
            "/users/0/user",
            json!({ "client-key": "a", "token": "a" }),
            KubeconfigError::Credential,
        ),
        (
            "/users/0/user",
            json!({ "client-certificate-data": "YQ==", "token": "a" }),
            KubeconfigError::Credential,
        ),
        (
            "/users/0/user",
            json!({ "token": "" }),
            KubeconfigError::Credential,
        ),
        (
            "/clusters/0/cluster",
            json!({}),
            DocumentError::Field(ObjectError::Field {
                path: "clusters[0].cluster".into(),
                reason: "missing field `server`".into(),
            })
            .into(),
        ),
    ] {
        let mut config = config();
        *config.pointer_mut(pointer).unwrap() = value;
        assert_eq!(parse(&config), Err(error));
    }
    let twice = format!("{0}{0}", config());
    assert_eq!(
        Kubeconfig::parse(&twice),
        Err(DocumentError::Documents { found: 2 }.into())
    );
}

#[cfg(feature = "yaml")]
#[test]
fn a_token_is_written_and_read() {
    let kubeconfig = Kubeconfig {
        cluster: "service-cluster".into(),
        server: "https://127.0.0.1:6443".into(),
        certificate_authority: b"CA".as_slice().into(),
        proxy_url: None,
        user: "remote-x".into(),
        credential: UserCredential::Token("a: b".into()),
        namespace: None,
    };
    let text = kubeconfig.to_yaml();
    let text = core::str::from_utf8(text.expose()).unwrap();
    assert!(text.contains("current-context: remote-x@service-cluster\n"));
    assert_eq!(Kubeconfig::parse(text).as_ref(), Ok(&kubeconfig));
    assert!(!format!("{kubeconfig:?}").contains("a: b"));
}
