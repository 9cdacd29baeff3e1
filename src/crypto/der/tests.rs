use super::*;

#[test]
fn what_is_written_is_read_back() {
    for length in [0, 1, 127, 128, 255, 256, 65535, 65536] {
        let content = vec![7; length];
        let der = element(OCTET_STRING, &[&content]);
        assert_eq!(single(&der, OCTET_STRING).unwrap(), content);
    }
}

#[test]
fn lengths_have_one_form_only() {
    for (der, error) in [
        (&[4, 0x81, 1, 0][..], DerError::Length),
        (&[4, 0x82, 0, 0x80], DerError::Length),
        (&[4, 0x80, 0, 0], DerError::Length),
        (&[4, 0x84, 0, 0, 1, 0], DerError::Length),
        (&[4, 2, 0], DerError::Truncated),
        (&[4], DerError::Truncated),
        (&[], DerError::Truncated),
        (&[4, 0, 9], DerError::TrailingBytes { count: 1 }),
        (&[0x1f, 0], DerError::Tag),
        (
            &[5, 0],
            DerError::Unexpected {
                found: 5,
                expected: 4,
            },
        ),
    ] {
        assert_eq!(single(der, OCTET_STRING), Err(error), "{der:?}");
    }
    assert_eq!(
        check_lengths(&[0x30, 3, 4, 0x81, 0], 4),
        Err(DerError::Length)
    );
    // A length that is not in its shortest form, at this depth.
    let nested = |levels| (0..levels).fold(vec![4, 0x81, 0], |der, _| element(0x30, &[&der]));
    for levels in 0..4 {
        let der = nested(levels);
        assert_eq!(check_lengths(&der, levels), Err(DerError::Length));
        let looks_less_deep = levels
            .checked_sub(1)
            .map(|depth| check_lengths(&der, depth));
        assert!(looks_less_deep.is_none_or(|checked| checked.is_ok()));
    }
}

#[test]
fn integers_have_one_form_only() {
    for (der, value) in [
        (&[2, 1, 0][..], Ok(&[][..])),
        (&[2, 1, 0x7f], Ok(&[0x7f])),
        (&[2, 2, 0, 0x80], Ok(&[0x80])),
        (&[2, 2, 0, 0x7f], Err(DerError::Content)),
        (&[2, 1, 0x80], Err(DerError::Content)),
        (&[2, 0], Err(DerError::Content)),
    ] {
        assert_eq!(Reader::new(der).unsigned(), value, "{der:?}");
    }
}

#[test]
fn object_identifiers_are_dotted_and_bounded() {
    assert_eq!(DottedOid(&[0x2b, 0x65, 0x70]).to_string(), "1.3.101.112");
    assert_eq!(DottedOid(&[0x55, 4, 3]).to_string(), "2.5.4.3");
    assert_eq!(DottedOid(&[0xff; 30]).to_string(), "…");
    assert!(DottedOid(&[1; 300]).to_string().len() < 64);
}
