use core::slice::from_ref;

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyIdMethod,
    SerialNumber,
};

use super::*;
use crate::crypto::{
    Entropy, KeyPair, SigningKey,
    certificate::LABEL,
    der::{SEQUENCE, bit_string, element, single},
    pem_block,
    public_key::{EC_OID, RSA_OID},
    rcgen_key_for_tests::{Signer, Unsigned},
};

/// A CA of this name and key, or a client.
struct Party {
    params: CertificateParams,
    key: KeyPair,
}

impl Party {
    fn ca(name: &str, key: u8) -> Self {
        let mut ca = Self::client(name, key);
        ca.params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca
    }

    fn client(name: &str, key: u8) -> Self {
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(7));
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_identifier_method = KeyIdMethod::PreSpecified(vec![key; 20]);
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::from_entropy(&Entropy::from_bytes([key; 32]));
        Self { params, key }
    }

    /// The certificate of this party by that CA.
    fn by(&self, ca: &Self) -> Vec<u8> {
        let signer = Signer::new(&ca.key);
        let issuer = Issuer::from_params(&ca.params, &signer);
        let certificate = self
            .params
            .signed_by(&Unsigned(self.key.public_key()), &issuer);
        pem_block::write(LABEL, certificate.unwrap().der()).into_bytes()
    }

    fn own(&self) -> Vec<u8> {
        self.by(self)
    }
}

fn cas(pems: &[Vec<u8>]) -> ClientCas {
    ClientCas::of(&CaBundle::from_pem(&pems.concat(), &Policy::compatible()).unwrap())
}

fn chain(pems: &[Vec<u8>]) -> CertificateChain {
    CertificateChain::from_pem(&pems.concat(), &Policy::compatible()).unwrap()
}

#[test]
fn a_certificate_is_trusted_by_the_ca_whose_key_has_signed_it() {
    let (first, second) = (Party::ca("ca", 1), Party::ca("ca", 2));
    let client = chain(&[Party::client("rome", 9).by(&first)]);
    assert_eq!(cas(&[first.own()]).trust(&client), Some(true));
    // Another key, another name, and both CAs while one takes the place of the other.
    assert_eq!(cas(&[second.own()]).trust(&client), Some(false));
    let renamed = Party::ca("another", 1).own();
    assert_eq!(cas(&[renamed]).trust(&client), Some(false));
    let both = [second.own(), first.own()];
    assert_eq!(cas(&both).trust(&client), Some(true));
}

/// As Go's verifier has it. A CA may be made again for its key, by a program that computes
/// another identifier.
#[test]
fn the_key_identifier_does_not_decide() {
    let first = Party::ca("ca", 1);
    let client = chain(&[Party::client("rome", 9).by(&first)]);
    let mut again = Party::ca("ca", 1);
    again.params.key_identifier_method = KeyIdMethod::PreSpecified(vec![5; 20]);
    let again = cas(&[again.own()]);
    assert_eq!(client.issued_by(&again.bundle), Issuance::No);
    assert_eq!(again.trust(&client), Some(true));
}

#[test]
fn intermediates_in_any_order_lead_to_the_ca() {
    let root = Party::ca("root", 1);
    let (upper, lower) = (Party::ca("upper", 2), Party::ca("lower", 3));
    let client = Party::client("rome", 9).by(&lower);
    let [above, below] = [upper.by(&root), lower.by(&upper)];
    let trusts = |certificates: &[&Vec<u8>]| {
        let certificates: Vec<Vec<u8>> = certificates.iter().copied().cloned().collect();
        cas(&[root.own()]).trust(&chain(&certificates))
    };
    assert_eq!(trusts(&[&client, &below, &above]), Some(true));
    assert_eq!(trusts(&[&client, &above, &below]), Some(true));
    assert_eq!(trusts(&[&client, &above]), Some(false));
    assert_eq!(trusts(&[&client, &below]), Some(false));
    // Anyone may put the right name between two certificates, and a client is no CA.
    let impostor = Party::ca("lower", 4).by(&upper);
    assert_eq!(trusts(&[&client, &impostor, &above]), Some(false));
    let no_ca = Party::client("lower", 3).by(&upper);
    assert_eq!(trusts(&[&client, &no_ca, &above]), Some(false));
    // The intermediate may itself be a client CA.
    assert_eq!(cas(&[below]).trust(&chain(&[client])), Some(true));
}

