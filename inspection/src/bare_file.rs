//! Files that are no manifests: certificates, requests, keys, kubeconfigs and nonces.

use liqo_auth::{
    crypto::{CertificateChain, PublicKey},
    policy::Policy,
};
use pem::Pem;
use zeroize::Zeroize;

use crate::{
    input::Input, inspection::Inspection, kubeconfig, recognition::Recognised, report::Report,
    secret, signing_request, text::escaped,
};

pub(crate) fn inspect<F>(
    inspection: &Inspection<'_, F>,
    input: &Input,
    recognised: Recognised,
) -> Vec<Report> {
    match recognised {
        Recognised::Kubeconfig => {
            let mut report = Report::new(&format!("Kubeconfig {}", input.name));
            kubeconfig::explain(inspection, &input.text, &mut report);
            vec![report]
        }
        Recognised::Nonce => {
            let mut report = Report::new(&format!("Nonce {}", input.name));
            report.say("Kind", "a nonce of a provider, for its consumer to sign");
            secret::explain_nonce(inspection, input.text.trim_ascii(), &mut report);
            vec![report]
        }
        _ => pem_file(inspection, input),
    }
}

fn pem_file<F>(inspection: &Inspection<'_, F>, input: &Input) -> Vec<Report> {
    let blocks = pem::parse_many(input.text.as_slice()).unwrap_or_default();
    let mut certificates = Vec::new();
    let mut keys = Vec::new();
    let mut reports = Vec::new();
    for block in blocks {
        let mut report = Report::new(&format!("{} {}", block.tag(), input.name));
        match block.tag() {
            "CERTIFICATE" => {
                certificates.extend(certificate(inspection, &block, &mut report));
            }
            "CERTIFICATE REQUEST" => {
                report.say("Kind", "a certificate signing request");
                let (subject, key) = signing_request::claimed(&pem::encode(&block));
                report.say("Subject", escaped(&subject));
                report.say("Key", key);
                report.unverified(
                    "the request: only the Tenant that carries it says whose key it has",
                );
            }
            "PUBLIC KEY" => {
                match PublicKey::from_pem(pem::encode(&block).as_bytes(), &Policy::compatible()) {
                    Ok(key) => {
                        report.say("Kind", "a public key");
                        report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
                    }
                    Err(error) => report.wrong(format!("it is not a public key: {error}.")),
                }
            }
            tag if tag.ends_with("PRIVATE KEY") => {
                keys.extend(private_key(inspection, block, &mut report))
            }
            _ => report.say("Kind", "not part of the exchange"),
        }
        reports.push(report);
    }
    if let (Some(key), Some(leaf), Some(report)) =
        (keys.first(), certificates.first(), reports.last_mut())
    {
        match key == leaf {
            true => report.verified("the private key is that of the certificate"),
            false => report.wrong("the private key is not that of the certificate.".to_owned()),
        }
    }
    reports
}

/// Explains a certificate. Returns the public key in it.
fn certificate<F>(
    inspection: &Inspection<'_, F>,
    block: &Pem,
    report: &mut Report,
) -> Option<Vec<u8>> {
    report.say("Kind", "a certificate");
    match CertificateChain::from_pem(pem::encode(block).as_bytes(), &Policy::compatible()) {
        Err(error) => {
            report.wrong(format!("it is not a certificate: {error}."));
            None
        }
        Ok(chain) => {
            let leaf = chain.leaf();
            kubeconfig::certificate(inspection, leaf, report);
            report.say("Issuer", escaped(&leaf.issuer()));
            report.say("Fingerprint", leaf.fingerprint().to_string());
            Some(leaf.spki_der.clone())
        }
    }
}

/// Explains a private key, which is not shown. Returns its public key.
fn private_key<F>(
    inspection: &Inspection<'_, F>,
    block: Pem,
    report: &mut Report,
) -> Option<Vec<u8>> {
    report.say("Kind", "a private key, which is not shown; keep it secret");
    let mut text = pem::encode(&block);
    let key = (inspection.public_key)(text.as_bytes());
    text.zeroize();
    match key {
        Ok(key) => {
            report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
            Some(key.spki_der().to_vec())
        }
        Err(error) => {
            report.unverified(format!("the key: {error}"));
            None
        }
    }
}
