//! A kubeconfig: in a Secret, or as a file of its own. Its private key is not shown.

use liqo_auth::{
    crypto::{CaBundle, Certificate, CertificateChain, PublicKey},
    model::{Kubeconfig, UserCredential, read_document},
    policy::Policy,
};
use serde::Deserialize;

use crate::{
    inspection::Inspection,
    report::Report,
    text::{escaped, masked},
};

pub(crate) fn explain<F>(inspection: &Inspection<'_, F>, text: &[u8], report: &mut Report) {
    report.say("Kind", "a kubeconfig; its private key is not shown");
    let Ok(text) = std::str::from_utf8(text) else {
        return report.wrong("the kubeconfig is not text.".to_owned());
    };
    let kubeconfig = match Kubeconfig::parse(text) {
        Ok(kubeconfig) => kubeconfig,
        Err(error) => return another_form(text, &error.to_string(), report),
    };
    report.say("Provider", escaped(&kubeconfig.cluster));
    report.say("User", escaped(&kubeconfig.user));
    report.say("API server", escaped(&masked(&kubeconfig.server)));
    if let Some(proxy) = &kubeconfig.proxy_url {
        report.say("Proxy", escaped(&masked(proxy)));
    }
    if let Some(namespace) = &kubeconfig.namespace {
        report.say("Namespace", escaped(namespace));
    }
    let ca = CaBundle::from_pem(
        kubeconfig.certificate_authority.as_slice(),
        &Policy::compatible(),
    );
    for authority in ca.iter().flat_map(CaBundle::certificates) {
        report.say("CA", authority.fingerprint().to_string());
    }
    let pem = match &kubeconfig.credential {
        UserCredential::KeyData { certificate, .. }
        | UserCredential::KeyFile { certificate, .. } => certificate,
        UserCredential::Exec(_) => return report.say("Credential", "an exec plugin provides it"),
        UserCredential::Token(_) => return report.say("Credential", "a token; it is not shown"),
        _ => {
            let other =
                "none; its reader authenticates in another way, such as with an AWS access key";
            return report.say("Credential", other);
        }
    };
    let policy = Policy::compatible();
    let chain = match CertificateChain::from_pem(pem.as_slice(), &policy) {
        Ok(chain) => chain,
        Err(error) => return report.say("Certificate", format!("unreadable: {error}")),
    };
    certificate(inspection, chain.leaf(), report);
    if let UserCredential::KeyData { key, .. } = &kubeconfig.credential {
        match (inspection.public_key)(key.expose()) {
            Ok(key) if key.spki_der() == chain.leaf().spki_der => {
                report.verified("the private key is that of the certificate");
            }
            Ok(_) => report.wrong(
                "the private key is not that of the certificate. Delete the Secret of the kubeconfig: it is then made again."
                    .to_owned(),
            ),
            Err(error) => report.wrong(format!("the private key: {error}.")),
        }
    }
}

/// A kubeconfig that Liqo did not write, such as an administrator's: what `inspect` says of it.
/// The users are not read.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AnyKubeconfig {
    current_context: Option<String>,
    contexts: Vec<NamedContext>,
    clusters: Vec<NamedCluster>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    cluster: AnyCluster,
}

#[derive(Deserialize)]
struct AnyCluster {
    server: Option<String>,
}

fn another_form(text: &str, error: &str, report: &mut Report) {
    match read_document::<AnyKubeconfig>(text.as_bytes()) {
        Err(_) => report.wrong(format!("it is not a kubeconfig: {error}.")),
        Ok(kubeconfig) => {
            for context in &kubeconfig.contexts {
                let is_current = kubeconfig.current_context.as_ref() == Some(&context.name);
                let current = if is_current { " (current)" } else { "" };
                report.say("Context", format!("{}{current}", escaped(&context.name)));
            }
            for cluster in &kubeconfig.clusters {
                let server = cluster.cluster.server.as_deref();
                report.say("API server", escaped(&masked(server.unwrap_or("none"))));
            }
            report.unverified("its content, since Liqo did not write it");
        }
    }
}

/// A client certificate: its subject, dates and key.
pub(crate) fn certificate<F>(
    inspection: &Inspection<'_, F>,
    leaf: &Certificate,
    report: &mut Report,
) {
    report.say(
        "Certificate",
        format!("{}, serial {}", escaped(&leaf.subject()), leaf.serial()),
    );
    report.say("Dates", inspection.dates(leaf));
    if let Ok(key) = PublicKey::from_spki_der(&leaf.spki_der, &Policy::compatible()) {
        report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
    }
}
