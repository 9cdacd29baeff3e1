use super::*;
use crate::crypto::{Authority, Entropy, PemError, certificate::LABEL, pem_block};

fn authority(name: &str) -> Vec<u8> {
    let entropy = Entropy::from_bytes([5; 32]);
    let now = "2026-11-20T13:00:00Z".parse().unwrap();
    let life = core::time::Duration::from_secs(3600);
    Authority::new(name, now, life, &entropy)
        .unwrap()
        .ca_bundle()
        .pem()
        .to_vec()
}

#[test]
fn padding_and_comments_are_taken_in_every_policy() {
    let (one, two) = (authority("one"), authority("two"));
    let bundle = [&b"# one\n"[..], &one, b"\n# two\n", &two, b"\n"].concat();
    for policy in [Policy::strict(), Policy::compatible()] {
        let read = CaBundle::from_pem(&bundle, &policy).unwrap();
        assert_eq!(read.pem(), bundle);
        assert_eq!(read.certificates().len(), 2);
        let padded = CaBundle::from_pem(&[&bundle[..], b"\0\0\n\0"].concat(), &policy);
        assert_eq!(padded.unwrap(), read);
    }
}

#[test]
fn the_padding_begins_at_the_first_nul_after_the_content() {
    for (bytes, content) in [
        (&b""[..], &b""[..]),
        (b"a", b"a"),
        (b"a\n", b"a\n"),
        (b"a\0", b"a"),
        (b"a\n\0\n\0", b"a\n"),
        (b"a\0b\0", b"a\0b"),
        (b"\0a", b"\0a"),
        (b"\n\0", b"\n"),
        (b"\0\n", b""),
    ] {
        assert_eq!(without_padding(bytes), content, "{bytes:?}");
    }
}

#[test]
fn what_is_no_bundle_is_refused() {
    use CertificateError::*;
    let one = authority("one");
    let key = pem_block::write("PRIVATE KEY", &[1; 40]).into_bytes();
    let label = PemError::Label {
        found: "PRIVATE KEY".to_owned(),
        expected: LABEL,
    };
    let broken = pem_block::write(LABEL, &[0x30, 0]).into_bytes();
    for (bytes, error) in [
        (vec![], Empty),
        (b"\n\0\0".to_vec(), Empty),
        (
            vec![0; 70_000],
            TooLong {
                found: 70_000,
                limit: 65_536,
            },
        ),
        ([&one[..], &key].concat(), Pem(label)),
        (b"garbage".to_vec(), Pem(PemError::NoBlock)),
        ([&one[..], &broken].concat(), Unreadable { index: 1 }),
        (one.repeat(65), TooMany { limit: 64 }),
    ] {
        assert_eq!(CaBundle::from_pem(&bytes, &Policy::strict()), Err(error));
    }
    assert!(CaBundle::from_pem(&one.repeat(64), &Policy::strict()).is_ok());
}

#[test]
fn a_bundle_of_65_536_bytes_is_read() {
    let mut bytes = authority("one");
    bytes.resize(65_536, 0);
    assert!(CaBundle::from_pem(&bytes, &Policy::strict()).is_ok());
    bytes.push(0);
    let error = CertificateError::TooLong {
        found: 65_537,
        limit: 65_536,
    };
    assert_eq!(CaBundle::from_pem(&bytes, &Policy::strict()), Err(error));
}
