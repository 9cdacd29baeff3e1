//! What a client of the provider needs, from an identity that this side has verified.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Uri;
use kube::{
    Config,
    config::{AuthInfo, ExecConfig, ExecInteractiveMode},
};
use liqo_auth::{
    crypto::CaBundle,
    model::{Bytes, ExecCredential, Kubeconfig, UserCredential},
    policy::Policy,
};

use crate::{Error, proxy};

/// What a client of the provider needs, from the kubeconfig that the library made of a
/// verified Identity and this cluster's own key
/// ([`StoredIdentity::kubeconfig`](liqo_auth::consumer::StoredIdentity::kubeconfig)), or that
/// this cluster's settings name
/// ([`KubeconfigByHand`](liqo_auth::consumer::KubeconfigByHand)). Give it to [`client_of`](crate::client_of). The proxy is chosen as in
/// [`config_of`](crate::config_of).
///
/// No other text of a Secret gets here, since a peer may write Secrets: a kubeconfig can name a
/// program that its reader runs, or a file whose content its reader sends.
///
/// # Errors
/// [`Error::Identity`] if the API server's URL, the CA or the credential cannot be used, and
/// [`Error::Proxy`] if the URL of the proxy or `NO_PROXY` cannot be used.
pub fn config_of_identity(kubeconfig: &Kubeconfig) -> Result<Config, Error> {
    let server: Uri = kubeconfig
        .server
        .parse()
        .map_err(|_| unusable("the URL of the API server cannot be used"))?;
    let mut config = Config::new(server);
    if !kubeconfig.certificate_authority.is_empty() {
        let pem = kubeconfig.certificate_authority.as_slice();
        let bundle = CaBundle::from_pem(pem, &Policy::compatible());
        let bundle = bundle.map_err(|error| unusable(format!("the CA: {error}")))?;
        let certificates = bundle.certificates().iter();
        config.root_cert = Some(certificates.map(|it| it.der.clone()).collect());
    }
    if let Some(namespace) = &kubeconfig.namespace {
        config.default_namespace.clone_from(namespace);
    }
    config.auth_info = login(&kubeconfig.credential)?;
    config.proxy_url = proxy::chosen(kubeconfig.proxy_url.as_deref(), &config.cluster_url)?;
    Ok(config)
}

/// How the client logs in.
fn login(credential: &UserCredential) -> Result<AuthInfo, Error> {
    let by_certificate = |certificate: &Bytes| AuthInfo {
        client_certificate_data: Some(STANDARD.encode(certificate.as_slice())),
        ..AuthInfo::default()
    };
    Ok(match credential {
        UserCredential::KeyData { certificate, key } => AuthInfo {
            client_key_data: Some(STANDARD.encode(key.expose()).into()),
            ..by_certificate(certificate)
        },
        // The key store of this cluster names the file, or the program.
        UserCredential::KeyFile { certificate, key } => AuthInfo {
            client_key: Some(key.clone()),
            ..by_certificate(certificate)
        },
        UserCredential::Exec(program) => AuthInfo {
            exec: Some(program_of(program)),
            ..AuthInfo::default()
        },
        UserCredential::Token(token) => AuthInfo {
            token: Some(token.expose().to_owned().into()),
            ..AuthInfo::default()
        },
        _ => return Err(unusable("an AWS access key is not used to log in here")),
    })
}

fn program_of(program: &ExecCredential) -> ExecConfig {
    let variable = |(name, value): &(String, String)| {
        [("name", name), ("value", value)]
            .map(|(field, text)| (field.to_owned(), text.clone()))
            .into()
    };
    ExecConfig {
        api_version: Some(program.api_version.clone()),
        command: Some(program.command.clone()),
        args: Some(program.args.clone()),
        env: Some(program.env.iter().map(variable).collect()),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    }
}

fn unusable(problem: impl Into<String>) -> Error {
    Error::Identity(problem.into())
}

