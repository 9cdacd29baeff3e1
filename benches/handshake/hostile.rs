//! Inputs of an attacker who wants a verification to take long: the largest and
//! the deepest inputs within the limits.
//!
//! No signature in these certificates is valid. An invalid signature costs as
//! much as a valid one, and after it the next key is tried.

use std::{hint::black_box, sync::Arc};

use liqo_auth::{
    crypto::{Csr, Entropy, KeyPair, Nonce, SigningKey, StructuredNonce, Subject},
    model::{Identity, Object, Tenant, manifest},
    policy::{Limits, Policy},
    verify::{self, IdentityExpectation, TenantExpectation},
};

use super::{
    clock::Stage,
    clusters::{Clusters, YEAR, consumer_id, entropy, now, provider_id},
};

pub(crate) fn stages() -> Vec<Stage> {
    let ed25519 = KeyPair::from_entropy(&entropy(1));
    let mut stages = Vec::new();
    #[cfg(feature = "yaml")]
    stages.extend(in_yaml());
    #[cfg(feature = "ecdsa")]
    stages.extend(with_ecdsa());
    #[cfg(feature = "rsa")]
    stages.extend(with_rsa());
    stages.extend([
        tenant("tenant, Ed25519", KeyPair::from_entropy(&entropy(1))),
        identity(
            "identity, 64 Ed25519 authorities",
            ed25519.public_key().spki_der(),
            &ED25519,
            &likely_signature(),
        ),
        request_of_many_names(),
        certificate_of_many("identity, certificate of many names", |filler| {
            (filler, Vec::new())
        }),
        certificate_of_many("identity, certificate of many extensions", |filler| {
            (Vec::new(), filler)
        }),
        bundle_of_many_beginnings(),
        object("object, 256 KiB of fields in JSON", json_fields()),
        object("object, 256 KiB of depth in JSON", json_depth()),
        object("object, 256 KiB of text in JSON", json_text()),
        object("object, as many fields as it may have in JSON", json_full()),
        object("object, 256 KiB of labels in JSON", json_labels()),
        object(
            "object, as many repeated keys as it may have",
            json_repeated(),
        ),
        stream("stream, 16 MiB of {}", "{}".repeat(8 << 20)),
        stream("stream, 16 MiB of --- and {}", "---\n{}\n".repeat(2 << 20)),
        stream("stream, 16 MiB of ---", "---\n".repeat(4 << 20)),
    ]);
    stages
}

#[cfg(feature = "ecdsa")]
fn with_ecdsa() -> Vec<Stage> {
    use liqo_auth::crypto::Algorithm;

    let key = || KeyPair::generate(Algorithm::EcdsaP521, &mut getrandom::SysRng).unwrap();
    let number = tlv(2, &[0x11; 65]);
    vec![
        tenant("tenant, ECDSA P-521", key()),
        identity(
            "identity, 64 ECDSA P-521 authorities",
            key().public_key().spki_der(),
            &tlv(0x30, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4]),
            &tlv(0x30, &[&number[..], &number].concat()),
        ),
    ]
}

