//! A client logs in with the kubeconfig of an exchange: a real TLS handshake in
//! memory, with a server that trusts the provider's CA.

use core::time::Duration;
use std::sync::Arc;

use ed25519_dalek::{Signer as _, pkcs8::DecodePrivateKey as _};
use liqo_auth::{
    crypto::{Algorithm, Authority, CaBundle, Entropy, KeyPair},
    model::{Kubeconfig, Timestamp, UserCredential},
    policy::Policy,
    provider::Endpoint,
};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Error, RootCertStore,
    ServerConfig, ServerConnection, SupportedProtocolVersion,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::WebPkiClientVerifier,
    time_provider::TimeProvider,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::clusters::exchange::{self, API_SERVER, Exchange, Setup};

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Ed25519,
    Algorithm::Rsa { bits: 2048 },
    Algorithm::Rsa { bits: 4096 },
    Algorithm::EcdsaP256,
    Algorithm::EcdsaP384,
    Algorithm::EcdsaP521,
];

#[test]
fn a_kubeconfig_of_each_algorithm_logs_in_over_each_version_of_tls() {
    for algorithm in ALGORITHMS {
        let exchange = authenticated(algorithm);
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let text = exchange.kubeconfig();
            let seen = log_in(&text, &ca_of_provider(), exchange.now, version)
                .unwrap_or_else(|error| panic!("{algorithm} over {version:?}: {error}"));
            assert_eq!(subject(&seen), "O=liqo.io, CN=cl-consumer", "{algorithm}");
            assert_eq!(seen.as_ref(), exchange.certificate().leaf().der);
        }
    }
}

#[test]
fn a_server_with_another_client_ca_refuses_the_kubeconfig() {
    let exchange = authenticated(Algorithm::Ed25519);
    let another = Authority::new(
        "cl-provider-ca",
        exchange.now,
        Duration::from_secs(86_400),
        &Entropy::from_bytes([99; 32]),
    )
    .unwrap();
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let refusal = log_in(
            &exchange.kubeconfig(),
            another.ca_bundle(),
            exchange.now,
            version,
        )
        .unwrap_err();
        let expected = Error::InvalidCertificate(CertificateError::BadSignature);
        assert_eq!(refusal, expected);
    }
}

#[test]
fn a_kubeconfig_logs_in_from_five_minutes_before_its_issue_until_it_expires() {
    let exchange = authenticated(Algorithm::Ed25519);
    let version = &rustls::version::TLS13;
    let text = exchange.kubeconfig();
    let until = exchange.certificate().leaf().not_after;
    let five_minutes = Duration::from_secs(300);
    for time in [exchange.now - five_minutes, exchange.now, until] {
        log_in(&text, &ca_of_provider(), time, version).unwrap();
    }
    let second = Duration::from_secs(1);
    for (time, expired) in [
        (exchange.now - five_minutes - second, false),
        (until + second, true),
    ] {
        let refusal = log_in(&text, &ca_of_provider(), time, version).unwrap_err();
        let found = match refusal {
            Error::InvalidCertificate(CertificateError::ExpiredContext { .. }) => true,
            Error::InvalidCertificate(CertificateError::NotValidYetContext { .. }) => false,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, expired);
    }
}

#[test]
fn a_server_with_a_ca_outside_the_bundle_is_refused_by_the_client() {
    // The provider hands out a CA that is not the CA of its server.
    let mut setup = Setup::new();
    let another = Authority::new(
        "another-ca",
        exchange::now(),
        Duration::from_secs(86_400),
        &Entropy::from_bytes([99; 32]),
    )
    .unwrap();
    setup.endpoint = Endpoint::new(API_SERVER.parse().unwrap(), Some(another.ca_bundle()));
    let mut exchange = setup.exchange();
    exchange.settle();
    let refusal = log_in(
        &exchange.kubeconfig(),
        &ca_of_provider(),
        exchange.now,
        &rustls::version::TLS13,
    )
    .unwrap_err();
    // The server receives an alert.
    assert_eq!(refusal, Error::AlertReceived(AlertDescription::UnknownCA));
}

fn authenticated(algorithm: Algorithm) -> Exchange {
    let mut setup = Setup::new();
    let key = KeyPair::generate(algorithm, &mut getrandom::SysRng).unwrap();
    setup.consumer_key = Arc::new(key);
    let mut exchange = setup.exchange();
    exchange.settle();
    assert_eq!(exchange.refused, []);
    assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
    exchange
}

