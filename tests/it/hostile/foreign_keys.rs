//! A key that nobody pinned is compared by its bytes and costs no arithmetic. A
//! prime RSA modulus shows it: only the arithmetic finds out that it is prime.

use base64::{Engine, engine::general_purpose::STANDARD};
use liqo_auth::{
    crypto::{KeyError, PublicKey},
    error::{Fault, PeerIncompatible},
    model::{Metadata, Renew, RenewSpec, names},
    policy::Policy,
};

use crate::clusters::exchange::{Exchange, Setup, ed25519};

#[test]
fn a_foreign_key_in_a_renew_costs_no_arithmetic() {
    let mut exchange = authenticated();
    let labels = [
        (names::REPLICATED_LABEL, "true"),
        (names::REPLICATION_ORIGIN_LABEL, "cl-consumer"),
        (names::REMOTE_CLUSTER_ID_LABEL, "cl-consumer"),
    ];
    let renew = Renew {
        metadata: Metadata {
            name: "controlplane-cl-provider".into(),
            namespace: "liqo-tenant-cl-consumer".into(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..Metadata::default()
        },
        spec: RenewSpec {
            consumer_cluster_id: "cl-consumer".into(),
            public_key: prime_key().into(),
            ..RenewSpec::default()
        },
        ..Renew::default()
    };
    exchange.at_provider.insert(renew.into());
    assert_key_changed(&mut exchange);
}

#[test]
fn a_foreign_key_in_a_tenant_costs_no_arithmetic() {
    let mut exchange = authenticated();
    exchange.edit_tenant(|tenant| tenant.spec.public_key = prime_key().into());
    assert_key_changed(&mut exchange);
}

#[test]
fn a_foreign_key_with_a_false_succession_costs_no_arithmetic() {
    let mut exchange = authenticated();
    exchange.invite();
    let view = exchange.provider_view();
    let step = exchange.provider.replace_nonce(&view, exchange.env());
    let step = step.unwrap();
    exchange.carry_out(true, step);
    exchange.edit_tenant(|tenant| {
        tenant.spec.public_key = prime_key().into();
        let annotations = &mut tenant.metadata.annotations;
        let pinned = STANDARD.encode(ed25519(1).public_key().spki_der());
        let word = format!("{pinned}.{}", STANDARD.encode([1; 64]));
        annotations.insert("liqo-auth/key-succession".to_owned(), word);
    });
    exchange.refused.clear();
    exchange.turn_of_provider();
    let is_succession = |fault: &Fault| {
        matches!(
            fault,
            Fault::PeerIncompatible(PeerIncompatible::KeySuccession(_))
        )
    };
    let mut refused = exchange.refused.iter();
    assert!(
        refused.any(|error| is_succession(error.fault())),
        "{:?}",
        exchange.refused
    );
}

/// Nobody pinned a key of this peer, and there is no nonce that it could sign.
#[test]
fn a_key_that_cannot_be_proven_costs_no_arithmetic() {
    let mut exchange = Setup::new().exchange();
    exchange.invite();
    exchange.settle();
    let mut tenant = exchange.stored_tenant();
    tenant.spec.public_key = prime_key().into();
    let mut exchange = Setup::new().exchange();
    exchange.at_provider.insert(tenant.into());
    exchange.turn_of_provider();
    let faults = exchange.refused.iter().map(|error| error.fault());
    let missing = Fault::from(PeerIncompatible::NonceMissing);
    assert_eq!(faults.collect::<Vec<_>>(), [&missing]);
}

fn assert_key_changed(exchange: &mut Exchange) {
    exchange.refused.clear();
    let step = exchange.turn_of_provider();
    assert_eq!(step.effects, [], "the result of a test would be recorded");
    let [error] = &exchange.refused[..] else {
        panic!("{:?}", exchange.refused);
    };
    let is_change = |fault: &Fault| {
        matches!(
            fault,
            Fault::PeerIncompatible(PeerIncompatible::KeyChanged { .. })
        )
    };
    assert!(is_change(error.fault()), "{error:?}");
}

fn authenticated() -> Exchange {
    let mut exchange = Setup::new().exchange();
    exchange.settle();
    assert_eq!(exchange.phases().0, "Authenticated");
    exchange
}

/// An RSA key in PEM whose modulus is a prime number of 2048 bits.
fn prime_key() -> Vec<u8> {
    let modulus: Vec<u8> = PRIME
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    // SubjectPublicKeyInfo of 2048 bits up to the modulus, and the exponent.
    let head = "30820122300D06092A864886F70D01010105000382010F003082010A0282010100";
    let head = head.as_bytes().chunks(2);
    let mut der: Vec<u8> = head
        .map(|digits| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    der.extend(modulus);
    der.extend([2, 3, 1, 0, 1]);
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        lines.join("\n")
    );
    let read = PublicKey::from_pem(pem.as_bytes(), &Policy::strict());
    assert_eq!(read, Err(KeyError::RsaModulusPrime));
    pem.into_bytes()
}

const PRIME: &str = "FDF2B5B2A0C2F30951140AD521B91319FC971321988F592FDA9E4D27212F9EB2\
    A1214485BE82F09F936A7D60D88DED7083771EBDB7385BA86B0FE87E1A8FB4AA\
    E6BD082B1B1C7F9BF95829F8F52355D25133B6588675FAACC742381FFF98DE4B\
    06EBF6203EAEC30B7128C900971DDBB833BBD5C3D70EAF141045B054E051CDFB\
    48A3772B197BCCFFDB5D46D6E72A07CF2A3411553DF06B93EE44EAC1FB9ED7C5\
    F6C1C52FA9A8D656C8C71AC7CC0371B5309071312D5C3D6151199DE3F2E80692\
    F85B3C5D458AFF53F1C5773E803069F766D16DE4C069FD7C60E8F395CE6E2E07\
    946B9F916222D6BD7DE0C43CB07372D715D5E2324F83BC9D8C359E0BDB830731";