#[cfg(feature = "rsa")]
fn with_rsa() -> Vec<Stage> {
    use liqo_auth::crypto::Algorithm;

    let rsa_4096 = Algorithm::Rsa { bits: 4096 };
    let key = || KeyPair::generate(rsa_4096, &mut getrandom::SysRng).unwrap();
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
    vec![
        tenant("tenant, RSA-4096 (with the compositeness test)", key()),
        tenant_of_known_key("tenant, RSA-4096 known", key()),
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

/// Verifies an honest Tenant.
fn tenant(name: &'static str, key: KeyPair) -> Stage {
    let (tenant, nonce) = tenant_of(key);
    Stage::new(name, move || {
        let expectation = TenantExpectation {
            consumer: &consumer_id(),
            nonce: &nonce,
        };
        black_box(verify::tenant(&tenant, &expectation, &Policy::strict()).unwrap());
    })
}

/// Verifies an honest Tenant whose key was admitted earlier.
#[cfg(feature = "rsa")]
fn tenant_of_known_key(name: &'static str, key: KeyPair) -> Stage {
    use liqo_auth::crypto::PublicKey;

    let public_key = key.public_key().clone();
    let (tenant, nonce) = tenant_of(key);
    Stage::new(name, move || {
        let (subject, policy) = (Subject::control_plane(&consumer_id()), Policy::strict());
        let key = PublicKey::from_known_spki_der(public_key.spki_der(), &policy).unwrap();
        Csr::verify(tenant.spec.csr.as_slice(), &subject, &key, &policy).unwrap();
        let signature = tenant.spec.signature.as_slice();
        key.verify(key.nonce_scheme(), nonce.as_bytes(), signature, &policy)
            .unwrap();
    })
}

fn tenant_of(key: KeyPair) -> (Tenant, Nonce) {
    let clusters = Clusters::with(Arc::new(key), None);
    let nonce = StructuredNonce::issue(
        &provider_id(),
        &consumer_id(),
        None,
        now() + YEAR,
        &clusters.record_key,
        &Entropy::from_bytes([6; 32]),
    );
    (clusters.tenant(&nonce), nonce)
}

/// A chain of four certificates and the largest bundle within the limits. By
/// names and key identifiers, each certificate could be the issuer of each
/// other one.
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
    let bundle = clusters.authority.certificate_pem().to_owned();
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
    let refused = "the CA bundle cannot be read";
    checked(
        "identity, bundle of beginnings",
        &clusters,
        pem(&leaf),
        bundle,
        Some(refused),
    )
}

/// Verifies the Identity. It is accepted, or refused for the given reason.
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
        let expectation = IdentityExpectation {
            consumer: &consumer_id(),
            provider: &provider_id(),
            key: &key,
            now: now(),
            proxy_url: None,
            namespace: None,
            publicly_trusted: false,
            pins: None,
            aws: false,
        };
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

/// A request that consists almost only of its subject. The error has to show
/// the subject.
fn request_of_many_names() -> Stage {
    let key = KeyPair::from_entropy(&entropy(1));
    let name = tlv(0x30, &common_name_part("x").repeat(420));
    let information = tlv(
        0x30,
        &[
            &[2, 1, 0],
            &name[..],
            key.public_key().spki_der(),
            &[0xa0, 0],
        ]
        .concat(),
    );
    let signature = tlv(3, &[0x11; 65]);
    let request = tlv(0x30, &[information, ED25519.to_vec(), signature].concat());
    let text = pem_of("CERTIFICATE REQUEST", &request);
    assert!(text.len() < Limits::default().csr);
    Stage::new("request of many names", move || {
        let subject = Subject::control_plane(&consumer_id());
        let public_key = key.public_key();
        let verdict = Csr::verify(text.as_bytes(), &subject, public_key, &Policy::strict());
        assert!(black_box(verdict).is_err());
    })
}

fn object(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let objects: Vec<Object> = manifest::read(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(black_box(objects).len(), 1);
    })
}

/// A text of the largest size that can be read at once.
fn stream(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let read = manifest::read(text.as_bytes(), &Limits::default());
        assert!(black_box(read).map_or(0, |objects| objects.len()) <= manifest::MOST_OBJECTS);
    })
}

