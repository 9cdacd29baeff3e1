use super::*;

fn both(text: &[u8]) -> (Result<(), NonceError>, Result<(), NonceError>) {
    let parse = |policy| {
        Nonce::parse(text, &policy).map(|nonce| {
            assert_eq!(nonce.as_bytes(), text);
        })
    };
    (parse(Policy::strict()), parse(Policy::compatible()))
}

#[test]
fn the_form_of_liqo_is_taken_by_both_policies() {
    let nonce = Nonce::random(&Entropy::from_bytes([1; 32]));
    assert_eq!(nonce.as_bytes().len(), 88);
    assert_eq!(both(nonce.as_bytes()), (Ok(()), Ok(())));
    assert_ne!(nonce, Nonce::random(&Entropy::from_bytes([2; 32])));
}

#[test]
fn bytes_with_few_values_are_drawn_again() {
    let nonce = Nonce::build(|counter| match counter {
        0 => [7; LENGTH],
        1 => core::array::from_fn(|index| u8::try_from(index % 15).unwrap()),
        2 => core::array::from_fn(|index| u8::try_from(index % 16).unwrap()),
        _ => panic!("16 values are enough"),
    });
    let expected: [u8; LENGTH] = core::array::from_fn(|index| u8::try_from(index % 16).unwrap());
    assert_eq!(nonce.as_str(), STANDARD.encode(expected));
}

#[test]
fn a_nonce_has_at_least_16_values_and_at_most_96_bytes() {
    let text = |values: usize| {
        let bytes = (0..LENGTH).map(|index| u8::try_from(index % values).unwrap());
        STANDARD.encode(bytes.collect::<Vec<_>>())
    };
    assert_eq!(both(text(16).as_bytes()).0, Ok(()));
    let not_random = NonceError::NotRandom {
        found: 15,
        expected: 16,
    };
    assert_eq!(both(text(15).as_bytes()).0, Err(not_random));

    let mut policy = Policy::compatible();
    policy.limits.nonce = 200;
    let parse = |bytes| Nonce::parse(STANDARD.encode(vec![7; bytes]).as_bytes(), &policy);
    assert!(parse(16).is_ok() && parse(96).is_ok());
    let too_long = NonceError::Length {
        found: 97,
        shortest: 16,
        longest: 96,
    };
    assert_eq!(parse(97), Err(too_long));
}

#[test]
fn other_forms_are_compatible_only() {
    use NonceError::*;
    let bytes: Vec<u8> = (0..96).map(|n: u8| n.wrapping_mul(37) ^ 0xfb).collect();
    let length = |found| Length {
        found,
        shortest: 64,
        longest: 64,
    };
    let text = STANDARD.encode(&bytes[..64]);
    for (text, error) in [
        (format!("{text}\n"), FinalNewline),
        (URL_SAFE.encode([0xfb; 64]), UrlSafe),
        (
            STANDARD.encode([0; 64]),
            NotRandom {
                found: 1,
                expected: 16,
            },
        ),
        (
            STANDARD.encode(&bytes[..16]),
            TooShort {
                found: 24,
                shortest: 88,
            },
        ),
        (
            STANDARD.encode(&bytes[..32]),
            TooShort {
                found: 44,
                shortest: 88,
            },
        ),
        (STANDARD.encode(&bytes), length(96)),
    ] {
        assert_eq!(both(text.as_bytes()), (Err(error), Ok(())), "{text}");
    }
}

#[test]
fn what_is_no_nonce_is_refused_by_both_policies() {
    use NonceError::*;
    let text = STANDARD.encode([7; 64]);
    for (text, error) in [
        (Vec::new(), Empty),
        (
            vec![b' '; 129],
            TooLong {
                found: 129,
                limit: 128,
            },
        ),
        (
            vec![b'A'; 129],
            TooLong {
                found: 129,
                limit: 128,
            },
        ),
        (
            b"A".to_vec(),
            TooShort {
                found: 1,
                shortest: 88,
            },
        ),
        (vec![0xff; 64], Alphabet { at: 0 }),
        (b"eyJh.eyJz".to_vec(), Alphabet { at: 4 }),
        (format!("{text}\n\n").into_bytes(), Alphabet { at: 88 }),
        (format!("{text}\r\n").into_bytes(), Alphabet { at: 88 }),
        (format!(" {text}").into_bytes(), Alphabet { at: 0 }),
        (
            text.replace('=', "").into_bytes(),
            TooShort {
                found: 86,
                shortest: 88,
            },
        ),
        (text.replace("Bw==", "Bx==").into_bytes(), Encoding),
        (b"+/-_".repeat(20), UrlSafe),
    ] {
        let (strict, compatible) = both(&text);
        assert_eq!(strict, Err(error), "{text:?}");
        assert!(compatible.is_err(), "{text:?}");
    }
    assert_eq!(
        both(STANDARD.encode([1; 15]).as_bytes()).1,
        Err(TooShort {
            found: 20,
            shortest: 24
        })
    );
    let longer = STANDARD.encode([1; 65]);
    assert_eq!(
        both(longer.as_bytes()).0,
        Err(Length {
            found: 65,
            shortest: 64,
            longest: 64
        })
    );
    assert_eq!(both(&b"+/-_".repeat(20)).1, Err(Encoding));
}
