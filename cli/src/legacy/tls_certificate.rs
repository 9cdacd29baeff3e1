//! The TLS certificate of the token protocol's server.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use liqo_auth::{
    machine::Effect,
    model::{Metadata, Secret, SecretBytes, Timestamp, names},
};
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use zeroize::Zeroizing;

use super::{cryptography, foreign_side::apply};
use crate::{
    environment::Clock,
    failure::{Failure, Result},
    home::{Home, LEGACY_TLS_SECRET},
    peering::signer::version_of,
};

/// A certificate with its chain and its key, in PEM.
pub(crate) struct TlsCertificate {
    pub(crate) chain: Zeroizing<Vec<u8>>,
    pub(crate) key: Zeroizing<Vec<u8>>,
}

impl TlsCertificate {
    /// The home's own certificate. If it is missing, lacks one of these names, or
    /// expires soon, a new one is made in memory. The second value says whether it
    /// was made.
    pub(crate) fn of_home(
        home: &mut Home,
        listen: SocketAddr,
        others: &[String],
        clock: Clock,
    ) -> Result<(Self, bool)> {
        let now = clock.now()?;
        let names = names_of(listen, others);
        let present = home.get::<Secret>(names::LIQO_NAMESPACE, LEGACY_TLS_SECRET);
        if let Some(found) = present.and_then(|secret| good(secret, &names, now)) {
            return Ok((found, false));
        }
        let version = present.map(|secret| version_of(&secret.metadata));
        let (made, secret) = make(&names, now)?;
        let effect = match version {
            None => Effect::Create(secret.into()),
            Some(version) => Effect::Replace {
                object: secret.into(),
                version,
            },
        };
        apply(home, &[effect], clock)?;
        Ok((made, true))
    }

    /// The certificate of the home's own server, for its peers to trust.
    pub(crate) fn shown(home: &Home) -> Option<&[u8]> {
        home.get::<Secret>(names::LIQO_NAMESPACE, LEGACY_TLS_SECRET)?
            .get(CERTIFICATE)
    }

    /// The TLS configuration of a server with this certificate, which does not verify clients.
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>> {
        self.server_config_for(WebPkiClientVerifier::no_client_auth())
    }

    /// The TLS configuration of a server with this certificate, for these clients.
    pub(crate) fn server_config_for(
        &self,
        clients: Arc<dyn ClientCertVerifier>,
    ) -> Result<Arc<ServerConfig>> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&self.chain)
            .collect::<Result<_, _>>()
            .map_err(|error| {
                Failure::usage(format!(
                    "the TLS certificate is no certificate in PEM: {error}"
                ))
            })?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| {
            Failure::usage(format!(
                "the TLS certificate's key is no private key in PEM: {error}"
            ))
        })?;
        let mut config = ServerConfig::builder_with_provider(cryptography())
            .with_safe_default_protocol_versions()
            .context("TLS")?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(|error| Failure::usage(format!("the TLS certificate: {error}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// The names and addresses in the home's own certificate.
fn names_of(listen: SocketAddr, others: &[String]) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !listen.ip().is_unspecified() {
        names.push(listen.ip().to_string());
    }
    names.extend(others.iter().cloned());
    names.sort_unstable();
    names.dedup();
    names
}

fn good(secret: &Secret, names: &[String], now: Timestamp) -> Option<TlsCertificate> {
    let text = |key| std::str::from_utf8(secret.get(key)?).ok();
    let known: Vec<&str> = text(NAMES)?.split(',').collect();
    let expires: Timestamp = text(EXPIRES)?.parse().ok()?;
    let is_good = names.iter().all(|name| known.contains(&name.as_str())) && expires > now + MARGIN;
    is_good.then_some(TlsCertificate {
        chain: Zeroizing::new(secret.get(CERTIFICATE)?.to_vec()),
        key: Zeroizing::new(secret.get(KEY)?.to_vec()),
    })
}

fn make(names: &[String], now: Timestamp) -> Result<(TlsCertificate, Secret)> {
    let key = KeyPair::generate().context("the TLS certificate's key cannot be made")?;
    let expires = now + LIFETIME;
    let mut parameters = CertificateParams::new(names.to_vec())
        .map_err(|error| Failure::usage(format!("--tls-name: {error}")))?;
    let date = |time: Timestamp| {
        time::OffsetDateTime::from_unix_timestamp(time.unix()).context("the system's clock")
    };
    // Clocks may differ a little.
    parameters.not_before = date(now - Duration::from_secs(300))?;
    parameters.not_after = date(expires)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, "liqo-auth legacy serve");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = parameters
        .self_signed(&key)
        .context("the TLS certificate cannot be made")?;
    let made = TlsCertificate {
        chain: Zeroizing::new(certificate.pem().into_bytes()),
        key: Zeroizing::new(key.serialize_pem().into_bytes()),
    };
    let data: [(&str, SecretBytes); 4] = [
        (CERTIFICATE, made.chain.as_slice().into()),
        (KEY, made.key.as_slice().into()),
        (NAMES, names.join(",").into_bytes().into()),
        (EXPIRES, expires.to_string().into_bytes().into()),
    ];
    let secret = Secret {
        metadata: Metadata {
            name: LEGACY_TLS_SECRET.to_owned(),
            namespace: names::LIQO_NAMESPACE.to_owned(),
            ..Metadata::default()
        },
        data: data.map(|(key, value)| (key.to_owned(), value)).into(),
        secret_type: Some("kubernetes.io/tls".to_owned()),
        ..Secret::default()
    };
    Ok((made, secret))
}

/// The URL by which a peer on this machine reaches a server that listens there.
pub(crate) fn url(listen: SocketAddr) -> String {
    let host = match listen.ip() {
        ip if ip.is_unspecified() => "localhost".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("https://{host}:{}", listen.port())
}

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const NAMES: &str = "names";
const EXPIRES: &str = "expires";
const LIFETIME: Duration = Duration::from_secs(3650 * 24 * 60 * 60);
/// A certificate is replaced this long before it expires.
const MARGIN: Duration = Duration::from_secs(30 * 24 * 60 * 60);
