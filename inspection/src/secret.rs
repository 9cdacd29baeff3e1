//! A Secret of the exchange: its purpose. Its secret content is not shown.

use liqo_auth::{
    crypto::{CaBundle, CertificateChain, Nonce, PublicKey, SigningKey},
    model::{ClusterId, Resource, Secret, names},
    policy::Policy,
};

use crate::{inspection::Inspection, kubeconfig, own_secrets, report::Report, text::escaped};

pub(crate) fn inspect<F>(inspection: &Inspection<'_, F>, secret: &Secret) -> Report {
    let mut report = Report::new(&secret.id().to_string());
    let name = secret.metadata.name.as_str();
    let has = |key: &str| secret.data.contains_key(key);
    if let Some(peer) = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL) {
        report.say("Peer", escaped(peer));
    }
    match name {
        names::NONCE_SECRET => nonce(inspection, secret, &mut report),
        names::SIGNED_NONCE_SECRET => signed_nonce(inspection, secret, &mut report),
        names::CLUSTER_KEYS_SECRET => cluster_keys(inspection, secret, &mut report),
        own_secrets::AUTHORITY => authority(inspection, secret, &mut report),
        own_secrets::RECORD_KEY => report.say("Kind", "the key that seals this home's records"),
        _ if secret
            .metadata
            .labels
            .contains_key(names::RECORD_PEER_LABEL) =>
        {
            let peer = secret.metadata.labels.get(names::RECORD_PEER_LABEL);
            report.say("Kind", "a record that liqo-auth keeps of a peer");
            report.say("About", peer.map(|peer| escaped(peer)).unwrap_or_default());
        }
        _ if has(names::KUBECONFIG) => kubeconfig(inspection, secret, &mut report),
        _ if has(names::CERTIFICATE) && has(names::CSR) => {
            issued(inspection, secret, &mut report);
        }
        _ if has(names::TOKEN) => report.say("Kind", "a token, which is not shown"),
        _ => {
            let keys: Vec<&str> = secret.data.keys().map(String::as_str).collect();
            report.say("Kind", "not part of the exchange");
            report.say("Holds", escaped(&keys.join(", ")));
        }
    }
    report
}

fn nonce<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    report.say("Kind", "a nonce of a provider, for its consumer to sign");
    let Some(nonce) = read_nonce(inspection, secret, report) else {
        return;
    };
    let peer = peer(secret);
    if let (Some(cluster), Some(consumer), Some(structured)) =
        (inspection.cluster, peer, nonce.structured())
    {
        let provider = cluster.id();
        if structured.is_for(provider, &consumer) {
            report.verified(format!("it was made by {provider} for {consumer}"));
        } else {
            report.wrong(format!(
                "data.nonce: it was not made by {provider} for {consumer}. Make a new nonce."
            ));
        }
    }
}

fn signed_nonce<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    report.say(
        "Kind",
        "a provider's nonce, and this consumer's signature over it",
    );
    let Some(nonce) = read_nonce(inspection, secret, report) else {
        return;
    };
    let Some(signature) = secret.get(names::SIGNED_NONCE) else {
        return report.say("Signature", "none yet");
    };
    let provider = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL);
    let provider = provider.and_then(|provider| provider.parse().ok());
    let cluster = inspection.cluster;
    let keys = cluster.and_then(|cluster| cluster.key_pairs(provider.as_ref()));
    let Some(keys) = keys else {
        return report.unverified("the signature: give the consumer's home with --home");
    };
    let policy = inspection.policy;
    let mut verdicts = keys.iter().map(|key| {
        let (key, nonce) = (key.public_key(), nonce.as_str().as_bytes());
        key.verify(key.nonce_scheme(), nonce, signature, policy)
    });
    let present = verdicts.next();
    if matches!(present, Some(Ok(()))) {
        return report.verified("this cluster's key signed the nonce");
    }
    if verdicts.any(|verdict| verdict.is_ok()) {
        return report.verified("this cluster's earlier key signed the nonce");
    }
    if let Some(Err(error)) = present {
        report.wrong(format!(
            "data.signedNonce: {error}. Delete the Secret, and sign the nonce again."
        ));
    }
}

