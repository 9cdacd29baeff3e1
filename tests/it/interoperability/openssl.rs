//! OpenSSL reads every field of the requests, certificates and keys of an
//! exchange.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::Arc,
};

use liqo_auth::{
    crypto::{Algorithm, KeyPair, SigningKey},
    model::{Kubeconfig, UserCredential},
};

use crate::clusters::exchange::{self, Exchange, Setup};

/// One of our algorithms, with the names that OpenSSL gives it.
struct Case {
    algorithm: Algorithm,
    name: &'static str,
    public_key: &'static str,
    size: Option<&'static str>,
    signature: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        algorithm: Algorithm::Ed25519,
        name: "ed25519",
        public_key: "Public Key Algorithm: ED25519",
        size: None,
        signature: "Signature Algorithm: ED25519",
    },
    Case {
        algorithm: Algorithm::Rsa { bits: 2048 },
        name: "rsa-2048",
        public_key: "Public Key Algorithm: rsaEncryption",
        size: Some("Public-Key: (2048 bit)"),
        signature: "Signature Algorithm: sha256WithRSAEncryption",
    },
    Case {
        algorithm: Algorithm::Rsa { bits: 3072 },
        name: "rsa-3072",
        public_key: "Public Key Algorithm: rsaEncryption",
        size: Some("Public-Key: (3072 bit)"),
        signature: "Signature Algorithm: sha256WithRSAEncryption",
    },
    Case {
        algorithm: Algorithm::EcdsaP256,
        name: "p256",
        public_key: "Public Key Algorithm: id-ecPublicKey",
        size: Some("NIST CURVE: P-256"),
        signature: "Signature Algorithm: ecdsa-with-SHA256",
    },
    Case {
        algorithm: Algorithm::EcdsaP384,
        name: "p384",
        public_key: "Public Key Algorithm: id-ecPublicKey",
        size: Some("NIST CURVE: P-384"),
        signature: "Signature Algorithm: ecdsa-with-SHA384",
    },
    Case {
        algorithm: Algorithm::EcdsaP521,
        name: "p521",
        public_key: "Public Key Algorithm: id-ecPublicKey",
        size: Some("NIST CURVE: P-521"),
        signature: "Signature Algorithm: ecdsa-with-SHA512",
    },
];

#[test]
fn openssl_reads_the_request() {
    for (case, folder, exchange) in exchanges() {
        let csr = folder.write("csr.pem", exchange.tenant().spec.csr.as_slice());
        let text = openssl(&["req", "-in", &csr, "-noout", "-verify", "-text"]);
        assert!(
            text.contains("request self-signature verify OK"),
            "{}: {text}",
            case.name
        );
        let text = unwrapped(&text);
        for line in [
            "Version: 1 (0x0)",
            "Subject: O=liqo.io, CN=cl-consumer",
            case.public_key,
            case.signature,
        ]
        .into_iter()
        .chain(case.size)
        {
            assert!(text.contains(line), "{}: no {line:?} in {text}", case.name);
        }
        // There are no attributes, and therefore no extensions.
        let attributes = text.split("Attributes: ").nth(1).unwrap();
        let attributes = attributes.replace("(none) Requested Extensions: ", "");
        assert!(
            attributes.starts_with("Signature Algorithm")
                || attributes.starts_with("(none) Signature Algorithm"),
            "{text}"
        );
        // PrintableString, as in Liqo.
        let fields = openssl(&["asn1parse", "-in", &csr]);
        for value in ["liqo.io", "cl-consumer"] {
            let line = fields.lines().find(|line| line.ends_with(value)).unwrap();
            assert!(line.contains("PRINTABLESTRING"), "{line}");
        }
    }
}

#[test]
fn openssl_reads_the_certificate() {
    for (case, folder, exchange) in exchanges() {
        let certificate = folder.write("crt.pem", exchange.certificate().pem());
        let text = unwrapped(&openssl(&["x509", "-in", &certificate, "-noout", "-text"]));
        let subject_key = case.public_key;
        for part in [
            "Version: 3 (0x2)",
            "Signature Algorithm: ED25519 Issuer: CN=cl-provider-ca",
            // notBefore is set back by five minutes, as the Kubernetes signer
            // does. The certificate is valid for a year.
            "Not Before: Nov 20 12:55:00 2026 GMT",
            "Not After : Nov 20 13:00:00 2027 GMT",
            "Subject: O=liqo.io, CN=cl-consumer Subject Public Key Info:",
            subject_key,
            "X509v3 Key Usage: critical Digital Signature, Key Encipherment X509v3",
            "X509v3 Extended Key Usage: TLS Web Client Authentication X509v3",
            "X509v3 Basic Constraints: critical CA:FALSE X509v3",
        ]
        .into_iter()
        .chain(case.size)
        {
            assert!(text.contains(part), "{}: no {part:?} in {text}", case.name);
        }
        assert_eq!(
            text.matches("X509v3 ").count(),
            // The heading and the four extensions.
            5,
            "{text}"
        );

        let serial = openssl(&["x509", "-in", &certificate, "-noout", "-serial"]);
        let serial = serial.trim().strip_prefix("serial=").unwrap();
        // 128 bits and positive: the first bit is 0, the second is 1.
        assert_eq!(serial.len(), 32, "{serial}");
        assert!(('4'..='7').contains(&serial.chars().next().unwrap()));

        // The certificate has the identifier of the issuer's key.
        let ca = folder.write("ca.pem", exchange::authority().ca_bundle().pem());
        let extension = |file: &str, name: &str| {
            let text = openssl(&["x509", "-in", file, "-noout", "-ext", name]);
            text.lines().nth(1).unwrap().trim().to_owned()
        };
        let own = extension(&ca, "subjectKeyIdentifier");
        assert_eq!(own.split(':').count(), 20, "{own}");
        assert_eq!(extension(&certificate, "authorityKeyIdentifier"), own);

        // The key is the consumer's.
        let key = folder.write("key.pem", &private_key(&exchange));
        assert_eq!(
            openssl(&["x509", "-in", &certificate, "-noout", "-pubkey"]),
            openssl(&["pkey", "-in", &key, "-pubout"])
        );
    }
}