#[cfg(test)]
mod tests {
    use liqo_auth::crypto::{Authority, Entropy};

    use super::*;
    use crate::error::with_sources;

    #[test]
    fn the_identity_alone_says_how_to_log_in() {
        let config = config_of_identity(&identity()).unwrap();
        assert_eq!(config.cluster_url.to_string(), "https://10.80.0.3:6443/");
        assert_eq!(config.default_namespace, "liqo-tenant-rome");
        assert_eq!(
            config.root_cert.map(|certificates| certificates.len()),
            Some(1)
        );
        let login = config.auth_info;
        assert!(login.client_certificate_data.is_some() && login.client_key_data.is_some());
        assert!(login.exec.is_none() && login.token_file.is_none() && login.token.is_none());
        assert!(!config.accept_invalid_certs);
    }

    #[test]
    fn the_program_of_the_key_store_logs_in() {
        let program = ExecCredential {
            api_version: "client.authentication.k8s.io/v1".to_owned(),
            command: "/usr/bin/login".to_owned(),
            args: vec!["--as".to_owned(), "rome".to_owned()],
            env: vec![("HSM".to_owned(), "slot 1".to_owned())],
        };
        let login = login(&UserCredential::Exec(program)).unwrap();
        let said = serde_json::to_value(login.exec).unwrap();
        assert_eq!(
            said,
            serde_json::json!({
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "/usr/bin/login",
                "args": ["--as", "rome"],
                "env": [{ "name": "HSM", "value": "slot 1" }],
                "interactiveMode": "Never",
                "provideClusterInfo": false,
            })
        );
    }

    #[test]
    fn a_token_logs_in() {
        let login = login(&UserCredential::Token("hunter2".into())).unwrap();
        assert!(login.client_key_data.is_none() && login.exec.is_none());
        let said = serde_json::to_value(login).unwrap();
        assert_eq!(said["token"], "hunter2");
    }

    #[test]
    fn an_identity_has_its_proxy_or_is_refused() {
        let with_proxy = |url: &str| {
            config_of_identity(&Kubeconfig {
                proxy_url: Some(url.to_owned()),
                ..identity()
            })
        };
        let proxy = with_proxy("http://10.70.0.2:8118").unwrap().proxy_url;
        assert_eq!(
            proxy.map(|url| url.to_string()).as_deref(),
            Some("http://10.70.0.2:8118/")
        );
        let error = with_sources(&with_proxy("socks5://10.70.0.2:1080").unwrap_err());
        assert!(error.contains("socks5://10.70.0.2:1080"), "{error}");
    }

    #[test]
    fn what_no_client_can_use_is_refused() {
        for (unusable, says) in [
            (
                Kubeconfig {
                    server: "no URL".to_owned(),
                    ..identity()
                },
                "the URL of the API server",
            ),
            (
                Kubeconfig {
                    certificate_authority: b"no CA".as_slice().into(),
                    ..identity()
                },
                "the CA",
            ),
            (
                Kubeconfig {
                    credential: UserCredential::Elsewhere,
                    ..identity()
                },
                "AWS access key",
            ),
        ] {
            let error = config_of_identity(&unusable).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    fn identity() -> Kubeconfig {
        let entropy = Entropy::from_bytes([7; 32]);
        let now = "2026-11-23T00:00:00Z".parse().unwrap();
        let year = core::time::Duration::from_secs(31_536_000);
        let authority = Authority::new("milan-ca", now, year, &entropy).unwrap();
        Kubeconfig {
            cluster: "milan".to_owned(),
            server: "https://10.80.0.3:6443".to_owned(),
            certificate_authority: authority.ca_bundle().pem().into(),
            proxy_url: None,
            user: "controlplane-milan".to_owned(),
            credential: UserCredential::KeyData {
                certificate: b"certificate".as_slice().into(),
                key: b"key".as_slice().into(),
            },
            namespace: Some("liqo-tenant-rome".to_owned()),
        }
    }
}
