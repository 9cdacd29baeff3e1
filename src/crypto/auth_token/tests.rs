use super::*;

#[test]
fn liqos_own_form_and_others() {
    let (strict, compatible) = (Policy::strict(), Policy::compatible());
    let token = "0f".repeat(64);
    for policy in [&strict, &compatible] {
        let parsed = AuthToken::parse(token.as_bytes(), policy).unwrap();
        assert!(parsed.matches(token.as_bytes()));
        assert!(!parsed.matches(token.to_uppercase().as_bytes()));
        assert!(!parsed.matches(&token.as_bytes()[1..]));
        assert!(!parsed.matches(format!("{token}0").as_bytes()));
    }
    for (text, in_strict, in_compatible) in [
        ("", Err(TokenError::Empty), Err(TokenError::Empty)),
        (
            "origin-token",
            Err(TokenError::Length {
                found: 12,
                expected: 128,
            }),
            Ok(()),
        ),
        (
            &"0F".repeat(64),
            Err(TokenError::Character { at: 1 }),
            Ok(()),
        ),
        (
            "a b",
            Err(TokenError::Length {
                found: 3,
                expected: 128,
            }),
            Err(TokenError::Character { at: 1 }),
        ),
        (
            &"a".repeat(512),
            Err(TokenError::Length {
                found: 512,
                expected: 128,
            }),
            Ok(()),
        ),
        (
            &"a".repeat(513),
            Err(TokenError::TooLong {
                found: 513,
                limit: 512,
            }),
            Err(TokenError::TooLong {
                found: 513,
                limit: 512,
            }),
        ),
    ] {
        let parse = |policy| AuthToken::parse(text.as_bytes(), policy).map(drop);
        assert_eq!(parse(&strict), in_strict, "{text}");
        assert_eq!(parse(&compatible), in_compatible, "{text}");
    }
}

#[test]
fn each_context_has_its_own() {
    let entropy = Entropy::from_bytes([1; 32]);
    let [a, again, b] = ["a", "a", "b"].map(|context| AuthToken::derive(&entropy, context));
    assert_eq!(a, again);
    assert_ne!(a, b);
    assert!(
        AuthToken::parse(
            AuthToken::make(&entropy).expose().as_bytes(),
            &Policy::strict()
        )
        .is_ok()
    );
}
