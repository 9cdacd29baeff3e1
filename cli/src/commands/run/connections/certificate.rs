//! The certificate of the webhook, and the CA of its clients.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use anyhow::Context;
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    failure::{Failure, Result},
    input,
    legacy::{cryptography, tls_certificate::TlsCertificate},
};

/// The files of a certificate.
pub(in crate::commands::run) struct CertificateFiles {
    pub(in crate::commands::run) chain: PathBuf,
    pub(in crate::commands::run) key: PathBuf,
    /// The CA whose certificates the clients have to show. Without it, they show none.
    pub(in crate::commands::run) client_ca: Option<PathBuf>,
}

/// A certificate in files. It is read again when they have changed, since certificates
/// in a cluster are renewed while the program runs.
pub(in crate::commands::run) struct Certificate {
    files: CertificateFiles,
    acceptor: TlsAcceptor,
    version: Option<Vec<SystemTime>>,
}

impl Certificate {
    pub(in crate::commands::run) fn read(files: CertificateFiles) -> Result<Self> {
        Ok(Self {
            acceptor: files.acceptor()?,
            version: files.version(),
            files,
        })
    }

    pub(in crate::commands::run) fn verifies_clients(&self) -> bool {
        self.files.client_ca.is_some()
    }

    pub(super) fn acceptor(&mut self) -> TlsAcceptor {
        let version = self.files.version();
        if version != self.version {
            match self.files.acceptor() {
                Ok(acceptor) => {
                    tracing::info!("the certificate of the webhook is read again");
                    self.acceptor = acceptor;
                    self.version = version;
                }
                // Between the changes of two files, they do not fit each other.
                Err(failure) => tracing::warn!(%failure, "the certificate stays as it was"),
            }
        }
        self.acceptor.clone()
    }
}

impl CertificateFiles {
    fn acceptor(&self) -> Result<TlsAcceptor> {
        let certificate = TlsCertificate {
            chain: input::read(&self.chain)?,
            key: input::read(&self.key)?,
        };
        let clients = match &self.client_ca {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(file) => of_authority(file)?,
        };
        let config = certificate.server_config_for(clients)?;
        Ok(TlsAcceptor::from(config))
    }

    /// When the files changed last.
    fn version(&self) -> Option<Vec<SystemTime>> {
        let changed = |path: &PathBuf| {
            std::fs::metadata(path)
                .and_then(|file| file.modified())
                .ok()
        };
        let files = [&self.chain, &self.key].into_iter().chain(&self.client_ca);
        files.map(changed).collect()
    }
}

/// Wants a certificate of this authority from each client.
fn of_authority(file: &Path) -> Result<Arc<dyn ClientCertVerifier>> {
    let shown = file.display();
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{shown} is no CA certificate in PEM: {error}"))
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&input::read(file)?) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"it has no certificate"));
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), cryptography());
    let verifier = verifier
        .build()
        .context("the CA of the webhook's clients")?;
    Ok(verifier)
}
