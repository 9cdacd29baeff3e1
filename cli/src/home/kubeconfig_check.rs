//! Whether the context of a kubeconfig can be used to log in. What is wrong is told by the name of
//! its field, and quotes nothing of it.

use std::path::Path;

use axum::http::HeaderValue;
use base64::{Engine, engine::general_purpose::STANDARD};
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::{input, output::escaped};

/// Refuses certificates and keys that nobody can read. What is not there, kube-rs names.
pub(super) fn check_fields(
    kubeconfig: &Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<(), String> {
    let chosen = options
        .context
        .as_ref()
        .or(kubeconfig.current_context.as_ref());
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|it| Some(&it.name) == chosen);
    let context = context.and_then(|it| it.context.as_ref());
    let cluster = options.cluster.as_ref().or(context.map(|it| &it.cluster));
    let user = options
        .user
        .as_ref()
        .or(context.and_then(|it| it.user.as_ref()));
    for named in &kubeconfig.clusters {
        if Some(&named.name) == cluster {
            let content = serde_json::to_value(&named.cluster).unwrap_or_default();
            let whose = format!("the cluster {}", escaped(&named.name));
            check(&content, &whose, "certificate-authority", "CERTIFICATE")?;
        }
    }
    for named in &kubeconfig.auth_infos {
        if Some(&named.name) == user {
            let content = serde_json::to_value(&named.auth_info).unwrap_or_default();
            let whose = format!("the user {}", escaped(&named.name));
            check(&content, &whose, "client-certificate", "CERTIFICATE")?;
            check(&content, &whose, "client-key", "PRIVATE KEY")?;
            if let Some(file) = text_of(&content, "tokenFile") {
                read(file, &format!("tokenFile of {whose}"))?;
            }
        }
    }
    Ok(())
}

/// Refuses what no request can have: a server without a scheme, and a token that no header takes.
pub(super) fn check_login(config: &Config) -> Result<(), String> {
    if config.cluster_url.scheme().is_none() {
        return Err(format!(
            "the server {} has no scheme: write https://{}",
            config.cluster_url, config.cluster_url
        ));
    }
    let login = serde_json::to_value(&config.auth_info).unwrap_or_default();
    match text_of(&login, "token").is_none_or(|token| HeaderValue::from_str(token).is_ok()) {
        true => Ok(()),
        false => Err(
            "the user's token has a character that no token has, such as the end of a line"
                .to_owned(),
        ),
    }
}

/// The field with `-data` comes first, as for kubectl. It has PEM with this in its label.
fn check(content: &Value, whose: &str, field: &str, label: &str) -> Result<(), String> {
    let data = format!("{field}-data");
    let (pem, named) = match (text_of(content, &data), text_of(content, field)) {
        (Some(text), _) => {
            let named = format!("{data} of {whose}");
            let pem = STANDARD.decode(text).map(Zeroizing::new);
            (pem.map_err(|_| format!("{named} is not base64"))?, named)
        }
        (None, Some(file)) => {
            let named = format!("{field} of {whose}");
            (read(file, &named)?, named)
        }
        (None, None) => return Ok(()),
    };
    let blocks = pem::parse_many(&*pem).map_err(|_| format!("{named} is damaged PEM"))?;
    match blocks.iter().any(|block| block.tag().contains(label)) {
        true => Ok(()),
        false => Err(format!("{named} has no PEM block {label}")),
    }
}

fn read(file: &str, named: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    // The file `-` is no standard input here.
    input::read(&Path::new(".").join(file)).map_err(|failure| format!("{named}: {failure}"))
}

fn text_of<'v>(content: &'v Value, field: &str) -> Option<&'v str> {
    let text = content.get(field).and_then(Value::as_str);
    text.filter(|text| !text.is_empty())
}