/// Connects with the content of the kubeconfig and nothing else. Returns the
/// client certificate that the server accepted, or the server's error.
fn log_in(
    kubeconfig: &str,
    clients: &CaBundle,
    now: Timestamp,
    version: &'static SupportedProtocolVersion,
) -> Result<CertificateDer<'static>, Error> {
    let kubeconfig = Kubeconfig::parse(kubeconfig).unwrap();
    let mut client = client(&kubeconfig, now, version);
    let mut server = server(clients, now, version);
    let mut wire = Vec::new();
    for _ in 0..8 {
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server.read_tls(&mut wire.as_slice()).unwrap();
        wire.clear();
        server.process_new_packets()?;
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client.read_tls(&mut wire.as_slice()).unwrap();
        wire.clear();
        // If the client refuses the connection, it sends an alert to the
        // server.
        let _ = client.process_new_packets();
    }
    assert!(!server.is_handshaking() && !client.is_handshaking());
    Ok(server.peer_certificates().unwrap()[0].clone().into_owned())
}

fn client(
    kubeconfig: &Kubeconfig,
    now: Timestamp,
    version: &'static SupportedProtocolVersion,
) -> ClientConnection {
    let UserCredential::KeyData { certificate, key } = &kubeconfig.credential else {
        panic!("there is no key in the kubeconfig");
    };
    let chain = certificates(certificate.as_slice());
    let key = PrivateKeyDer::from_pem_slice(key.expose()).unwrap();
    let authorities = certificates(kubeconfig.certificate_authority.as_slice());
    let config = ClientConfig::builder_with_details(provider(), Arc::new(At(now)))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots(authorities))
        .with_client_auth_cert(chain, key)
        .unwrap();
    assert_eq!(kubeconfig.server, API_SERVER);
    let host = kubeconfig
        .server
        .trim_start_matches("https://")
        .split(':')
        .next()
        .unwrap();
    let name = ServerName::try_from(host).unwrap().to_owned();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

/// An API server whose serving certificate is signed by the provider's CA.
fn server(
    clients: &CaBundle,
    now: Timestamp,
    version: &'static SupportedProtocolVersion,
) -> ServerConnection {
    let authorities = clients.certificates().iter();
    let authorities = authorities.map(|authority| authority.der.clone().into());
    let clients = WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots(authorities.collect())),
        provider(),
    )
    .build()
    .unwrap();
    let (chain, key) = serving_certificate(now);
    let config = ServerConfig::builder_with_details(provider(), Arc::new(At(now)))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .unwrap();
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn serving_certificate(now: Timestamp) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let serving = KeyPair::from_entropy(&Entropy::from_bytes([77; 32]));
    let mut issuer = rcgen::CertificateParams::default();
    issuer.distinguished_name = rcgen::DistinguishedName::new();
    issuer
        .distinguished_name
        .push(rcgen::DnType::CommonName, "cl-provider-ca");
    issuer.key_identifier_method = rcgen::KeyIdMethod::PreSpecified(vec![1]);
    let issuer = rcgen::Issuer::new(issuer, Dalek::of(&exchange::authority_key()));

    let mut serving_parameters = rcgen::CertificateParams::default();
    let from = time::OffsetDateTime::from_unix_timestamp(now.unix()).unwrap();
    serving_parameters.not_before = from - Duration::from_secs(86_400);
    serving_parameters.not_after = from + Duration::from_secs(86_400);
    serving_parameters.serial_number = Some(rcgen::SerialNumber::from(7));
    serving_parameters.key_identifier_method = rcgen::KeyIdMethod::PreSpecified(vec![2]);
    serving_parameters.subject_alt_names = vec![rcgen::SanType::IpAddress([172, 19, 0, 3].into())];
    serving_parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = serving_parameters
        .signed_by(&Dalek::of(&serving), &issuer)
        .unwrap();
    let key = PrivateKeyDer::from_pem_slice(serving.to_pkcs8_pem().expose().as_bytes()).unwrap();
    (vec![certificate.der().clone()], key)
}

/// A key with which rcgen signs.
struct Dalek {
    key: ed25519_dalek::SigningKey,
    public: [u8; 32],
}

impl Dalek {
    fn of(key: &KeyPair) -> Self {
        let pem = key.to_pkcs8_pem();
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).unwrap();
        let key = ed25519_dalek::SigningKey::from_pkcs8_der(der.secret_der()).unwrap();
        let public = key.verifying_key().to_bytes();
        Self { key, public }
    }
}

impl rcgen::PublicKeyData for Dalek {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

impl rcgen::SigningKey for Dalek {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(self.key.sign(message).to_vec())
    }
}

/// A clock that always shows the time of the test.
#[derive(Debug)]
struct At(Timestamp);

impl TimeProvider for At {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.unix()).unwrap();
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

fn roots(authorities: Vec<CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).unwrap();
    }
    roots
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem)
        .map(|certificate| certificate.unwrap())
        .collect()
}

fn ca_of_provider() -> CaBundle {
    CaBundle::from_pem(exchange::authority().ca_bundle().pem(), &Policy::strict()).unwrap()
}

fn subject(certificate: &CertificateDer<'_>) -> String {
    let (_, certificate) = X509Certificate::from_der(certificate).unwrap();
    certificate.subject().to_string()
}