#[test]
fn openssl_verifies_the_chain_for_clients_only() {
    for (case, folder, exchange) in exchanges() {
        let certificate = folder.write("crt.pem", exchange.certificate().pem());
        let ca = folder.write("ca.pem", exchange::authority().ca_bundle().pem());
        let now = exchange.now.unix().to_string();
        let verify = |purpose: &str| {
            run(&[
                "verify",
                "-x509_strict",
                "-purpose",
                purpose,
                "-attime",
                &now,
                "-CAfile",
                &ca,
                &certificate,
            ])
        };
        let output = verify("sslclient");
        assert!(output.status.success(), "{}: {output:?}", case.name);
        let output = verify("sslserver");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(
            said.contains("unsuitable certificate purpose")
                || said.contains("unsupported certificate purpose"),
            "{said}"
        );
    }
}

#[test]
fn openssl_reads_the_private_key() {
    for (case, folder, exchange) in exchanges() {
        let key = folder.write("key.pem", &private_key(&exchange));
        let public = openssl(&["pkey", "-in", &key, "-pubout"]);
        let consumer = exchange.consumer_key.public_key();
        assert_eq!(public, consumer.to_pem(), "{}", case.name);
        if case.name != "ed25519" {
            let text = openssl(&["pkey", "-in", &key, "-noout", "-check"]);
            assert!(text.contains("Key is valid"), "{}: {text}", case.name);
        }
    }
}

#[test]
fn openssl_reads_the_authority() {
    if !is_at_hand() {
        return;
    }
    let folder = Folder::new("authority");
    let ca = folder.write("ca.pem", exchange::authority().ca_bundle().pem());
    let text = unwrapped(&openssl(&["x509", "-in", &ca, "-noout", "-text"]));
    for part in [
        "Version: 3 (0x2)",
        "Issuer: CN=cl-provider-ca",
        "Not Before: Nov 20 12:55:00 2026 GMT",
        "Not After : Nov 17 13:00:00 2036 GMT",
        "Subject: CN=cl-provider-ca",
        "X509v3 Basic Constraints: critical CA:TRUE Signature",
        "X509v3 Key Usage: critical Digital Signature, Certificate Sign, CRL Sign X509v3",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let now = exchange::now().unix().to_string();
    let verified = openssl(&[
        "verify",
        "-x509_strict",
        "-attime",
        &now,
        "-CAfile",
        &ca,
        &ca,
    ]);
    assert!(verified.trim_end().ends_with(": OK"), "{verified}");
}

struct Held {
    exchange: Exchange,
    consumer_key: Arc<KeyPair>,
}

impl std::ops::Deref for Held {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}

/// One exchange for each algorithm, each with a folder for its files. None if
/// OpenSSL is not installed.
fn exchanges() -> impl Iterator<Item = (&'static Case, Folder, Held)> {
    static CASES: [Case; 6] = self::CASES;
    let at_hand = is_at_hand();
    CASES.iter().filter(move |_| at_hand).map(|case| {
        let key = KeyPair::generate(case.algorithm, &mut getrandom::SysRng).unwrap();
        let consumer_key = Arc::new(key);
        let mut setup = Setup::new();
        setup.consumer_key = consumer_key.clone();
        let mut exchange = setup.exchange();
        exchange.settle();
        assert_eq!(exchange.phases(), ("Authenticated", "Authenticated"));
        let held = Held {
            exchange,
            consumer_key,
        };
        (case, Folder::new(case.name), held)
    })
}

fn is_at_hand() -> bool {
    let at_hand = Command::new("openssl").arg("version").output().is_ok();
    if !at_hand {
        super::not_run("openssl");
    }
    at_hand
}

fn private_key(exchange: &Exchange) -> Vec<u8> {
    let kubeconfig = Kubeconfig::parse(&exchange.kubeconfig()).unwrap();
    match kubeconfig.credential {
        UserCredential::KeyData { key, .. } => key.expose().to_vec(),
        other => panic!("no key in the kubeconfig: {other:?}"),
    }
}

/// The text of both outputs. The command has to succeed.
fn openssl(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "openssl {arguments:?}: {output:?}");
    let mut text = String::from_utf8(output.stdout).unwrap();
    text.push_str(&String::from_utf8(output.stderr).unwrap());
    text
}

fn run(arguments: &[&str]) -> Output {
    Command::new("openssl")
        .args(arguments)
        .env("LC_ALL", "C")
        .output()
        .unwrap()
}

/// The text in one line, with single blanks. `O = x`, as older versions write
/// it, becomes `O=x`.
fn unwrapped(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .replace("O = ", "O=")
        .replace("CN = ", "CN=")
}

/// A temporary folder, deleted with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or_default().replace("::", "-");
        let name = format!("liqo-auth-{}-{test}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, content: &[u8]) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
