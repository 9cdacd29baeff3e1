//! Identities with certificates and CA bundles that take long to verify.
//!
//! All signatures in these certificates are wrong: a wrong signature costs as much
//! as a right one, and then the verifier tries the next key.

use std::hint::black_box;

use liqo_auth::{
    crypto::{KeyPair, SigningKey},
    model::Identity,
    policy::Policy,
    verify::{self, IdentityExpectation},
};

use super::{
    super::{
        clock::Stage,
        clusters::{Clusters, consumer_id, entropy, now, provider_id},
    },
    x509::{
        ED25519, certificate, client_authentication, client_name, common_name, common_name_part,
        extension, likely_signature, pem, tlv,
    },
};

pub(super) fn stages() -> Vec<Stage> {
    let ed25519 = KeyPair::from_entropy(&entropy(1));
    #[allow(unused_mut, reason = "features add stages")]
    let mut stages = vec![
        identity(
            "identity, 64 Ed25519 authorities",
            ed25519.public_key().spki_der(),
            &ED25519,
            &likely_signature(),
        ),
        certificate_of_many("identity, certificate of many names", |filler| {
            (filler, Vec::new())
        }),
        certificate_of_many("identity, certificate of many extensions", |filler| {
            (Vec::new(), filler)
        }),
        bundle_of_many_beginnings(),
    ];
    #[cfg(feature = "ecdsa")]
    stages.push(by_ecdsa_authorities());
    #[cfg(feature = "rsa")]
    stages.extend(by_rsa_authorities());
    stages
}

#[cfg(feature = "ecdsa")]
fn by_ecdsa_authorities() -> Stage {
    use liqo_auth::crypto::Algorithm;

    let key = KeyPair::generate(Algorithm::EcdsaP521, &mut getrandom::SysRng).unwrap();
    let number = tlv(2, &[0x11; 65]);
    identity(
        "identity, 64 ECDSA P-521 authorities",
        key.public_key().spki_der(),
        &tlv(0x30, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4]),
        &tlv(0x30, &[&number[..], &number].concat()),
    )
}

#[cfg(feature = "rsa")]
fn by_rsa_authorities() -> [Stage; 2] {
    let mut identifier = vec![6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
    let kind = tlv(0x30, &identifier);
    identifier[10] = 13;
    let sha512 = tlv(0x30, &identifier);
    let spki = |bytes: usize, exponent: &[u8]| {
        let mut modulus = vec![0xc5; bytes + 1];
        modulus[0] = 0;
        let numbers = [tlv(2, &modulus), tlv(2, exponent)].concat();
        let key = [&[0], &tlv(0x30, &numbers)[..]].concat();
        tlv(0x30, &[kind.clone(), tlv(3, &key)].concat())
    };
    [
        identity(
            "identity, RSA-4096 authorities",
            &spki(512, &[1, 0, 1]),
            &sha512,
            &[0x11; 512],
        ),
        identity(
            "identity, RSA-8192 authorities, long exponent",
            &spki(1024, &[1, 0xff, 0xff, 0xff, 0xff]),
            &sha512,
            &[0x11; 1024],
        ),
    ]
}

/// A chain of four certificates and the largest bundle within the limits. The names
/// and key identifiers allow each CA certificate to be the issuer of every
/// certificate.
fn identity(name: &'static str, authority: &[u8], algorithm: &[u8], signature: &[u8]) -> Stage {
    let clusters = Clusters::new();
    let names = (common_name("x"), common_name("x"));
    let certified = |names: &(Vec<u8>, Vec<u8>), spki: &[u8], extensions: &[u8]| {
        certificate(names, spki, extensions, algorithm, signature)
    };
    let intermediate = certified(&names, authority, &extension(&[19], &[0x30, 3, 1, 1, 0xff]));
    let leaf = certified(
        &(names.0.clone(), client_name()),
        clusters.key.public_key().spki_der(),
        &client_authentication(),
    );
    // The signature on an authority's own certificate is never verified.
    let root = certificate(
        &names,
        authority,
        &extension(&[19], &[0x30, 3, 1, 1, 0xff]),
        &ED25519,
        &[],
    );
    let bundle = pem(&root);
    let bundle = bundle.repeat((64 * 1024 / bundle.len()).min(64));
    let chain = [pem(&leaf), pem(&intermediate).repeat(3)].concat();
    checked(name, &clusters, chain, bundle, None)
}

/// A certificate of the largest allowed size.
fn certificate_of_many(name: &'static str, place: impl Fn(Vec<u8>) -> (Vec<u8>, Vec<u8>)) -> Stage {
    let clusters = Clusters::new();
    let bytes = 46 * 1024;
    let names = || common_name_part("x").repeat(bytes / common_name_part("x").len());
    // Each extension has a different identifier, because a duplicate is refused
    // early.
    let extensions = || {
        let mut all = Vec::new();
        for number in 0_u32.. {
            if all.len() > bytes {
                break;
            }
            let digits = [
                number >> 14 & 0x7f | 0x80,
                number >> 7 & 0x7f | 0x80,
                number & 0x7f,
            ];
            all.extend(extension(&digits.map(|digit| digit as u8), &[5, 0]));
        }
        all
    };
    let (in_name, in_extensions) = place(vec![1]);
    let issuer = if in_name.is_empty() {
        common_name("x")
    } else {
        tlv(0x30, &names())
    };
    let mut usages = client_authentication();
    if !in_extensions.is_empty() {
        usages.extend(extensions());
    }
    let key = clusters.key.public_key().spki_der();
    let leaf = certificate(
        &(issuer, client_name()),
        key,
        &usages,
        &ED25519,
        &[0x11; 64],
    );
    let bundle = String::from_utf8(clusters.authority.ca_bundle().pem().to_vec()).unwrap();
    checked(name, &clusters, pem(&leaf), bundle, None)
}

/// A CA bundle that contains only BEGIN lines.
fn bundle_of_many_beginnings() -> Stage {
    let clusters = Clusters::new();
    let leaf = certificate(
        &(common_name("x"), client_name()),
        clusters.key.public_key().spki_der(),
        &client_authentication(),
        &ED25519,
        &[0x11; 64],
    );
    let beginning = "-----BEGIN CERTIFICATE-----\n";
    let bundle = beginning.repeat(64 * 1024 / beginning.len());
    let refused = "CA bundle: the certificate cannot be read";
    checked(
        "identity, bundle of beginnings",
        &clusters,
        pem(&leaf),
        bundle,
        Some(refused),
    )
}

/// Measures the verification of an Identity, which is accepted, or refused for the
/// given reason.
fn checked(
    name: &'static str,
    clusters: &Clusters,
    chain: String,
    bundle: String,
    refused: Option<&'static str>,
) -> Stage {
    let mut identity = clusters.identity(chain.as_bytes());
    identity.spec.auth_params.ca = bundle.as_bytes().into();
    let key = clusters.key.public_key().clone();
    let verify = move |identity: &Identity| {
        let (consumer, provider) = (consumer_id(), provider_id());
        let expectation = IdentityExpectation::new(&consumer, &provider, &key, now());
        verify::identity(identity, &expectation, &Policy::strict())
    };
    match (refused, verify(&identity)) {
        (None, verdict) => drop(verdict.unwrap()),
        (Some(reason), verdict) => {
            let error = verdict.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
    Stage::new(name, move || drop(black_box(verify(&identity))))
}
