use super::*;

#[test]
fn names_and_urls_are_plain() {
    for text in [
        "cluster-a",
        "1a",
        "0xyz",
        "1e",
        "2026-11-20-x",
        "yes-man",
        "https://127.0.0.1:6443",
        "https://[::1]:6443",
        "LS0tLS1C+/=",
        "a",
        "nan",
        "e3",
        "10-20",
        "1.2.3.4",
    ] {
        assert!(Scalar(text).is_plain(), "{text}");
    }
}

#[test]
fn what_could_be_no_text_is_quoted() {
    for text in [
        "",
        "y",
        "No",
        "TRUE",
        "null",
        "~",
        "123",
        "-1",
        "0x1F",
        "0b11",
        "1e3",
        "1_000",
        "089",
        ".5",
        "1.",
        ".inf",
        "1:30",
        "2026-11-20",
        "2026-1-2T03:04:05Z",
        "a b",
        "a: b",
        "a:",
        "#a",
        "-",
        "- a",
        "[a]",
        "a,b",
        "ć",
        "a\nb",
        "\"",
    ] {
        assert!(!Scalar(text).is_plain(), "{text}");
    }
    assert_eq!(
        Scalar("a\"\\\n\u{1}\u{2028}😀").to_string(),
        r#""a\"\\\n\u0001\u2028\U0001f600""#
    );
}