/// The CA certificate of that name with another public key.
fn with_key(ca: &Party, spki: &[u8]) -> Vec<u8> {
    let own = chain(&[ca.own()]);
    let present = own.leaf().spki_der.as_slice();
    let (to_be_signed, algorithm, signature) = own.leaf().signed().unwrap();
    let content = single(to_be_signed, SEQUENCE).unwrap();
    let at = content
        .windows(present.len())
        .position(|bytes| bytes == present)
        .unwrap();
    let content = [&content[..at], spki, &content[at + present.len()..]];
    let to_be_signed = element(SEQUENCE, &content);
    let algorithm = element(SEQUENCE, &[algorithm]);
    let der = element(
        SEQUENCE,
        &[&to_be_signed, &algorithm, &bit_string(signature)],
    );
    pem_block::write(LABEL, &der).into_bytes()
}

#[test]
fn a_key_that_cannot_be_verified_with_decides_nothing() {
    let ca = Party::ca("ca", 1);
    let client = chain(&[Party::client("rome", 9).by(&ca)]);
    let spki = |identifier: &[u8], key: &[u8]| {
        element(
            SEQUENCE,
            &[&element(SEQUENCE, &[identifier]), &bit_string(key)],
        )
    };
    let oid = |value: &[u8]| element(6, &[value]);
    // A curve and an algorithm that no build knows, and a short RSA key.
    let p224 = [oid(EC_OID), oid(&[0x2b, 0x81, 0x04, 0, 33])].concat();
    let short = element(
        SEQUENCE,
        &[
            &element(2, &[&[0], &[0xff; 128]]),
            &element(2, &[&[1, 0, 1]]),
        ],
    );
    for key in [
        spki(&p224, &[4; 57]),
        spki(&oid(&[0x2b, 0x65, 0x71]), &[7; 57]),
        spki(&[oid(RSA_OID), vec![5, 0]].concat(), &short),
    ] {
        let unknown = with_key(&ca, &key);
        assert_eq!(cas(from_ref(&unknown)).trust(&client), None);
        // It decides nothing for certificates of another issuer, and a CA that is known may.
        let other = chain(&[Party::client("rome", 9).by(&Party::ca("another", 3))]);
        assert_eq!(cas(from_ref(&unknown)).trust(&other), Some(false));
        assert_eq!(cas(&[unknown, ca.own()]).trust(&client), Some(true));
    }
}

/// The published example of Liqo, whose keys are RSA.
#[test]
fn a_build_without_rsa_decides_nothing_on_rsa() {
    let text = include_str!("../../../tests/vectors/seed/identity.yaml");
    let field = |name: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(name));
        STANDARD.decode(value.unwrap().trim()).unwrap()
    };
    let client = chain(&[field("signedCRT:")]);
    let verifies = cfg!(any(feature = "rsa", feature = "rustcrypto"));
    assert_eq!(
        cas(&[field("ca:")]).trust(&client),
        verifies.then_some(true)
    );
}

#[test]
fn the_digest_is_that_of_the_set() {
    let (first, second) = (Party::ca("ca", 1).own(), Party::ca("ca", 2).own());
    let both = cas(&[first.clone(), second.clone()]);
    let turned = cas(&[
        second.clone(),
        b"# a comment\n".to_vec(),
        first.clone(),
        second,
    ]);
    assert_eq!(both.digest(), turned.digest());
    assert_ne!(both.digest(), cas(&[first]).digest());
}