fn json_fields() -> String {
    let fields: Vec<String> = (0..24_000).map(|n| format!("\"{n:05}\":1")).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_depth() -> String {
    let deep = |n: usize| format!("\"{n}\":{}{}", "[".repeat(28), "]".repeat(28));
    let fields: Vec<String> = (0..3_800).map(deep).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_text() -> String {
    format!("{TENANT}\"csr\":\"{}\"}}}}", "QUFB".repeat(63 * 1024))
}

/// The largest number of fields within the limit, each as long as the object's
/// limit allows.
fn json_full() -> String {
    let field = |n: usize| format!("\"{n:020}\":\"{}\"", "\\u00e9".repeat(5));
    let fields: Vec<String> = (0..most_fields()).map(field).collect();
    format!("{TENANT}{}}}}}", fields.join(","))
}

fn json_labels() -> String {
    let fields: Vec<String> = (0..24_000).map(|n| format!("\"{n:05}\":\"\"")).collect();
    let kind = TENANT.trim_end_matches("\"spec\":{");
    format!(
        "{kind}\"metadata\":{{\"labels\":{{{}}},\"name\":\"x\"}}}}",
        fields.join(",")
    )
}

fn json_repeated() -> String {
    let repeated: Vec<&str> = vec!["{\"a\":1,\"a\":1}"; 60];
    format!("{TENANT}\"x\":[{}]}}}}", repeated.join(","))
}

fn most_fields() -> usize {
    Limits::default().object_values - 8
}

#[cfg(feature = "yaml")]
fn in_yaml() -> Vec<Stage> {
    let spec = "apiVersion: authentication.liqo.io/v1beta1\nkind: Tenant\nspec:\n";
    let lines = |number: usize, line: &dyn Fn(usize) -> String| {
        let lines: Vec<String> = (0..number).map(line).collect();
        format!("{spec}{}", lines.concat())
    };
    let size = 255 * 1024;
    let full = |n: usize| format!("  {n:020}: \"{}\"\n", "\\u00e9".repeat(5));
    let anchored = format!(
        "{spec}  a: &a \"{}\"\n{}",
        "x".repeat(size - 4096),
        "  b: *a\n".repeat(200)
    );
    let nested = format!("{spec}  a: &a [{}1]\n", "1,".repeat(2000));
    vec![
        object_or_refusal(
            "YAML, 256 KiB of fields",
            lines(24_000, &|n| format!("  {n:05}: 1\n")),
        ),
        object_or_refusal(
            "YAML, as many fields as an object may have",
            lines(most_fields(), &full),
        ),
        object_or_refusal(
            "YAML, 256 KiB of flow",
            format!("{spec}  a: [{}1]\n", "1,".repeat(size / 2)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of flow in flow",
            format!("{spec}  a: [{}1]\n", "[],".repeat(size / 3)),
        ),
        object_or_refusal("YAML, 256 KiB of depth", {
            let deep = |n: usize| format!("  {n}: {}{}\n", "[".repeat(28), "]".repeat(28));
            lines(3_800, &deep)
        }),
        object_or_refusal(
            "YAML, 256 KiB of text",
            format!("{spec}  csr: {}\n", "QUFB".repeat(size / 4)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of quoted text",
            format!("{spec}  csr: \"{}\"\n", "\\x41".repeat(size / 4)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of lines of text",
            format!("{spec}  csr: |\n{}", "   A\n".repeat(size / 5)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of folded lines",
            format!("{spec}  csr:\n{}", "   A\n".repeat(size / 5)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of comments",
            format!("{spec}{}", "#\n".repeat(size / 2)),
        ),
        object_or_refusal(
            "YAML, 256 KiB of blank lines",
            format!("{spec}{}", "\n".repeat(size)),
        ),
        object_or_refusal("YAML, aliases of a long text", anchored),
        object_or_refusal(
            "YAML, aliases of a long list",
            format!("{nested}{}", "  b: *a\n".repeat(200)),
        ),
        stream(
            "stream, 16 MiB of YAML documents",
            "---\na\n".repeat((16 << 20) / 6),
        ),
    ]
}

/// Checks that the text contains one object, or that the whole text is refused.
#[cfg(feature = "yaml")]
fn object_or_refusal(name: &'static str, text: String) -> Stage {
    Stage::new(name, move || {
        let read = manifest::read(text.as_bytes(), &Limits::default());
        assert_eq!(black_box(read).map_or(1, |objects| objects.len()), 1);
    })
}

const TENANT: &str = r#"{"apiVersion":"authentication.liqo.io/v1beta1","kind":"Tenant","spec":{"#;

/// The AlgorithmIdentifier of Ed25519.
const ED25519: [u8; 7] = [0x30, 5, 6, 3, 0x2b, 0x65, 0x70];

/// A certificate (RFC 5280 section 4.1) with that issuer and subject.
fn certificate(
    (issuer, subject): &(Vec<u8>, Vec<u8>),
    spki: &[u8],
    extensions: &[u8],
    algorithm: &[u8],
    signature: &[u8],
) -> Vec<u8> {
    let time = |text: &[u8]| tlv(0x17, text);
    let validity = tlv(
        0x30,
        &[time(b"260101000000Z"), time(b"270101000000Z")].concat(),
    );
    let parts: [&[u8]; 8] = [
        &[0xa0, 3, 2, 1, 2],
        &[2, 1, 1],
        algorithm,
        issuer,
        &validity,
        subject,
        spki,
        &tlv(0xa3, &tlv(0x30, extensions)),
    ];
    let signed = tlv(0x30, &parts.concat());
    let signature = tlv(3, &[&[0], signature].concat());
    tlv(0x30, &[&signed[..], algorithm, &signature].concat())
}

/// The subject that a client's certificate has to have: O=liqo.io, CN=consumer.
fn client_name() -> Vec<u8> {
    let organization = part(10, "liqo.io");
    tlv(0x30, &[organization, common_name_part("consumer")].concat())
}

/// R is a point on the curve and s is below the order. Only the equation fails.
fn likely_signature() -> [u8; 64] {
    let mut signature = [0x66; 64];
    signature[0] = 0x58;
    signature[32..].fill(1);
    signature
}

fn common_name(text: &str) -> Vec<u8> {
    tlv(0x30, &common_name_part(text))
}

fn common_name_part(text: &str) -> Vec<u8> {
    part(3, text)
}

fn part(kind: u8, text: &str) -> Vec<u8> {
    let attribute = [vec![6, 3, 0x55, 4, kind], tlv(0x13, text.as_bytes())].concat();
    tlv(0x31, &tlv(0x30, &attribute))
}

/// ExtendedKeyUsage: clientAuth.
fn client_authentication() -> Vec<u8> {
    extension(&[37], &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2])
}

/// An extension of id-ce (2.5.29).
fn extension(kind: &[u8], value: &[u8]) -> Vec<u8> {
    let oid = tlv(6, &[&[0x55, 0x1d], kind].concat());
    tlv(0x30, &[oid, tlv(4, value)].concat())
}

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut element = vec![tag];
    match length {
        0..0x80 => element.push(length as u8),
        0x80..0x100 => element.extend([0x81, length as u8]),
        _ => element.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    element.extend(content);
    element
}

fn pem(der: &[u8]) -> String {
    pem_of("CERTIFICATE", der)
}

fn pem_of(label: &str, der: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};

    let digits = STANDARD.encode(der);
    let lines = digits.as_bytes().chunks(64);
    let lines: Vec<&str> = lines.map(|line| str::from_utf8(line).unwrap()).collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}