fn read_nonce<F>(
    inspection: &Inspection<'_, F>,
    secret: &Secret,
    report: &mut Report,
) -> Option<Nonce> {
    let Some(text) = secret.get(names::NONCE).filter(|text| !text.is_empty()) else {
        report.say("Nonce", "not filled in yet");
        return None;
    };
    explain_nonce(inspection, text, report)
}

/// Explains the text of a nonce, and reads it.
pub(crate) fn explain_nonce<F>(
    inspection: &Inspection<'_, F>,
    text: &[u8],
    report: &mut Report,
) -> Option<Nonce> {
    match Nonce::parse(text, inspection.policy) {
        Err(error) => {
            report.wrong(format!(
                "data.nonce: {error} (rule 8). Replace it with a new nonce."
            ));
            None
        }
        Ok(nonce) => {
            match nonce.structured() {
                None => report.say("Form", "random, as Liqo makes it"),
                Some(structured) => {
                    let expires = structured.expires();
                    let state = match expires <= inspection.now {
                        true => "it has expired",
                        false => "the consumer can sign it until then",
                    };
                    report.say(
                        "Form",
                        "structured, as liqo-auth makes it: it names its consumer",
                    );
                    report.say("Expires", format!("{expires} ({state})"));
                }
            }
            Some(nonce)
        }
    }
}

fn cluster_keys<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    report.say(
        "Kind",
        "this cluster's own keys; the private one is not shown",
    );
    let policy = Policy::compatible();
    let public = secret
        .get(names::PUBLIC_KEY)
        .and_then(|pem| PublicKey::from_pem(pem, &policy).ok());
    if let Some(key) = &public {
        report.say("Key", format!("{}, {}", key.algorithm(), key.fingerprint()));
    }
    let private = secret
        .get(names::PRIVATE_KEY)
        .and_then(|pem| (inspection.public_key)(pem).ok());
    match (public, private) {
        (Some(public), Some(private)) if private == public => {
            report.verified("private and public key belong together");
        }
        (Some(_), Some(_)) => report.wrong(
            "data.publicKey: it is not the public key of data.privateKey. Replace it with that key."
                .to_owned(),
        ),
        _ => report.wrong("data: there is no pair of keys that can be read.".to_owned()),
    }
}

fn authority<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    report.say(
        "Kind",
        "the authority that signs for this home's peers; its key is not shown",
    );
    let bundle = secret
        .get(own_secrets::AUTHORITY_CERTIFICATE)
        .and_then(|pem| CaBundle::from_pem(pem, &Policy::compatible()).ok());
    for certificate in bundle.iter().flat_map(CaBundle::certificates) {
        report.say("CA", certificate.fingerprint().to_string());
        report.say("Dates", inspection.dates(certificate));
    }
}

fn issued<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    report.say(
        "Kind",
        "the certificate that a provider issued, and its request",
    );
    let chain = secret
        .get(names::CERTIFICATE)
        .map(|pem| CertificateChain::from_pem(pem, &Policy::compatible()));
    match chain {
        Some(Ok(chain)) => kubeconfig::certificate(inspection, chain.leaf(), report),
        Some(Err(error)) => report.say("Certificate", format!("unreadable: {error}")),
        None => report.say("Certificate", "none"),
    }
    report.unverified(
        "whether it is the recorded certificate: the peer can write to its tenant namespace",
    );
}

fn kubeconfig<F>(inspection: &Inspection<'_, F>, secret: &Secret, report: &mut Report) {
    if let Some(kind) = secret.metadata.labels.get(names::IDENTITY_TYPE_LABEL) {
        report.say("Identity", escaped(kind));
    }
    let text = secret.get(names::KUBECONFIG);
    kubeconfig::explain(inspection, text.unwrap_or_default(), report);
}

fn peer(secret: &Secret) -> Option<ClusterId> {
    let label = secret.metadata.labels.get(names::REMOTE_CLUSTER_ID_LABEL)?;
    label.parse().ok()
}
