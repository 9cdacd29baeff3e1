use super::*;
use crate::crypto::{Entropy, KeyPair, SigningKey};

#[test]
fn a_code_is_read_as_people_type_it() {
    let code = Code([0, 1, 65535, 4, 5, 6, 7, 12345]);
    let text = "00000-00001-65535-00004-00005-00006-00007-12345";
    assert_eq!(code.to_string(), text);
    for typed in [
        text.to_owned(),
        text.replace('-', " "),
        format!(" {text}\n"),
    ] {
        assert_eq!(typed.parse(), Ok(code), "{typed:?}");
    }
    for typed in [
        "",
        "00000-00001",
        &format!("{text}-00000"),
        &text.replace("65535", "65536"),
        &text.replace("00004", "0004"),
        &text.replace("00004", "+0004"),
    ] {
        assert_eq!(typed.parse::<Code>(), Err(FORM), "{typed:?}");
    }
}

#[test]
fn every_field_counts_and_no_credential_does() {
    let key = KeyPair::from_entropy(&Entropy::from_bytes([1; 32]));
    let other_key = KeyPair::from_entropy(&Entropy::from_bytes([2; 32]));
    let nonce = Nonce::random(&Entropy::from_bytes([3; 32]));
    let other_nonce = Nonce::random(&Entropy::from_bytes([4; 32]));
    let auth_params = AuthParams {
        ca: b"ca\0\0".as_slice().into(),
        api_server: "https://a:6443".to_owned(),
        ..AuthParams::default()
    };
    let (provider, consumer) = ("cl-b".parse().unwrap(), "cl-a".parse().unwrap());
    let agreement = Agreement {
        provider: &provider,
        consumer: &consumer,
        nonce: &nonce,
        consumer_key: key.public_key(),
        auth_params: &auth_params,
        namespace: "liqo-tenant-cl-a",
    };
    let transcript = Transcript::of(&agreement);
    let with = |change: fn(&mut AuthParams)| {
        let mut changed = auth_params.clone();
        change(&mut changed);
        let changed = Agreement {
            auth_params: &changed,
            ..agreement
        };
        Transcript::of(&changed)
    };
    for (name, other) in [
        ("ca", with(|changed| changed.ca = b"cb".as_slice().into())),
        ("api-server", with(|changed| changed.api_server.push('1'))),
        (
            "proxy",
            with(|changed| changed.proxy_url = Some("http://p:1".to_owned())),
        ),
        (
            "nonce",
            Transcript::of(&Agreement {
                nonce: &other_nonce,
                ..agreement
            }),
        ),
        (
            "consumer-key",
            Transcript::of(&Agreement {
                consumer_key: other_key.public_key(),
                ..agreement
            }),
        ),
        (
            "namespace",
            Transcript::of(&Agreement {
                namespace: "liqo",
                ..agreement
            }),
        ),
        (
            "provider",
            Transcript::of(&Agreement {
                provider: &"c".parse().unwrap(),
                ..agreement
            }),
        ),
        (
            "consumer",
            Transcript::of(&Agreement {
                consumer: &"c".parse().unwrap(),
                ..agreement
            }),
        ),
    ] {
        assert_eq!(transcript.differences(&other), [name]);
        assert_ne!(transcript.code(), other.code(), "{name}");
    }
    for same in [
        with(|changed| changed.ca = b"ca".as_slice().into()),
        with(|changed| changed.signed_crt = b"renewed".as_slice().into()),
        with(|changed| changed.proxy_url = Some(String::new())),
    ] {
        assert_eq!(same, transcript);
    }
}
